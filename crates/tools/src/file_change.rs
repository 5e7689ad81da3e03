//! Writes files atomically, and one change of a file at a time.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;

use super::{
    delegate::ToolDelegate,
    path::system_error,
    run::{ToolOutput, aborted_message, run_blocking_to_end},
};

/// Locks of the files that are being changed, by their real paths.
static FILE_LOCKS: LazyLock<Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>> = LazyLock::new(Mutex::default);

/// Runs `work`, which changes the file at `path`, after all earlier changes of that file.
pub(super) async fn with_file_lock(
    path: PathBuf,
    cancel: CancellationToken,
    work: impl FnOnce(&Path, &CancellationToken) -> Result<ToolOutput, String> + Send + 'static,
) -> Result<ToolOutput, String> {
    let lock = file_lock(&path);
    let turn = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(aborted_message()),
        turn = lock.lock_owned() => turn,
    };
    run_blocking_to_end(cancel, move |cancel| {
        let _turn = turn;
        work(&path, cancel)
    })
    .await
}

fn file_lock(path: &Path) -> Arc<AsyncMutex<()>> {
    let real = real_path(path);
    // A poisoned map is consistent: no change of it can be interrupted.
    let mut changing = FILE_LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lock) = changing.get(&real).and_then(Weak::upgrade) {
        return lock;
    }
    changing.retain(|_, lock| lock.strong_count() > 0);
    let lock = Arc::new(AsyncMutex::new(()));
    changing.insert(real, Arc::downgrade(&lock));
    lock
}

/// The path with symbolic links resolved; for a file that does not exist yet, those of its directory.
fn real_path(path: &Path) -> PathBuf {
    let in_directory = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(in_directory).unwrap_or_else(|| path.to_owned())
}

/// Replaces the content of the file at `path`, or creates it in an existing directory.
///
/// Writes a new file beside it and renames that. Readers see the old content or the new one, also after a full disk or a
/// kill. Symbolic links are followed; mode and owner stay. The old file is overwritten in place if a new one cannot replace
/// it: it has hard links, is a mount point or another user's, or its directory takes no new files.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error: io::Error| system_error(&error, "open", Some(path));
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if let Some(old) = &old {
        if !old.is_file() && !old.is_dir() {
            return Err(format!("Not a regular file: {}", path.display()));
        }
        // Renaming could replace a read-only file; refuse as a write would.
        OpenOptions::new().write(true).open(path).map_err(failed)?;
    }
    // A dangling link is followed by writing through it.
    let new_may_stand = old.as_ref().map_or(!path.is_symlink(), |old| old.nlink() == 1);
    if new_may_stand && replace_by_rename(&real_path(path), old.as_ref(), bytes).map_err(failed)? {
        return Ok(());
    }
    overwrite(path, bytes).map_err(failed)
}

/// [`replace_file`] by a text, which the delegate writes if it writes files.
pub(super) fn replace_text(
    path: &Path,
    text: &str,
    delegate: Option<&dyn ToolDelegate>,
) -> Result<(), String> {
    let delegated = delegate.and_then(|delegate| delegate.write_file(path, text));
    delegated.unwrap_or_else(|| replace_file(path, text.as_bytes()))
}

/// Writes a new file and renames it to `path`; `false` if it cannot replace the old one.
fn replace_by_rename(path: &Path, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<bool> {
    let name = format!(".pi-write-{:016x}", getrandom::u64()?);
    let new = TemporaryFile(path.with_file_name(name));
    // The old file may be private, so the new one is from the start.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(mode).open(&new.0) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    file.write_all(bytes)?;
    file.sync_all()?;
    let alike = old.is_none_or(|old| copy_owner_and_mode(&new.0, &file, old).is_ok());
    Ok(alike && fs::rename(&new.0, path).is_ok())
}

/// Gives the new file the owner and the mode of the old one.
fn copy_owner_and_mode(path: &Path, new: &File, old: &Metadata) -> io::Result<()> {
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        chown(path, Some(old.uid()), Some(old.gid()))?;
    }
    new.set_permissions(old.permissions())
}

/// Overwrites the file in place. Writes the part beyond the old size first, so that a full disk loses nothing.
fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    let old = file.metadata()?.len();
    let (within, beyond) = bytes.split_at(bytes.len().min(usize::try_from(old).unwrap_or(usize::MAX)));
    if let Err(error) = file.write_all_at(beyond, old) {
        // The first error is reported, whether or not this succeeds.
        let _ = file.set_len(old);
        return Err(error);
    }
    file.write_all_at(within, 0)?;
    file.set_len(bytes.len() as u64)
}

/// Removes the file on drop, unless it was renamed.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After the renaming there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}
