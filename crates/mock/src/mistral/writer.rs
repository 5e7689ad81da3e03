//! Writes Mistral's stream: nameless chunks, each with a delta of the one choice. A call is complete in one chunk.

use crate::{
    answer::{AnswerWriter, sse},
    handle::CREATED,
    vendor::model,
};
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Value, json};

/// Writer of one answer.
pub struct PartWriter {
    id: String,
    model: String,
    /// The parts of the content so far.
    parts: Vec<Value>,
    calls: Vec<Value>,
    block: Block,
    begun: bool,
    usage: TokenCounts,
    finish_reason: Value,
}

/// The open block.
enum Block {
    /// None, or one that this API does not have.
    None,
    Text(String),
    Thinking(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

impl PartWriter {
    /// Starts the answer to the request `body`.
    pub fn new(body: &Value) -> Self {
        Self {
            id: "scripted".to_owned(),
            model: model(body),
            parts: Vec::new(),
            calls: Vec::new(),
            block: Block::None,
            begun: false,
            usage: TokenCounts::default(),
            finish_reason: Value::Null,
        }
    }

    fn chunk(&self, delta: Value, usage: Option<Value>) -> String {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": self.finish_reason }],
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        sse(None, &chunk.to_string())
    }

    fn begin(&mut self, usage: TokenCounts) -> String {
        self.usage = usage;
        if std::mem::replace(&mut self.begun, true) {
            return String::new();
        }
        self.chunk(json!({ "role": "assistant", "content": "" }), None)
    }

    fn start(&mut self, block: &BlockStart) {
        self.block = match block {
            BlockStart::Text => Block::Text(String::new()),
            BlockStart::Thinking => Block::Thinking(String::new()),
            BlockStart::Redacted { .. } => Block::None,
            BlockStart::ToolCall { id, name } => {
                Block::Call { id: nine(id), name: name.clone(), arguments: String::new() }
            }
        };
    }

    fn append_delta(&mut self, more: &str) -> String {
        let content = match &mut self.block {
            Block::None => return String::new(),
            Block::Call { arguments, .. } => {
                arguments.push_str(more);
                return String::new();
            }
            Block::Text(text) => {
                text.push_str(more);
                json!(more)
            }
            Block::Thinking(text) => {
                text.push_str(more);
                json!([thought(more)])
            }
        };
        self.chunk(json!({ "content": content }), None)
    }

    fn end(&mut self) -> String {
        match std::mem::replace(&mut self.block, Block::None) {
            Block::None => String::new(),
            Block::Text(text) => {
                self.parts.push(json!({ "type": "text", "text": text }));
                String::new()
            }
            Block::Thinking(text) => {
                self.parts.push(thought(&text));
                String::new()
            }
            Block::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments });
                let index = self.calls.len();
                let call = json!({ "id": id, "type": "function", "function": function, "index": index });
                self.calls.push(call.clone());
                self.chunk(json!({ "content": "", "tool_calls": [call] }), None)
            }
        }
    }

    fn finish(&mut self, finish: Finish) -> String {
        self.finish_reason = match finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::ToolUse => "tool_calls",
        }
        .into();
        self.chunk(json!({ "content": "" }), Some(self.tokens())) + &sse(None, "[DONE]")
    }

    /// The usage in this form: cached input is part of the input, and writes to the cache do not appear.
    fn tokens(&self) -> Value {
        let TokenCounts { input, output, cache_read, cache_write, .. } = self.usage;
        let prompt = input + cache_read + cache_write;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": { "cached_tokens": cache_read },
        })
    }
}

/// A part of the content with thinking.
fn thought(text: &str) -> Value {
    json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] })
}

/// The id of a script as the service forms its own: nine letters and digits.
fn nine(id: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '0' };
    let plain: String = id.chars().map(plain).collect();
    format!("{:0>9}", &plain[plain.len().saturating_sub(9)..])
}

impl AnswerWriter for PartWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        match event {
            StreamEvent::ResponseId(id) => {
                self.id.clone_from(id);
                String::new()
            }
            StreamEvent::Usage(usage) => self.begin(*usage),
            StreamEvent::Start { block, .. } => {
                self.start(block);
                String::new()
            }
            StreamEvent::Delta { delta, .. } => self.append_delta(delta),
            StreamEvent::End { .. } => self.end(),
            StreamEvent::Finish(finish) => self.finish(*finish),
            // This form has no signatures, and failures do not come here.
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
        sse(None, body)
    }

    fn unreasoned_end(&mut self) -> String {
        sse(None, "[DONE]")
    }

    fn whole(&self) -> Value {
        let content = match self.parts.as_slice() {
            [] => json!(""),
            [only] if only["type"] == "text" => only["text"].clone(),
            parts => parts.into(),
        };
        let calls = if self.calls.is_empty() { Value::Null } else { self.calls.clone().into() };
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": content, "tool_calls": calls },
                "finish_reason": self.finish_reason,
            }],
            "usage": self.tokens(),
        })
    }
}
