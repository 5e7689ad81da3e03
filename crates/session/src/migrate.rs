//! Migrates entries of version 1 files, which had no ids, and of version 2 files, whose custom messages had another
//! role.

use super::{head::LineHead, members::Members};
use pi_rpc_protocol::AgentMessageKind;
use serde_json::value::to_raw_value;
use std::sync::Arc;

/// Ids of the objects read so far, headers included: version 1 refers to entries by number.
#[derive(Debug, Default)]
pub struct LegacyIds {
    ids: Vec<Option<Arc<str>>>,
    last: Option<Arc<str>>,
}

impl LegacyIds {
    /// Adds an object; `None`: a header.
    pub fn count(&mut self, id: Option<Arc<str>>) {
        self.last = id.clone().or(self.last.take());
        self.ids.push(id);
    }

    /// Id of the last entry.
    pub fn last(&self) -> Option<&Arc<str>> {
        self.last.as_ref()
    }
}

/// Migrates a line to version 3; `None`: it needs no change. An entry of version 1 that has an id keeps its place in
/// the tree.
pub fn line(
    line: &[u8],
    head: &LineHead,
    id: &Arc<str>,
    parent: Option<&Arc<str>>,
    old: &LegacyIds,
) -> Option<Vec<u8>> {
    let is_nameless = head.id.is_none();
    let is_hook = head.role == Some(AgentMessageKind::HookMessage);
    let by_index = head.kind.as_deref() == Some("compaction");
    if !(is_nameless || is_hook || by_index) {
        return None;
    }
    migrated(line, is_nameless.then_some((id, parent)), is_hook, old).ok()
}

/// Rewrites the line, line feed included. `place`: the id and parent to insert.
fn migrated(
    line: &[u8],
    place: Option<(&Arc<str>, Option<&Arc<str>>)>,
    is_hook: bool,
    old: &LegacyIds,
) -> serde_json::Result<Vec<u8>> {
    let mut members: Members = serde_json::from_slice(line)?;
    if let Some((id, parent)) = place {
        members.set("id", &id.as_ref())?;
        members.set("parentId", &parent.map(AsRef::as_ref))?;
    }
    if is_hook && let Some(message) = members.get("message") {
        let mut message: Members = serde_json::from_str(message.get())?;
        message.set("role", &AgentMessageKind::Custom.as_str())?;
        let message = to_raw_value(&message)?;
        members.set("message", &message)?;
    }
    if let Some(index) = members.get("firstKeptEntryIndex") {
        let place: Option<usize> = serde_json::from_str(index.get()).ok();
        members.remove("firstKeptEntryIndex");
        if let Some(Some(id)) = place.and_then(|place| old.ids.get(place)) {
            members.set("firstKeptEntryId", &id.as_ref())?;
        }
    }
    members.line()
}
