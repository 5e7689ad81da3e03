//! A node of the cluster: owns sessions, takes those of nodes that are gone, and follows those that its clients watch.

use super::{
    connection::Connection,
    decisions::membership::NodeInfo,
    decisions::ownership::{failed_delay, turn},
    fenced::AppendError,
    lease::Lease,
    owner::{OwnedSession, OwnerContext, TakeError},
    records, replica,
    retention::{SWEEP, remove_surplus},
    session_record::{SessionRecord, SessionSpec},
    shared_usage::NodeUsage,
    status,
};
use futures_util::future::BoxFuture;
use pi_rpc_host::{
    HostError, HostLoad, HostRow, OpenRequest, OpenSession, Permitted, Principal, RecordCounts,
    SessionHandle, SessionLimits, SessionOwner, SessionRow, SharedSessions, Start, UsageBook, permit,
};
use pi_rpc_protocol::{ListedSession, SessionStatus};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// How often a node looks at the others.
const TICK: Duration = Duration::from_millis(500);

/// How often a node reads all records even if no other node is gone.
const SCAN: Duration = Duration::from_secs(10);

/// How long a node leaves a session without an owner to the nodes before it in the order.
const TURN: Duration = Duration::from_secs(2);

/// Sessions that are taken at once.
const MAX_TAKING: usize = 16;

/// How often an operation is tried while a session changes its owner.
const FIND_ATTEMPTS: usize = 3;

/// A node.
pub struct Node {
    connection: Connection,
    info: NodeInfo,
    open_session: Arc<OpenSession>,
    limits: SessionLimits,
    /// The dialect of sessions whose client names none.
    dialect: String,
    /// The working directory of sessions whose client names none.
    directory: std::path::PathBuf,
    /// What principals have used on this node.
    usage: UsageBook,
    /// What they have used on all nodes.
    shared_usage: Arc<NodeUsage>,
    /// Sessions that this node owns.
    owned_count: Arc<AtomicUsize>,
    state: Mutex<NodeState>,
}

struct NodeState {
    lease: Lease,
    owned: HashMap<String, Arc<OwnedSession>>,
    followed: HashMap<String, SessionHandle>,
    /// Sessions that are being taken.
    taking: HashSet<String>,
    /// Sessions that could not be taken here: when, and how often in a row.
    failed: HashMap<String, (Instant, u32)>,
    /// What the records were when they were read last.
    records: RecordCounts,
    is_leaving: bool,
}

/// What a node is started with.
pub struct NodeOptions {
    /// What the node says of itself.
    pub info: NodeInfo,
    /// The dialect of sessions whose client names none.
    pub dialect: String,
    /// The working directory of sessions whose client names none.
    pub directory: std::path::PathBuf,
    /// Makes the options of a session.
    pub open_session: Arc<OpenSession>,
    /// Limits of a session's memory.
    pub limits: SessionLimits,
    /// What principals have used on this node.
    pub usage: UsageBook,
    /// How many closed sessions stay; `None`: all.
    pub kept_closed: Option<usize>,
}

impl Node {
    /// Joins the cluster.
    ///
    /// # Errors
    ///
    /// NATS does not pass heartbeats on.
    pub async fn join(connection: Connection, options: NodeOptions) -> Result<Arc<Self>, String> {
        let NodeOptions { info, dialect, directory, open_session, limits, usage, kept_closed } = options;
        let owned_count = Arc::new(AtomicUsize::new(0));
        let lease = Lease::take(&connection, &info, load(&owned_count)).await?;
        let state = NodeState {
            lease,
            owned: HashMap::new(),
            followed: HashMap::new(),
            taking: HashSet::new(),
            failed: HashMap::new(),
            records: RecordCounts::default(),
            is_leaving: false,
        };
        let state = Mutex::new(state);
        let shared_usage = NodeUsage::new(connection.clone());
        usage.share(shared_usage.clone());
        let node = Self {
            connection,
            info,
            open_session,
            limits,
            dialect,
            directory,
            usage,
            shared_usage,
            owned_count,
            state,
        };
        let node = Arc::new(node);
        if let Some(kept) = kept_closed {
            tokio::spawn(Self::remove_closed(Arc::downgrade(&node), kept));
        }
        tokio::spawn(node.clone().run());
        Ok(node)
    }

