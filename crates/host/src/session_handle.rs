//! What others have of the task of a session: its handle, what they ask of it, and what it answers.

use super::{
    host_error::HostError,
    principal::Principal,
    watcher::{ClientId, WatcherQueue},
};
use pi_rpc_engine::WaitingRun;
use pi_rpc_protocol::{Dialect, SessionEndedEvent, SessionState, SessionStatus};
use pi_rpc_server::TraceContext;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot, watch};

/// A line of a client.
pub struct ClientLine {
    /// The client.
    pub client: ClientId,
    /// The connection of the client that read it: one that was replaced does not count.
    pub connection: u64,
    /// The line without its line feed; `None`: the client has no more input, and the session ends.
    pub line: Option<Vec<u8>>,
}

/// What a connection asks of the session.
pub enum SessionRequest {
    /// Connects a client.
    Attach(Attach, oneshot::Sender<Attached>),
    /// Disconnects it.
    Detach {
        /// The client.
        client: ClientId,
        /// Its connection.
        connection: u64,
    },
    /// Puts a snapshot into the queue of a client that lags behind.
    Snapshot(ClientId),
    /// Returns the state.
    State(oneshot::Sender<SessionState>),
    /// Aborts what is active and ends the session.
    Close,
    /// Aborts what is active and ends the session so that it can go on from its file.
    WriteOut,
}

/// What a session goes on with, besides its file, when it is opened again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resumption {
    /// The number of its last frame.
    pub sequence: u64,
    /// Its clients: what names each, and the lines received from it.
    pub clients: Vec<(String, u64)>,
    /// Its run, if that waits for a permission. On disk it has a file of its own, which is gone before the run goes on.
    #[serde(skip)]
    pub waiting: Option<Box<WaitingRun>>,
}

/// How a session has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEnd {
    /// It is over.
    Over(SessionEndedEvent),
    /// It goes on from its file once a client wants it.
    WrittenOut(Resumption),
}

/// A connection that is to be attached.
#[derive(Clone)]
pub struct Attach {
    /// Names the client, so that it is the same one after it has come back.
    pub key: String,
    /// The number of the last frame that it has; `None`: it wants only what comes from now on.
    pub after: Option<u64>,
    /// Its queue.
    pub queue: Arc<WatcherQueue>,
    /// Who the client acts for.
    pub principal: Arc<Principal>,
    /// Whether the client is sent messages about its lines and about dialogs.
    pub has_messages: bool,
    /// The span that the connection's commands are below, unless they name one themselves.
    pub trace_context: Option<TraceContext>,
}

/// The result of [`Attach`].
#[derive(Debug)]
pub struct Attached {
    /// The client.
    pub client: ClientId,
    /// The connection.
    pub connection: u64,
    /// The number of the frame before the next one.
    pub sequence: u64,
    /// Lines received from the client, by all its connections.
    pub received_lines: u64,
}

/// Facts about the session that others may read at any time.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    /// The id in the session's file.
    pub durable_id: String,
    /// The session's file.
    pub path: Option<PathBuf>,
    /// The working directory.
    pub directory: PathBuf,
    /// The display name.
    pub name: Option<String>,
    /// What the session is doing.
    pub status: SessionStatus,
    /// Whether its run only waits for a permission, and goes on in another process if this one ends.
    pub only_waits: bool,
    /// Its run, if that waits for a permission and nothing begins before the next line of a client.
    pub waiting: Option<Arc<WaitingRun>>,
    /// Lines of clients that it has taken.
    pub lines: u64,
}

