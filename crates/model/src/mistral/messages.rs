//! Converts the conversation to Mistral's messages.

use super::call_ids::CallIds;
use crate::{
    convert::{AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, SEE_IMAGE, convert},
    openai::data_url,
    request::ModelRequest,
};
use serde_json::{Value, json};

/// Text of a result without content. Source: pi source.
const NO_OUTPUT: &str = "(no tool output)";
/// Precedes the text of a failed result, as the API has no member for that. Source: pi source.
const FAILED: &str = "[tool error] ";

/// Builds all messages, the instructions first.
pub fn messages(request: &ModelRequest<'_>) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system_prompt.is_empty() {
        messages.push(json!({"role": "system", "content": request.system_prompt}));
    }
    let mut ids = CallIds::default();
    for turn in convert(request, |id, _| id.to_owned()) {
        match &turn {
            // The API has no role for the agent's own messages.
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => messages.extend(user(parts)),
            ChatTurn::Assistant(turn) => {
                messages.extend(assistant(turn, &mut ids));
                messages.extend(turn.results.iter().map(|found| result(found, &mut ids)));
            }
        }
    }
    messages
}

fn user(parts: &[ChatPart<'_>]) -> Option<Value> {
    let parts: Vec<Value> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
}

fn part(part: &ChatPart<'_>) -> Value {
    match part {
        ChatPart::Text(text) => json!({"type": "text", "text": text}),
        ChatPart::Image(image) => json!({"type": "image_url", "image_url": data_url(image)}),
    }
}

/// Converts an answer; `None`: it has neither content nor calls, which the service refuses.
fn assistant(turn: &AssistantTurn<'_>, ids: &mut CallIds) -> Option<Value> {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for block in &turn.blocks {
        match block {
            ChatBlock::Text { text, .. } if !text.trim().is_empty() => {
                content.push(json!({"type": "text", "text": text}));
            }
            ChatBlock::Thinking { text, .. } if !text.trim().is_empty() => {
                let thought = json!([{"type": "text", "text": text}]);
                content.push(json!({"type": "thinking", "thinking": thought}));
            }
            ChatBlock::Call { id, name, arguments, .. } => {
                let arguments = Value::Object((*arguments).clone()).to_string();
                let function = json!({"name": name, "arguments": arguments});
                calls.push(json!({"id": ids.sent(id), "type": "function", "function": function, "index": 0}));
            }
            ChatBlock::Text { .. } | ChatBlock::Thinking { .. } | ChatBlock::Redacted { .. } => {}
        }
    }
    if content.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = json!({"role": "assistant", "prefix": false});
    if !content.is_empty() {
        message["content"] = content.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Some(message)
}

fn result(result: &CallResult<'_>, ids: &mut CallIds) -> Value {
    let texts: Vec<&str> = result.content.iter().filter_map(ChatPart::text).collect();
    let text = texts.join("\n");
    let images: Vec<Value> =
        result.content.iter().filter(|part| matches!(part, ChatPart::Image(_))).map(part).collect();
    let text = match text.trim() {
        "" if images.is_empty() => NO_OUTPUT,
        "" => SEE_IMAGE,
        text => text,
    };
    let failed = if result.is_error { FAILED } else { "" };
    let mut content = vec![json!({"type": "text", "text": format!("{failed}{text}")})];
    content.extend(images);
    json!({"role": "tool", "tool_call_id": ids.sent(&result.id), "name": result.name, "content": content})
}
