//! The store of a session: its file on disk, locked and written to by one process.
//!
//! Each entry is one write at the end of the file; earlier bytes stay as they are. Written bytes belong to the
//! kernel: a process that is killed loses nothing. A loss of power costs the bytes that are not on the disk yet (on
//! Linux usually the last 30 seconds; [`SyncPolicy`] decides) and leaves at most the last line torn, which the next
//! opening cuts off.
//!
//! A bound file is locked for this process: a second server refuses it as in use instead of mixing its lines in. The
//! originals do not lock; before each write the file is therefore compared with its known length and identity.

use super::{
    claim::Claim,
    open_file::{OpenFile, create_locked, is_same, replace},
};
use bytes::Bytes;
use pi_rpc_protocol::{Base, errors};
use pi_rpc_session::{FileEnd, Notice, OpenedSession, ParsedFile, ReadError, Tree, Write};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// When the session's file is synced to the disk, and so the cost of a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Never: a loss of power may cost the last entries, those of many runs among them.
    #[default]
    None,
    /// At the end of each run, before the host sees it: a loss of power costs the open run at most.
    Run,
    /// With each entry, before the host sees it: a loss of power costs nothing that the host has seen.
    Entry,
}

impl SyncPolicy {
    /// Every policy, the cheapest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Run, Self::Entry];

    /// The value of the option `--sync`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Run => "run",
            Self::Entry => "entry",
        }
    }

    /// Parses a value of the option `--sync`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == name)
    }
}

/// The file of the present session, or none.
#[derive(Debug, Default)]
pub struct Store {
    bound: Option<BoundFile>,
    sync: SyncPolicy,
    /// Largest file that is opened, in bytes; `None`: any.
    longest: Option<u64>,
    /// The session id that is reserved for this process.
    claim: Option<Claim>,
}

#[derive(Debug)]
struct BoundFile {
    path: PathBuf,
    /// The open file; `None`: it does not exist yet.
    file: Option<OpenFile>,
}

/// Why a file cannot be opened as a session. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has or begins a session of that id.
    #[error("Session '{0}' is in use by another process")]
    IdInUse(String),
    /// Another process has locked the file.
    #[error("Session file is in use by another process: {}", .0.display())]
    InUse(PathBuf),
    /// The content is no session.
    #[error("{} is no session file", .0.display())]
    NotASession(PathBuf),
    /// The path is a directory, a pipe or a device.
    #[error("Not a session file (not a regular file): {}", .0.display())]
    NotAFile(PathBuf),
    /// The file is larger than the limit.
    #[error("Session file has {} bytes, the limit is {} (--max-session): {}", .1, .2, .0.display())]
    TooLong(PathBuf, u64, u64),
    /// The system cannot open or read the file.
    #[error("Cannot open session file {}: {}", .0.display(), .1)]
    Refused(PathBuf, io::Error),
}

impl OpenError {
    /// The text for hosts, in the words of their dialect.
    pub fn host_text(&self, base: Base) -> String {
        match self {
            Self::NotASession(path) => errors::not_a_session(base, &path.display().to_string()),
            _ => self.to_string(),
        }
    }
}

/// Why nothing was written. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No file is bound.
    #[error("No session file is open")]
    Unbound,
    /// Another program has changed, replaced or removed the file.
    #[error("Session file was changed or removed by another program; nothing was written: {}", .0.display())]
    Changed(PathBuf),
    /// The system cannot write: the file is read-only, the disk is full.
    #[error("Cannot write session file {}: {}", .0.display(), .1)]
    Refused(PathBuf, io::Error),
}

impl Store {
    /// Creates a store that opens files of at most `bytes` bytes: sessions are held in memory whole.
    pub const fn with_limit(bytes: u64) -> Self {
        Self { bound: None, sync: SyncPolicy::None, longest: Some(bytes), claim: None }
    }

