//! Renders Anthropic's streams: events named by type, blocks by index.

use crate::{
    answer::{AnswerWriter, sse},
    vendor::model,
};
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Map, Value, json};

/// Signature of thinking for which the script has none: the API always sends one.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// The message rendered so far.
pub struct MessageWriter {
    message: Value,
    usage: TokenCounts,
    begun: bool,
    /// Arguments of each tool call so far, by block index; empty for other blocks.
    arguments: Vec<String>,
}

impl MessageWriter {
    /// Starts the answer to the request `body`.
    pub fn new(body: &Value) -> Self {
        let message = json!({
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": model(body),
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": null,
        });
        Self { message, usage: TokenCounts::default(), begun: false, arguments: Vec::new() }
    }

    fn start(&mut self, index: usize, block: &BlockStart) -> String {
        let content = match block {
            BlockStart::Text => json!({ "type": "text", "text": "" }),
            BlockStart::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            BlockStart::Redacted { data } => json!({ "type": "redacted_thinking", "data": data }),
            BlockStart::ToolCall { id, name } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
            }
        };
        let mut text =
            named(json!({ "type": "content_block_start", "index": index, "content_block": content }));
        if index == 0 {
            text += &named(json!({ "type": "ping" }));
        }
        if let BlockStart::ToolCall { .. } = block {
            text += &delta(index, json!({ "type": "input_json_delta", "partial_json": "" }));
        }
        self.push(content);
        self.arguments.push(String::new());
        text
    }

    fn append_delta(&mut self, index: usize, more: &str) -> String {
        let Some(block) = self.message["content"].get_mut(index) else { return String::new() };
        let kind = block["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "tool_use" => {
                self.arguments[index] += more;
                delta(index, json!({ "type": "input_json_delta", "partial_json": more }))
            }
            key => {
                append(&mut block[key], more);
                let mut change = Map::from_iter([("type".to_owned(), format!("{key}_delta").into())]);
                change.insert(key.to_owned(), more.into());
                delta(index, change.into())
            }
        }
    }

    fn end(&mut self, index: usize, signature: Option<&str>) -> String {
        let Some(block) = self.message["content"].get_mut(index) else { return String::new() };
        let mut text = String::new();
        if block["type"] == "thinking" {
            let signature = signature.unwrap_or(SIGNATURE);
            block["signature"] = signature.into();
            text = delta(index, json!({ "type": "signature_delta", "signature": signature }));
        } else if block["type"] == "tool_use" {
            // A script may break a call on purpose, but the form holds only an object.
            let input = serde_json::from_str(&self.arguments[index]).ok().filter(Value::is_object);
            block["input"] = input.unwrap_or_else(|| json!({}));
        }
        text + &named(json!({ "type": "content_block_stop", "index": index }))
    }

    fn usage(&mut self, usage: TokenCounts) -> String {
        self.usage = usage;
        let TokenCounts { input, output, cache_read, cache_write, .. } = usage;
        self.message["usage"] = json!({
            "input_tokens": input,
            "cache_creation_input_tokens": cache_write,
            "cache_read_input_tokens": cache_read,
            "cache_creation": { "ephemeral_5m_input_tokens": cache_write, "ephemeral_1h_input_tokens": 0 },
            "output_tokens": output,
            "service_tier": "standard",
        });
        if std::mem::replace(&mut self.begun, true) {
            return String::new();
        }
        named(json!({ "type": "message_start", "message": self.message }))
    }

    fn finish(&mut self, finish: Finish) -> String {
        let reason = match finish {
            Finish::Stop => "end_turn",
            Finish::Length => "max_tokens",
            Finish::ToolUse => "tool_use",
        };
        self.message["stop_reason"] = reason.into();
        let TokenCounts { input, output, cache_read, cache_write, .. } = self.usage;
        let end = json!({
            "type": "message_delta",
            "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": {
                "input_tokens": input,
                "cache_creation_input_tokens": cache_write,
                "cache_read_input_tokens": cache_read,
                "output_tokens": output,
            },
        });
        named(end) + &named(json!({ "type": "message_stop" }))
    }

    fn push(&mut self, block: Value) {
        if let Value::Array(blocks) = &mut self.message["content"] {
            blocks.push(block);
        }
    }
}

impl AnswerWriter for MessageWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        match event {
            StreamEvent::ResponseId(id) => {
                self.message["id"] = format!("msg_{id}").into();
                String::new()
            }
            StreamEvent::Usage(usage) => self.usage(*usage),
            StreamEvent::Start { index, block } => self.start(*index, block),
            StreamEvent::Delta { index, delta } => self.append_delta(*index, delta),
            StreamEvent::End { index, signature } => self.end(*index, signature.as_deref()),
            StreamEvent::Finish(finish) => self.finish(*finish),
            // Scripts send signatures at a block's end, and failures do not come here.
            StreamEvent::Model(_)
            | StreamEvent::Effort(_)
            | StreamEvent::Diagnostic(_)
            | StreamEvent::ProviderReason(_)
            | StreamEvent::Signature { .. }
            | StreamEvent::Unclosed { .. }
            | StreamEvent::Fail { .. } => String::new(),
        }
    }

    fn failure(&mut self, _failure: &Failure, body: &str) -> String {
        sse(Some("error"), body)
    }

    fn unreasoned_end(&mut self) -> String {
        named(json!({ "type": "message_stop" }))
    }

    fn whole(&self) -> Value {
        self.message.clone()
    }
}

fn delta(index: usize, delta: Value) -> String {
    named(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn named(event: Value) -> String {
    sse(event["type"].as_str(), &event.to_string())
}

fn append(text: &mut Value, more: &str) {
    if let Value::String(text) = text {
        text.push_str(more);
    }
}
