//! The stream of everything that the server writes, but for responses to outstanding calls.

use super::hub::Hub;
use futures_util::Stream;
use pi_rpc_protocol::Outbound;
use std::{
    borrow::Cow,
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// A line of the server that is no response to an outstanding call.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The frame; `None` if the line is no valid frame of the dialect.
    pub frame: Option<Outbound>,
    /// The line without its line feed, with unknown members that `frame` leaves out.
    pub line: Vec<u8>,
    /// Number of events dropped before this one, as the reader was too slow; see [`Events`].
    pub missed: u64,
}

impl Event {
    /// The line as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.line)
    }
}

/// The events of a server, from its first line to its exit.
///
/// The client stops reading when [`Options::unread`](super::Options::unread) bytes of events are pending: the server's pipe
/// fills and the server has to wait. While a call, a prompt or the shutdown is awaited, it reads on; beyond eight times the
/// limit, events are dropped and counted in the next one's [`missed`](Event::missed). Once this stream is dropped, so are all
/// further events.
pub struct Events {
    hub: Arc<Hub>,
}

impl Events {
    pub(super) const fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }

    /// Waits for the next event; `None` after the server's exit. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|context| self.hub.poll_event(context)).await
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.hub.poll_event(context)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.hub.drop_events();
    }
}

/// Multiple of the limit that may be pending while a call is awaited.
const HURRIED_FACTOR: usize = 8;

/// Pending events, with a limit in bytes.
pub(super) struct EventQueue {
    events: VecDeque<Event>,
    bytes: usize,
    limit: usize,
    missed: u64,
    /// Whether the stream still exists.
    has_reader: bool,
    reader: Option<Waker>,
}

impl EventQueue {
    pub const fn new(limit: usize) -> Self {
        Self { events: VecDeque::new(), bytes: 0, limit, missed: 0, has_reader: true, reader: None }
    }

    pub const fn is_full(&self) -> bool {
        self.bytes > self.limit
    }

    /// Adds an event, or drops and counts it beyond the hard limit.
    pub fn push(&mut self, frame: Option<Outbound>, line: Vec<u8>) {
        match (self.has_reader, self.bytes > self.limit.saturating_mul(HURRIED_FACTOR)) {
            (false, _) => return,
            (true, true) => self.missed += 1,
            (true, false) => {
                self.bytes += line.len();
                self.events.push_back(Event { frame, line, missed: std::mem::take(&mut self.missed) });
            }
        }
        self.wake();
    }

    pub fn poll(&mut self, has_ended: bool, context: &Context<'_>) -> Poll<Option<Event>> {
        match self.events.pop_front() {
            Some(event) => {
                self.bytes -= event.line.len();
                Poll::Ready(Some(event))
            }
            None if has_ended => Poll::Ready(None),
            None => {
                self.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    pub fn wake(&mut self) {
        self.reader.take().into_iter().for_each(Waker::wake);
    }

    pub fn close(&mut self) {
        (self.has_reader, self.bytes) = (false, 0);
        self.events.clear();
    }
}
