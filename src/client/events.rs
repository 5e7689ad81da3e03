//! What the server says by itself, one after another.

use super::hub::Hub;
use crate::protocol::Outbound;
use futures_util::Stream;
use std::{
    borrow::Cow,
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

/// Something that the server said: all but the answers to calls that wait for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What it is; `None` for what the dialect does not know, or not so.
    pub frame: Option<Outbound>,
    /// The line as it came, without its line feed: with everything that `frame` leaves out.
    pub line: Vec<u8>,
    /// How many events before this one were dropped because they were not taken; see [`Events`].
    pub missed: u64,
}

impl Event {
    /// The line as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.line)
    }
}

/// The events of a server, from its first line to its end.
///
/// Reading stops when they are [`Options::unread`](super::Options::unread) bytes behind: the server's pipe fills, and the
/// server waits. While a call, a prompt or the end is waited for, everything is read. Beyond eight times as many bytes
/// events are dropped, and the next one that is not says how many [were missed](Event::missed). Dropping this drops events
/// as they come.
pub struct Events {
    hub: Arc<Hub>,
}

impl Events {
    pub(super) const fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }

    /// The next event; `None` when the server has ended. Nothing is lost when it is dropped while it waits.
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

/// How many times as far behind as usual events may be while everything is read.
const HURRIED_FACTOR: usize = 8;

/// The events that were not taken.
pub(super) struct EventQueue {
    events: VecDeque<Event>,
    bytes: usize,
    limit: usize,
    missed: u64,
    /// Somebody may take them.
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

    /// Adds one, or drops it when there is no room at all.
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
