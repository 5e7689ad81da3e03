//! Edits of earlier entries: replaced or removed messages in the context. Source: pi 1 source, its session reference.

use super::entry::Entry;
use pi_rpc_protocol::{AgentMessage, ContextEditEntry, ReplacedContent, SessionEntryKind};
use std::{collections::HashMap, sync::Arc};

/// The edits on a branch, by the id of the edited entry; the last edit of an entry counts.
#[derive(Debug, Default)]
pub struct Edits(HashMap<String, Option<ReplacedContent>>);

impl Edits {
    /// Collects the edits among the entries of a branch.
    pub fn of(path: &[&Entry]) -> Self {
        let edits = path.iter().filter(|entry| entry.kind() == Some(SessionEntryKind::ContextEdit));
        let edits = edits.filter_map(|entry| entry.read::<ContextEditEntry>());
        Self(edits.map(|edit| (edit.target_id, edit.replacement.map(|other| other.content))).collect())
    }

    /// Whether the entry was edited.
    pub fn contains(&self, entry: &Entry) -> bool {
        self.0.contains_key(&**entry.id())
    }

    /// The message of an edited entry; `None`: it was removed.
    pub fn edited_message(&self, entry: &Entry) -> Option<Arc<AgentMessage>> {
        let message = entry.message()?;
        match self.0.get(&**entry.id()) {
            None => Some(message.clone()),
            Some(None) => None,
            // Content that does not fit the role of the message changes nothing.
            Some(Some(content)) => Some(with(message, content).map_or_else(|| message.clone(), Arc::new)),
        }
    }
}

/// Replaces the content of a message; `None`: the content does not fit its role.
fn with(message: &AgentMessage, content: &ReplacedContent) -> Option<AgentMessage> {
    let mut message = serde_json::to_value(message).ok()?;
    *message.get_mut("content")? = serde_json::to_value(content).ok()?;
    pi_rpc_protocol::from_value(&message).ok()
}
