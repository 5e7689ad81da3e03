//! Each recipe of `docs/contributing` has a patch that still applies, and shows what the patch does. That its commands and tests pass
//! is tried by `cargo run -p xtask -- recipes`.

use crate::documents_support::{ROOT, blocks, page};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

const FOLDER: &str = "docs/contributing";

/// Names of the files of the folder that end so, without the end.
fn names(end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(Path::new(ROOT).join(FOLDER)).unwrap();
    let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    files.filter_map(|file| Some(file.strip_suffix(end)?.to_owned())).collect()
}

/// Whether the patch applies to the working tree, or, reversed, is applied to it.
fn applies(path: &str, options: &[&str]) -> Result<(), String> {
    let mut git = Command::new("git");
    git.args(["apply", "--check"]).args(options).arg(path).current_dir(ROOT);
    let output = git.output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn each_recipe_has_its_patch() {
    let pages = names(".md");
    assert_eq!(pages, names(".patch"));
    let contents = page("CONTRIBUTING.md");
    for name in pages {
        assert!(contents.contains(&format!("({FOLDER}/{name}.md)")), "CONTRIBUTING.md: {name} is missing");
        let text = page(&format!("{FOLDER}/{name}.patch"));
        let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("diff ")).collect();
        assert!(
            head.iter().any(|line| line.starts_with("Test: ")),
            "{FOLDER}/{name}.patch: expected a line `Test: ` with arguments of cargo test above the changes"
        );
        let page = page(&format!("{FOLDER}/{name}.md"));
        let commands = blocks(&page).into_iter().filter(|block| block.is_run(Some("needs-patch")));
        let is_blessed =
            commands.into_iter().any(|block| block.text.lines().any(|line| line == "cargo bless"));
        assert!(is_blessed, "{FOLDER}/{name}.md: expected a block `sh needs-patch` with `cargo bless`");
    }
}

#[test]
fn patches_of_recipes_apply() {
    let stale = names(".patch").into_iter().filter_map(|name| {
        let path = format!("{FOLDER}/{name}.patch");
        let error = applies(&path, &[]).err()?;
        applies(&path, &["--reverse"]).err().map(|_| format!("{path}: {error}"))
    });
    let stale: Vec<String> = stale.collect();
    assert!(
        stale.is_empty(),
        "{}\napply it with `git apply --3way`, resolve, and put `git diff -U1` behind the head of the file",
        stale.join("\n")
    );
}

/// Lines of a text, without indentation.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn recipes_show_what_patches_do() {
    let mut wrong = Vec::new();
    for name in names(".md") {
        let patch = page(&format!("{FOLDER}/{name}.patch"));
        let added: Vec<&str> = patch.lines().filter_map(|line| line.strip_prefix('+')).collect();
        let added = added.join("\n");
        let added = lines(&added);
        for block in blocks(&page(&format!("{FOLDER}/{name}.md"))) {
            let shown = lines(&block.text);
            let is_code = ["json", "rust"].contains(&block.info.as_str());
            if is_code && !added.windows(shown.len()).any(|part| part == shown) {
                wrong.push(format!("{FOLDER}/{name}.md: line {}", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "no lines of the patch are\n{}", wrong.join("\n"));
}
