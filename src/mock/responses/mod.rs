//! OpenAI Responses.

pub(super) mod rules;
pub(super) mod writer;

use super::asked::{Asked, items, text_of};
use serde_json::Value;

/// What the model is asked. Whether a tool failed is not told in this form.
pub(super) fn asked(body: &Value) -> Asked {
    let mut asked = Asked::default();
    asked.other(&text_of(&body["instructions"]));
    if let Some(text) = body["input"].as_str() {
        asked.user(text);
    }
    for item in items(&body["input"]) {
        match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
            ("message", Some("user")) => asked.user(&text_of(&item["content"])),
            ("message", _) => asked.other(&text_of(&item["content"])),
            ("function_call", _) => asked.called(&item["call_id"], &item["name"]),
            ("function_call_output", _) => asked.result(&item["call_id"], text_of(&item["output"]), false),
            _ => {}
        }
    }
    for tool in items(&body["tools"]) {
        asked.tool(&tool["name"]);
    }
    asked
}
