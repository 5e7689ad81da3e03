//! Parses the data of server-sent events.

use pi_rpc_protocol::mend_surrogates;
use serde_json::Value;

/// Error of a stream that ends within an answer. Runs retry errors with `terminated`.
pub const STREAM_CUT: &str = "terminated: the stream ended before the answer was complete";

/// Error of an answer that ends as a whole one does, but without the provider's reason for its end. Runs retry it as
/// [`STREAM_CUT`].
pub const NO_STOP_REASON: &str = "terminated: the answer ended without a stop reason";

/// Error of an answer that came whole where its deltas were requested.
pub const NO_STREAM: &str = "terminated: the provider sent a whole answer, not the stream that was requested";

/// Parses `data` as an object; `Ok(None)`: data without content.
///
/// Fails with a text for the answer if it is no JSON: the answer would have a hole. Half an event means a cut stream.
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
