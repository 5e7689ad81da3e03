//! Messages of a context that need not be parsed yet.

use super::{entry::Entry, tree::Tree};
use pi_rpc_protocol::{AgentMessage, AgentMessageKind};
use std::sync::Arc;

/// One message of a context.
#[derive(Clone, Debug)]
pub enum ContextMessage {
    /// The readable message of the tree's entry at this index.
    Entry(usize),
    /// A message that no entry holds in this form.
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
