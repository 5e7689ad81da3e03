//! What models are told, as a list that need not be parsed.

use super::{entry::Entry, tree::Tree};
use crate::protocol::{AgentMessage, AgentMessageKind};
use std::sync::Arc;

/// One message that models are told.
#[derive(Clone, Debug)]
pub enum ContextMessage {
    /// The one that the entry at this place of the tree brings along. It can be read.
    Entry(usize),
    /// One that no entry says in this way.
    Synthetic(Arc<AgentMessage>),
}

impl ContextMessage {
    /// The message.
    pub fn message<'t>(&'t self, tree: &'t Tree) -> Option<&'t Arc<AgentMessage>> {
        match self {
            Self::Entry(place) => tree.entries().get(*place).and_then(Entry::message),
            Self::Synthetic(message) => Some(message),
        }
    }

    /// The message's role.
    pub fn kind(&self, tree: &Tree) -> Option<AgentMessageKind> {
        match self {
            Self::Entry(place) => tree.entries().get(*place).and_then(Entry::message_kind),
            Self::Synthetic(message) => Some(message.kind()),
        }
    }
}
