//! Queues of messages for a later turn, as data: steering, follow-up, and messages of extensions. `queue_commands`
//! serves the commands that change them.

use crate::{limits::message_bytes, prompt::text_of};
use pi_rpc_protocol::{AgentMessage, QueueMode, StreamingBehavior};
use std::collections::VecDeque;

/// All queued messages.
#[derive(Debug)]
pub struct Queues {
    /// Messages that join the open run at its next turn.
    pub steering: Queue,
    /// Messages with which the run continues instead of ending.
    pub follow_up: Queue,
    /// Messages of extensions that trigger a turn, in the open run or in a run of their own.
    pub triggering: Vec<AgentMessage>,
    /// Messages of extensions that accompany the user's next prompt.
    pub next_prompt: Vec<AgentMessage>,
}

/// Steering or follow-up messages, in order.
#[derive(Debug)]
pub struct Queue {
    /// Steering or follow-up.
    which: StreamingBehavior,
    /// Texts of the user's messages that a turn has taken and that are not emitted yet.
    taken: VecDeque<String>,
    waiting: VecDeque<AgentMessage>,
    /// Size of the queued messages, in bytes, for [`Limits::queue`](crate::limits::Limits::queue).
    bytes: usize,
}

/// A message that a turn begins with.
#[derive(Debug)]
pub struct TurnInput {
    /// The message.
    pub message: AgentMessage,
    /// The queue that the message comes from; `None`: from none.
    pub queue: Option<StreamingBehavior>,
}

/// The reason for the next turn of an open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    /// The results of tool calls, together with queued steering.
    Results,
    /// Queued messages; without any the run ends.
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

    /// The queue for messages of this behaviour.
    pub const fn of(&mut self, behavior: StreamingBehavior) -> &mut Queue {
        match behavior {
            StreamingBehavior::Steer => &mut self.steering,
            StreamingBehavior::FollowUp => &mut self.follow_up,
        }
    }

    /// Whether no message is queued, of the user or of extensions.
    pub fn are_unused(&self) -> bool {
        self.are_empty() && self.triggering.is_empty() && self.next_prompt.is_empty()
    }

    /// Whether both queues of the user are empty.
    pub fn are_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// How many messages of the user are in both queues.
    pub fn count(&self) -> usize {
        self.steering.count() + self.follow_up.count()
    }
}

impl Queue {
    /// An empty queue.
    pub const fn new(which: StreamingBehavior) -> Self {
        Self { which, taken: VecDeque::new(), waiting: VecDeque::new(), bytes: 0 }
    }

    /// Appends a message.
    pub fn push(&mut self, message: AgentMessage) {
        self.bytes += message_bytes(&message);
        self.waiting.push_back(message);
    }

    /// The queued messages, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &AgentMessage> {
        self.waiting.iter()
    }

    /// Takes the messages for the next turn: one or all, by the queue's mode.
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

    /// Forgets the text of the next taken message: the message is emitted.
    pub fn mark_emitted(&mut self) {
        self.taken.pop_front();
    }

    /// How many messages of the user are queued; those of extensions do not count. Source: pi source.
    pub fn count(&self) -> usize {
        self.waiting.iter().filter(|message| matches!(message, AgentMessage::User(_))).count()
    }

    /// The texts of the user's messages that are not emitted yet, in order.
    pub fn texts(&self) -> Vec<String> {
        self.taken.iter().cloned().chain(self.waiting.iter().filter_map(user_text)).collect()
    }

    /// Size of the queued messages, in bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes all messages.
    pub fn clear(&mut self) {
        self.taken.clear();
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Removes all messages, and returns the texts of the user's.
    pub fn take_texts(&mut self) -> Vec<String> {
        let texts = self.texts();
        self.clear();
        texts
    }
}

/// The text of a message of the user; `None` for other messages.
fn user_text(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::User(message) => Some(text_of(&message.content)),
        _ => None,
    }
}
