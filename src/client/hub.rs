//! What the client, its callbacks and the reader share: the machine, the calls that wait, the events that wait.

use super::{
    Ended, Error, Event,
    callbacks::{Callbacks, Task},
    inner::{Inner, Limits, Outcome, Receivers},
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
pub(super) struct Standing {
    pub flow: FlowState,
    /// The server has said something already.
    pub spoken: bool,
    /// How it has ended.
    pub ended: Option<Ended>,
}

/// How the server is to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It may finish.
    Gently,
    /// One of its pipes is closed, and it has not ended: nobody can speak to it any more.
    Lost,
    /// At once.
    Killed,
}

/// See the module.
pub(super) struct Hub {
    pub dialect: Dialect,
    pub standing: watch::Sender<Standing>,
    /// The revision of the session's state.
    pub revision: watch::Sender<u64>,
    /// Tells the reader that there is room for events, that somebody waits, or that the server is to be ended.
    pub wake: Notify,
    ids: AtomicU64,
    inner: Mutex<Inner>,
}

impl Hub {
    pub fn new(dialect: Dialect, input: mpsc::Sender<Vec<u8>>, limits: Limits) -> Self {
        let inner = Inner::new(dialect, input, limits);
        let standing = Standing { flow: inner.state().flow, spoken: false, ended: None };
        let standing = watch::Sender::new(standing);
        Self {
            dialect,
            standing,
            revision: watch::Sender::new(inner.session.revision()),
            wake: Notify::new(),
            ids: AtomicU64::new(1),
            inner: Mutex::new(inner),
        }
    }

    /// Sends a command, unless it is illegal here and not wanted `anyway`.
    pub async fn ask(self: &Arc<Self>, mut command: RpcCommand, anyway: bool) -> Result<Asked, Error> {
        let number = self.ids.fetch_add(1, Ordering::Relaxed);
        let id = format!("call-{number}");
        command.set_id(RequestId::from(id.as_str()));
        match self.send(number, &id, command, anyway).await? {
            Some((answer, late)) => {
                self.wake.notify_one();
                Ok(Asked { hub: Arc::clone(self), id, answer, late })
            }
            None => Err(self.lost().await),
        }
    }

    /// Sends a command, if there is still somebody to read it.
    async fn send(
        &self,
        number: u64,
        id: &str,
        command: RpcCommand,
        anyway: bool,
    ) -> Result<Option<Receivers>, Error> {
        let Some(input) = self.input() else { return Ok(None) };
        let Ok(permit) = input.reserve_owned().await else { return Ok(None) };
        let line = line(&command);
        let mut inner = self.lock();
        if inner.input.is_none() {
            return Ok(None);
        }
        if !anyway {
            inner.allows(&command)?;
        }
        let receivers = inner.wait_for(number, id, &command);
        inner.tells(&Inbound::Command(command));
        self.revise(&inner);
        permit.send(line);
        Ok(Some(receivers))
    }

    /// Why nothing can be sent: that it was told to end, or how it has ended without being told.
    async fn lost(&self) -> Error {
        if self.ending().is_none_or(|end| end == End::Lost) {
            let mut standing = self.standing.subscribe();
            // The hub, which says so, is there.
            let _ = standing.wait_for(|standing| standing.ended.is_some()).await;
        }
        self.gone()
    }

    /// Sends what is no command. Where the server is gone it is lost.
    pub async fn tell(&self, frame: Inbound) {
        let Some(input) = self.input() else { return };
        let Ok(permit) = input.reserve_owned().await else { return };
        let line = line(&frame);
        let mut inner = self.lock();
        inner.tells(&frame);
        self.revise(&inner);
        permit.send(line);
    }

    /// Tells those who wait for a change of the session's state.
    fn revise(&self, inner: &Inner) {
        let revision = inner.session.revision();
        self.revision.send_if_modified(|known| std::mem::replace(known, revision) != revision);
    }