/// The connection to a session's task.
#[derive(Clone)]
pub struct SessionHandle {
    /// The name of the session in this process.
    pub id: String,
    /// Who has opened it.
    pub owner: Arc<Principal>,
    /// The dialect that it speaks.
    pub dialect: Dialect,
    /// The longest line that it reads, in bytes.
    pub max_frame: usize,
    /// Lines of clients.
    pub lines: mpsc::Sender<ClientLine>,
    /// Requests of connections.
    pub requests: mpsc::Sender<SessionRequest>,
    /// What the session is.
    pub info: watch::Receiver<SessionInfo>,
    /// Whether commands are served: extensions have registered.
    pub serves: watch::Receiver<bool>,
    /// The end of the session; `None`: it goes on.
    pub ended: watch::Receiver<Option<SessionEnd>>,
}

/// The task's ends of the channels of a [`SessionHandle`].
pub struct TaskChannels {
    /// Lines of clients.
    pub lines: mpsc::Receiver<ClientLine>,
    /// Requests of connections.
    pub requests: mpsc::Receiver<SessionRequest>,
    /// What the session is.
    pub info: watch::Sender<SessionInfo>,
    /// Whether commands are served.
    pub serves: watch::Sender<bool>,
    /// The end of the session.
    pub ended: watch::Sender<Option<SessionEnd>>,
}

/// Lines of clients that wait for the session.
const LINE_CAPACITY: usize = 64;

/// Requests of connections that wait for the session.
const REQUEST_CAPACITY: usize = 16;

impl SessionHandle {
    /// The handle of a session that begins, and the channels of its task.
    pub fn new(
        id: String,
        owner: Arc<Principal>,
        dialect: Dialect,
        max_frame: usize,
        info: SessionInfo,
    ) -> (Self, TaskChannels) {
        let (lines, received_lines) = mpsc::channel(LINE_CAPACITY);
        let (requests, received_requests) = mpsc::channel(REQUEST_CAPACITY);
        let (info, known) = watch::channel(info);
        let (serves, is_served) = watch::channel(false);
        let (ended, is_ended) = watch::channel(None);
        let handle = Self {
            id,
            owner,
            dialect,
            max_frame,
            lines,
            requests,
            info: known,
            serves: is_served,
            ended: is_ended,
        };
        (handle, TaskChannels { lines: received_lines, requests: received_requests, info, serves, ended })
    }
}

/// Limits of what a session takes.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// The longest line that is read, in bytes.
    pub max_frame: usize,
    /// Bytes of frames that are kept for clients that come back.
    pub kept_output: usize,
    /// How long an idle session keeps them; then one without clients is written out, if its file has all of it.
    pub kept_idle: Duration,
    /// What becomes of a run that waits for a permission while no client is there.
    pub unattended: Unattended,
}

/// What becomes of a run that waits for a permission while no client is there.
#[derive(Clone, Copy, Debug)]
pub struct Unattended {
    /// What is done.
    pub action: UnattendedAction,
    /// How long nobody must have been there.
    pub after: Duration,
}

/// What is done with a run that waits for a permission while no client is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnattendedAction {
    /// It waits.
    #[default]
    Wait,
    /// It waits, and leaves memory until a client comes.
    Park,
    /// The call is denied, and the run goes on.
    Deny,
    /// The run is aborted.
    Stop,
}

impl Default for Unattended {
    fn default() -> Self {
        Self { action: UnattendedAction::Wait, after: Duration::from_secs(300) }
    }
}

impl UnattendedAction {
    /// All, as they are written.
    pub const ALL: [(&str, Self); 4] =
        [("wait", Self::Wait), ("park", Self::Park), ("deny", Self::Deny), ("stop", Self::Stop)];
}

impl SessionHandle {
    /// Waits until commands are served.
    ///
    /// # Errors
    ///
    /// The session has ended before that, for this reason.
    pub async fn served(&self) -> Result<(), HostError> {
        let mut serves = self.serves.clone();
        if serves.wait_for(|serves| *serves).await.is_ok() {
            return Ok(());
        }
        let mut ended = self.ended.clone();
        let reason = match ended.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(SessionEnd::Over(ended))) => ended.error.clone(),
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(HostError::OpenFailed(reason)))
    }
}
