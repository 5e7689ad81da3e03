//! Writes pi's own stream: nameless events, each with the place of its block.

use crate::{
    answer::{AnswerWriter, sse},
    vendor::model,
};
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Value, json};

/// Text of thinking that its provider has hidden.
const REDACTED: &str = "[Reasoning redacted]";
/// Dollars that the gateway charges for a million tokens of input, output, cached and written input.
const PRICES: [f64; 4] = [1.0, 4.0, 0.25, 1.25];

/// Writer of one answer.
pub struct EventWriter {
    model: String,
    id: String,
    usage: TokenCounts,
    begun: bool,
    blocks: Vec<Value>,
    /// The arguments of the open call.
    arguments: String,
    reason: Value,
}

impl EventWriter {
    /// Starts the answer to the request `body`.
    pub fn new(body: &Value) -> Self {
        Self {
            model: model(body),
            id: "scripted".to_owned(),
            usage: TokenCounts::default(),
            begun: false,
            blocks: Vec::new(),
            arguments: String::new(),
            reason: Value::Null,
        }
    }

    fn begin(&mut self, usage: TokenCounts) -> String {
        self.usage = usage;
        match std::mem::replace(&mut self.begun, true) {
            true => String::new(),
            false => event(&json!({ "type": "start" })),
        }
    }

    fn start(&mut self, index: usize, start: &BlockStart) -> String {
        let (block, written) = match start {
            BlockStart::Text => (
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_start", "contentIndex": index }),
            ),
            BlockStart::Thinking => (
                json!({ "type": "thinking", "thinking": "" }),
                json!({ "type": "thinking_start", "contentIndex": index }),
            ),
            BlockStart::Redacted { data } => (
                json!({ "type": "thinking", "thinking": REDACTED, "thinkingSignature": data, "redacted": true }),
                json!({ "type": "thinking_start", "contentIndex": index }),
            ),
            BlockStart::ToolCall { id, name } => {
                self.arguments.clear();
                (
                    json!({ "type": "toolCall", "id": id, "name": name, "arguments": {} }),
                    json!({ "type": "toolcall_start", "contentIndex": index, "id": id, "toolName": name }),
                )
            }
        };
        self.blocks.push(block);
        event(&written)
    }

    fn append_delta(&mut self, index: usize, more: &str) -> String {
        let Some(block) = self.blocks.get_mut(index) else { return String::new() };
        let kind = match block["type"].as_str() {
            Some("toolCall") => {
                self.arguments.push_str(more);
                "toolcall_delta"
            }
            Some("thinking") => {
                append(&mut block["thinking"], more);
                "thinking_delta"
            }
            _ => {
                append(&mut block["text"], more);
                "text_delta"
            }
        };
        event(&json!({ "type": kind, "contentIndex": index, "delta": more }))
    }

    fn end(&mut self, index: usize, signature: Option<&str>) -> String {
        let Some(block) = self.blocks.get_mut(index) else { return String::new() };
        let mut written = json!({ "type": null, "contentIndex": index });
        let (kind, members): (_, &[(&str, &str)]) = match block["type"].as_str() {
            Some("toolCall") => {
                sign(block, "thoughtSignature", signature);
                // A script may break a call on purpose, but the form holds only an object.
                let arguments = serde_json::from_str(&self.arguments).ok().filter(Value::is_object);
                block["arguments"] = arguments.unwrap_or_else(|| json!({}));
                written["toolCall"] = block.clone();
                ("toolcall_end", &[])
            }
            Some("thinking") => {
                sign(block, "thinkingSignature", signature);
                let members = &[
                    ("content", "thinking"),
                    ("contentSignature", "thinkingSignature"),
                    ("redacted", "redacted"),
                ];
                ("thinking_end", members)
            }
            _ => {
                sign(block, "textSignature", signature);
                ("text_end", &[("content", "text"), ("contentSignature", "textSignature")])
            }
        };
        for (name, own) in members {
            if let Some(value) = block.get(*own) {
                written[*name] = value.clone();
            }
        }
        written["type"] = kind.into();
        event(&written)
    }

    fn finish(&mut self, finish: Finish) -> String {
        self.reason = finish.name().into();
        event(
            &json!({ "type": "done", "reason": self.reason, "usage": self.tokens(), "responseId": self.id }),
        )
    }

    /// The usage with its cost.
    fn tokens(&self) -> Value {
        let TokenCounts { input, output, cache_read, cache_write, .. } = self.usage;
        let counts = [input, output, cache_read, cache_write];
        let costs: Vec<f64> =
            counts.iter().zip(PRICES).map(|(tokens, price)| *tokens as f64 * price / 1e6).collect();
        let total = (costs.iter().sum::<f64>() * 1e12).round() / 1e12;
        json!({
            "input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write,
            "totalTokens": counts.iter().sum::<u64>(),
            "cost": {
                "input": costs[0], "output": costs[1], "cacheRead": costs[2], "cacheWrite": costs[3],
                "total": total,
            },
        })
    }
}

impl AnswerWriter for EventWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        match event {
            StreamEvent::ResponseId(id) => {
                self.id.clone_from(id);
                String::new()
            }
            StreamEvent::Usage(usage) => self.begin(*usage),
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
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let message = error["error"]["message"].as_str().unwrap_or(body);
        event(&json!({
            "type": "error", "reason": "error", "usage": self.tokens(), "errorMessage": message,
            "responseId": self.id,
        }))
    }

    fn whole(&self) -> Value {
        json!({
            "role": "assistant", "content": self.blocks, "api": "pi-messages", "model": self.model,
            "usage": self.tokens(), "stopReason": self.reason, "responseId": self.id,
        })
    }
}

fn event(event: &Value) -> String {
    sse(None, &event.to_string())
}

fn sign(block: &mut Value, name: &str, signature: Option<&str>) {
    if let Some(signature) = signature {
        block[name] = signature.into();
    }
}

fn append(text: &mut Value, more: &str) {
    if let Value::String(text) = text {
        text.push_str(more);
    }
}
