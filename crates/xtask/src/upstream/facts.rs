//! What a release states about itself, by kind and name, and how two releases differ.

use super::{Page, Release};
use regex::Regex;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The facts of a release: for each kind, such as options, names with their texts. A text is empty where the release has
/// only the name.
#[derive(Default)]
pub struct Facts(BTreeMap<&'static str, BTreeMap<String, String>>);

/// Names that this project has, by kind of fact; of other kinds it is not known.
pub type Ours = BTreeMap<&'static str, BTreeSet<String>>;

impl Facts {
    pub fn add(&mut self, kind: &'static str, facts: impl IntoIterator<Item = (String, String)>) {
        self.0.entry(kind).or_default().extend(facts);
    }

    /// The facts of a kind.
    pub fn of(&self, kind: &str) -> BTreeMap<String, String> {
        self.0.get(kind).cloned().unwrap_or_default()
    }

    /// Adds what the first group of the pattern matches as a name, and what the second does as its text.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the pattern matches nothing: the release keeps its facts elsewhere now.
    pub fn find(&mut self, kind: &'static str, file: &Path, pattern: &str) -> Result<(), String> {
        let text = read(file)?;
        let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
        let group = |found: &regex::Captures<'_>, group| {
            found.get(group).map(|part| part.as_str().to_owned()).unwrap_or_default()
        };
        let found: Vec<_> =
            pattern.captures_iter(&text).map(|found| (group(&found, 1), group(&found, 2))).collect();
        if found.is_empty() {
            return Err(format!("{}: no {kind} found by `{pattern}`", file.display()));
        }
        self.add(kind, found);
        Ok(())
    }
}

/// Longest text that is printed of a fact.
const LONGEST: usize = 160;

/// Prints what the new release has that the old one has not, the other way round, and what differs; then what the new
/// release has that we have not.
pub fn compare(old: &Facts, new: &Facts, ours: &Ours, page: &mut Page) {
    let nothing = BTreeMap::new();
    let kinds: BTreeSet<&str> = old.0.keys().chain(new.0.keys()).copied().collect();
    for kind in kinds {
        let (was, is) = (old.0.get(kind).unwrap_or(&nothing), new.0.get(kind).unwrap_or(&nothing));
        page.heading(2, &format!("{kind} ({} to {})", was.len(), is.len()));
        let here = |name: &str| match ours.get(kind) {
            Some(names) if names.contains(name) => " (here, too)",
            Some(_) => " (not here)",
            None => "",
        };
        for (name, text) in is.iter().filter(|(name, _)| !was.contains_key(*name)) {
            page.news_line(&format!("new: `{name}`{} {}", here(name), cut(text)));
        }
        for name in was.keys().filter(|name| !is.contains_key(*name)) {
            page.news_line(&format!("gone: `{name}`{}", here(name)));
        }
        for (name, text) in is {
            if let Some(before) = was.get(name).filter(|before| *before != text) {
                let (before, now) = differing(before, text);
                page.news_line(&format!("other: `{name}`: {} → {}", cut(before), cut(now)));
            }
        }
        if let Some(names) = ours.get(kind) {
            let missing: Vec<_> = is.keys().filter(|name| !names.contains(*name)).cloned().collect();
            match missing.is_empty() {
                true => page.line("All are here."),
                false => page.line(&format!("Not here: `{}`.", missing.join("`, `"))),
            }
        }
    }
}

/// Both texts without what they begin with alike.
fn differing<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let common = old.char_indices().zip(new.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    let at = common.unwrap_or(old.len().min(new.len()));
    let start = old[..at].rfind([' ', ',', '|']).unwrap_or(0);
    (&old[start..], &new[start..])
}

fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Prints the files that differ: programs, declarations and pages; those of the terminal's own screen are left out.
///
/// # Errors
///
/// A folder cannot be read.
pub fn compare_files(old: &Release, new: &Release, page: &mut Page) -> Result<(), String> {
    page.heading(2, "files that differ");
    let folders = |release: &Release| {
        std::iter::once(&release.folder).chain(&release.parts).cloned().collect::<Vec<_>>()
    };
    for (was, is) in folders(old).iter().zip(folders(new)) {
        let mut names: BTreeSet<PathBuf> = BTreeSet::new();
        list(was, was, &mut names)?;
        list(&is, &is, &mut names)?;
        for name in names {
            let (before, now) = (fs::read(was.join(&name)).ok(), fs::read(is.join(&name)).ok());
            let how = match (&before, &now) {
                (None, Some(_)) => "new",
                (Some(_), None) => "gone",
                (before, now) if before != now => "other",
                _ => continue,
            };
            page.line(&format!("- {how}: {}", name.display()));
            if let (Some(before), Some(now), Some("js")) =
                (&before, &now, name.extension().and_then(|it| it.to_str()))
            {
                list_added(&String::from_utf8_lossy(before), &String::from_utf8_lossy(now), page);
            }
        }
    }
    Ok(())
}

