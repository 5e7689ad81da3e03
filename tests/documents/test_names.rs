//! Names of tests have at most seven words, as CONTRIBUTING.md says.

use crate::documents_support::ROOT;
use std::{fs, path::Path};

/// Most words of a name; a word is a piece between underscores.
const MOST_WORDS: usize = 7;

/// Folders without tests of ours.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

#[test]
fn test_names_have_at_most_seven_words() {
    let mut long = Vec::new();
    let mut count = 0;
    visit(Path::new(ROOT), &mut |path, text| {
        for (line, name) in test_names(text) {
            count += 1;
            if words(&name) > MOST_WORDS {
                long.push(format!("{}:{line}: {name}", path.strip_prefix(ROOT).unwrap().display()));
            }
        }
    });
    assert!(count > 1500, "only {count} tests were found");
    assert!(long.is_empty(), "more than {MOST_WORDS} words:\n{}", long.join("\n"));
}

#[test]
fn test_names_are_read_from_attributes() {
    let text = "#[test]\n#[ignore = \"slow\"]\nfn one() {}\n\nfn helper() {}\n\n#[tokio::test]\n/// Doc.\nasync fn two_words() {}\n\
                proptest! {\n    #[test]\n    fn three(seed: u64) {}\n}\n#[cfg(test)]\nmod tests {}\nfn other() {}\n";
    let names = [(3, "one".to_owned()), (9, "two_words".to_owned()), (12, "three".to_owned())];
    assert_eq!(test_names(text), names);
    assert_eq!(words("dialog_limit_cancels_oldest"), 4);
}

/// Calls `each` with the path and the text of every Rust file below `folder`.
fn visit(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap().to_str().expect("UTF-8");
        if path.is_symlink() || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if !SKIPPED.contains(&name) {
                visit(&path, each);
            }
        } else if name.ends_with(".rs") {
            each(&path, &fs::read_to_string(&path).expect("a Rust file"));
        }
    }
}

/// The test functions of a Rust file, each with its line.
fn test_names(text: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut is_test = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(attribute) = line.strip_prefix("#[") {
            let path = attribute.split([']', '(']).next().unwrap_or_default();
            is_test |= path.rsplit("::").next() == Some("test");
        } else if let Some(function) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            if is_test {
                let name = function.split(['(', '<']).next().unwrap_or_default();
                names.push((index + 1, name.to_owned()));
            }
            is_test = false;
        }
    }
    names
}

fn words(name: &str) -> usize {
    name.split('_').filter(|word| !word.is_empty()).count()
}
