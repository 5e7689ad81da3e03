//! OpenAI Responses: its requests, rules and streams.

pub(super) mod azure;
pub(super) mod codex;
pub(super) mod rules;
pub(super) mod writer;

use super::prompt_context::{PromptContext, items, text_of};
use serde_json::Value;

/// Reads the conversation of a request. This form does not show whether a tool failed.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let mut context = PromptContext::default();
    context.add_text(&text_of(&body["instructions"]));
    if let Some(text) = body["input"].as_str() {
        context.add_user_text(text);
    }
    for item in items(&body["input"]) {
        match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
            ("message", Some("user")) => context.add_user_text(&text_of(&item["content"])),
            ("message", _) => context.add_text(&text_of(&item["content"])),
            ("function_call", _) => context.add_call(&item["call_id"], &item["name"]),
            ("function_call_output", _) => {
                context.add_result(&item["call_id"], text_of(&item["output"]), false)
            }
            ("additional_tools", _) => {
                items(&item["tools"]).iter().for_each(|tool| context.add_tool(&tool["name"]));
            }
            _ => {}
        }
    }
    for tool in items(&body["tools"]) {
        context.add_tool(&tool["name"]);
    }
    context
}
