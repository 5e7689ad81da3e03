//! A session kept in memory only.

use crate::protocol::AgentMessage;
use std::sync::Arc;

/// The conversation of one session, oldest message first.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// In the dialect's format.
    pub id: String,
    /// Set by `set_session_name`.
    pub name: Option<String>,
    /// The session that this one came from, as the host named it.
    pub parent: Option<String>,
    messages: Vec<Arc<AgentMessage>>,
}

impl Memory {
    /// An empty session.
    pub fn new(id: String, parent: Option<String>) -> Self {
        Self { id, name: None, parent, messages: Vec::new() }
    }

    /// Adds a complete message.
    pub fn append(&mut self, message: Arc<AgentMessage>) {
        self.messages.push(message);
    }

    /// Every message, oldest first: what `get_messages` gives and the model is told.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
    }
}
