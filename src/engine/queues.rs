//! Messages that wait for their turn.

use crate::engine::{Engine, limits::message_bytes, prompt::text_of};
use crate::protocol::{
    AgentMessage, AgentSessionEventKind, ClearQueueResponse, ClearedQueue, QueueMode, QueueUpdateEvent,
    RequestId, StreamingBehavior,
};
use std::collections::VecDeque;

/// One queue, with its mode.
#[derive(Debug)]
pub struct Queue {
    /// Which of the two it is.
    which: StreamingBehavior,
    /// Whether a poll takes one message or all.
    pub mode: QueueMode,
    /// Texts of the user's messages that a poll has taken and that are still to be said.
    taken: VecDeque<String>,
    waiting: VecDeque<AgentMessage>,
    /// What they count, in bytes.
    bytes: usize,
}

/// A message that a turn begins with.
#[derive(Debug)]
pub struct TurnInput {
    /// The message.
    pub message: AgentMessage,
    /// The queue that it waited in; `None`: it did not wait.
    pub queue: Option<StreamingBehavior>,
}

impl From<AgentMessage> for TurnInput {
    fn from(message: AgentMessage) -> Self {
        Self { message, queue: None }
    }
}

impl Queue {
    /// An empty queue.
    pub const fn new(which: StreamingBehavior, mode: QueueMode) -> Self {
        Self { which, mode, taken: VecDeque::new(), waiting: VecDeque::new(), bytes: 0 }
    }

    /// Puts a message at the end.
    pub fn push(&mut self, message: AgentMessage) {
        self.bytes += message_bytes(&message);
        self.waiting.push_back(message);
    }

    /// What a poll delivers, in order.
    pub fn take(&mut self) -> Vec<TurnInput> {
        let count = match self.mode {
            QueueMode::All => self.waiting.len(),
            QueueMode::OneAtATime => self.waiting.len().min(1),
        };
        self.taken.extend(self.waiting.iter().take(count).filter_map(user_text));
        let queue = Some(self.which);
        let taken = self.waiting.drain(..count).map(|message| TurnInput { message, queue });
        let taken: Vec<TurnInput> = taken.collect();
        self.bytes -= taken.iter().map(|input| message_bytes(&input.message)).sum::<usize>();
        taken
    }

    /// The next of the messages that were taken is said.
    pub fn said(&mut self) {
        self.taken.pop_front();
    }

    /// Messages of the user that wait; those of extensions are not counted. Source: pi source.
    pub fn count(&self) -> usize {
        self.waiting.iter().filter(|message| matches!(message, AgentMessage::User(_))).count()
    }

    /// The texts of the user's messages that are still to be said, in order.
    pub fn texts(&self) -> Vec<String> {
        self.taken.iter().cloned().chain(self.waiting.iter().filter_map(user_text)).collect()
    }

    /// What waits, in bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.taken.clear();
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Forgets everything, and returns the texts of the user's messages.
    fn take_back(&mut self) -> Vec<String> {
        let texts = self.texts();
        self.clear();
        texts
    }
}

impl Engine {
    /// Queues a message of the user, and tells of it.
    pub(in crate::engine) fn queue_message(&mut self, queue: StreamingBehavior, message: AgentMessage) {
        self.queue_of(queue).push(message);
        self.queues_changed();
    }

    /// Whatever waits is taken back.
    pub(in crate::engine) fn clear_queue(&mut self, id: Option<RequestId>) {
        let data =
            ClearedQueue { steering: self.steering.take_back(), follow_up: self.follow_up.take_back() };
        self.queues_changed();
        self.succeed(ClearQueueResponse { id, data });
    }

    /// Drops what waits, as its session is left, and emits that.
    pub(in crate::engine) fn empty_queues(&mut self) {
        let waits = self.steering.count() + self.follow_up.count() > 0;
        self.steering.clear();
        self.follow_up.clear();
        if waits {
            self.queues_changed();
        }
    }

    /// A message that waited is about to be said.
    pub(in crate::engine) fn delivered(&mut self, input: &TurnInput) {
        if let (Some(queue), AgentMessage::User(_)) = (input.queue, &input.message) {
            self.queue_of(queue).said();
            self.queues_changed();
        }
    }

    const fn queue_of(&mut self, queue: StreamingBehavior) -> &mut Queue {
        match queue {
            StreamingBehavior::Steer => &mut self.steering,
            StreamingBehavior::FollowUp => &mut self.follow_up,
        }
    }

    /// Tells what waits, in dialects that have an event for it.
    fn queues_changed(&mut self) {
        if AgentSessionEventKind::QueueUpdate.is_in(self.dialect.base()) {
            let (steering, follow_up) = (self.steering.texts(), self.follow_up.texts());
            self.event(QueueUpdateEvent { steering, follow_up });
        }
    }
}

fn user_text(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::User(message) => Some(text_of(&message.content)),
        _ => None,
    }
}
