//! Which sessions are open, kept in files so that a restart brings them back.

use super::{open_request::OpenRequest, session_handle::Resumption};
use pi_rpc_files::regular_files;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// An open session that is not in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredSession {
    /// Its name in this process.
    pub id: String,
    /// How it was opened; `start` names its file.
    pub request: OpenRequest,
    /// The id in its file.
    pub durable_id: String,
    /// Its file, which exists once there is a message.
    pub path: PathBuf,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its display name.
    pub name: Option<String>,
    /// The number of its last frame when it was opened.
    pub opened_at: u64,
    /// What it goes on with; `None`: its process did not live to write it out.
    pub resumption: Option<Resumption>,
}

/// A session gets this many numbers before those of its next process begin, if it was not written out: no client must take a
/// new frame for one that it has.
const SEQUENCE_RANGE: u64 = 1 << 32;

impl StoredSession {
    /// What it goes on with.
    pub fn resumption(&self) -> Resumption {
        let range = self.opened_at / SEQUENCE_RANGE;
        let lost = || Resumption { sequence: (range + 1) * SEQUENCE_RANGE, clients: Vec::new() };
        self.resumption.clone().unwrap_or_else(lost)
    }
}

/// A folder with a file for each open session.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// Locked: a folder is for one process.
    _lock: File,
}

/// The file that the process locks.
const LOCK: &str = "lock";

impl Records {
    /// Opens the folder, which is created if it is missing. Returns the sessions that the last process left.
    ///
    /// # Errors
    ///
    /// Another process uses it, or the system refuses a file.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<StoredSession>)> {
        pi_rpc_files::private_files::create_folder(folder)?;
        let lock = pi_rpc_files::private_files::create(&folder.join(LOCK))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "another host keeps its sessions there",
                ));
            }
            // Where the file system has no locks, people have to take care.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut sessions = Vec::new();
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            // One file that cannot be read costs its session alone, whose own file is still there.
            let read = regular_files::read(&path, regular_files::SERVER_FILE);
            match read.and_then(|text| serde_json::from_slice(&text).map_err(io::Error::from)) {
                Ok(session) => sessions.push(session),
                Err(error) => tracing::error!("{}: {error}; the session is not brought back", path.display()),
            }
        }
        Ok((Self { folder: folder.to_owned(), _lock: lock }, sessions))
    }

    /// Notes a session.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn save(&self, session: &StoredSession) -> io::Result<()> {
        let text = serde_json::to_string(session)?;
        let new = self.folder.join(format!("{}.new", session.id));
        pi_rpc_files::private_files::write(&new, &text)?;
        fs::rename(new, self.file(&session.id))
    }

    /// Forgets a session, which may be unknown.
    pub fn remove(&self, id: &str) {
        // There is none of a session without a file.
        let _ = fs::remove_file(self.file(id));
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}
