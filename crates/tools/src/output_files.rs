//! Bounds the total size of files with full outputs: beyond the limit the oldest are removed.

use std::{
    collections::VecDeque,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Default limit of all files together: 4 GiB.
pub const OUTPUT_FILES_LIMIT: u64 = 4 << 30;

/// Paths that a notice lists; of more it has the number.
const NAMED: usize = 3;

/// Files with full outputs of this process, oldest first. Clones share them.
#[derive(Clone, Debug)]
pub struct OutputFiles {
    limit: u64,
    kept: Arc<Mutex<VecDeque<(PathBuf, u64)>>>,
}

impl Default for OutputFiles {
    fn default() -> Self {
        Self::new(OUTPUT_FILES_LIMIT)
    }
}

impl OutputFiles {
    /// No files yet, with a limit of `limit` bytes together.
    pub fn new(limit: u64) -> Self {
        Self { limit, kept: Arc::default() }
    }

    /// The limit of all files together, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds a file of `bytes`. Removes the oldest others until all fit, and returns the removed ones.
    pub fn keep(&self, path: &Path, bytes: u64) -> RemovedFiles {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((path.to_owned(), bytes));
        let mut taken: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        let mut removed = Vec::new();
        while taken > self.limit && kept.len() > 1 {
            let Some((path, bytes)) = kept.pop_front() else { break };
            taken -= bytes;
            // A file that does not exist was removed by its reader.
            if fs::remove_file(&path).is_ok() {
                removed.push(path);
            }
        }
        RemovedFiles(removed)
    }
}

/// Removed files, oldest first. Displays as a notice after a blank line, or as nothing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RemovedFiles(pub Vec<PathBuf>);

impl fmt::Display for RemovedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = self.0.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        write!(f, "\n\n[Removed to make room for this output: {}", names.join(", "))?;
        match self.0.len().saturating_sub(NAMED) {
            0 => f.write_str("]"),
            more => write!(f, " and {more} more]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_files_make_room_for_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let files = OutputFiles::new(10);
        let paths = ["a", "b", "c", "d", "e"].map(file);
        assert_eq!(files.keep(&paths[0], 4).0, Vec::<PathBuf>::new());
        assert_eq!(files.clone().keep(&paths[1], 6).0, Vec::<PathBuf>::new());
        assert_eq!(files.keep(&paths[2], 1).0, paths[..1]);
        fs::remove_file(&paths[1]).unwrap();
        // The one that its reader has removed is not named; the new one stays, though it is too large.
        assert_eq!(files.keep(&paths[3], 10).0, paths[2..3]);
        assert_eq!(files.keep(&paths[4], 11).0, paths[3..4]);
        let left: Vec<_> = paths.iter().filter(|path| path.exists()).collect();
        assert_eq!(left, [&paths[4]]);
    }

    #[test]
    fn removal_notice_names_three_files() {
        let notice = |count: usize| {
            RemovedFiles(["/a", "/b", "/c", "/d", "/e"][..count].iter().map(PathBuf::from).collect())
        };
        let notices = [0, 1, 3, 5].map(|count| notice(count).to_string());
        let wanted = [
            "",
            "\n\n[Removed to make room for this output: /a]",
            "\n\n[Removed to make room for this output: /a, /b, /c]",
            "\n\n[Removed to make room for this output: /a, /b, /c and 2 more]",
        ];
        assert_eq!(notices, wanted);
    }
}
