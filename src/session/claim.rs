//! A session id that one process gives: two servers that are asked to begin the same session would write two files.

use super::open_file::is_same;
use crate::private_files;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// An id in a folder of sessions, held until this is dropped or the process ends: a locked file beside the sessions.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

/// How often a lock is tried: its holder may be about to exit.
const ATTEMPTS: u32 = 10;
/// How long between two tries.
const WAIT: Duration = Duration::from_millis(50);

impl Claim {
    /// Claims `id` in `folder`. `None`: another process holds it.
    ///
    /// # Errors
    ///
    /// The system refuses the file: the folder is read-only, its file system has no locks.
    pub fn take(folder: &Path, id: &str) -> io::Result<Option<Self>> {
        let path = folder.join(format!(".{id}.claim"));
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                thread::sleep(WAIT);
            }
            let mut options = OpenOptions::new();
            let file = options.create(true).append(true).mode(private_files::FILE).open(&path)?;
            match file.try_lock() {
                // Its last holder may have removed it between the two.
                Ok(()) if is_at(&file, &path) => return Ok(Some(Self { path, _file: file })),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|own| fs::metadata(path).is_ok_and(|there| is_same(&own, &there)))
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While it is locked, so that nobody else's is removed. What stays behind is taken up by the next holder.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_is_held_until_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let take = |id| Claim::take(folder.path(), id).unwrap();
        let first = take("a").unwrap();
        assert!(take("a").is_none());
        assert!(take("b").is_some());
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(take("a").is_some());
    }
}
