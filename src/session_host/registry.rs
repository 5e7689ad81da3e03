//! The sessions of a process: opens, finds, lists and closes them.

use super::{
    principal::Principal,
    session_task::{self, SessionHandle, SessionLimits, SessionRequest},
};
use crate::{
    protocol::{Dialect, ListedSession, MultiSessionErrorCode, SessionStatus, ThinkingLevel},
    server::SessionOptions,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// A session that is to be opened.
#[derive(Clone, Debug, Default)]
pub struct OpenRequest {
    /// Who opens it; `None`: a local client.
    pub owner: Option<Arc<Principal>>,
    /// The dialect; `None`: that of the host's options.
    pub dialect: Option<Dialect>,
    /// Where the session begins.
    pub start: Start,
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// The provider of a new session's model.
    pub provider: Option<String>,
    /// The id of a new session's model.
    pub model: Option<String>,
    /// The thinking level of a new session.
    pub level: Option<ThinkingLevel>,
    /// The display name of a new session.
    pub name: Option<String>,
    /// Tools that the client does without.
    pub tool_limits: ToolLimits,
}

/// Tools that a client does without, of those that the host offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolLimits {
    /// The only ones that are offered; `None`: all that the host offers.
    pub only: Option<Vec<String>>,
    /// Ones that are not offered.
    pub without: Vec<String>,
    /// Patterns of those whose calls need consent.
    pub confirmed: Vec<String>,
}

/// Where a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// A new one, kept as the host's options say.
    #[default]
    New,
    /// A new one, without a file.
    InMemory,
    /// The newest one of its working directory, else a new one.
    Newest,
    /// This file, or the session whose id begins so. A file that does not exist is created.
    Named(String),
    /// A copy of this one.
    Fork(String),
}

impl OpenRequest {
    /// The dialect that a client names.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub fn dialect(name: Option<&str>) -> Result<Option<Dialect>, HostError> {
        let Some(name) = name else { return Ok(None) };
        let known = Dialect::ALL.map(Dialect::as_str).join(", ");
        let unknown = || HostError::OpenFailed(format!("dialect: expected one of {known}, got {name:?}"));
        Dialect::parse(name).map(Some).ok_or_else(unknown)
    }
}

impl Start {
    /// The file or id of the session that is resumed.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::New | Self::InMemory | Self::Newest | Self::Fork(_) => None,
        }
    }
}

/// A session that is listed as being opened.
pub struct ReservedSession {
    id: String,
    request: OpenRequest,
}

/// Makes the options of a session, within the limits of its owner. May block.
pub type OpenSession = dyn Fn(OpenRequest) -> Result<SessionOptions, HostError> + Send + Sync;

/// What an operation of [`SharedSessions`] returns.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sessions that several processes share: they outlive each of them.
pub trait SharedSessions: Send + Sync {
    /// Opens a session, which gets the name `id` if it is new.
    fn open(&self, id: String, request: OpenRequest) -> Pending<'_, Result<SessionHandle, HostError>>;
    /// The session with this name, whichever process has it.
    fn find(&self, name: String) -> Pending<'_, Result<SessionHandle, HostError>>;
    /// All open sessions, with the names of their owners.
    fn list(&self) -> Pending<'_, Vec<(String, ListedSession)>>;
    /// Leaves the sessions of this process to the others.
    fn leave(&self) -> Pending<'_, ()>;
}

/// All sessions of a process.
pub struct SessionHost {
    open_session: Arc<OpenSession>,
    limits: SessionLimits,
    sessions: Mutex<BTreeMap<String, Entry>>,
    /// Whether sessions are being closed because the process is to end.
    is_draining: AtomicBool,
    /// Sessions that are shared with other processes; `None`: all are of this one.
    shared: Option<Arc<dyn SharedSessions>>,
    /// Whether the process is to end. Each connection has a receiver.
    stop: watch::Sender<bool>,
}

/// How long connections have to write what is pending when the process ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

enum Entry {
    Opening {
        path: Option<String>,
        directory: Option<PathBuf>,
        owner: Arc<Principal>,
    },
    Open(SessionHandle),
    /// A session that other processes know, too.
    Shared(SessionHandle),
}