    /// Removes closed sessions beyond those that stay, for as long as the node is there.
    async fn remove_closed(node: Weak<Self>, kept: usize) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let Some(node) = node.upgrade().filter(|node| !node.state().is_leaving) else { return };
            let lease = node.state().lease.clone();
            remove_surplus(&node.connection, &lease, kept).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, NodeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn context(&self) -> OwnerContext {
        OwnerContext {
            connection: self.connection.clone(),
            lease: self.state().lease.clone(),
            open_session: self.open_session.clone(),
            limits: self.limits,
            usage: self.usage.clone(),
        }
    }

    /// Takes sessions whose owner is gone, for as long as the process lives.
    async fn run(self: Arc<Self>) {
        let mut alive = HashSet::new();
        let mut scanned: Option<Instant> = None;
        // Since when sessions have no owner.
        let mut orphans: HashMap<String, Instant> = HashMap::new();
        loop {
            tokio::time::sleep(TICK).await;
            if self.state().is_leaving {
                return;
            }
            if !self.state().lease.is_held() {
                self.renew_lease().await;
                continue;
            }
            let now: HashSet<String> = self.state().lease.nodes().into_iter().map(|(id, _)| id).collect();
            let is_one_gone = alive.iter().any(|id| !now.contains(id));
            alive = now;
            let is_due = scanned.is_none_or(|scanned| scanned.elapsed() >= SCAN);
            if !(is_one_gone || is_due || !orphans.is_empty()) {
                continue;
            }
            match records::list(&self.connection).await {
                Ok(sessions) => {
                    scanned = Some(Instant::now());
                    let closed = sessions.iter().filter(|(_, record)| record.is_closed).count();
                    self.state().records = RecordCounts { open: sessions.len() - closed, closed };
                    self.take_orphans(sessions, &mut orphans).await;
                }
                Err(error) => tracing::warn!("sessions are not listed: {error}"),
            }
        }
    }

    /// Takes a lease under a new id after the last one was lost. Its sessions end by themselves.
    async fn renew_lease(&self) {
        tracing::warn!("the lease of {} is lost", self.state().lease.id());
        match Lease::take(&self.connection, &self.info, load(&self.owned_count)).await {
            Ok(lease) => self.state().lease = lease,
            Err(error) => tracing::warn!("no new lease: {error}"),
        }
    }

    async fn take_orphans(
        self: &Arc<Self>,
        sessions: Vec<(String, SessionRecord)>,
        orphans: &mut HashMap<String, Instant>,
    ) {
        let lease = self.state().lease.clone();
        let is_orphan = |session: &String, record: &SessionRecord| {
            let state = self.state();
            let is_here = state.owned.contains_key(session) || state.taking.contains(session);
            lease.is_orphan(record, is_here)
        };
        let sessions: Vec<_> =
            sessions.into_iter().filter(|(session, record)| is_orphan(session, record)).collect();
        let is_known = |known: &String| sessions.iter().any(|(session, _)| session == known);
        orphans.retain(|known, _| is_known(known));
        self.state().failed.retain(|known, _| is_known(known));
        let mut taking = JoinSet::new();
        for (session, record) in sessions {
            let since = *orphans.entry(session.clone()).or_insert_with(Instant::now);
            let Some(turn) = turn(&session, &record, lease.id(), &lease.nodes()) else { continue };
            let is_failed = self
                .state()
                .failed
                .get(&session)
                .is_some_and(|(at, times)| at.elapsed() < failed_delay(*times));
            if is_failed || since.elapsed() < TURN * turn {
                continue;
            }
            while taking.len() >= MAX_TAKING {
                taking.join_next().await;
            }
            let node = self.clone();
            taking.spawn(async move {
                if let Err(error) = node.take(&session).await {
                    tracing::info!("session {session}: not taken: {error}");
                }
            });
        }
        while taking.join_next().await.is_some() {}
    }

