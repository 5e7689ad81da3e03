//! State that the client, its callbacks and the IO tasks share: session, outstanding calls, pending events.

use super::{
    Error, Event, LineOrigin, ServerExit,
    callbacks::{CallbackTask, Callbacks},
    inner::{HubOptions, Inner, LateOutcome, Outcome, Receivers},
    session::SessionState,
};
use pi_rpc_machine::State;
use pi_rpc_protocol::{
    AssistantMessage, Dialect, FlowState, Inbound, Outbound, ReassembledLine, RequestId, RpcCommand,
    mend_surrogates, read,
};
use serde::Serialize;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::Instant,
};

/// Status of the server that tasks wait on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerStatus {
    pub flow: FlowState,
    /// Whether the server has written a line.
    pub has_written: bool,
    /// Versions of the protocol that the server offers beside the one in force.
    pub offered_versions: Vec<u64>,
    /// How the server has exited, once it has.
    pub ended: Option<ServerExit>,
}

/// Reason and speed of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShutdownMode {
    /// stdin is closed; the server may finish.
    Graceful,
    /// The server has closed a pipe without exiting.
    Lost,
    /// The process group is killed.
    Killed,
}

/// Shared state behind a lock, with channels that notify of changes.
pub(super) struct Hub {
    pub dialect: Dialect,
    /// Timeout for the start of an acknowledged prompt's run.
    pub begin_within: Duration,
    pub server_status: watch::Sender<ServerStatus>,
    /// The revision of the session's state.
    pub revision: watch::Sender<u64>,
    /// Wakes the reader: there is room for events, a call is outstanding, or a shutdown was requested.
    pub wake: Notify,
    ids: AtomicU64,
    inner: Mutex<Inner>,
}

impl Hub {
    pub fn new(dialect: Dialect, input: mpsc::Sender<Vec<u8>>, options: HubOptions) -> Self {
        let begin_within = options.begin_within;
        let inner = Inner::new(dialect, input, options);
        let server_status = ServerStatus {
            flow: inner.state().flow,
            has_written: false,
            offered_versions: Vec::new(),
            ended: None,
        };
        let server_status = watch::Sender::new(server_status);
        Self {
            dialect,
            begin_within,
            server_status,
            revision: watch::Sender::new(inner.session.revision()),
            wake: Notify::new(),
            ids: AtomicU64::new(1),
            inner: Mutex::new(inner),
        }
    }

    /// Sends a command; one that is illegal in the current state only if `unchecked`.
    pub async fn call(
        self: &Arc<Self>,
        mut command: RpcCommand,
        unchecked: bool,
    ) -> Result<PendingCall, Error> {
        let number = self.ids.fetch_add(1, Ordering::Relaxed);
        let id = format!("call-{number}");
        command.set_id(RequestId::from(id.as_str()));
        match self.send(number, &id, command, unchecked).await? {
            Some((answer, late)) => {
                self.wake.notify_one();
                Ok(PendingCall { hub: Arc::clone(self), id, answer, late })
            }
            None => Err(self.shutdown_error().await),
        }
    }

    /// Sends a command; `None` if the server's input is closed.
    async fn send(
        &self,
        number: u64,
        id: &str,
        command: RpcCommand,
        unchecked: bool,
    ) -> Result<Option<Receivers>, Error> {
        let Some(input) = self.input() else { return Ok(None) };
        let Ok(permit) = input.reserve_owned().await else { return Ok(None) };
        let line = to_line(&command);
        let mut inner = self.lock();
        if inner.input.is_none() {
            return Ok(None);
        }
        if !unchecked {
            inner.check_allowed(&command)?;
        }
        let receivers = inner.register_call(number, id, &command);
        inner.note_inbound(&Inbound::Command(command));
        inner.observe(LineOrigin::Client, &line);
        self.publish_revision(&inner);
        permit.send(line);
        Ok(Some(receivers))
    }

    /// The error of a call on a closed input: after a requested shutdown at once, else once the exit status is known.
    async fn shutdown_error(&self) -> Error {
        if self.shutdown().is_none_or(|end| end == ShutdownMode::Lost) {
            let mut server_status = self.server_status.subscribe();
            // Never fails: `self` holds the sender.
            let _ = server_status.wait_for(|server_status| server_status.ended.is_some()).await;
        }
        self.exit_error()
    }

    /// Sends a frame other than a command; dropped if the server's input is closed.
    pub async fn send_frame(&self, frame: Inbound) {
        let Some(input) = self.input() else { return };
        let Ok(permit) = input.reserve_owned().await else { return };
        let line = to_line(&frame);
        let mut inner = self.lock();
        inner.note_inbound(&frame);
        inner.observe(LineOrigin::Client, &line);
        self.publish_revision(&inner);
        permit.send(line);
    }

    /// Publishes the revision of the session's state.
    fn publish_revision(&self, inner: &Inner) {
        let revision = inner.session.revision();
        self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
    }

