//! The slash commands that the source of one of pi's extensions names: known even when the extension cannot be loaded.
//!
//! Only names that stand literally in a call of `registerCommand` are found, in the extension's file and in the files
//! that it imports by path.

use super::spawn::SCRIPTS;
use pi_rpc_files::regular_files;
use regex::Regex;
use std::{
    collections::HashSet,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The most files of one extension that are read.
const FILES: usize = 64;

/// The most bytes of one file that are read: 1 MiB.
const BYTES: u64 = 1 << 20;

static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\bregisterCommand\s*\(\s*(?:"([^"\\\s]+)"|'([^'\\\s]+)'|`([^`\\\s$]+)`)"#).ok()
});

static IMPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\b(?:from|import|require)\s*\(?\s*(?:"(\.\.?/[^"\n]*)"|'(\.\.?/[^'\n]*)')"#).ok()
});

/// The names of the commands that the extension at `path` (a file, or a folder with an index) registers literally, each
/// once. What cannot be read names none.
pub fn named_commands(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for text in &sources(path).0 {
        for name in captured(&COMMAND, text).filter(|name| !name.is_empty()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The texts of the extension at `path` and of what it imports by path, and whether that is all: every file was found, read,
/// and is no longer than what is read.
pub(super) fn sources(path: &Path) -> (Vec<String>, bool) {
    let mut texts = Vec::new();
    let mut known = HashSet::new();
    let mut waiting: Vec<PathBuf> = script(path).into_iter().collect();
    let mut is_whole = !waiting.is_empty();
    while let Some(file) = waiting.pop() {
        if known.len() == FILES {
            return (texts, false);
        }
        if !known.insert(file.clone()) {
            continue;
        }
        let Some(text) = read(&file) else {
            is_whole = false;
            continue;
        };
        is_whole &= (text.len() as u64) < BYTES;
        let folder = file.parent().unwrap_or(Path::new("/"));
        for import in captured(&IMPORT, &text) {
            match script(&folder.join(import)) {
                Some(imported) => waiting.push(imported),
                None => is_whole = false,
            }
        }
        texts.push(text);
    }
    (texts, is_whole)
}

/// The first group that took part in each match.
fn captured<'t>(pattern: &'static LazyLock<Option<Regex>>, text: &'t str) -> impl Iterator<Item = &'t str> {
    let found = pattern.as_ref().map(|pattern| pattern.captures_iter(text));
    found
        .into_iter()
        .flatten()
        .filter_map(|found| found.iter().skip(1).flatten().next().map(|group| group.as_str()))
}

/// The file that a path stands for: itself, with another ending, or the index of a folder.
fn script(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return fs::canonicalize(path).ok();
    }
    let stem = match path.is_dir() {
        true => path.join("index"),
        // TypeScript names what a file is compiled to.
        false if path.extension().is_some_and(|it| SCRIPTS.iter().any(|ending| it == *ending)) => {
            path.with_extension("")
        }
        false => path.to_owned(),
    };
    let with = |ending: &&str| PathBuf::from(format!("{}.{ending}", stem.display()));
    SCRIPTS.iter().map(with).find(|file| file.is_file()).and_then(|file| fs::canonicalize(file).ok())
}

fn read(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    regular_files::open(file).ok()?.take(BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_names_of_imported_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("lib")).unwrap();
        let entry = "import { more } from \"./lib/more.js\";\nimport './index';\n\
            pi.registerCommand(\"first\", {});\npi\n.registerCommand(\n  'second',\n{});\n\
            pi.registerCommand(`third`, {});\npi.registerCommand(`of-${n}`, {}); pi.registerCommand(name, {});\n";
        write("index.ts", entry);
        write(
            "lib/more.ts",
            "const back = require('../index.ts');\npi.registerCommand(\"first\", {});\npi.registerCommand(\"fourth\", {});",
        );
        assert_eq!(named_commands(folder.path()), ["first", "second", "third", "fourth"]);
        assert_eq!(named_commands(&folder.path().join("gone.ts")), Vec::<String>::new());
    }
}
