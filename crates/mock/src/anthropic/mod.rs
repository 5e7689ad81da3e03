//! Anthropic Messages: its requests, rules and streams.

pub(super) mod rules;
pub(super) mod writer;

use super::prompt_context::{PromptContext, items, text_of};
use serde_json::Value;

/// Reads the conversation of a request. A user message holds texts, results of tools, or both.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let mut context = PromptContext::default();
    context.add_text(&text_of(&body["system"]));
    for message in items(&body["messages"]) {
        let content = &message["content"];
        for block in items(content) {
            match block["type"].as_str() {
                Some("tool_use") => context.add_call(&block["id"], &block["name"]),
                Some("tool_result") => {
                    let is_error = block["is_error"] == true;
                    context.add_result(&block["tool_use_id"], text_of(&block["content"]), is_error);
                }
                _ => {}
            }
        }
        let speaks = content.is_string() || items(content).iter().any(|block| block["type"] != "tool_result");
        match message["role"].as_str() {
            Some("user") if speaks => context.add_user_text(&text_of(content)),
            Some("user") => {}
            _ => context.add_text(&text_of(content)),
        }
    }
    for tool in items(&body["tools"]) {
        context.add_tool(&tool["name"]);
    }
    context
}
