//! A branch as a compaction sees it.

use crate::protocol::AgentMessage;
use std::sync::Arc;

/// An entry on the path.
#[derive(Clone, Debug, PartialEq)]
pub struct OnPath {
    /// Names the entry in its file.
    pub id: Arc<str>,
    /// What it brings.
    pub kind: OnPathKind,
}

/// What an entry brings to a compaction.
#[derive(Clone, Debug, PartialEq)]
pub enum OnPathKind {
    /// A message.
    Message(Arc<AgentMessage>),
    /// A message of an extension.
    CustomMessage(Arc<AgentMessage>),
    /// The summary of a branch that was left.
    BranchSummary(Arc<AgentMessage>),
    /// An earlier compaction.
    Compaction {
        /// Its summary.
        summary: String,
        /// The first entry that it kept.
        first_kept: String,
        /// What its maker noted beside it.
        details: Option<serde_json::Value>,
        /// Whether an extension made it.
        from_hook: bool,
    },
    /// Nothing that models are told.
    Other,
}