/// Why a command to the process is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// No open session has this name.
    UnknownSession,
    /// The session is being opened.
    SessionOpening,
    /// The session is being closed.
    SessionClosing,
    /// The file is open, or being opened.
    PathInUse,
    /// The frame names no session.
    MissingSessionId,
    /// The working directory is not an absolute path.
    InvalidPath,
    /// The session cannot be started, for this reason.
    OpenFailed(String),
    /// A limit of the client's token forbids it: the code, and the limit.
    Forbidden(MultiSessionErrorCode, String),
    /// What connects the processes that share sessions cannot be reached, for this reason.
    ClusterUnavailable(String),
}

impl HostError {
    /// The code.
    pub const fn code(&self) -> MultiSessionErrorCode {
        match self {
            Self::UnknownSession => MultiSessionErrorCode::UnknownSession,
            Self::SessionOpening => MultiSessionErrorCode::SessionOpening,
            Self::SessionClosing => MultiSessionErrorCode::SessionClosing,
            Self::PathInUse => MultiSessionErrorCode::SessionPathInUse,
            Self::MissingSessionId => MultiSessionErrorCode::MissingSessionId,
            Self::InvalidPath => MultiSessionErrorCode::InvalidPath,
            Self::OpenFailed(_) => MultiSessionErrorCode::OpenFailed,
            Self::ClusterUnavailable(_) => MultiSessionErrorCode::ClusterUnavailable,
            Self::Forbidden(code, _) => *code,
        }
    }

    /// The code and what follows it, as `error` has it.
    pub fn text(&self) -> String {
        let code = self.code().as_str();
        match self {
            Self::OpenFailed(reason) | Self::ClusterUnavailable(reason) | Self::Forbidden(_, reason) => {
                format!("{code}: {reason}")
            }
            _ => code.to_owned(),
        }
    }

    fn too_many_sessions(limit: usize) -> Self {
        let text = format!("sessions: {limit}; close one before you open another");
        Self::Forbidden(MultiSessionErrorCode::TooManySessions, text)
    }
}

impl SessionHost {
    /// A process without sessions, which `open_session` makes the options of.
    pub fn new(open_session: Arc<OpenSession>, limits: SessionLimits) -> Arc<Self> {
        Self::with_shared(open_session, limits, None)
    }

