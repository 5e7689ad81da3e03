//! Anthropic Messages.

pub(super) mod rules;
pub(super) mod writer;

use super::asked::{Asked, items, text_of};
use serde_json::Value;

/// What the model is asked. A user message holds texts, results of tools, or both.
pub(super) fn asked(body: &Value) -> Asked {
    let mut asked = Asked::default();
    asked.other(&text_of(&body["system"]));
    for message in items(&body["messages"]) {
        let content = &message["content"];
        for block in items(content) {
            match block["type"].as_str() {
                Some("tool_use") => asked.called(&block["id"], &block["name"]),
                Some("tool_result") => {
                    let is_error = block["is_error"] == true;
                    asked.result(&block["tool_use_id"], text_of(&block["content"]), is_error);
                }
                _ => {}
            }
        }
        let speaks = content.is_string() || items(content).iter().any(|block| block["type"] != "tool_result");
        match message["role"].as_str() {
            Some("user") if speaks => asked.user(&text_of(content)),
            Some("user") => {}
            _ => asked.other(&text_of(content)),
        }
    }
    for tool in items(&body["tools"]) {
        asked.tool(&tool["name"]);
    }
    asked
}
