//! The sessions of a process: opens, finds, lists and closes them.

use super::{
    field_lengths,
    file_owners::FileOwners,
    host_error::HostError,
    host_status::{HostRow, SessionRow, lone_host},
    open_request::{OpenRequest, Start},
    other_server::OtherServer,
    permission::{Permitted, SessionOwner, permit},
    principal::Principal,
    records::{Records, StoredSession},
    registry_entry::{Entry, Reopening, opened, permit_handle, user},
    session_handle::{
        Attach, Attached, Resumption, SessionEnd, SessionHandle, SessionLimits, SessionRequest,
    },
    shared_sessions::{RecordCounts, SharedSessions},
};
use pi_rpc_protocol::{Dialect, ListedSession, SessionStatus};
use pi_rpc_server::SessionOptions;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{oneshot, watch};

/// A session that is listed as being opened.
pub struct ReservedSession {
    id: String,
    request: OpenRequest,
}

/// Makes the options of a session, within the limits of its owner. May block.
pub type OpenSession = dyn Fn(OpenRequest) -> Result<SessionOptions, HostError> + Send + Sync;

/// Where the sessions of a host come from.
pub struct SessionSource {
    /// Makes the options of a session.
    pub open: Arc<OpenSession>,
    /// Another's server, which serves the sessions in place of this program.
    pub other: Option<OtherServer>,
    /// Lists the folders with the files of sessions. May block.
    pub folders: Box<dyn Fn() -> Vec<PathBuf> + Send + Sync>,
    /// The dialect in which files of sessions are changed that are not open.
    pub dialect: Dialect,
    /// Whose the files of sessions are.
    pub owners: Arc<FileOwners>,
}

/// All sessions of a process.
pub struct SessionHost {
    pub(super) source: Arc<SessionSource>,
    pub(super) limits: SessionLimits,
    sessions: Mutex<BTreeMap<String, Entry>>,
    /// Whether sessions are being closed because the process is to end.
    is_draining: AtomicBool,
    /// Sessions that are shared with other processes; `None`: all are of this one.
    shared: Option<Arc<dyn SharedSessions>>,
    /// Where open sessions are noted, if a restart is to bring them back.
    pub(super) records: Option<Records>,
    /// Whether the process is to end. Each connection has a receiver.
    stop: watch::Sender<bool>,
}

/// How long connections have to write what is pending when the process ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