    /// Takes a session that has no owner.
    async fn take(self: &Arc<Self>, session: &str) -> Result<(), TakeError> {
        let found = records::find(&self.connection, session).await.map_err(TakeError::Read)?;
        let Some((record, revision)) = found else { return Ok(()) };
        let lease = self.state().lease.clone();
        if record.owner.as_ref().is_some_and(|owner| owner != lease.id() && lease.is_alive(owner)) {
            return Ok(());
        }
        self.own(session, record, revision).await
    }

    async fn own(
        self: &Arc<Self>,
        session: &str,
        record: SessionRecord,
        revision: u64,
    ) -> Result<(), TakeError> {
        if !self.state().taking.insert(session.to_owned()) {
            return Ok(());
        }
        let before = self.state().owned.get(session).map(|owned| owned.finished.clone());
        if let Some(mut before) = before {
            // This node has owned it under an earlier lease.
            let _ = before.wait_for(|finished| *finished).await;
        }
        let taken = OwnedSession::take(&self.context(), session, record, revision).await;
        let mut state = self.state();
        state.taking.remove(session);
        let owned = match taken {
            Ok(owned) => Arc::new(owned),
            Err(error) => {
                // Where another node was faster, or NATS cannot be reached, it is not the session that fails.
                if !matches!(error, TakeError::Append(AppendError::Fenced | AppendError::LeaseLost)) {
                    let times = state.failed.get(session).map_or(1, |(_, times)| times.saturating_add(1));
                    state.failed.insert(session.to_owned(), (Instant::now(), times));
                }
                return Err(error);
            }
        };
        state.failed.remove(session);
        state.owned.insert(session.to_owned(), owned.clone());
        self.owned_count.store(state.owned.len(), Ordering::Relaxed);
        drop(state);
        let (node, session) = (self.clone(), session.to_owned());
        tokio::spawn(async move {
            let _ = owned.finished.clone().wait_for(|finished| *finished).await;
            let mut state = node.state();
            if state.owned.get(&session).is_some_and(|known| Arc::ptr_eq(known, &owned)) {
                state.owned.remove(&session);
                node.owned_count.store(state.owned.len(), Ordering::Relaxed);
            }
        });
        Ok(())
    }

    async fn open_new(
        self: &Arc<Self>,
        id: &str,
        request: &OpenRequest,
        client: &Principal,
    ) -> Result<Permitted<SessionHandle>, HostError> {
        let dialect =
            request.dialect.map_or_else(|| self.dialect.clone(), |dialect| dialect.as_str().to_owned());
        let directory = request.directory.clone().unwrap_or_else(|| self.directory.clone());
        let mut record = SessionRecord {
            spec: SessionSpec::new(request, &dialect, &directory),
            label: self.info.labels.first().cloned(),
            ..SessionRecord::default()
        };
        record.set_title(request.name.as_deref());
        self.own(id, record, 0).await.map_err(host_error)?;
        self.follow(id, client).await
    }

    /// Opens a session of the cluster by its name.
    async fn reopen(
        self: &Arc<Self>,
        name: &str,
        client: &Principal,
    ) -> Result<Permitted<SessionHandle>, HostError> {
        for _ in 0..FIND_ATTEMPTS {
            let (permitted, revision) = self.record(name, client).await?;
            let mut record = permitted.into_inner();
            if !record.is_closed {
                break;
            }
            record.is_closed = false;
            if record.spec.owner == client.name {
                // They may have changed since.
                record.spec.limits = client.limits.clone();
            }
            match self.own(name, record, revision).await {
                Err(TakeError::Append(AppendError::Fenced)) => {}
                outcome => {
                    outcome.map_err(host_error)?;
                    break;
                }
            }
        }
        self.follow(name, client).await
    }

    /// The record of a session that the client may touch, and its revision.
    async fn record(
        &self,
        name: &str,
        client: &Principal,
    ) -> Result<(Permitted<SessionRecord>, u64), HostError> {
        if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
            || name.is_empty()
        {
            return Err(HostError::UnknownSession);
        }
        let found = records::find(&self.connection, name).await.map_err(HostError::ClusterUnavailable)?;
        let (record, revision) = found.ok_or(HostError::UnknownSession)?;
        let owner = record.spec.owner.clone();
        Ok((permit(client, SessionOwner::Opener(&owner), record)?, revision))
    }