    /// Handles a line of the server. Returns the callback to run, if any.
    pub fn receive_line(&self, line: Vec<u8>) -> Option<CallbackTask> {
        let taken = self.lock().chunks.take(&line);
        let line = match taken {
            Ok(ReassembledLine::Frame(frame)) => frame,
            Ok(ReassembledLine::Piece) => return None,
            // A line that breaks a series of chunks may be a frame of its own.
            Ok(ReassembledLine::Whole) | Err(_) => line,
        };
        // Servers in JavaScript may write half a surrogate pair as an escape; the frame is still readable.
        let mended = str::from_utf8(&line).map(mend_surrogates);
        let frame = read::<Outbound>(mended.as_deref().map_or(&line, str::as_bytes), self.dialect);
        if let Ok(Outbound::ReadyFrame(ready)) = &frame {
            let in_force = ready.protocol_version;
            let offered = ready.supported_protocol_versions.iter().flatten();
            let offered = offered.filter_map(|version| u64::try_from(*version).ok());
            let offered_versions = offered.filter(|version| Some(*version) > in_force).collect();
            self.server_status.send_modify(|server_status| server_status.offered_versions = offered_versions);
        }
        let mut inner = self.lock();
        inner.observe(LineOrigin::Server, &line);
        let task = match frame {
            Ok(frame) => inner.receive(frame, line),
            Err(error) => {
                inner.receive_unreadable(line, &error);
                None
            }
        };
        let flow = inner.state().flow;
        self.publish_revision(&inner);
        drop(inner);
        self.server_status.send_if_modified(|server_status| {
            let changed = server_status.flow != flow || !server_status.has_written;
            (server_status.flow, server_status.has_written) = (flow, true);
            changed
        });
        task
    }

    /// Whether the server's output is to be read: there is room for events, or a call is outstanding.
    pub fn is_reading(&self) -> bool {
        let inner = self.lock();
        !inner.events.is_full() || inner.is_hurried()
    }

    /// Requests a shutdown. A later request counts only if it is to kill.
    pub fn shut_down(&self, end: ShutdownMode) {
        let mut inner = self.lock();
        inner.shutdown = inner.shutdown.filter(|_| end != ShutdownMode::Killed).or(Some(end));
        inner.input = None;
        drop(inner);
        self.wake.notify_one();
    }

    pub fn shutdown(&self) -> Option<ShutdownMode> {
        self.lock().shutdown
    }

    /// Records the exit of the server and fails the outstanding calls.
    pub fn finish(&self, ended: ServerExit) {
        self.server_status.send_modify(|server_status| server_status.ended = Some(ended.clone()));
        self.lock().fail_calls(&ended);
    }

    /// Keeps the reader reading, whatever is pending, while the guard lives.
    pub fn keep_reading(self: &Arc<Self>) -> ReadingGuard {
        self.lock().waiters += 1;
        self.wake.notify_one();
        ReadingGuard(Arc::clone(self))
    }

    pub fn state(&self) -> State {
        self.lock().state()
    }

    /// Reads the state of the session under the lock.
    pub fn session<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        read(&self.lock().session)
    }

    /// The current flow and the deadline until which it is expected to move, if it is.
    pub fn expected_move(&self) -> Option<(FlowState, Instant)> {
        let inner = self.lock();
        let flow = inner.state().flow;
        inner.expected.deadline(flow).map(|due| (flow, due))
    }

    /// Number of assistant messages that have ended.
    pub fn assistant_messages(&self) -> u64 {
        self.lock().assistant_messages.0
    }

    /// The last assistant message, if more than `before` have ended.
    pub fn last_message_after(&self, before: u64) -> Option<AssistantMessage> {
        let inner = self.lock();
        inner.assistant_messages.1.clone().filter(|_| inner.assistant_messages.0 > before)
    }

    pub fn with_callbacks<T>(&self, change: impl FnOnce(&mut Callbacks) -> T) -> T {
        change(&mut self.lock().callbacks)
    }

    pub fn poll_event(&self, context: &Context<'_>) -> Poll<Option<Event>> {
        let mut inner = self.lock();
        let was_full = inner.events.is_full();
        let event = inner.events.poll(self.server_status.borrow().ended.is_some(), context);
        if was_full && !inner.events.is_full() {
            self.wake.notify_one();
        }
        event
    }

    pub fn drop_events(&self) {
        self.lock().events.close();
        self.wake.notify_one();
    }

    pub fn exit_error(&self) -> Error {
        Error::Gone(self.server_status.borrow().ended.clone().unwrap_or_default())
    }

    fn input(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.lock().input.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An outstanding call. If dropped, its response becomes an event.
pub(super) struct PendingCall {
    hub: Arc<Hub>,
    id: String,
    answer: oneshot::Receiver<Outcome>,
    late: oneshot::Receiver<LateOutcome>,
}

impl PendingCall {
    /// Waits for the response.
    pub async fn answer(&mut self) -> Outcome {
        (&mut self.answer).await.unwrap_or_else(|_| Err(self.hub.exit_error()))
    }

    /// Waits for an outcome after the acknowledgement; for ever if none comes.
    pub async fn late_outcome(&mut self) -> LateOutcome {
        match (&mut self.late).await {
            Ok(outcome) => outcome,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        // The caller has gone.
        let mut inner = self.hub.lock();
        inner.calls.remove(&self.id);
        inner.late.remove(&self.id);
    }
}

/// Guard of [`Hub::keep_reading`].
pub(super) struct ReadingGuard(Arc<Hub>);

impl Drop for ReadingGuard {
    fn drop(&mut self) {
        self.0.lock().waiters -= 1;
    }
}

/// A frame as a line with its line feed.
fn to_line(frame: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}
