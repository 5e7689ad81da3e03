//! The log of a session: its entries in a stream, as the lines of session files, with records about the files themselves.
//!
//! A handle has one log, in which its session files follow each other: `new_session`, `fork` and the like begin another file, and
//! an earlier one may be opened again. A new owner reads the log and appends an `owner` record: an owner before it cannot append
//! any more.

use super::{
    connection::{Connection, ENTRIES, subject},
    decisions::ownership::may_follow,
    fenced::{AppendError, FencedSubject, header, number},
    lease::Lease,
    tail::read_all,
};
use async_nats::HeaderMap;
use bytes::Bytes;
use indexmap::IndexMap;
use pi_rpc_server::{Files, seed};
use pi_rpc_session::{OpenedSession, Tree, Write};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::runtime::Handle;

/// What a record does.
const RECORD: &str = "Pi-Rpc-Record";
/// The session file that it is about.
const FILE: &str = "Pi-Rpc-File";
/// The owner that has written it.
const NODE: &str = "Pi-Rpc-Node";
/// Counts the owners.
const EPOCH: &str = "Pi-Rpc-Epoch";

/// What a log holds.
#[derive(Debug, Default)]
pub struct LogContent {
    /// Lines of each session file, by its path.
    files: IndexMap<PathBuf, Vec<Bytes>>,
    /// The file that is open.
    current: Option<PathBuf>,
    /// The owner that has written last.
    pub epoch: u64,
    /// The stream sequence of the last message; 0: there is none.
    pub last: u64,
}

impl LogContent {
    /// Reads the log of a session.
    ///
    /// # Errors
    ///
    /// NATS does not answer in time.
    pub async fn read(connection: &Connection, session: &str) -> Result<Self, String> {
        let mut content = Self::default();
        let name = subject(ENTRIES, session);
        let end = read_all(&connection.entries, &name, |stored| {
            content.apply(&stored.headers, stored.payload);
        });
        content.last = end.await?.last;
        Ok(content)
    }

    fn apply(&mut self, headers: &HeaderMap, payload: Bytes) {
        let file = header(headers, FILE).map(PathBuf::from);
        self.epoch = number(headers, EPOCH).unwrap_or(self.epoch);
        match (header(headers, RECORD), file) {
            (Some("create"), Some(path)) => {
                self.files.insert(path.clone(), vec![payload]);
                self.current = Some(path);
            }
            (Some("open"), path) => self.current = path,
            (Some("append"), Some(path)) => self.files.entry(path).or_default().push(payload),
            (Some("rewrite"), Some(path)) => drop(self.files.insert(path, vec![payload])),
            _ => {}
        }
    }

    /// The lines of a session file.
    pub fn lines(&self, path: &Path) -> Option<Bytes> {
        self.files.get(path).map(|lines| lines.concat().into())
    }

    /// The session file that is open.
    pub fn current(&self) -> Option<&Path> {
        self.current.as_deref()
    }

    /// The session that is open.
    ///
    /// # Errors
    ///
    /// Its lines are no session.
    pub fn session(&self) -> Result<Option<OpenedSession>, String> {
        self.current().map(|path| self.open(path)).transpose()
    }

    fn open(&self, path: &Path) -> Result<OpenedSession, String> {
        let lines =
            self.lines(path).ok_or_else(|| format!("{}: no such session in the cluster", path.display()))?;
        let read = Tree::read(lines, &mut fastrand::Rng::with_seed(seed()));
        let read = read.map_err(|_| format!("{} is no session", path.display()))?;
        Ok(OpenedSession { path: path.into(), tree: Some(read.tree), notices: read.notices })
    }
}

/// The log of a session, as its owner writes it.
pub struct EntryLog {
    connection: Connection,
    session: String,
    subject: FencedSubject,
    node: String,
    epoch: u64,
    path: Option<PathBuf>,
}

