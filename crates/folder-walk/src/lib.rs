//! Walks folders as their ignore files want it, where those are files.
//!
//! For tools that search a project, and for whoever looks for files of prompts in it. It reads no file but ignore files, and changes
//! none.
//!
//! ```
//! use ignore::WalkBuilder;
//! use pi_rpc_files::confinement::Confinement;
//! use pi_rpc_folder_walk::FolderWalk;
//! use std::path::Path;
//!
//! let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
//! let walk = WalkBuilder::new(folder);
//! let walk = FolderWalk::new(walk, (folder, folder), "search", &Confinement::default(), |_| true);
//! assert!(walk.entries.flatten().any(|entry| entry.path().ends_with("Cargo.toml")));
//! ```
//!
//! The crate `ignore` opens `.gitignore` and its like by itself, whatever they are. So they are looked at first: where one
//! would never end, is too long, or is a link out of the project, its folder is left out; if it stands where the walk begins, or
//! above, no ignore file counts.

use ignore::{DirEntry, Walk, WalkBuilder};
use pi_rpc_files::{
    confinement::Confinement,
    regular_files::{self, IGNORE_FILE},
};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// What `ignore` reads of a folder; a `.git` that is a file names another place.
const READ: [&str; 5] = [".gitignore", ".ignore", ".git", ".git/info/exclude", ".git/commondir"];

/// A walk, and the ignore files that it does not heed.
pub struct FolderWalk {
    /// The entries.
    pub entries: Walk,
    troubles: Arc<Mutex<Vec<String>>>,
}

impl FolderWalk {
    /// Begins a walk from `root`; relative paths are of `working`. `name`: a further name of ignore files. Only what
    /// `keeps` accepts is gone into.
    pub fn new(
        mut walk: WalkBuilder,
        (root, working): (&Path, &Path),
        name: &'static str,
        confinement: &Confinement,
        keeps: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
    ) -> Self {
        let troubles: Arc<Mutex<Vec<String>>> = Arc::default();
        let begins = working.join(root);
        // What is not there, and what cannot be reached, has no ignore files that are heeded.
        let real = begins.canonicalize().ok();
        let above: Vec<String> = (real.iter())
            .flat_map(|real| {
                let other = (*real != begins).then(|| real.ancestors());
                begins.ancestors().chain(other.into_iter().flatten())
            })
            .filter_map(|folder| trouble(folder, name, confinement))
            .take(1)
            .collect();
        match real.is_some() && above.is_empty() {
            true => drop(walk.add_custom_ignore_filename(name)),
            false => drop(walk.parents(false).ignore(false).git_ignore(false).git_exclude(false)),
        }
        let found = troubles.clone();
        let confinement = confinement.clone();
        push(&found, above);
        walk.filter_entry(move |entry| {
            if !keeps(entry) {
                return false;
            }
            if entry.depth() == 0 || !entry.file_type().is_some_and(|kind| kind.is_dir()) {
                return true;
            }
            let trouble = trouble(entry.path(), name, &confinement);
            let is_fine = trouble.is_none();
            push(&found, trouble);
            is_fine
        });
        Self { entries: walk.build(), troubles }
    }

    /// The ignore files that were not heeded so far, with the reason.
    pub fn troubles(&self) -> Vec<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How many are told.
const TOLD: usize = 5;

fn push(troubles: &Mutex<Vec<String>>, more: impl IntoIterator<Item = String>) {
    let mut troubles = troubles.lock().unwrap_or_else(PoisonError::into_inner);
    let room = TOLD.saturating_sub(troubles.len());
    troubles.extend(more.into_iter().take(room));
}

/// What is wrong with the first ignore file of a folder that cannot be read.
fn trouble(folder: &Path, name: &str, confinement: &Confinement) -> Option<String> {
    READ.into_iter().chain([name]).find_map(|name| {
        let path = folder.join(name);
        let found = path.symlink_metadata().ok()?;
        // A folder `.git` may be a link to wherever repositories are kept.
        let is_link = name != ".git" && !name.starts_with(".git/") && found.is_symlink();
        let leads = || if is_link { confinement.check_place(&path) } else { Ok(()) };
        let error = regular_files::check(&path, IGNORE_FILE).and_then(|()| leads()).err()?;
        Some(format!("{}: {error}; it is not heeded", path.display()))
    })
}
