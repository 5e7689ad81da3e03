//! Repairs messages that do not fit today's schema: members that older versions left out get defaults, and blocks of
//! unknown kinds are dropped, so that no message is lost.

use super::stats::MOST_COUNTED;
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, FromJson, JsonError, StopReason, UserContent, from_value,
};
use serde_json::{Map, Value, json};

/// Repairs and parses a message; also returns a note about dropped blocks. `at` is its time if it has none.
pub fn repair(mut message: Value, at: u64) -> Result<(AgentMessage, Option<String>), JsonError> {
    let mut dropped = 0;
    if let Some(map) = message.as_object_mut() {
        if map.get("timestamp").and_then(Value::as_u64).is_none() {
            map.insert("timestamp".to_owned(), at.into());
        }
        match map.get("role").and_then(Value::as_str) {
            Some("assistant") => {
                let known = map.get("stopReason").and_then(Value::as_str).and_then(StopReason::parse);
                if known.is_none() {
                    map.insert("stopReason".to_owned(), StopReason::Stop.as_str().into());
                }
                let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
                let usage = json!({
                    "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost,
                });
                let model = json!({ "content": [], "api": "", "provider": "", "model": "", "usage": usage });
                if let Some(Value::Object(usage)) = map.get_mut("usage") {
                    let is_count = |value: &Value| value.as_u64().is_some_and(|count| count <= MOST_COUNTED);
                    usage.retain(|_, value| !value.is_number() || is_count(value));
                }
                fill_defaults(map, &model);
                dropped = remove_unknown_blocks::<AssistantContent>(map);
            }
            Some("toolResult") => {
                fill_defaults(
                    map,
                    &json!({ "content": [], "toolCallId": "", "toolName": "", "isError": false }),
                );
                dropped = remove_unknown_blocks::<UserContent>(map);
            }
            Some("bashExecution" | "pythonExecution") => {
                fill_defaults(map, &json!({ "output": "", "cancelled": false, "truncated": false }));
                // Some versions wrote null for the exit code of a killed command.
                map.retain(|_, value| !value.is_null());
            }
            Some(role @ ("user" | "developer" | "custom" | "hookMessage")) => {
                if role == "custom" || role == "hookMessage" {
                    fill_defaults(map, &json!({ "customType": "", "display": true }));
                }
                if !map.get("content").is_some_and(Value::is_string) {
                    fill_defaults(map, &json!({ "content": [] }));
                }
                dropped = remove_unknown_blocks::<UserContent>(map);
            }
            _ => {}
        }
    }
    let note = (dropped > 0).then(|| format!("{dropped} of its blocks left out"));
    Ok((from_value(&message)?, note))
}

/// Inserts the `defaults` that are missing or have another JSON type.
fn fill_defaults(map: &mut Map<String, Value>, defaults: &Value) {
    for (key, default) in defaults.as_object().into_iter().flatten() {
        match (map.get_mut(key), default) {
            (Some(Value::Object(inner)), Value::Object(_)) => fill_defaults(inner, default),
            (Some(Value::String(text)), Value::Array(_)) => {
                let block = json!([{ "type": "text", "text": std::mem::take(text) }]);
                map.insert(key.clone(), block);
            }
            (Some(value), _) if std::mem::discriminant(value) == std::mem::discriminant(default) => {}
            _ => {
                map.insert(key.clone(), default.clone());
            }
        }
    }
}

/// Removes the blocks that are no `T`; returns their number.
fn remove_unknown_blocks<T: FromJson>(map: &mut Map<String, Value>) -> usize {
    let Some(Value::Array(blocks)) = map.get_mut("content") else { return 0 };
    let before = blocks.len();
    blocks.retain(|block| from_value::<T>(block).is_ok());
    before - blocks.len()
}
