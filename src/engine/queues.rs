//! Messages that wait for their turn.

use crate::protocol::{AgentMessage, QueueMode};
use std::collections::VecDeque;

/// One queue, with its mode.
#[derive(Debug)]
pub struct Queue {
    /// Whether a poll takes one message or all.
    pub mode: QueueMode,
    waiting: VecDeque<AgentMessage>,
}

impl Queue {
    /// An empty queue.
    pub const fn new(mode: QueueMode) -> Self {
        Self { mode, waiting: VecDeque::new() }
    }

    /// Puts a message at the end.
    pub fn push(&mut self, message: AgentMessage) {
        self.waiting.push_back(message);
    }

    /// What a poll delivers, in order.
    pub fn take(&mut self) -> Vec<AgentMessage> {
        let count = match self.mode {
            QueueMode::All => self.waiting.len(),
            QueueMode::OneAtATime => self.waiting.len().min(1),
        };
        self.waiting.drain(..count).collect()
    }

    /// Messages of the user that wait; those of extensions are not counted. Source: pi source.
    pub fn count(&self) -> usize {
        self.waiting.iter().filter(|message| matches!(message, AgentMessage::User(_))).count()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}
