//! Names of tests, in Rust and in Python, have at most seven words, as CONTRIBUTING.md says.

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
        let is_python = path.extension().is_some_and(|extension| extension == "py");
        for (line, name) in if is_python { python_test_names(text) } else { test_names(text) } {
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
    let text =
        "class Tests:\n    async def test_one(self) -> None:\n    def helper(self):\ndef test_two_words():\n";
    assert_eq!(python_test_names(text), [(2, "one".to_owned()), (4, "two_words".to_owned())]);
    assert_eq!(words("dialog_limit_cancels_oldest"), 4);
}

/// Calls `each` with the path and the text of every Rust and Python file below `folder`.
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
        } else if name.ends_with(".rs") || name.ends_with(".py") {
            each(&path, &fs::read_to_string(&path).expect("a source file"));
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

/// The test methods of a Python file, each with its line, without `test_`.
fn python_test_names(text: &str) -> Vec<(usize, String)> {
    let names = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_start();
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def test_")?;
        Some((index + 1, name.split('(').next().unwrap_or_default().to_owned()))
    });
    names.collect()
}

fn words(name: &str) -> usize {
    name.split('_').filter(|word| !word.is_empty()).count()
}
