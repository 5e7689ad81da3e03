//! The way from the root of a session to its leaf, as a compaction sees it.

use crate::protocol::AgentMessage;
use serde_json::Value;
use std::sync::Arc;

/// An entry on the way from the root to the leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEntry {
    /// The entry's id.
    pub id: Arc<str>,
    /// What it is.
    pub kind: PathEntryKind,
}

/// What a compaction has to know of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum PathEntryKind {
    /// A message of the conversation.
    Message(Arc<AgentMessage>),
    /// A message of an extension.
    CustomMessage(Arc<AgentMessage>),
    /// The summary of a branch that the conversation came back from.
    BranchSummary(Arc<AgentMessage>),
    /// An earlier compaction.
    Compaction {
        /// Its summary, with the lists of files.
        summary: String,
        /// The id of the first entry that it kept as it was.
        first_kept: String,
        /// What its maker noted beside the summary.
        details: Option<Value>,
        /// An extension made it.
        from_hook: bool,
    },
    /// Settings, names, labels: nothing that a model is told.
    Other,
}

impl PathEntry {
    /// What the entry adds to the context.
    pub const fn message(&self) -> Option<&Arc<AgentMessage>> {
        match &self.kind {
            PathEntryKind::Message(message)
            | PathEntryKind::CustomMessage(message)
            | PathEntryKind::BranchSummary(message) => Some(message),
            PathEntryKind::Compaction { .. } | PathEntryKind::Other => None,
        }
    }
}
