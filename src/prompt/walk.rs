//! The files below a directory that may be skills or templates. Blocks on the disk.

use super::skill;
use crate::folder_walk::FolderWalk;
use ignore::{DirEntry, WalkBuilder};
use std::{
    collections::HashSet,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// How much of a directory is looked through: what is linked together can have no end.
const MAX_ENTRIES: usize = 10_000;

/// The skills of a directory: its own `SKILL.md`; else the Markdown files that lie in it, and the `SKILL.md` of
/// directories further down. A directory with a `SKILL.md` is one skill, whatever else is in it.
pub(crate) fn skills(directory: &Path, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let found: Vec<PathBuf> = files(directory, None, warnings)
        .into_iter()
        .filter(|file| file.parent() == Some(directory) || file.ends_with(skill::FILE))
        .collect();
    let of_skills = found.iter().filter(|file| file.ends_with(skill::FILE)).filter_map(|file| file.parent());
    let of_skills: HashSet<&Path> = of_skills.collect();
    let inside = |file: &Path| {
        let above = file.ancestors().skip(if file.ends_with(skill::FILE) { 2 } else { 1 });
        above.take_while(|it| it.starts_with(directory)).any(|it| of_skills.contains(it))
    };
    found.iter().filter(|file| !inside(file)).cloned().collect()
}

/// The templates of a directory: the Markdown files that lie in it, and, if asked for, those further down.
pub(crate) fn templates(directory: &Path, further: bool, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    files(directory, (!further).then_some(1), warnings)
}

/// The Markdown files down to `depth`, in the order of their names. Hidden ones, what ignore files name and
/// `node_modules` are left out; links are followed, but in no circle.
fn files(directory: &Path, depth: Option<usize>, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(directory);
    walk.max_depth(depth)
        .follow_links(true)
        // What is ignored is said by the files in the directory itself, whether it is in a repository or not.
        .parents(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .sort_by_file_name(Ord::cmp);
    let keeps = |entry: &DirEntry| entry.depth() == 0 || entry.file_name() != "node_modules";
    let mut walk = FolderWalk::new(walk, directory, Path::new(""), ".fdignore", keeps);
    let mut found = Vec::new();
    for (number, entry) in walk.entries.by_ref().enumerate() {
        if number == MAX_ENTRIES {
            warnings.push(format!(
                "{} has more than {MAX_ENTRIES} files; the rest is left out",
                directory.display()
            ));
            break;
        }
        match entry {
            Ok(entry) => {
                let file = entry.file_type().is_some_and(|kind| kind.is_file());
                found.extend(Some(entry.into_path()).filter(|path| file && is_markdown(path)));
            }
            // Links to nowhere and in circles are no trouble.
            Err(error) if is_loop(&error) => {}
            Err(error) if error.io_error().is_some_and(|it| it.kind() == ErrorKind::NotFound) => {}
            Err(error) => warnings.push(error.to_string()),
        }
    }
    warnings.extend(walk.troubles());
    found
}

/// Whether the name is one of a Markdown file.
pub(crate) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "md")
}

fn is_loop(error: &ignore::Error) -> bool {
    match error {
        ignore::Error::Loop { .. } => true,
        ignore::Error::WithPath { err, .. }
        | ignore::Error::WithDepth { err, .. }
        | ignore::Error::WithLineNumber { err, .. } => is_loop(err),
        _ => false,
    }
}
