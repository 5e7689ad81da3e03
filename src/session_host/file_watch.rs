//! Notices that a file has been replaced.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// What tells one version of a file from another; `None`: there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp(Option<(u64, u64, i64, i64)>);

impl FileStamp {
    /// The version of the file that is there now.
    pub fn of(path: &Path) -> Self {
        let found = fs::metadata(path).ok();
        Self(found.map(|found| (found.ino(), found.len(), found.mtime(), found.mtime_nsec())))
    }
}
