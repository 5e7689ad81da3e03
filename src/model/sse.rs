//! What the data of a server-sent event say.

use super::types::StreamEvent;
use crate::protocol::mend_surrogates;
use serde_json::Value;

/// The JSON of an event's data; or the failure of an answer of which a part cannot be read: it would have a hole.
pub(super) fn json(name: &str, data: &str) -> Result<Value, StreamEvent> {
    serde_json::from_str(&mend_surrogates(data))
        .map_err(|error| failure(format!("Could not read the provider's event {name}: {error}")))
}

/// A failure with nothing known about when to try again.
pub(super) fn failure(message: String) -> StreamEvent {
    StreamEvent::Fail { message, retry_after: None }
}
