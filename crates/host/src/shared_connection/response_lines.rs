//! Lines of a connection of many sessions: responses, and frames with the members of their session.

use crate::{host_error::HostError, metrics::METRICS};
use pi_rpc_protocol::{RequestId, RpcErrorResponse, SessionTag};
use serde::Serialize;

pub fn line_of(frame: &impl Serialize) -> Vec<u8> {
    // Generated types always serialize.
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}

pub fn tag(session_id: &str, sequence: Option<u64>) -> SessionTag {
    SessionTag { session_id: session_id.to_owned(), sequence }
}

/// The line of a frame with the members of the tag added at its end.
pub fn tagged(mut line: Vec<u8>, tag: &SessionTag) -> Vec<u8> {
    let tag = serde_json::to_vec(tag).unwrap_or_default();
    line.truncate(line.len() - b"}\n".len());
    line.push(b',');
    line.extend_from_slice(&tag[1..]);
    line.push(b'\n');
    line
}

/// The response to a command that the host refuses.
pub fn refusal(id: Option<RequestId>, command: &str, error: &HostError) -> Vec<u8> {
    METRICS.refusal(error.code().as_str());
    error_response(id, command, error.text())
}

pub fn error_response(id: Option<RequestId>, command: &str, error: String) -> Vec<u8> {
    line_of(&RpcErrorResponse { id, command: command.to_owned(), error, code: None })
}
