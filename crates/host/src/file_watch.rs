//! Notices that a file has been replaced.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// What tells one version of a file from another; `None`: there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp(Option<[(i64, i64); 3]>);

impl FileStamp {
    /// The version of the file that is there now.
    pub fn of(path: &Path) -> Self {
        let found = fs::metadata(path).ok();
        // The last one changes whenever the file does; programs can set the others.
        Self(found.map(|found| {
            let place = (found.ino().cast_signed(), found.len().cast_signed());
            [place, (found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())]
        }))
    }
}
