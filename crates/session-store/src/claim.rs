//! Exclusive use of a session id: two servers that begin the same session would write two files.

use super::open_file::is_same;
use pi_rpc_files::private_files;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// A locked file beside the sessions that reserves an id until the value is dropped or the process ends.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

/// Attempts to lock: the present holder may be about to exit.
const ATTEMPTS: u32 = 10;
/// Pause between two attempts.
const WAIT: Duration = Duration::from_millis(50);

impl Claim {
    /// Claims `id` in `folder`. `None`: another process holds it.
    ///
    /// # Errors
    ///
    /// The file cannot be created or locked: the folder is read-only, its file system has no locks.
    pub fn take(folder: &Path, id: &str) -> io::Result<Option<Self>> {
        let path = folder.join(format!(".{id}.claim"));
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                thread::sleep(WAIT);
            }
            let mut options = OpenOptions::new();
            let file = options.create(true).append(true).mode(private_files::FILE).open(&path)?;
            match file.try_lock() {
                // The last holder may have removed the file between opening and locking.
                Ok(()) if is_at(&file, &path) => return Ok(Some(Self { path, _file: file })),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Whether an open file is still the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|own| fs::metadata(path).is_ok_and(|there| is_same(&own, &there)))
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Removed while locked, so that no other process's claim is removed. A file that stays is reused by the next
        // holder.
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
