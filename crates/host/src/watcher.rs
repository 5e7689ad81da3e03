//! The queue between a session and one of its connections.

use super::{
    journal::{ENTRY_OVERHEAD, JournalEntry, Payload},
    metrics::METRICS,
};
use pi_rpc_protocol::{
    Dialect, DialogResolvedEvent, Emission, Encoder, ReceivedControl, SessionEndedEvent, SessionSnapshotEvent,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::Notify;

/// A client of a session: the same one after it has come back.
pub type ClientId = u64;

/// Pending bytes from which on deltas of one block are coalesced.
const COALESCE_AT: usize = 256 * 1024;

/// The sessions of one connection that have something to write, in turn.
#[derive(Default)]
pub struct ReadySessions {
    ids: Mutex<VecDeque<Arc<str>>>,
    changed: Notify,
}

impl ReadySessions {
    /// Waits until a queue of the connection has something.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Adds a session behind the others.
    pub fn push(&self, id: Arc<str>) {
        self.ids().push_back(id);
    }

    /// Takes the first session.
    pub fn pop(&self) -> Option<Arc<str>> {
        self.ids().pop_front()
    }

    fn ids(&self) -> MutexGuard<'_, VecDeque<Arc<str>>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The frames that a connection has yet to write.
pub struct WatcherQueue {
    state: Mutex<QueueState>,
    /// What the queues of one connection share.
    ready: Arc<ReadySessions>,
    /// The session, where a connection carries many.
    id: Option<Arc<str>>,
    /// Pending bytes at which the frames are dropped and a snapshot takes their place.
    max_pending: usize,
}

struct QueueState {
    items: VecDeque<Item>,
    pending_bytes: usize,
    /// Encodes updates; follows the partial message.
    encoder: Encoder,
    is_closed: bool,
    /// Whether the connection has the session among those that are ready.
    is_ready: bool,
    /// Frames were dropped; only a snapshot helps.
    needs_snapshot: bool,
    /// The connection knows that it needs one.
    lag_is_reported: bool,
}

/// A thing to write.
enum Item {
    Entry(Arc<JournalEntry>),
    Coalesced(CoalescedDeltas),
    Message(WatcherMessage),
}

/// Deltas of one block in a row.
struct CoalescedDeltas {
    /// The number of the last one.
    number: u64,
    /// Bytes that they count.
    weight: usize,
    emission: Box<Emission>,
    /// When the session emitted the first one.
    at: Instant,
}

impl Item {
    /// Whether it stays where a snapshot takes the place of frames: responses and messages are in none.
    fn is_kept(&self) -> bool {
        match self {
            Self::Entry(entry) => entry.to.is_some(),
            Self::Coalesced(_) => false,
            Self::Message(_) => true,
        }
    }
}

/// What a connection is told besides frames.
#[derive(Clone, Debug)]
pub enum WatcherMessage {
    /// The session at one frame, in place of frames.
    Snapshot(Box<SessionSnapshotEvent>),
    /// A dialog is no longer open.
    DialogResolved(DialogResolvedEvent),
    /// Lines that the session has received.
    Received(ReceivedControl),
    /// The session is over.
    Ended(SessionEndedEvent),
    /// A response to this client in place of the session's, which has no number: its line, line feed included.
    Response(Vec<u8>),
}

/// The next thing that a connection writes.
#[derive(Debug)]
pub enum Popped {
    /// A frame with its number; the line feed is included.
    Frame(u64, Vec<u8>),
    /// A message about the session.
    Message(WatcherMessage),
    /// The connection has missed frames, and has to ask for a snapshot.
    Lagged,
    /// Nothing more comes.
    Closed,
}

impl WatcherQueue {
    /// A queue for frames of `dialect` that keeps at most `max_pending` bytes. With an `id` it lists it in `ready` when it has
    /// something.
    pub fn new(
        dialect: Dialect,
        max_pending: usize,
        ready: Arc<ReadySessions>,
        id: Option<Arc<str>>,
    ) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            pending_bytes: 0,
            encoder: Encoder::new(dialect),
            is_closed: false,
            is_ready: false,
            needs_snapshot: false,
            lag_is_reported: false,
        };
        Self { state: Mutex::new(state), ready, id, max_pending }
    }

    /// Starts over behind a frame at which the encoder is like this one.
    pub fn restart(&self, encoder: Encoder) {
        let mut state = self.state();
        METRICS.pending(state.pending_bytes, 0);
        (state.encoder, state.needs_snapshot, state.lag_is_reported) = (encoder, false, false);
        state.items.retain(Item::is_kept);
        state.pending_bytes = 0;
    }

    /// Queues a frame of the session.
    pub fn push(&self, entry: &Arc<JournalEntry>) {
        let mut state = self.state();
        // A response is in no snapshot.
        if state.is_closed || state.needs_snapshot && entry.to.is_none() {
            return;
        }
        let before = state.pending_bytes;
        let mut weight = entry.weight;
        match &entry.payload {
            Payload::Update(next) if state.pending_bytes > COALESCE_AT => {
                if let Some(Item::Coalesced(last)) = state.items.back_mut()
                    && last.emission.join((**next).clone()).is_none()
                {
                    METRICS.coalesced();
                    weight -= ENTRY_OVERHEAD;
                    last.number = entry.number;
                    last.weight += weight;
                } else {
                    let emission = next.clone();
                    let deltas = CoalescedDeltas { number: entry.number, weight, emission, at: entry.at };
                    state.items.push_back(Item::Coalesced(deltas));
                }
            }
            _ => state.items.push_back(Item::Entry(entry.clone())),
        }
        state.pending_bytes += weight;
        if state.pending_bytes > self.max_pending {
            state.items.retain(Item::is_kept);
            (state.pending_bytes, state.needs_snapshot) = (0, true);
            METRICS.lagged();
        }
        METRICS.pending(before, state.pending_bytes);
        self.wake(state);
    }

    /// Queues a message about the session.
    pub fn push_message(&self, message: WatcherMessage) {
        let mut state = self.state();
        if !state.is_closed {
            state.items.push_back(Item::Message(message));
        }
        self.wake(state);
    }

    /// Ends the queue behind what is pending.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        self.wake(state);
    }

    /// Lets the connection know that there is something.
    fn wake(&self, mut state: MutexGuard<'_, QueueState>) {
        if let Some(id) = self.id.as_ref().filter(|_| !state.is_ready) {
            state.is_ready = true;
            self.ready.push(id.clone());
        }
        drop(state);
        self.ready.changed.notify_one();
    }

    /// The next thing to write, if there is one.
    pub fn try_pop(&self) -> Option<Popped> {
        let mut state = self.state();
        let QueueState { items, pending_bytes, encoder, .. } = &mut *state;
        let before = *pending_bytes;
        match items.pop_front() {
            Some(Item::Entry(entry)) => {
                *pending_bytes = pending_bytes.saturating_sub(entry.weight);
                METRICS.pending(before, *pending_bytes);
                METRICS.frame(entry.at.elapsed());
                Some(Popped::Frame(entry.number, entry.encode(encoder)))
            }
            Some(Item::Coalesced(deltas)) => {
                let mut line = Vec::new();
                encoder.encode(&deltas.emission, &mut line);
                *pending_bytes = pending_bytes.saturating_sub(deltas.weight);
                METRICS.pending(before, *pending_bytes);
                METRICS.frame(deltas.at.elapsed());
                Some(Popped::Frame(deltas.number, line))
            }
            Some(Item::Message(message)) => Some(Popped::Message(message)),
            None if state.needs_snapshot && !state.is_closed && !state.lag_is_reported => {
                state.lag_is_reported = true;
                Some(Popped::Lagged)
            }
            None if state.is_closed => Some(Popped::Closed),
            None => {
                state.is_ready = false;
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatcherQueue {
    fn drop(&mut self) {
        METRICS.pending(self.state().pending_bytes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use pi_rpc_protocol::{BlockKind, Step, Update};

    #[test]
    fn coalesced_deltas_leave_nothing_pending() {
        let queue = WatcherQueue::new(Dialect::Pi1, usize::MAX, Arc::default(), None);
        let mut journal = Journal::new(Dialect::Pi1, 0, usize::MAX);
        let count = 2 * COALESCE_AT / 1000;
        for _ in 0..count {
            let step = Step::Delta("x".repeat(1000));
            let update = Update { index: 0, block: BlockKind::Text, step, rest: None };
            queue.push(&journal.push(Emission::Update(update), Vec::new(), None));
        }
        let mut popped = 0;
        while queue.try_pop().is_some() {
            popped += 1;
        }
        assert!(popped < count, "{popped} of {count}");
        assert_eq!(queue.state().pending_bytes, 0);
    }

    #[test]
    fn queue_lists_its_session_once() {
        let ready = Arc::new(ReadySessions::default());
        let queue = WatcherQueue::new(Dialect::Pi1, usize::MAX, ready.clone(), Some("s".into()));
        let received = |lines| WatcherMessage::Received(ReceivedControl { lines });
        queue.push_message(received(1));
        queue.push_message(received(2));
        assert_eq!((ready.pop().as_deref(), ready.pop()), (Some("s"), None));
        while queue.try_pop().is_some() {}
        queue.push_message(received(3));
        assert_eq!(ready.pop().as_deref(), Some("s"));
    }
}