impl SessionHost {
    /// A process without open sessions. `records`: where open sessions are noted, and those that are there already. `shared`:
    /// sessions that other processes know, too.
    pub fn new(
        source: SessionSource,
        limits: SessionLimits,
        records: Option<(Records, Vec<StoredSession>)>,
        shared: Option<Arc<dyn SharedSessions>>,
    ) -> Arc<Self> {
        let (records, sessions) = records.unzip();
        let sessions =
            sessions.into_iter().flatten().map(|session| (session.id.clone(), Entry::stored(session)));
        Arc::new(Self {
            source: Arc::new(source),
            limits,
            sessions: Mutex::new(sessions.collect()),
            records,
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
    pub async fn open(self: &Arc<Self>, request: OpenRequest) -> Result<Permitted<SessionHandle>, HostError> {
        let opening = self.reserve(request)?;
        self.start(opening).await
    }

    /// Lists a session as being opened; [`start`](Self::start) opens it.
    ///
    /// # Errors
    ///
    /// A field is too long, the directory is not absolute, the file is open already, or the owner has too many sessions.
    pub fn reserve(&self, request: OpenRequest) -> Result<ReservedSession, HostError> {
        field_lengths::check_request(&request)?;
        if request.directory.as_deref().is_some_and(|directory| !directory.is_absolute()) {
            return Err(HostError::InvalidPath);
        }
        let id = random_id()?;
        let owner = request.owner.clone().unwrap_or_else(Principal::local);
        let mut sessions = self.sessions();
        if let Some(user) = request.start.name().and_then(|path| user(&sessions, path)) {
            return Err(user.permit(&owner, HostError::PathInUse)?.into_inner());
        }
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

    /// The folders with the files of sessions. May block.
    pub fn session_folders(&self) -> Vec<PathBuf> {
        (self.source.folders)()
    }

    /// The dialect in which files of sessions are changed that are not open.
    pub fn dialect(&self) -> Dialect {
        self.source.dialect
    }

    /// Opens a session that is listed.
    ///
    /// # Errors
    ///
    /// It cannot be started, or its file is open already under another name.
    pub async fn start(
        self: &Arc<Self>,
        reserved: ReservedSession,
    ) -> Result<Permitted<SessionHandle>, HostError> {
        let ReservedSession { id, request } = reserved;
        if let Some(shared) = self.shared.as_ref().filter(|_| request.start != Start::InMemory) {
            let owner = request.owner.clone().unwrap_or_else(Principal::local);
            let allowed = self.check_shared_count(shared.as_ref(), &owner, (&id, &request)).await;
            allowed.inspect_err(|_| drop(self.sessions().remove(&id)))?;
            let opened = shared.open(id.clone(), request).await;
            self.sessions().remove(&id);
            return opened.map(|handle| self.remember(handle));
        }
        let owner = request.owner.clone().unwrap_or_else(Principal::local);
        let handle = self.start_task(id.clone(), request.clone(), owner, Resumption::default(), false).await;
        let handle = handle.inspect_err(|_| drop(self.sessions().remove(&id)))?;
        let served = handle.served().await;
        served.inspect_err(|_| drop(self.sessions().remove(&id)))?;
        let path = handle.info.borrow().path.clone();
        // Before the session is announced: from then on its file may be named.
        let claimed = match path.clone() {
            Some(path) => self.claim(&handle.owner, path).await,
            None => Ok(()),
        };
        let entered = claimed.and_then(|()| {
            let mut sessions = self.sessions();
            match path.and_then(|path| opened(&sessions, &path)) {
                Some(user) => Err(user.permit(&handle.owner, HostError::PathInUse)?.into_inner()),
                None => {
                    let request = request.into();
                    sessions
                        .insert(id.clone(), Entry::Open { handle: handle.clone(), request, opened_at: 0 });
                    Ok(())
                }
            }
        });
        if let Err(error) = entered {
            self.sessions().remove(&id);
            end(&handle, SessionRequest::Close).await;
            return Err(error);
        }
        tokio::spawn(self.clone().follow(handle.clone()));
        permit_handle(&handle.owner.clone(), handle)
    }

    /// Checks how many sessions the owner has, here and on all other hosts, with the one that is being opened. Of two that are
    /// opened on two hosts at the same moment, neither may know of the other.
    async fn check_shared_count(
        &self,
        shared: &dyn SharedSessions,
        owner: &Principal,
        (id, request): (&str, &OpenRequest),
    ) -> Result<(), HostError> {
        let Some(limit) = owner.limits.sessions else { return Ok(()) };
        let mut ids: BTreeSet<String> = shared
            .list()
            .await
            .into_iter()
            .filter(|row| row.owner == owner.name)
            .map(|row| row.session.session_id)
            .collect();
        let sessions = self.sessions();
        let own = sessions.iter().filter(|(_, entry)| entry.owner().name == owner.name);
        ids.extend(own.map(|(id, _)| id.clone()));
        // One that is open already is none more.
        if request.start.name().is_some_and(|name| ids.contains(name)) {
            ids.remove(id);
        }
        match ids.len() > limit {
            true => Err(HostError::too_many_sessions(limit)),
            false => Ok(()),
        }
    }

    /// Notes whose the file of a session is that is opened.
    async fn claim(&self, owner: &Arc<Principal>, path: PathBuf) -> Result<(), HostError> {
        let files = self.source.owners.of(owner.clone());
        let claimed = tokio::task::spawn_blocking(move || files.claim_new(&path)).await;
        claimed.map_err(|error| HostError::OpenFailed(error.to_string())).flatten()
    }

    /// Keeps the handle of a session that is shared, as long as there are clients.
    fn remember(self: &Arc<Self>, handle: Permitted<SessionHandle>) -> Permitted<SessionHandle> {
        let (id, mut ended) = (handle.id.clone(), handle.ended.clone());
        self.sessions().insert(id.clone(), Entry::Shared((*handle).clone()));
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

    /// The open session with this name, of this process or another one, if the client may touch it.
    ///
    /// # Errors
    ///
    /// There is none, or it is being opened or closed.
    pub async fn find_anywhere(
        self: &Arc<Self>,
        name: &str,
        client: &Arc<Principal>,
    ) -> Result<Permitted<SessionHandle>, HostError> {
        match (self.find(name, client).await, &self.shared) {
            (Ok(handle), _) if !handle.requests.is_closed() => Ok(handle),
            (Ok(_) | Err(HostError::UnknownSession), Some(shared)) => {
                shared.find(name.to_owned(), client.clone()).await.map(|handle| self.remember(handle))
            }
            (found, _) => found,
        }
    }

    /// The open session with this name, its handle or the id in its file, if the client may touch it. One that is not in memory
    /// is brought back.
    ///
    /// # Errors
    ///
    /// There is none, it is being opened or closed, or it cannot be brought back.
    ///
    /// The limits of `client` hold for one that is brought back, if it is the owner.
    pub async fn find(
        self: &Arc<Self>,
        name: &str,
        client: &Arc<Principal>,
    ) -> Result<Permitted<SessionHandle>, HostError> {
        loop {
            let mut opened = match self.look_up(name, client)? {
                Found::Open(handle) => return Ok(handle),
                Found::Reopening(opened) => opened,
            };
            let outcome = opened.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
            if let Ok(Some(Err(error))) = outcome {
                return Err(error);
            }
        }
    }

    fn look_up(self: &Arc<Self>, name: &str, client: &Arc<Principal>) -> Result<Found, HostError> {
        let mut sessions = self.sessions();
        let by_durable_id = || {
            let found = sessions.iter().find(|(_, entry)| match entry {
                Entry::Open { handle, .. } => handle.info.borrow().durable_id == name,
                Entry::Stored { session, .. } => session.durable_id == name,
                Entry::Opening { .. } | Entry::Shared(_) => false,
            } && entry.permit(client, ()).is_ok());
            found.map(|(id, _)| id.clone())
        };
        let id = if sessions.contains_key(name) { Some(name.to_owned()) } else { by_durable_id() };
        let entry = id.and_then(|id| sessions.get_mut(&id)).ok_or(HostError::UnknownSession)?;
        // Before anything else: what else is wrong tells that there is a session.
        entry.permit(client, ())?;
        match entry {
            Entry::Opening { .. } => Err(HostError::SessionOpening),
            Entry::Open { handle, .. } | Entry::Shared(handle) => match handle.info.borrow().status {
                SessionStatus::Closing => Err(HostError::SessionClosing),
                _ => Ok(Found::Open(permit_handle(client, handle.clone())?)),
            },
            Entry::Stored { opened: Some(opened), .. } => Ok(Found::Reopening(opened.clone())),
            Entry::Stored { session, opened, .. } => {
                let (outcome, under_way) = watch::channel(None);
                *opened = Some(under_way.clone());
                let (host, mut session) = (self.clone(), session.as_ref().clone());
                // They may have changed since.
                session.request.owner = session.request.owner.map(|owner| match owner.name == client.name {
                    true => client.clone(),
                    false => owner,
                });
                // Goes on if the client that has caused it is gone.
                tokio::spawn(async move {
                    let reopened = host.reopen(session).await;
                    outcome.send_replace(Some(reopened));
                });
                Ok(Found::Reopening(under_way))
            }
        }
    }

    /// Attaches a client to the session with this name.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find), or the session ends meanwhile.
    pub async fn attach(
        self: &Arc<Self>,
        name: &str,
        attach: Attach,
    ) -> Result<(Permitted<SessionHandle>, Attached), HostError> {
        loop {
            let handle = self.find_anywhere(name, &attach.principal).await?;
            let (reply, attached) = oneshot::channel();
            // A session that has ended meanwhile sends no reply.
            let _ = handle.requests.send(SessionRequest::Attach(attach.clone(), reply)).await;
            if let Ok(attached) = attached.await {
                return Ok((handle, attached));
            }
            let ended = handle.ended.clone().wait_for(Option::is_some).await.map(|ended| ended.clone());
            match ended {
                // It was written out at this very moment.
                Ok(Some(SessionEnd::WrittenOut(_))) if !*self.stop.borrow() => self.settle(&handle),
                Ok(Some(SessionEnd::Over(ended))) if ended.error.is_some() => {
                    return Err(HostError::OpenFailed(ended.error.unwrap_or_default()));
                }
                _ => return Err(HostError::UnknownSession),
            }
        }
    }

    /// Closes a session: aborts what is active, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// There is none, or it is being opened or closed.
    pub async fn close(self: &Arc<Self>, name: &str, client: &Arc<Principal>) -> Result<(), HostError> {
        if self.take_stored(name, client) {
            return Ok(());
        }
        let handle = self.find_anywhere(name, client).await?;
        end(&handle, SessionRequest::Close).await;
        self.settle(&handle);
        Ok(())
    }

    /// Removes a session that is not in memory. `false`: there is none of that name that the client may touch.
    fn take_stored(&self, name: &str, client: &Principal) -> bool {
        let mut sessions = self.sessions();
        let is_stored = sessions.get(name).is_some_and(|entry| {
            matches!(entry, Entry::Stored { opened: None, .. }) && entry.permit(client, ()).is_ok()
        });
        if is_stored {
            sessions.remove(name);
            self.records.iter().for_each(|records| records.remove(name));
        }
        is_stored
    }

    /// The sessions that the client may touch, with those that are being opened or closed.
    pub async fn list(&self, client: &Principal) -> Vec<Permitted<ListedSession>> {
        let rows = self.session_rows().await.into_iter();
        rows.filter_map(|row| permit(client, SessionOwner::Opener(&row.owner), row.session).ok()).collect()
    }

    /// All sessions, with their owners and the hosts that run them.
    pub(super) async fn session_rows(&self) -> Vec<SessionRow> {
        let mut rows: Vec<SessionRow> = {
            let sessions = self.sessions();
            let own = sessions.iter().filter(|(_, entry)| !matches!(entry, Entry::Shared(_)));
            let row = |(id, entry): (&String, &Entry)| SessionRow {
                session: entry.listed(id),
                owner: entry.owner().name.clone(),
                host: None,
            };
            own.map(row).collect()
        };
        if let Some(shared) = &self.shared {
            let known: HashSet<String> = rows.iter().map(|row| row.session.session_id.clone()).collect();
            let others = shared.list().await;
            rows.extend(others.into_iter().filter(|row| !known.contains(&row.session.session_id)));
        }
        rows.sort_by(|one, other| one.session.session_id.cmp(&other.session.session_id));
        rows
    }

    /// The hosts that share sessions, or this one alone.
    pub(super) fn host_rows(&self) -> Vec<HostRow> {
        match &self.shared {
            Some(shared) => shared.hosts(),
            None => vec![lone_host(&self.run_here())],
        }
    }

    /// The sessions of this process alone that the client may touch.
    fn list_own(&self, client: &Principal) -> Vec<Permitted<ListedSession>> {
        let sessions = self.sessions();
        let own = sessions.iter().filter(|(_, entry)| !matches!(entry, Entry::Shared(_)));
        own.filter_map(|(id, entry)| entry.permit(client, entry.listed(id)).ok()).collect()
    }

    /// Tells a connection that the process is to end; it holds the process up until it is dropped.
    pub fn stop(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Whether a session runs, or is being opened or closed.
    pub fn is_busy(&self) -> bool {
        use SessionStatus::{Closing, Opening, Running};
        let is_active = |status: SessionStatus| matches!(status, Opening | Running | Closing);
        let own = self.sessions().iter().any(|(id, entry)| {
            !matches!(entry, Entry::Shared(_)) && !entry.only_waits() && is_active(entry.listed(id).status)
        });
        own || self.shared.iter().flat_map(|shared| shared.run_here()).any(is_active)
    }

    /// What the sessions that this process runs are doing.
    pub fn run_here(&self) -> Vec<SessionStatus> {
        let own = self.list_own(&Principal::local()).into_iter().map(|session| session.status);
        own.chain(self.shared.iter().flat_map(|shared| shared.run_here())).collect()
    }

    /// How many sessions are recorded that several processes share; `None`: those of this process are its own.
    pub fn shared_records(&self) -> Option<RecordCounts> {
        self.shared.as_ref().map(|shared| shared.records())
    }

    /// Whether the process is to end, and sessions are being closed.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Ends all sessions, but for those that are left to other processes, and waits a while for connections to write what is
    /// pending. Sessions that a restart brings back are written out; the others are closed.
    pub async fn shut_down(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        let open: Vec<SessionHandle> = self
            .sessions()
            .values()
            .filter_map(|entry| match entry {
                Entry::Open { handle, .. } => Some(handle.clone()),
                Entry::Opening { .. } | Entry::Shared(_) | Entry::Stored { .. } => None,
            })
            .collect();
        if let Some(shared) = &self.shared {
            shared.leave().await;
        }
        let ends = open.iter().map(|handle| async {
            let request = match self.records {
                Some(_) => SessionRequest::WriteOut,
                None => SessionRequest::Close,
            };
            end(handle, request).await;
            self.settle(handle);
        });
        futures_util::future::join_all(ends).await;
        self.stop.send_replace(true);
        // Who has not read by then does not.
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.stop.closed()).await;
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What [`SessionHost::find`] finds.
enum Found {
    Open(Permitted<SessionHandle>),
    Reopening(Reopening),
}

/// Asks a session to end, and waits until it has.
async fn end(handle: &SessionHandle, request: SessionRequest) {
    // A task that is gone has ended the session.
    let _ = handle.requests.send(request).await;
    let _ = handle.ended.clone().wait_for(Option::is_some).await;
}

/// A random name, which cannot be guessed.
fn random_id() -> Result<String, HostError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| HostError::OpenFailed(error.to_string()))?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}
