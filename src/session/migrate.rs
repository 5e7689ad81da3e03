//! Entries of files of version 1, which had no ids, and of version 2, whose custom messages had another role.

use super::head::LineHead;
use crate::protocol::{AgentMessageKind, JsonObject};
use serde_json::Value;
use std::sync::Arc;

/// The objects of the file so far, headers included: version 1 counts them.
#[derive(Debug, Default)]
pub struct Old {
    ids: Vec<Option<Arc<str>>>,
    last: Option<Arc<str>>,
}

impl Old {
    /// One object more; `None`: a header.
    pub fn count(&mut self, id: Option<Arc<str>>) {
        self.last = id.clone().or(self.last.take());
        self.ids.push(id);
    }

    /// The id of the entry before.
    pub fn last(&self) -> Option<&Arc<str>> {
        self.last.as_ref()
    }
}

/// The line as version 3 has it; `None`: as it is. An entry that names itself in a file of version 1 keeps its place in
/// the tree.
pub fn line(
    line: &[u8],
    head: &LineHead,
    id: &Arc<str>,
    parent: Option<&Arc<str>>,
    old: &Old,
) -> Option<Vec<u8>> {
    let is_nameless = head.id.is_none();
    let is_hook = head.role == Some(AgentMessageKind::HookMessage);
    let by_index = head.kind.as_deref() == Some("compaction");
    if !(is_nameless || is_hook || by_index) {
        return None;
    }
    let mut map: JsonObject = serde_json::from_slice(line).ok()?;
    if is_nameless {
        map.insert("id".to_owned(), id.as_ref().into());
        map.insert("parentId".to_owned(), parent.map_or(Value::Null, |parent| parent.as_ref().into()));
    }
    if is_hook && let Some(message) = map.get_mut("message").and_then(Value::as_object_mut) {
        message.insert("role".to_owned(), AgentMessageKind::Custom.as_str().into());
    }
    if let Some(index) = map.shift_remove("firstKeptEntryIndex") {
        let place = index.as_u64().and_then(|index| usize::try_from(index).ok());
        if let Some(Some(id)) = place.and_then(|place| old.ids.get(place)) {
            map.insert("firstKeptEntryId".to_owned(), id.as_ref().into());
        }
    }
    serde_json::to_vec(&map).ok()
}