    /// Takes a line that the server said. Gives what a callback is to do about it.
    pub fn hear(&self, line: Vec<u8>) -> Option<Task> {
        // Half a character in an escape, which servers in JavaScript write, is no reason to know nothing of a frame.
        let mended = str::from_utf8(&line).map(mend_surrogates);
        let frame = read::<Outbound>(mended.as_deref().map_or(&line, str::as_bytes), self.dialect);
        let mut inner = self.lock();
        let task = match frame {
            Ok(frame) => inner.see(frame, line),
            Err(error) => {
                inner.unread(line, &error);
                None
            }
        };
        let flow = inner.state().flow;
        self.revise(&inner);
        drop(inner);
        self.standing.send_if_modified(|standing| {
            let changed = standing.flow != flow || !standing.spoken;
            (standing.flow, standing.spoken) = (flow, true);
            changed
        });
        task
    }

    /// Whether the server's output is to be read: there is room for events, or somebody waits.
    pub fn listens(&self) -> bool {
        let inner = self.lock();
        !inner.untaken.is_full() || inner.is_hurried()
    }

    /// Says how the server is to be ended; whoever says it later counts only if he is in more of a hurry.
    pub fn end(&self, end: End) {
        let mut inner = self.lock();
        inner.end = inner.end.filter(|_| end != End::Killed).or(Some(end));
        inner.input = None;
        drop(inner);
        self.wake.notify_one();
    }

    pub fn ending(&self) -> Option<End> {
        self.lock().end
    }

    /// The server has ended: nothing more comes.
    pub fn ended(&self, ended: Ended) {
        self.standing.send_modify(|standing| standing.ended = Some(ended.clone()));
        self.lock().gone(&ended);
    }

    /// Reading goes on while this is held.
    pub fn waits(self: &Arc<Self>) -> Waits {
        self.lock().waiting += 1;
        self.wake.notify_one();
        Waits(Arc::clone(self))
    }

    pub fn state(&self) -> State {
        self.lock().state()
    }

    /// Reads the state of the session.
    pub fn session<T>(&self, read: impl FnOnce(&SessionState) -> T) -> T {
        read(&self.lock().session)
    }

    /// Until when the flow, which stands so, is expected to move.
    pub fn due(&self) -> Option<(FlowState, Instant)> {
        let inner = self.lock();
        let flow = inner.state().flow;
        inner.expected.due(flow).map(|due| (flow, due))
    }

    /// How many assistant messages have ended.
    pub fn said(&self) -> u64 {
        self.lock().said.0
    }

    /// The last assistant message, if there were more than `before`.
    pub fn last(&self, before: u64) -> Option<AssistantMessage> {
        let inner = self.lock();
        inner.said.1.clone().filter(|_| inner.said.0 > before)
    }

    pub fn with_callbacks<T>(&self, change: impl FnOnce(&mut Callbacks) -> T) -> T {
        change(&mut self.lock().callbacks)
    }

    pub fn poll_event(&self, context: &Context<'_>) -> Poll<Option<Event>> {
        let mut inner = self.lock();
        let was_full = inner.untaken.is_full();
        let event = inner.untaken.poll(self.standing.borrow().ended.is_some(), context);
        if was_full && !inner.untaken.is_full() {
            self.wake.notify_one();
        }
        event
    }

    pub fn drop_events(&self) {
        self.lock().untaken.stop();
        self.wake.notify_one();
    }

    pub fn gone(&self) -> Error {
        Error::Gone(self.standing.borrow().ended.clone().unwrap_or_default())
    }

    fn input(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.lock().input.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that was sent. Dropped, it is forgotten: its answer is an event then.
pub(super) struct Asked {
    hub: Arc<Hub>,
    id: String,
    answer: oneshot::Receiver<Outcome>,
    late: oneshot::Receiver<RpcErrorResponse>,
}

impl Asked {
    /// The answer.
    pub async fn answer(&mut self) -> Outcome {
        (&mut self.answer).await.unwrap_or_else(|_| Err(self.hub.gone()))
    }

    /// The error that may follow the acknowledgement; for ever if none does.
    pub async fn late_error(&mut self) -> RpcErrorResponse {
        match (&mut self.late).await {
            Ok(error) => error,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.hub.lock().forget(&self.id);
    }
}

/// Keeps the reader reading.
pub(super) struct Waits(Arc<Hub>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

/// A frame as a line. Every frame can be written as JSON.
fn line(frame: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}
