//! OpenAI Chat Completions: its requests, rules and streams.

pub(super) mod rules;
pub(super) mod writer;

use super::prompt_context::{PromptContext, items, text_of};
use serde_json::Value;

/// Beginning of pi's user message with the images of results, for which results have no room here.
const IMAGES_OF_RESULTS: &str = "Attached image(s) from tool result:";

/// Reads the conversation of a request. This form does not show whether a tool failed.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let mut context = PromptContext::default();
    for message in items(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") if text.starts_with(IMAGES_OF_RESULTS) => context.add_text(&text),
            Some("user") => context.add_user_text(&text),
            Some("tool") => context.add_result(&message["tool_call_id"], text, false),
            _ => context.add_text(&text),
        }
        for call in items(&message["tool_calls"]) {
            context.add_call(&call["id"], &call["function"]["name"]);
        }
    }
    for tool in items(&body["tools"]) {
        context.add_tool(&tool["function"]["name"]);
    }
    context
}
