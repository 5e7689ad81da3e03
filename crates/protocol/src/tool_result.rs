//! Tool results that consist of a text only.

use super::{AgentToolResult, TextContent, UserContent};

impl From<String> for AgentToolResult {
    /// Result with the text as its only content block.
    fn from(text: String) -> Self {
        let text = TextContent { text, text_signature: None };
        Self {
            content: vec![UserContent::Text(text)],
            details: None,
            is_warning: None,
            structured_content: None,
            is_error: None,
            usage: None,
            terminate: None,
        }
    }
}

impl From<&str> for AgentToolResult {
    /// Result with the text as its only content block.
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}
