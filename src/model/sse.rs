//! What the data of a server-sent event say, and what it means when no more come.

use crate::protocol::mend_surrogates;
use serde_json::Value;

/// The error of a stream that ends in the middle of an answer. It says `terminated`, which runs are tried again for.
pub const STREAM_CUT: &str = "terminated: the stream ended before the answer was complete";

/// What a stream sends under `data`: an object; `Ok(None)` for what says nothing.
///
/// Fails with a text for the answer when it is not JSON: the answer would have a hole. Half an event is a cut stream.
pub fn read(data: &str) -> Result<Option<Value>, String> {
    if data.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<Value>(&mend_surrogates(data)) {
        Ok(value) => Ok(Some(value).filter(Value::is_object)),
        Err(error) if error.is_eof() => Err(format!("terminated: the provider sent half an event: {error}")),
        Err(error) => Err(format!("Could not read what the provider sent: {error}")),
    }
}
