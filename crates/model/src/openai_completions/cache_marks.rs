//! Marks for Anthropic's cache, which some servers of Chat Completions take.
//!
//! Source: pi 1.5.2 (`cacheControlFormat`).

use serde_json::{Value, json};

/// Marks the instructions, the last tool and the last text of the conversation; `keeps_long`: for an hour.
pub fn add(messages: &mut [Value], tools: &mut [Value], keeps_long: bool) {
    let mark = match keeps_long {
        true => json!({"type": "ephemeral", "ttl": "1h"}),
        false => json!({"type": "ephemeral"}),
    };
    let is = |message: &Value, roles: &[&str]| roles.iter().any(|role| message["role"] == *role);
    let mut instructions = messages.iter_mut().filter(|message| is(message, &["system", "developer"]));
    if let Some(message) = instructions.next() {
        mark_text(message, &mark);
    }
    if let Some(tool) = tools.last_mut() {
        tool["cache_control"] = mark.clone();
    }
    let mut spoken = messages.iter_mut().rev().filter(|message| is(message, &["user", "assistant", "tool"]));
    spoken.any(|message| mark_text(message, &mark));
}

/// Marks the last text of a message; `false`: it has none.
fn mark_text(message: &mut Value, mark: &Value) -> bool {
    if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    let parts = message["content"].as_array_mut();
    match parts.and_then(|parts| parts.iter_mut().rev().find(|part| part["type"] == "text")) {
        Some(part) => {
            part["cache_control"] = mark.clone();
            true
        }
        None => false,
    }
}
