//! Entries of `auth.json`, read and changed under its lock.

use super::lock::AuthLock;
use pi_rpc_files::{
    private_files,
    regular_files::{self, CONFIGURATION},
};
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The file, while its lock is held.
pub struct LockedAuthFile {
    /// The file itself, where `auth.json` is a link to it.
    path: PathBuf,
    lock: AuthLock,
}

impl LockedAuthFile {
    /// Waits for the lock; makes an empty file first if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`AuthLock::acquire`].
    pub async fn open(path: &Path) -> io::Result<Self> {
        if !path.exists() {
            path.parent().map_or(Ok(()), private_files::create_folder)?;
            let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
            match made {
                Ok(mut file) => {
                    file.set_permissions(Permissions::from_mode(private_files::FILE))?;
                    file.write_all(b"{}")?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let lock = AuthLock::acquire(path).await?;
        Ok(Self { path: fs::canonicalize(path)?, lock })
    }

    /// The lock, to be renewed during long work.
    pub const fn lock(&mut self) -> &mut AuthLock {
        &mut self.lock
    }

    /// Reads all entries.
    ///
    /// # Errors
    ///
    /// The file is unreadable, or holds no object. The text repeats nothing of it.
    pub fn entries(&self) -> io::Result<JsonObject> {
        let text = regular_files::read_to_string(&self.path, CONFIGURATION)?;
        if text.trim().is_empty() {
            return Ok(JsonObject::new());
        }
        serde_json::from_str(&text)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected a JSON object"))
    }

    /// Replaces the entry of `provider`, or removes it; all others stay as they are. The file is replaced as a whole,
    /// with the mode that it had.
    ///
    /// # Errors
    ///
    /// The lock was taken away, or those of the system.
    pub fn replace(&self, provider: &str, entry: Option<JsonObject>) -> io::Result<()> {
        let mut entries = self.entries()?;
        match entry {
            Some(entry) => drop(entries.insert(provider.to_owned(), Value::Object(entry))),
            None => drop(entries.shift_remove(provider)),
        }
        let text = serde_json::to_string_pretty(&entries)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mode = fs::metadata(&self.path)?.permissions();
        let mut file = tempfile::Builder::new().prefix(".auth").suffix(".json").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(mode)?;
        file.as_file().sync_all()?;
        if !self.lock.is_held() {
            return Err(io::Error::other("another process has taken the lock"));
        }
        match file.persist(&self.path) {
            Ok(_) => Ok(()),
            // A file that is mounted on its own cannot be replaced.
            Err(failed) if failed.error.kind() == io::ErrorKind::ResourceBusy => fs::write(&self.path, &text),
            Err(failed) => Err(failed.error),
        }
    }
}
