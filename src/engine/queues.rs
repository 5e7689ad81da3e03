//! Messages that wait for their turn.

use crate::engine::{limits::message_bytes, prompt::text_of};
use crate::protocol::{AgentMessage, QueueMode, StreamingBehavior};
use std::collections::VecDeque;

/// All messages that wait for a turn of the model.
#[derive(Debug)]
pub struct Queues {
    /// Messages that join the open run at its next turn.
    pub steering: Queue,
    /// Messages that the run goes on with when it would end.
    pub follow_up: Queue,
    /// Messages of extensions that the model is to answer, with a run or without one.
    pub triggering: Vec<AgentMessage>,
    /// Messages of extensions that go with what the user says next.
    pub next_prompt: Vec<AgentMessage>,
}

/// One queue.
#[derive(Debug)]
pub struct Queue {
    /// Which of the two it is.
    which: StreamingBehavior,
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

/// The next turn of an open run, before it is known with which messages it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    /// The model is asked about the results of its calls, and about steering that waits.
    Results,
    /// The turn opens only if messages wait.
    Messages,
}

impl From<AgentMessage> for TurnInput {
    fn from(message: AgentMessage) -> Self {
        Self { message, queue: None }
    }
}

impl Queues {
    /// Empty queues.
    pub const fn new() -> Self {
        Self {
            steering: Queue::new(StreamingBehavior::Steer),
            follow_up: Queue::new(StreamingBehavior::FollowUp),
            triggering: Vec::new(),
            next_prompt: Vec::new(),
        }
    }

    /// The queue that such messages wait in.
    pub const fn of(&mut self, behavior: StreamingBehavior) -> &mut Queue {
        match behavior {
            StreamingBehavior::Steer => &mut self.steering,
            StreamingBehavior::FollowUp => &mut self.follow_up,
        }
    }

    /// Whether neither steering nor a follow-up waits.
    pub fn are_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// Messages of the user that wait.
    pub fn count(&self) -> usize {
        self.steering.count() + self.follow_up.count()
    }
}

impl Queue {
    /// An empty queue.
    pub const fn new(which: StreamingBehavior) -> Self {
        Self { which, taken: VecDeque::new(), waiting: VecDeque::new(), bytes: 0 }
    }

    /// Puts a message at the end.
    pub fn push(&mut self, message: AgentMessage) {
        self.bytes += message_bytes(&message);
        self.waiting.push_back(message);
    }

    /// What a poll in this mode delivers, in order.
    pub fn take(&mut self, mode: QueueMode) -> Vec<TurnInput> {
        let count = match mode {
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
    pub fn take_texts(&mut self) -> Vec<String> {
        let texts = self.texts();
        self.clear();
        texts
    }
}

fn user_text(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::User(message) => Some(text_of(&message.content)),
        _ => None,
    }
}