    /// A process whose sessions are shared with others, but for those in memory.
    pub fn with_shared(
        open_session: Arc<OpenSession>,
        limits: SessionLimits,
        shared: Option<Arc<dyn SharedSessions>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            open_session,
            limits,
            sessions: Mutex::default(),
            is_draining: AtomicBool::new(false),
            shared,
            stop: watch::Sender::new(false),
        })
    }

    /// Opens a session.
    ///
    /// # Errors
    ///
    /// The directory is not absolute, the file is open already, or the session cannot be started.
    pub async fn open(self: &Arc<Self>, request: OpenRequest) -> Result<SessionHandle, HostError> {
        let opening = self.reserve(request)?;
        self.start(opening).await
    }

    /// Lists a session as being opened; [`start`](Self::start) opens it.
    ///
    /// # Errors
    ///
    /// The directory is not absolute, the file is open already, or the owner has too many sessions.
    pub fn reserve(&self, request: OpenRequest) -> Result<ReservedSession, HostError> {
        if request.directory.as_deref().is_some_and(|directory| !directory.is_absolute()) {
            return Err(HostError::InvalidPath);
        }
        let id = random_id()?;
        let mut sessions = self.sessions();
        if request.start.name().is_some_and(|path| is_in_use(&sessions, path)) {
            return Err(HostError::PathInUse);
        }
        let owner = request.owner.clone().unwrap_or_else(Principal::local);
        if let Some(limit) = owner.limits.sessions
            && sessions.values().filter(|entry| entry.owner().name == owner.name).count() >= limit
        {
            return Err(HostError::too_many_sessions(limit));
        }
        let path = request.start.name().map(str::to_owned);
        let directory = request.directory.clone();
        sessions.insert(id.clone(), Entry::Opening { path, directory, owner });
        Ok(ReservedSession { id, request })
    }

    /// Opens a session that is listed.
    ///
    /// # Errors
    ///
    /// It cannot be started, or its file is open already under another name.
    pub async fn start(self: &Arc<Self>, reserved: ReservedSession) -> Result<SessionHandle, HostError> {
        let ReservedSession { id, request } = reserved;
        if let Some(shared) = self.shared.as_ref().filter(|_| request.start != Start::InMemory) {
            let opened = shared.open(id.clone(), request).await;
            self.sessions().remove(&id);
            return opened.map(|handle| self.remember(handle));
        }
        let open_session = self.open_session.clone();
        let owner = request.owner.clone().unwrap_or_else(Principal::local);
        let options = tokio::task::spawn_blocking(move || open_session(request)).await;
        let started = match options {
            Ok(Ok(options)) => session_task::start(id.clone(), options, self.limits, owner, None)
                .map_err(HostError::OpenFailed),
            Ok(Err(error)) => Err(error),
            Err(error) => Err(HostError::OpenFailed(error.to_string())),
        };
        let handle = match started {
            Ok(handle) => handle,
            Err(error) => {
                self.sessions().remove(&id);
                return Err(error);
            }
        };
        let is_in_use = {
            let mut sessions = self.sessions();
            sessions.remove(&id);
            let path = handle.info.borrow().path.clone();
            let is_in_use = path.is_some_and(|path| is_open(&sessions, &path));
            if !is_in_use {
                sessions.insert(id.clone(), Entry::Open(handle.clone()));
            }
            is_in_use
        };
        if is_in_use {
            close(&handle).await;
            return Err(HostError::PathInUse);
        }
        let (host, mut ended) = (self.clone(), handle.ended.clone());
        tokio::spawn(async move {
            // A task that is gone without a word has ended, too.
            let _ = ended.wait_for(Option::is_some).await;
            host.sessions().remove(&id);
        });
        Ok(handle)
    }

    /// Keeps the handle of a session that is shared, as long as there are clients.
    fn remember(self: &Arc<Self>, handle: SessionHandle) -> SessionHandle {
        let (id, mut ended) = (handle.id.clone(), handle.ended.clone());
        self.sessions().insert(id.clone(), Entry::Shared(handle.clone()));
        let (host, lines) = (self.clone(), handle.lines.clone());
        tokio::spawn(async move {
            let _ = ended.wait_for(Option::is_some).await;
            let mut sessions = host.sessions();
            if matches!(sessions.get(&id), Some(Entry::Shared(known)) if known.lines.same_channel(&lines)) {
                sessions.remove(&id);
            }
        });
        handle
    }

    /// The open session with this name, of this process or another one.
    ///
    /// # Errors
    ///
    /// There is none, or it is being opened or closed.
    pub async fn find_anywhere(self: &Arc<Self>, name: &str) -> Result<SessionHandle, HostError> {
        match (self.find(name), &self.shared) {
            (Ok(handle), _) if !handle.requests.is_closed() => Ok(handle),
            (Ok(_) | Err(HostError::UnknownSession), Some(shared)) => {
                shared.find(name.to_owned()).await.map(|handle| self.remember(handle))
            }
            (found, _) => found,
        }
    }

    /// The open session of this process with this name: its handle, or the id in its file.
    ///
    /// # Errors
    ///
    /// There is none, or it is being opened or closed.
    pub fn find(&self, name: &str) -> Result<SessionHandle, HostError> {
        let sessions = self.sessions();
        let handle = match sessions.get(name) {
            Some(Entry::Open(handle) | Entry::Shared(handle)) => handle,
            Some(Entry::Opening { .. }) => return Err(HostError::SessionOpening),
            None => sessions
                .values()
                .find_map(|entry| match entry {
                    Entry::Open(handle) if handle.info.borrow().durable_id == name => Some(handle),
                    _ => None,
                })
                .ok_or(HostError::UnknownSession)?,
        };
        match handle.info.borrow().status {
            SessionStatus::Closing => Err(HostError::SessionClosing),
            _ => Ok(handle.clone()),
        }
    }

    /// The name of the owner of a session that is open or being opened.
    pub fn owner(&self, name: &str) -> Option<String> {
        let sessions = self.sessions();
        let is_it = |entry: &&Entry| match entry {
            Entry::Open(handle) | Entry::Shared(handle) => handle.info.borrow().durable_id == name,
            Entry::Opening { .. } => false,
        };
        let found = sessions.get(name).or_else(|| sessions.values().find(is_it));
        found.map(|entry| entry.owner().name.clone())
    }

    /// Closes a session: aborts what is active, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// There is none, or it is being opened or closed.
    pub async fn close(self: &Arc<Self>, name: &str) -> Result<(), HostError> {
        let handle = self.find_anywhere(name).await?;
        close(&handle).await;
        self.sessions().remove(&handle.id);
        Ok(())
    }

    /// The sessions whose owner `is_seen` accepts, with those that are being opened or closed.
    pub async fn list(&self, is_seen: impl Fn(&str) -> bool) -> Vec<ListedSession> {
        let shared = match &self.shared {
            Some(shared) => shared.list().await,
            None => Vec::new(),
        };
        let mut listed = self.list_own(&is_seen);
        let is_new = |id: &String, own: &[ListedSession]| own.iter().all(|own| own.session_id != *id);
        let others = shared
            .into_iter()
            .filter(|(owner, session)| is_seen(owner) && is_new(&session.session_id, &listed));
        let others: Vec<ListedSession> = others.map(|(_, session)| session).collect();
        listed.extend(others);
        listed.sort_by(|one, other| one.session_id.cmp(&other.session_id));
        listed
    }

    /// The sessions of this process alone whose owner `is_seen` accepts.
    pub fn list_own(&self, is_seen: impl Fn(&str) -> bool) -> Vec<ListedSession> {
        let sessions = self.sessions();
        let own = sessions.iter().filter(|(_, entry)| !matches!(entry, Entry::Shared(_)));
        let seen = own.filter(|(_, entry)| is_seen(&entry.owner().name));
        let listed = seen.map(|(id, entry)| match entry {
            Entry::Opening { path, directory, .. } => ListedSession {
                session_id: id.clone(),
                durable_session_id: None,
                session_path: path.clone(),
                cwd: directory.as_deref().map(text).unwrap_or_default(),
                name: None,
                status: SessionStatus::Opening,
            },
            Entry::Open(handle) | Entry::Shared(handle) => {
                let info = handle.info.borrow();
                ListedSession {
                    session_id: id.clone(),
                    durable_session_id: Some(info.durable_id.clone()),
                    session_path: info.path.as_deref().map(text),
                    cwd: text(&info.directory),
                    name: info.name.clone(),
                    status: info.status,
                }
            }
        });
        listed.collect()
    }

    /// Tells a connection that the process is to end; it holds the process up until it is dropped.
    pub fn stop(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Whether a session runs, or is being opened or closed.
    pub fn is_busy(&self) -> bool {
        use SessionStatus::{Closing, Opening, Running};
        self.list_own(|_| true).iter().any(|session| matches!(session.status, Opening | Running | Closing))
    }

    /// Whether the process is to end, and sessions are being closed.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Closes all sessions, but for those that are left to other processes, and waits a while for connections to write
    /// what is pending.
    pub async fn shut_down(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        let open: Vec<SessionHandle> = self
            .sessions()
            .values()
            .filter_map(|entry| match entry {
                Entry::Open(handle) => Some(handle.clone()),
                Entry::Opening { .. } | Entry::Shared(_) => None,
            })
            .collect();
        if let Some(shared) = &self.shared {
            shared.leave().await;
        }
        futures_util::future::join_all(open.iter().map(close)).await;
        self.stop.send_replace(true);
        // Who has not read by then does not.
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.stop.closed()).await;
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn owner(&self) -> &Principal {
        match self {
            Self::Opening { owner, .. } => owner,
            Self::Open(handle) | Self::Shared(handle) => &handle.owner,
        }
    }
}

async fn close(handle: &SessionHandle) {
    // A task that is gone has closed the session.
    let _ = handle.requests.send(SessionRequest::Close).await;
    let _ = handle.ended.clone().wait_for(Option::is_some).await;
}

/// Whether the file that a client names is open or being opened.
fn is_in_use(sessions: &BTreeMap<String, Entry>, path: &str) -> bool {
    let being_opened = sessions
        .values()
        .any(|entry| matches!(entry, Entry::Opening { path: Some(opening), .. } if opening == path));
    being_opened || is_open(sessions, Path::new(path))
}

fn is_open(sessions: &BTreeMap<String, Entry>, path: &Path) -> bool {
    sessions.values().any(|entry| match entry {
        Entry::Open(handle) => handle.info.borrow().path.as_deref() == Some(path),
        Entry::Opening { .. } | Entry::Shared(_) => false,
    })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A random name, which cannot be guessed.
fn random_id() -> Result<String, HostError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| HostError::OpenFailed(error.to_string()))?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}
