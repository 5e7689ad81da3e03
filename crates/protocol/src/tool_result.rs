//! Results of tools that are a text alone.

use super::{AgentToolResult, TextContent, UserContent};

impl From<String> for AgentToolResult {
    /// A text, and nothing else.
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
    /// A text, and nothing else.
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}