impl EntryLog {
    /// Takes the log over: from now on no earlier owner can append.
    ///
    /// # Errors
    ///
    /// Another node has taken it with a higher epoch, NATS refuses it or cannot be read, or the lease has ended.
    pub async fn take(
        connection: &Connection,
        session: &str,
        epoch: u64,
        lease: &Lease,
    ) -> Result<(Self, LogContent), AppendError> {
        loop {
            let content = LogContent::read(connection, session).await.map_err(AppendError::Refused)?;
            if !may_follow(content.epoch, epoch) {
                return Err(AppendError::Fenced);
            }
            let (context, name) = (&connection.context, subject(ENTRIES, session));
            let subject = FencedSubject::new(context, &connection.entries, name, content.last, lease.clone());
            let path = content.current().map(Path::to_owned);
            let (connection, session) = (connection.clone(), session.to_owned());
            let mut log = Self { connection, session, subject, node: lease.id().to_owned(), epoch, path };
            match log.append("owner", None, Bytes::new()).await {
                Ok(()) => return Ok((log, content)),
                // The owner before has appended meanwhile.
                Err(AppendError::Fenced) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a change of the session's file.
    ///
    /// # Errors
    ///
    /// Another node has taken the session, NATS refuses it, or the lease has ended.
    pub async fn write(&mut self, write: &Write) -> Result<(), AppendError> {
        match write {
            Write::Create { path, lines } => {
                self.append("create", Some(path), lines.concat().into()).await?;
                self.path = Some(path.to_path_buf());
                Ok(())
            }
            Write::Append(lines) => self.append("append", self.path.clone().as_deref(), lines.clone()).await,
            Write::Rewrite(lines) => {
                self.append("rewrite", self.path.clone().as_deref(), lines.concat().into()).await
            }
            // What is acknowledged is on most of the servers.
            Write::Sync => Ok(()),
        }
    }

    /// Opens an earlier session file of the log.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub async fn open(&mut self, path: &Path) -> Result<OpenedSession, String> {
        let content = LogContent::read(&self.connection, &self.session).await?;
        let opened = content.open(path)?;
        self.append("open", Some(path), Bytes::new()).await.map_err(|error| error.to_string())?;
        self.path = Some(path.to_owned());
        Ok(opened)
    }

    async fn append(&mut self, record: &str, file: Option<&Path>, payload: Bytes) -> Result<(), AppendError> {
        let mut headers = HeaderMap::new();
        headers.insert(RECORD, record);
        headers.insert(NODE, self.node.as_str());
        headers.insert(EPOCH, self.epoch.to_string());
        if let Some(file) = file {
            headers.insert(FILE, file.to_string_lossy().as_ref());
        }
        self.subject.append(&headers, payload).await.map(drop)
    }
}

/// [`Files`] of a session in the cluster. They block on the acknowledgement of NATS.
pub struct EntryFiles {
    /// The log.
    pub log: EntryLog,
    /// The runtime that NATS is served by.
    pub runtime: Handle,
}

impl Files for EntryFiles {
    fn path(&self) -> Option<&Path> {
        self.log.path.as_deref()
    }

    fn write(&mut self, write: &Write, is_awaited: &dyn Fn() -> bool) -> Result<(), String> {
        // What is published cannot be undone, so it counts from now on.
        if !is_awaited() {
            return Err("the write came too late".to_owned());
        }
        let file = self.log.path.clone().unwrap_or_default();
        let written = self.runtime.block_on(self.log.write(write));
        written.map_err(|error| format!("Cannot write session file {}: {error}", file.display()))
    }

    fn open(&mut self, path: &Path, is_awaited: &dyn Fn() -> bool) -> Result<OpenedSession, String> {
        if !is_awaited() {
            return Err("the session was opened too late".to_owned());
        }
        self.runtime.block_on(self.log.open(path))
    }

    fn release(&mut self) {
        self.log.path = None;
    }

    fn grace(&self) -> Duration {
        // The loop must not hold up the thread that serves NATS.
        Duration::ZERO
    }
}
