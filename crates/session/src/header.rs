//! The first line of a session file.

use super::time::iso;
use pi_rpc_protocol::{JsonObject, SessionHeader, TitleSource};
use serde_json::Value;

/// Version of the session files that are written.
pub const VERSION: u64 = 3;

/// Builds the header of a new session. `parent`: the file of the session that it was forked from.
pub fn new_header(id: String, cwd: String, parent: Option<String>, wall_ms: u64) -> SessionHeader {
    SessionHeader {
        version: VERSION,
        id,
        timestamp: iso(wall_ms),
        cwd,
        parent_session: parent,
        title: None,
        title_source: None,
        extra: JsonObject::new(),
    }
}

/// Reads a header; `None`: it has no id. Other members that are missing or of a wrong type are empty (source: pi
/// source).
pub fn read(mut map: JsonObject) -> Option<SessionHeader> {
    let mut text = |key: &str| match map.get(key) {
        Some(Value::String(_)) => match map.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    let id = text("id")?;
    let (timestamp, cwd) = (text("timestamp").unwrap_or_default(), text("cwd").unwrap_or_default());
    let (parent_session, title) = (text("parentSession"), text("title"));
    let title_source = text("titleSource").and_then(|source| TitleSource::parse(&source));
    let version = map.get("version").and_then(Value::as_u64).unwrap_or(1);
    // Optional members of a wrong type are dropped.
    for key in ["type", "version", "id", "timestamp", "cwd", "parentSession", "title", "titleSource"] {
        map.shift_remove(key);
    }
    Some(SessionHeader { version, id, timestamp, cwd, parent_session, title, title_source, extra: map })
}
