//! OpenAI Chat Completions.

pub(super) mod rules;
pub(super) mod writer;

use super::asked::{Asked, items, text_of};
use serde_json::Value;

/// How pi begins the user message that carries the images of results: here, a result has no room for them.
const IMAGES_OF_RESULTS: &str = "Attached image(s) from tool result:";

/// What the model is asked. Whether a tool failed is not told in this form.
pub(super) fn asked(body: &Value) -> Asked {
    let mut asked = Asked::default();
    for message in items(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") if text.starts_with(IMAGES_OF_RESULTS) => asked.other(&text),
            Some("user") => asked.user(&text),
            Some("tool") => asked.result(&message["tool_call_id"], text, false),
            _ => asked.other(&text),
        }
        for call in items(&message["tool_calls"]) {
            asked.called(&call["id"], &call["function"]["name"]);
        }
    }
    for tool in items(&body["tools"]) {
        asked.tool(&tool["function"]["name"]);
    }
    asked
}
