//! Parses the data of server-sent events.

use pi_rpc_protocol::{mend_surrogates, parse_repaired};
use serde_json::Value;

/// Error of a stream that ends within an answer. Runs retry errors with `terminated`.
pub const STREAM_CUT: &str = "terminated: the stream ended before the answer was complete";

/// Error of an answer that ends as a whole one does, but without the provider's reason for its end. Runs retry it as
/// [`STREAM_CUT`].
pub const NO_STOP_REASON: &str = "terminated: the answer ended without a stop reason";

/// Error of an answer that came whole where its deltas were requested.
pub const NO_STREAM: &str = "terminated: the provider sent a whole answer, not the stream that was requested";

/// Parses `data` as an object; `Ok(None)`: data without content. Raw control characters and backslashes that begin no
/// escape are read without loss.
///
/// Fails with a text for the answer that quotes the data if it is no JSON: the answer would have a hole. Runs retry it.
pub fn read(data: &str) -> Result<Option<Value>, String> {
    if data.trim().is_empty() {
        return Ok(None);
    }
    match parse_repaired(&mend_surrogates(data)) {
        Ok(value) => Ok(Some(value).filter(Value::is_object)),
        Err(error) => Err(format!("terminated: could not read an event: {error}: {}", shorten(data))),
    }
}

/// Characters of what a provider sent that an error quotes.
const QUOTED_CHARS: usize = 300;

/// Shortens what a provider sent, for an error that quotes it.
pub fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
