//! Finds the extensions of a folder. Blocks on the disk.

use super::package::{Manifest, main_file};
use ignore::WalkBuilder;
use pi_rpc_extension::{SCRIPTS, is_pi_extension};
use pi_rpc_files::confinement::Confinement;
use pi_rpc_folder_walk::FolderWalk;
use pi_rpc_prompt::path_patterns::absolute;
use std::path::{Path, PathBuf};

/// The entry points of a folder, in order of precedence.
const INDEX_FILES: [&str; 2] = ["index.ts", "index.js"];

/// Finds the extensions of a folder: its own entry points, else its scripts and the entry points of its subfolders, by
/// name. Left out are hidden and ignored files, `node_modules`, and executables.
pub(super) fn extensions(folder: &Path) -> Vec<PathBuf> {
    if let Some(entries) = entry_points(folder) {
        return entries;
    }
    let mut walk = WalkBuilder::new(folder);
    walk.max_depth(Some(1))
        .follow_links(true)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .sort_by_file_name(Ord::cmp);
    let mut walk =
        FolderWalk::new(walk, (folder, Path::new("")), ".fdignore", &Confinement::default(), |_| true);
    let found = walk
        .entries
        .by_ref()
        .flatten()
        .filter(|entry| entry.depth() == 1 && entry.file_name() != "node_modules");
    found
        .flat_map(|entry| match entry.file_type() {
            Some(kind) if kind.is_dir() => entry_points(entry.path()).unwrap_or_default(),
            Some(kind) if kind.is_file() && is_script(entry.path()) => vec![entry.into_path()],
            _ => Vec::new(),
        })
        .collect()
}

/// The entry points of a folder: the existing files that its `package.json` names, else its index.
pub(super) fn entry_points(folder: &Path) -> Option<Vec<PathBuf>> {
    let named = Manifest::read(folder).and_then(|manifest| manifest.extensions).unwrap_or_default();
    let named: Vec<PathBuf> =
        named.iter().map(|name| absolute(folder, name)).filter(|path| path.exists()).collect();
    if !named.is_empty() {
        return Some(named);
    }
    let index = INDEX_FILES.map(|name| folder.join(name));
    index.into_iter().find(|path| path.is_file() && is_pi_extension(path)).map(|path| vec![path])
}

/// Whether the folder is a package with a main file that is an extension of pi, and which its `package.json` may name
/// without an ending, or by its folder.
pub(super) fn has_main(folder: &Path) -> bool {
    let Some(main) = main_file(folder).map(|main| absolute(folder, main)) else { return false };
    let with_ending = |path: &Path, ending: &str| PathBuf::from(format!("{}.{ending}", path.display()));
    let files = [main.clone()].into_iter().chain(
        SCRIPTS
            .iter()
            .flat_map(|ending| [with_ending(&main, ending), with_ending(&main.join("index"), ending)]),
    );
    files.into_iter().any(|file| file.is_file() && is_pi_extension(&file))
}

/// Whether the file is an extension of pi with one of the two endings that folders are searched for.
fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "ts" || ending == "js") && is_pi_extension(path)
}
