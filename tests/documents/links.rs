//! Links within the documents lead to files and headings that are there, and paths of the repository in them are paths.

use crate::documents_support::{ROOT, book, page, pages, prose};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// Other documents of the repository.
const OTHERS: [&str; 12] = [
    "CHANGELOG.md",
    "data/README.md",
    "fuzz/README.md",
    "generators/README.md",
    "schema/README.md",
    "sdk/conversations/README.md",
    "sdk/python/GUIDE.md",
    "sdk/python/README.md",
    "sdk/typescript/GUIDE.md",
    "sdk/typescript/README.md",
    "tests/pi_extensions/TABLE.md",
    "tests/traces/README.md",
];

/// Files that recipes have the reader make, and one of every git repository.
const EXAMPLES: [&str; 4] = [
    ".git/info/exclude",
    "schema/dialects/pi@0.60.json",
    "tests/oracle/valid/DIALECT/",
    "tests/oracle/valid/pi-1/naming.jsonl",
];

#[test]
fn links_lead_to_files_and_headings() {
    let mut anchors: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for path in pages().into_iter().chain(OTHERS.map(str::to_owned)) {
        let folder = Path::new(&path).parent().unwrap().to_owned();
        for link in links(&prose(&page(&path))) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if target.is_empty() { PathBuf::from(&path) } else { plain(&folder.join(target)) };
            if !Path::new(ROOT).join(&target).exists() {
                wrong.push(format!("{path}: {link}: there is no {}", target.display()));
            } else if path.starts_with("docs/") && !target.starts_with("docs") {
                wrong.push(format!("{path}: {link}: leads out of the book; name the file instead"));
            } else if !anchor.is_empty() {
                let known =
                    anchors.entry(target.clone()).or_insert_with(|| headings(target.to_str().unwrap()));
                if !known.contains(anchor) {
                    wrong.push(format!("{path}: {link}: there is no such heading"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_contents() {
    let contents: Vec<String> = links(&page("docs/SUMMARY.md"));
    let pages: Vec<String> =
        book().into_iter().filter(|path| path.ends_with(".md") && path != "SUMMARY.md").collect();
    let mut sorted = contents.clone();
    sorted.sort();
    assert_eq!(sorted, pages, "docs/SUMMARY.md lists each page once");
}

#[test]
fn named_paths_are_there() {
    let tops: BTreeSet<String> = fs::read_dir(ROOT)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir() && entry.file_name() != "target")
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let is_path = |name: &str| {
        let top = name.split('/').next().unwrap_or_default();
        name.contains('/') && tops.contains(top) && !name.contains(['*', '…', '<', '{', '$', ' ', '"'])
    };
    let mut wrong = Vec::new();
    // A page that says of which commit its paths are.
    for path in pages().into_iter().filter(|path| !path.ends_with("/planted-mutants.md")) {
        for name in page(&path)
            .split(['`', ' ', '\n', '(', ')', ',', ';', '\''])
            .map(|name| name.trim_end_matches(['.', ':']))
        {
            let name = name.split('#').next().unwrap_or_default();
            if is_path(name) && !EXAMPLES.contains(&name) && !Path::new(ROOT).join(name).exists() {
                wrong.push(format!("{path}: {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "there is no\n{}", wrong.join("\n"));
}

/// The targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// A path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The anchors of a page, as GitHub and mdBook make them of its headings.
fn headings(path: &str) -> BTreeSet<String> {
    let text = prose(&page(path));
    let headings = text
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let slug = |heading: &str| {
        let letters = heading.trim().to_lowercase();
        let kept =
            letters.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(slug).collect()
}
