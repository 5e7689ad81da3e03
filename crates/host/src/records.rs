//! Which sessions are open, kept in files so that a restart brings them back.

use super::{open_request::OpenRequest, session_handle::Resumption};
use pi_rpc_engine::WaitingRun;
use pi_rpc_files::{private_files, regular_files};
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
    /// Its run, if that waits for a permission.
    #[serde(skip)]
    pub waiting: Option<Box<WaitingRun>>,
}

/// A session gets this many numbers before those of its next process begin, if it was not written out: no client must take a
/// new frame for one that it has.
const SEQUENCE_RANGE: u64 = 1 << 32;

impl StoredSession {
    /// What it goes on with.
    pub fn resumption(&self) -> Resumption {
        let range = self.opened_at / SEQUENCE_RANGE;
        let lost = || Resumption { sequence: (range + 1) * SEQUENCE_RANGE, ..Resumption::default() };
        Resumption { waiting: self.waiting.clone(), ..self.resumption.clone().unwrap_or_else(lost) }
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
                Ok(session) => {
                    let mut session: StoredSession = session;
                    session.waiting = WaitingRunFile::of(folder, &session.id).read();
                    sessions.push(session);
                }
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
        self.waiting_run(id).discard();
    }

    /// The file for the run of a session that waits for a permission.
    pub fn waiting_run(&self, id: &str) -> WaitingRunFile {
        WaitingRunFile::of(&self.folder, id)
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

/// The file in which a session notes its run while that waits for a permission.
///
/// It is written before clients are asked, and gone before anything that was asked about begins: a run that is read from it has
/// done nothing of that.
#[derive(Debug)]
pub struct WaitingRunFile {
    path: PathBuf,
    /// What is in the file, as far as this process knows.
    noted: Option<WaitingRun>,
}

impl WaitingRunFile {
    fn of(folder: &Path, id: &str) -> Self {
        Self { path: folder.join(format!("{id}.waiting")), noted: None }
    }

    /// What the last process has noted. A file that cannot be read counts as none: the run is then closed as any that was cut.
    fn read(&self) -> Option<Box<WaitingRun>> {
        let read = regular_files::read(&self.path, regular_files::SERVER_FILE);
        match read.and_then(|text| serde_json::from_slice(&text).map_err(io::Error::from)) {
            Ok(waiting) => Some(waiting),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::error!("{}: {error}; its run is not continued", self.path.display());
                None
            }
        }
    }

    /// Notes the run, or that none waits.
    ///
    /// # Errors
    ///
    /// Those of the system: what was noted before may still be there.
    pub fn note(&mut self, waiting: Option<WaitingRun>) -> io::Result<()> {
        if self.noted == waiting {
            return Ok(());
        }
        match &waiting {
            Some(waiting) => {
                let new = self.path.with_extension("waiting.new");
                private_files::write(&new, &serde_json::to_string(waiting)?)?;
                fs::rename(new, &self.path)?;
            }
            None => {
                fs::remove_file(&self.path).or_else(ignore_missing)?;
                // Otherwise it may be back after a loss of power.
                let folder = self.path.parent().unwrap_or(Path::new("."));
                File::open(folder).and_then(|folder| folder.sync_all()).or_else(ignore_missing)?;
            }
        }
        self.noted = waiting;
        Ok(())
    }

    /// Takes up what the last process has noted, so that it is removed in time.
    pub fn adopt(&mut self, waiting: Option<&WaitingRun>) {
        self.noted = waiting.cloned();
    }

    fn discard(&self) {
        // There is none where nothing waits.
        let _ = fs::remove_file(&self.path);
    }
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_that_stays_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = WaitingRunFile::of(dir.path(), "s1");
        file.note(Some(WaitingRun::default())).unwrap();
        file.note(None).unwrap();
        assert!(file.read().is_none());
        file.note(Some(WaitingRun::default())).unwrap();
        // Also for a superuser: a folder is not removed as a file.
        fs::remove_file(&file.path).unwrap();
        fs::create_dir(&file.path).unwrap();
        assert!(file.note(None).is_err());
        assert!(file.note(None).is_err(), "it is still noted");
    }
}
