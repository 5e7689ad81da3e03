//! What the client, its callbacks and the reader share: the machine, the calls that wait, the events that wait.

use super::{
    Error, Event, ServerExit,
    callbacks::{CallbackTask, Callbacks},
    inner::{HubOptions, Inner, Outcome, Receivers},
    session::SessionState,
};
use crate::{
    machine::State,
    protocol::{
        AssistantMessage, Dialect, FlowState, Inbound, Outbound, RequestId, RpcCommand, RpcErrorResponse,
        mend_surrogates, read,
    },
};
use serde::Serialize;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::Instant,
};

/// Where the conversation stands, for whoever waits for it to change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerStatus {
    pub flow: FlowState,
    /// The server has said something already.
    pub has_written: bool,
    /// How it has ended.
    pub ended: Option<ServerExit>,
}

/// How the server is to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShutdownMode {
    /// It may finish.
    Graceful,
    /// One of its pipes is closed, and it has not ended: nobody can speak to it any more.
    Lost,
    /// At once.
    Killed,
}

/// See the module.
pub(super) struct Hub {
    pub dialect: Dialect,
    pub server_status: watch::Sender<ServerStatus>,
    /// The revision of the session's state.
    pub revision: watch::Sender<u64>,
    /// Tells the reader that there is room for events, that somebody waits, or that the server is to be ended.
    pub wake: Notify,
    ids: AtomicU64,
    inner: Mutex<Inner>,
}

impl Hub {
    pub fn new(dialect: Dialect, input: mpsc::Sender<Vec<u8>>, options: HubOptions) -> Self {
        let inner = Inner::new(dialect, input, options);
        let server_status = ServerStatus { flow: inner.state().flow, has_written: false, ended: None };
        let server_status = watch::Sender::new(server_status);
        Self {
            dialect,
            server_status,
            revision: watch::Sender::new(inner.session.revision()),
            wake: Notify::new(),
            ids: AtomicU64::new(1),
            inner: Mutex::new(inner),
        }
    }

    /// Sends a command, unless it is illegal here and not wanted `anyway`.
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

    /// Sends a command, if there is still somebody to read it.
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
        self.publish_revision(&inner);
        permit.send(line);
        Ok(Some(receivers))
    }

    /// Why nothing can be sent: that it was told to end, or how it has ended without being told.
    async fn shutdown_error(&self) -> Error {
        if self.shutdown().is_none_or(|end| end == ShutdownMode::Lost) {
            let mut server_status = self.server_status.subscribe();
            // The hub, which says so, is there.
            let _ = server_status.wait_for(|server_status| server_status.ended.is_some()).await;
        }
        self.exit_error()
    }

    /// Sends what is no command. Where the server is gone it is lost.
    pub async fn send_frame(&self, frame: Inbound) {
        let Some(input) = self.input() else { return };
        let Ok(permit) = input.reserve_owned().await else { return };
        let line = to_line(&frame);
        let mut inner = self.lock();
        inner.note_inbound(&frame);
        self.publish_revision(&inner);
        permit.send(line);
    }

    /// Tells those who wait for a change of the session's state.
    fn publish_revision(&self, inner: &Inner) {
        let revision = inner.session.revision();
        self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
    }

    /// Takes a line that the server said. Gives what a callback is to do about it.
    pub fn receive_line(&self, line: Vec<u8>) -> Option<CallbackTask> {
        // Half a character in an escape, which servers in JavaScript write, is no reason to know nothing of a frame.
        let mended = str::from_utf8(&line).map(mend_surrogates);
        let frame = read::<Outbound>(mended.as_deref().map_or(&line, str::as_bytes), self.dialect);
        let mut inner = self.lock();
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

    /// Whether the server's output is to be read: there is room for events, or somebody waits.
    pub fn is_reading(&self) -> bool {
        let inner = self.lock();
        !inner.events.is_full() || inner.is_hurried()
    }

    /// Says how the server is to be ended; whoever says it later counts only if he is in more of a hurry.
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

    /// The server has ended: nothing more comes.
    pub fn finish(&self, ended: ServerExit) {
        self.server_status.send_modify(|server_status| server_status.ended = Some(ended.clone()));
        self.lock().fail_calls(&ended);
    }

    /// Reading goes on while this is held.
    pub fn keep_reading(self: &Arc<Self>) -> ReadingGuard {
        self.lock().waiters += 1;
        self.wake.notify_one();
        ReadingGuard(Arc::clone(self))
    }

    pub fn state(&self) -> State {
        self.lock().state()
    }

    /// Reads the state of the session.
    pub fn session<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        read(&self.lock().session)
    }

    /// Until when the flow, which stands so, is expected to move.
    pub fn expected_move(&self) -> Option<(FlowState, Instant)> {
        let inner = self.lock();
        let flow = inner.state().flow;
        inner.expected.deadline(flow).map(|due| (flow, due))
    }

    /// How many assistant messages have ended.
    pub fn assistant_messages(&self) -> u64 {
        self.lock().assistant_messages.0
    }

    /// The last assistant message, if there were more than `before`.
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

/// A call that was sent. Dropped, it is forgotten: its answer is an event then.
pub(super) struct PendingCall {
    hub: Arc<Hub>,
    id: String,
    answer: oneshot::Receiver<Outcome>,
    late: oneshot::Receiver<RpcErrorResponse>,
}

impl PendingCall {
    /// The answer.
    pub async fn answer(&mut self) -> Outcome {
        (&mut self.answer).await.unwrap_or_else(|_| Err(self.hub.exit_error()))
    }

    /// The error that may follow the acknowledgement; for ever if none does.
    pub async fn late_error(&mut self) -> RpcErrorResponse {
        match (&mut self.late).await {
            Ok(error) => error,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.hub.lock().forget_call(&self.id);
    }
}

/// Keeps the reader reading.
pub(super) struct ReadingGuard(Arc<Hub>);

impl Drop for ReadingGuard {
    fn drop(&mut self) {
        self.0.lock().waiters -= 1;
    }
}

/// A frame as a line. Every frame can be written as JSON.
fn to_line(frame: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}
