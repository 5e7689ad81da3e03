//! Lists the files below a directory that may be skills or templates. Blocks on the disk.

use ignore::{DirEntry, WalkBuilder};
use pi_rpc_files::confinement::Confinement;
use pi_rpc_folder_walk::FolderWalk;
use pi_rpc_prompt::skill;
use std::{
    collections::HashSet,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Number of entries that are read of a directory: linked directories may have no end.
const MAX_ENTRIES: usize = 10_000;

/// Lists the skills of a directory: its own `SKILL.md`; else its Markdown files, and the `SKILL.md` of
/// subdirectories. A directory with a `SKILL.md` is one skill, whatever else is in it.
pub fn skills(directory: &Path, confinement: &Confinement, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let found: Vec<PathBuf> = files(directory, None, confinement, warnings)
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

/// Lists the templates of a directory: its Markdown files, and with `further` those of subdirectories.
pub fn templates(
    directory: &Path,
    further: bool,
    confinement: &Confinement,
    warnings: &mut Vec<String>,
) -> Vec<PathBuf> {
    files(directory, (!further).then_some(1), confinement, warnings)
}

/// Lists Markdown files down to `depth`, by name. Hidden and ignored ones and `node_modules` are left out; links are
/// followed, but not in cycles, and those of a project not out of it.
fn files(
    directory: &Path,
    depth: Option<usize>,
    confinement: &Confinement,
    warnings: &mut Vec<String>,
) -> Vec<PathBuf> {
    if let Err(error) = confinement.check_place(directory) {
        warnings.push(format!("{}: {error}; the folder is left out", directory.display()));
        return Vec::new();
    }
    let mut walk = WalkBuilder::new(directory);
    walk.max_depth(depth)
        .follow_links(true)
        // Ignore files count inside the directory only, in a repository or not.
        .parents(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .sort_by_file_name(Ord::cmp);
    let outside: Arc<Mutex<Vec<String>>> = Arc::default();
    let (confined, left_out) = (confinement.clone(), outside.clone());
    let keeps = move |entry: &DirEntry| {
        if entry.depth() == 0 || entry.file_name() == "node_modules" {
            return entry.depth() == 0;
        }
        // A linked folder is not even listed; a linked file is judged when it is read.
        let is_linked_folder = entry.path_is_symlink() && entry.file_type().is_some_and(|kind| kind.is_dir());
        match is_linked_folder.then(|| confined.check_place(entry.path())) {
            Some(Err(error)) => {
                let text = format!("{}: {error}; the folder is left out", entry.path().display());
                left_out.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                false
            }
            _ => true,
        }
    };
    let mut walk = FolderWalk::new(walk, (directory, Path::new("")), ".fdignore", confinement, keeps);
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
            // Dangling and cyclic links are no faults.
            Err(error) if is_loop(&error) => {}
            Err(error) if error.io_error().is_some_and(|it| it.kind() == ErrorKind::NotFound) => {}
            Err(error) => warnings.push(error.to_string()),
        }
    }
    warnings.extend(walk.troubles());
    warnings.append(&mut outside.lock().unwrap_or_else(PoisonError::into_inner));
    found
}

/// Whether a path has the name of a Markdown file.
pub fn is_markdown(path: &Path) -> bool {
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