/// Most added lines that are printed of a file.
const MOST_ADDED: usize = 12;

/// Prints the lines of a program that it had not before: what only behaves differently shows nowhere else.
fn list_added(before: &str, now: &str, page: &mut Page) {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in before.lines().map(str::trim) {
        *known.entry(line).or_default() += 1;
    }
    let mut added: Vec<&str> = Vec::new();
    for line in now.lines().map(str::trim) {
        match known.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None if line.len() > 3 && !line.starts_with(['/', '*']) => added.push(line),
            None => {}
        }
    }
    for line in added.iter().take(MOST_ADDED) {
        page.line(&format!("      + {}", cut(line)));
    }
    if added.len() > MOST_ADDED {
        page.line(&format!("      + {} lines more", added.len() - MOST_ADDED));
    }
}

fn list(root: &Path, folder: &Path, names: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !matches!(name, "interactive" | "bundle" | "node_modules" | "examples" | "images" | "data") {
                list(root, &path, names)?;
            }
        } else if [".d.ts", ".ts", ".js", ".md", "schema.json"].iter().any(|end| name.ends_with(end)) {
            names.extend(path.strip_prefix(root).map(Path::to_path_buf));
        }
    }
    Ok(())
}

/// Prints the lines of the change log since `from` that are about what we have.
///
/// # Errors
///
/// There is no change log.
pub fn list_changes(new: &Release, from: &str, page: &mut Page) -> Result<(), String> {
    page.heading(2, "change log, as far as it may concern us");
    let text = read(&new.folder.join("CHANGELOG.md"))?;
    let concerns = Regex::new(
        r"(?i)\bRPC\b|\bJSON\b|--[a-z]|session|extension|`?pi\.\w|tool|retr|\b(read|find|grep|bash|edit|write|ls)\b|MCP|model|settings|skill|template|provider|cache|compact",
    )
    .map_err(|error| error.to_string())?;
    let end = text.find(&format!("## [{from}]")).unwrap_or(text.len());
    let lines: Vec<_> = text[..end].lines().filter(|line| line.starts_with("- ")).collect();
    for line in lines.iter().filter(|line| concerns.is_match(line)) {
        page.news_line(&cut(&line[2..]));
    }
    page.line(&format!("\n{} lines in all, up to {}.", lines.len(), new.version));
    Ok(())
}

/// Text of a file of a release.
///
/// # Errors
///
/// It cannot be read.
pub fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(list: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        facts.add("options", list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        facts
    }

    #[test]
    fn new_gone_and_other_are_told() {
        let old = facts(&[("--old", ""), ("--same", "a"), ("--other", "is 5 by default")]);
        let new = facts(&[("--new", "x"), ("--same", "a"), ("--other", "is 7 by default")]);
        let ours = Ours::from([("options", BTreeSet::from(["--same".to_owned(), "--old".to_owned()]))]);
        let mut page = Page::default();
        compare(&old, &new, &ours, &mut page);
        let expected = "\
            ## options (3 to 3)\n\n\
            - new: `--new` (not here) x\n\
            - gone: `--old` (here, too)\n\
            - other: `--other`: 5 by default → 7 by default\n\
            Not here: `--new`, `--other`.\n";
        assert_eq!((page.text(), page.news()), (expected, 3));
    }

    #[test]
    fn added_lines_of_a_program_are_told() {
        let before = "switch (reason) {\n  case OLD:\n}\n";
        let now = "switch (reason) {\n  // Why.\n  case OLD:\n  case NEW:\n}\n";
        let mut page = Page::default();
        list_added(before, now, &mut page);
        assert_eq!((page.text(), page.news()), ("      + case NEW:\n", 0));
    }

    #[test]
    fn file_without_its_facts_fails() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let error = Facts::default().find("options", &file, r"(no such) text").unwrap_err();
        assert_eq!(error, format!("{}: no options found by `(no such) text`", file.display()));
    }
}
