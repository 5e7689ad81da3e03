//! Entries from the root of a session to its leaf, as a compaction reads them.

use pi_rpc_protocol::AgentMessage;
use serde_json::Value;
use std::sync::Arc;

/// An entry on the branch of the leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEntry {
    /// The entry's id.
    pub id: Arc<str>,
    /// Kind and content.
    pub kind: PathEntryKind,
}

/// The part of an entry that matters to a compaction.
#[derive(Clone, Debug, PartialEq)]
pub enum PathEntryKind {
    /// A message of the conversation.
    Message(Arc<AgentMessage>),
    /// A message of an extension.
    CustomMessage(Arc<AgentMessage>),
    /// The summary of an abandoned branch.
    BranchSummary(Arc<AgentMessage>),
    /// An earlier compaction.
    Compaction {
        /// Its summary, with the lists of files.
        summary: String,
        /// Id of the first entry that it kept.
        first_kept: String,
        /// Data of the summary's maker.
        details: Option<Value>,
        /// Whether an extension made it.
        from_hook: bool,
    },
    /// Settings, names, labels: nothing in the context.
    Other,
}

impl PathEntry {
    /// The message that the entry adds to the context.
    pub const fn message(&self) -> Option<&Arc<AgentMessage>> {
        match &self.kind {
            PathEntryKind::Message(message)
            | PathEntryKind::CustomMessage(message)
            | PathEntryKind::BranchSummary(message) => Some(message),
            PathEntryKind::Compaction { .. } | PathEntryKind::Other => None,
        }
    }
}