    /// Reserves the id of a session in `folder` for as long as the store lives. Without locks or write access it
    /// reserves nothing.
    pub fn claim(&mut self, folder: &Path, id: &str) -> Result<(), OpenError> {
        match Claim::take(folder, id) {
            Ok(None) => Err(OpenError::IdInUse(id.to_owned())),
            Ok(claim) => {
                self.claim = claim;
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// Sets when files are synced to the disk.
    pub const fn synced(mut self, sync: SyncPolicy) -> Self {
        self.sync = sync;
        self
    }

    /// The bound path, whether the file exists yet or not.
    pub fn path(&self) -> Option<&Path> {
        self.bound.as_ref().map(|bound| bound.path.as_path())
    }

    /// Whether the bound file exists.
    pub fn exists(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| bound.file.is_some())
    }

    /// Binds the path of a new session; writes nothing yet.
    pub fn bind(&mut self, path: PathBuf) {
        self.bound = Some(BoundFile { path, file: None });
    }

    /// Unbinds and unlocks the file; other processes may open it.
    pub fn release(&mut self) {
        self.bound = None;
    }

    /// Opens the session at `path` and binds it; on failure the bound file stays.
    ///
    /// A missing or empty file is a session that has yet to begin. A torn last line is cut off, and a file of an
    /// earlier version is migrated; if the file is read-only, the first write fails.
    pub fn open(&mut self, path: &Path, random: &mut fastrand::Rng) -> Result<OpenedSession, OpenError> {
        self.open_if_awaited(path, random, &|| true)
    }

    /// Like [`open`](Self::open), but binds the file only if `is_awaited` returns true once it is read.
    pub fn open_if_awaited(
        &mut self,
        path: &Path,
        random: &mut fastrand::Rng,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<OpenedSession, OpenError> {
        let refused = |error| OpenError::Refused(path.to_owned(), error);
        let Some((mut open, is_ours)) = self.locked(path)? else {
            if is_awaited() {
                self.bind(path.to_owned());
            }
            return Ok(OpenedSession { path: path.into(), tree: None, notices: Vec::new() });
        };
        if let Some(longest) = self.longest.filter(|longest| open.length > *longest) {
            return Err(OpenError::TooLong(path.to_owned(), open.length, longest));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(open.length).unwrap_or_default());
        if is_ours {
            open.file.rewind().map_err(refused)?;
        }
        open.file.read_to_end(&mut bytes).map_err(refused)?;
        open.length = bytes.len() as u64;
        let opened = match Tree::read(Bytes::from(bytes), random) {
            Ok(ParsedFile { tree, mut notices, migrated, ending }) => {
                match ending {
                    FileEnd::Whole => {}
                    FileEnd::NoLineFeed => open.lacks_feed = true,
                    FileEnd::Torn { at } => open.cut(at as u64),
                }
                if migrated && open.refusal.is_none() {
                    open.refusal = replace(path, &mut open, tree.lines()).err();
                }
                notices.extend(tree.context_notices());
                OpenedSession { path: path.into(), tree: Some(tree), notices }
            }
            Err(ReadError::Empty) => OpenedSession { path: path.into(), tree: None, notices: Vec::new() },
            Err(ReadError::TornHeader) => {
                let notice =
                    Notice::Torn { line: 1, bytes: usize::try_from(open.length).unwrap_or_default() };
                open.cut(0);
                OpenedSession { path: path.into(), tree: None, notices: vec![notice] }
            }
            Err(ReadError::NoHeader) => return Err(OpenError::NotASession(path.to_owned())),
        };
        if is_awaited() {
            self.bound = Some(BoundFile { path: path.to_owned(), file: Some(open) });
        }
        Ok(opened)
    }

    /// Opens and locks the file at `path`; `None`: there is none. The flag tells whether it was bound already.
    fn locked(&self, path: &Path) -> Result<Option<(OpenFile, bool)>, OpenError> {
        let refused = |error| OpenError::Refused(path.to_owned(), error);
        for attempt in 0..=LOCK_ATTEMPTS {
            if attempt > 0 {
                thread::sleep(LOCK_WAIT);
            }
            // Checked before opening: opening a pipe would wait for a writer.
            let there = match fs::metadata(path) {
                Ok(there) if there.is_file() => there,
                Ok(_) => return Err(OpenError::NotAFile(path.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(refused(error)),
            };
            let own = self.bound.as_ref().and_then(|bound| bound.file.as_ref());
            let own = own.filter(|own| own.file.metadata().is_ok_and(|own| is_same(&own, &there)));
            let again = |own: &OpenFile| {
                let file = own.file.try_clone().map_err(refused)?;
                Ok(Some((
                    OpenFile {
                        file,
                        length: there.len(),
                        lacks_feed: false,
                        refusal: None,
                        needs_folder_sync: false,
                    },
                    true,
                )))
            };
            // A file that could not be written to is opened again.
            if let Some(own) = own.filter(|own| own.refusal.is_none()) {
                return again(own);
            }
            let open = match OpenOptions::new().read(true).append(true).open(path) {
                Ok(file) => OpenFile {
                    file,
                    length: there.len(),
                    lacks_feed: false,
                    refusal: None,
                    needs_folder_sync: false,
                },
                Err(error) => {
                    let file = File::open(path).map_err(refused)?;
                    // A read-only file needs no lock.
                    let open = OpenFile {
                        file,
                        length: there.len(),
                        lacks_feed: false,
                        refusal: Some(error),
                        needs_folder_sync: false,
                    };
                    return Ok(Some((open, false)));
                }
            };
            match (open.file.try_lock(), own) {
                // This process holds the lock.
                (Err(TryLockError::WouldBlock), Some(own)) => return again(own),
                (Err(TryLockError::WouldBlock), None) => continue,
                // Where the file system has no locks, the comparison before each write has to do.
                (Ok(()) | Err(TryLockError::Error(_)), _) => {}
            }
            // The process that held the lock may have replaced the file.
            if fs::metadata(path)
                .is_ok_and(|there| open.file.metadata().is_ok_and(|own| is_same(&own, &there)))
            {
                return Ok(Some((open, false)));
            }
        }
        Err(OpenError::InUse(path.to_owned()))
    }

    /// Makes a change of the session's file.
    pub fn write(&mut self, write: &Write) -> Result<(), WriteError> {
        self.write_if_awaited(write, &|| true)
    }

    /// Like [`write`](Self::write), but reverts the change if `is_awaited` returns false once it is written.
    pub fn write_if_awaited(
        &mut self,
        write: &Write,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<(), WriteError> {
        match write {
            Write::Create { path, lines } if self.path() != Some(path) => {
                let before = self.bound.take();
                let created = self.create(path.to_path_buf(), lines.clone());
                if created.is_err() || !is_awaited() {
                    self.bound.take().iter().for_each(BoundFile::remove);
                    self.bound = before;
                }
                created
            }
            Write::Create { lines, .. } => self.append_if_awaited(lines.clone(), is_awaited),
            Write::Append(line) => self.append_if_awaited([line.clone()], is_awaited),
            // Nothing to revert.
            Write::Sync => self.sync(),
            Write::Rewrite(lines) => {
                let old = self.bound.as_ref().and_then(|bound| bound.file.as_ref()?.file.try_clone().ok());
                self.rewrite(lines.clone())?;
                if !is_awaited()
                    && let (Some(mut old), Some(bound)) = (old, &mut self.bound)
                    && let Some(open) = &mut bound.file
                {
                    let mut bytes = Vec::new();
                    let restored = old.rewind().and_then(|()| old.read_to_end(&mut bytes));
                    let restored = restored.and_then(|_| replace(&bound.path, open, [Bytes::from(bytes)]));
                    open.refusal = restored.err();
                }
                Ok(())
            }
        }
    }

    fn append_if_awaited(
        &mut self,
        lines: impl IntoIterator<Item = Bytes>,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<(), WriteError> {
        let before = self.bound.as_ref().and_then(|bound| bound.file.as_ref());
        let before = before.map(|open| (open.length, open.lacks_feed));
        self.append(lines)?;
        if !is_awaited()
            && let Some(bound) = &mut self.bound
        {
            match (before, &mut bound.file) {
                (Some((length, lacks_feed)), Some(open)) => {
                    open.cut(length);
                    open.lacks_feed = lacks_feed;
                }
                _ => {
                    bound.remove();
                    bound.file = None;
                }
            }
        }
        Ok(())
    }

    /// Creates a file at `path`, which must not exist, and binds it; on failure the bound file stays.
    pub fn create(
        &mut self,
        path: PathBuf,
        lines: impl IntoIterator<Item = Bytes>,
    ) -> Result<(), WriteError> {
        let mut bound = BoundFile { path, file: None };
        bound.append(lines, self.sync)?;
        self.bound = Some(bound);
        Ok(())
    }

    /// Appends lines, line feeds included, to the bound file, which is created if it does not exist. All or none of
    /// them are in the file afterwards.
    pub fn append(&mut self, lines: impl IntoIterator<Item = Bytes>) -> Result<(), WriteError> {
        self.bound.as_mut().ok_or(WriteError::Unbound)?.append(lines, self.sync)
    }

    /// Syncs the bound file to the disk.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        let bound = self.bound.as_mut().ok_or(WriteError::Unbound)?;
        let synced = bound.file.as_mut().map_or(Ok(()), |open| open.sync(&bound.path));
        synced.map_err(|error| WriteError::Refused(bound.path.clone(), error))
    }

    /// Replaces the bound file's content atomically.
    pub fn rewrite(&mut self, lines: impl IntoIterator<Item = Bytes>) -> Result<(), WriteError> {
        let bound = self.bound.as_mut().ok_or(WriteError::Unbound)?;
        let Some(open) = &mut bound.file else { return bound.append(lines, self.sync) };
        open.unchanged(&bound.path)?;
        replace(&bound.path, open, lines).map_err(|error| WriteError::Refused(bound.path.clone(), error))
    }
}

/// Attempts to lock: the present holder may be about to exit.
const LOCK_ATTEMPTS: u32 = 10;
/// Pause between two attempts.
const LOCK_WAIT: Duration = Duration::from_millis(50);

impl BoundFile {
    /// Removes the file, if it is still the one that was created.
    fn remove(&self) {
        if self.file.as_ref().is_some_and(|open| open.is_own(&self.path)) {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn append(&mut self, lines: impl IntoIterator<Item = Bytes>, sync: SyncPolicy) -> Result<(), WriteError> {
        let refused = |error| WriteError::Refused(self.path.clone(), error);
        let is_new = self.file.is_none();
        let open = match &mut self.file {
            Some(open) => {
                open.unchanged(&self.path)?;
                open
            }
            None => {
                let created = create_locked(&self.path).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => WriteError::Changed(self.path.clone()),
                    _ => refused(error),
                })?;
                self.file.insert(created)
            }
        };
        let synced = (sync == SyncPolicy::Entry).then_some(self.path.as_path());
        let result = open.append(lines, synced).map_err(refused);
        // An empty file would make the next attempt fail.
        if result.is_err() && is_new && open.is_own(&self.path) {
            let _ = fs::remove_file(&self.path);
            self.file = None;
        }
        result
    }
}