    async fn follow(
        self: &Arc<Self>,
        name: &str,
        client: &Principal,
    ) -> Result<Permitted<SessionHandle>, HostError> {
        let permit_handle = |handle: SessionHandle| {
            let owner = handle.owner.clone();
            permit(client, SessionOwner::Opener(&owner.name), handle)
        };
        let known = self.state().followed.get(name).filter(|known| !known.requests.is_closed()).cloned();
        if let Some(known) = known {
            return permit_handle(known);
        }
        let (record, _) = self.record(name, client).await?;
        if record.is_closed {
            return Err(HostError::UnknownSession);
        }
        let handle = replica::follow(&self.connection, name, &record, self.limits, &self.usage).await;
        let handle = handle.map_err(HostError::ClusterUnavailable)?;
        let mut state = self.state();
        state.followed.retain(|_, known| !known.requests.is_closed());
        // Of two that were started at once, the first one is used.
        permit_handle(state.followed.entry(name.to_owned()).or_insert(handle).clone())
    }
}

/// What heartbeats say of a node that owns so many sessions.
fn load(owned: &Arc<AtomicUsize>) -> impl Fn() -> HostLoad + Send + Sync + 'static {
    let owned = owned.clone();
    move || HostLoad::here(owned.load(Ordering::Relaxed))
}

fn host_error(error: TakeError) -> HostError {
    match error {
        TakeError::Open(reason) => HostError::OpenFailed(reason),
        TakeError::Append(_) | TakeError::Read(_) => HostError::ClusterUnavailable(error.to_string()),
    }
}

/// [`SharedSessions`] of a node.
pub struct NodeSessions(pub Arc<Node>);

impl SharedSessions for NodeSessions {
    fn open(
        &self,
        id: String,
        request: OpenRequest,
    ) -> BoxFuture<'_, Result<Permitted<SessionHandle>, HostError>> {
        Box::pin(async move {
            let client = request.owner.clone().unwrap_or_else(Principal::local);
            match &request.start {
                Start::New | Start::InMemory => self.0.open_new(&id, &request, &client).await,
                Start::Named(name) => self.0.reopen(name, &client).await,
                Start::Newest | Start::Fork(_) => {
                    let reason = "with --nats, a session is new, or is named by its id";
                    Err(HostError::OpenFailed(reason.to_owned()))
                }
            }
        })
    }

    fn find(
        &self,
        name: String,
        client: Arc<Principal>,
    ) -> BoxFuture<'_, Result<Permitted<SessionHandle>, HostError>> {
        Box::pin(async move { self.0.follow(&name, &client).await })
    }

    fn list(&self) -> BoxFuture<'_, Vec<SessionRow>> {
        Box::pin(async {
            let sessions = records::list(&self.0.connection).await.unwrap_or_else(|error| {
                tracing::warn!("sessions are not listed: {error}");
                Vec::new()
            });
            let open = sessions.into_iter().filter(|(_, record)| !record.is_closed);
            open.map(|(id, record)| {
                let session = ListedSession {
                    durable_session_id: Some(id.clone()),
                    session_id: id,
                    session_path: None,
                    cwd: record.spec.directory.to_string_lossy().into_owned(),
                    status: status(&record),
                    name: record.title,
                };
                SessionRow { session, owner: record.spec.owner, host: record.owner }
            })
            .collect()
        })
    }

    fn hosts(&self) -> Vec<HostRow> {
        let lease = self.0.state().lease.clone();
        let row = |(id, info): (String, NodeInfo)| HostRow {
            labels: info.labels,
            is_this: id == lease.id(),
            load: lease.load(&id),
            id: Some(id),
        };
        lease.nodes().into_iter().map(row).collect()
    }

    fn run_here(&self) -> Vec<SessionStatus> {
        self.0.state().owned.values().map(|owned| owned.handle.info.borrow().status).collect()
    }

    fn records(&self) -> RecordCounts {
        self.0.state().records
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let owned: Vec<Arc<OwnedSession>> = {
                let mut state = self.0.state();
                state.is_leaving = true;
                state.owned.values().cloned().collect()
            };
            futures_util::future::join_all(owned.iter().map(|owned| owned.leave())).await;
            self.0.shared_usage.add_all().await;
        })
    }
}
