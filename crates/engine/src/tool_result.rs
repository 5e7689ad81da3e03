//! Tool results that the engine makes itself.

use pi_rpc_protocol::{AgentToolResult, JsonObject, TextContent, UserContent};
use serde_json::Value;

/// The result of a call that failed with this text.
pub fn error_result(text: &str) -> AgentToolResult {
    let text = UserContent::Text(TextContent { text: text.to_owned(), text_signature: None });
    AgentToolResult {
        content: vec![text],
        details: Some(Value::Object(JsonObject::new())),
        is_warning: None,
        structured_content: None,
        is_error: None,
        usage: None,
        terminate: None,
    }
}
