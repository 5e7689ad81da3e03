//! Renders streams of Chat Completions: nameless chunks, each with a delta of the one choice.

use crate::{
    answer::{AnswerWriter, sse},
    handle::CREATED,
    vendor::model,
};
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Map, Value, json};

/// The completion rendered so far.
pub struct ChunkWriter {
    id: String,
    model: String,
    /// Whether the client asks for the usage, in a chunk of its own.
    includes_usage: bool,
    blocks: Vec<RenderedBlock>,
    begun: bool,
    usage: TokenCounts,
    finish_reason: Value,
}

/// A block and its form in a delta.
struct RenderedBlock {
    kind: BlockKind,
    text: String,
}

enum BlockKind {
    Text,
    /// Thinking, which OpenAI does not show; other vendors of this API do, by this name.
    Thinking,
    /// Hidden thinking, which this API does not have.
    Redacted,
    Call {
        index: usize,
        id: String,
        name: String,
    },
}

impl ChunkWriter {
    /// Starts the answer to the request `body`.
    pub fn new(body: &Value) -> Self {
        Self {
            id: "chatcmpl-scripted".to_owned(),
            model: model(body),
            includes_usage: body["stream_options"]["include_usage"] == true,
            blocks: Vec::new(),
            begun: false,
            usage: TokenCounts::default(),
            finish_reason: Value::Null,
        }
    }

    fn chunk(&self, choices: Value, usage: Value) -> String {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "service_tier": "default",
            "system_fingerprint": null,
            "choices": choices,
        });
        if self.includes_usage {
            chunk["usage"] = usage;
        }
        sse(None, &chunk.to_string())
    }

    fn delta(&self, delta: Value) -> String {
        self.choice(delta, Value::Null)
    }

    fn choice(&self, delta: Value, finish_reason: Value) -> String {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason });
        self.chunk(json!([choice]), Value::Null)
    }

    fn start(&mut self, block: &BlockStart) -> String {
        let kind = match block {
            BlockStart::Text => BlockKind::Text,
            BlockStart::Thinking => BlockKind::Thinking,
            BlockStart::Redacted { .. } => BlockKind::Redacted,
            BlockStart::ToolCall { id, name } => {
                BlockKind::Call { index: self.calls().count(), id: id.clone(), name: name.clone() }
            }
        };
        let text = match &kind {
            BlockKind::Call { index, id, name } => self.delta(json!({
                "tool_calls": [{
                    "index": index,
                    "id": id,
                    "type": "function",
                    "function": { "name": name, "arguments": "" },
                }],
            })),
            BlockKind::Text | BlockKind::Thinking | BlockKind::Redacted => String::new(),
        };
        self.blocks.push(RenderedBlock { kind, text: String::new() });
        text
    }

    fn append_delta(&mut self, index: usize, more: &str) -> String {
        let Some(block) = self.blocks.get_mut(index) else { return String::new() };
        block.text.push_str(more);
        let delta = match block.kind {
            BlockKind::Text => json!({ "content": more }),
            BlockKind::Thinking => json!({ "reasoning_content": more }),
            BlockKind::Redacted => return String::new(),
            BlockKind::Call { index, .. } => {
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": more } }] })
            }
        };
        self.delta(delta)
    }

    fn usage(&mut self, usage: TokenCounts) -> String {
        self.usage = usage;
        if std::mem::replace(&mut self.begun, true) {
            return String::new();
        }
        self.delta(json!({ "role": "assistant", "content": "", "refusal": null }))
    }

    fn finish(&mut self, finish: Finish) -> String {
        let reason = match finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::ToolUse => "tool_calls",
        };
        self.finish_reason = reason.into();
        let mut text = self.choice(json!({}), self.finish_reason.clone());
        if self.includes_usage {
            text += &self.chunk(json!([]), self.tokens());
        }
        text + &sse(None, "[DONE]")
    }

    /// The usage in this form: cached input is part of the input, and writes to the cache do not appear.
    fn tokens(&self) -> Value {
        let TokenCounts { input, output, cache_read, cache_write, .. } = self.usage;
        let prompt = input + cache_read + cache_write;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": { "cached_tokens": cache_read, "audio_tokens": 0 },
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        })
    }

    fn calls(&self) -> impl Iterator<Item = Value> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::Call { id, name, .. } => Some(json!({
                "id": id,
                "type": "function",
                "function": { "name": name, "arguments": block.text },
            })),
            BlockKind::Text | BlockKind::Thinking | BlockKind::Redacted => None,
        })
    }

    /// The joined text of all blocks of a kind; null if there is none.
    fn joined(&self, is_kind: fn(&BlockKind) -> bool) -> Value {
        let blocks = self.blocks.iter().filter(|block| is_kind(&block.kind));
        let texts: Vec<&str> = blocks.map(|block| block.text.as_str()).collect();
        if texts.is_empty() { Value::Null } else { texts.concat().into() }
    }
}

impl AnswerWriter for ChunkWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        match event {
            StreamEvent::ResponseId(id) => {
                self.id = format!("chatcmpl-{id}");
                String::new()
            }
            StreamEvent::Usage(usage) => self.usage(*usage),
            StreamEvent::Start { block, .. } => self.start(block),
            StreamEvent::Delta { index, delta } => self.append_delta(*index, delta),
            StreamEvent::Finish(finish) => self.finish(*finish),
            // This form does not show the end of a block, and failures do not come here.
            StreamEvent::Model(_)
            | StreamEvent::Effort(_)
            | StreamEvent::Diagnostic(_)
            | StreamEvent::ProviderReason(_)
            | StreamEvent::End { .. }
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
        let mut message = Map::from_iter([("role".to_owned(), "assistant".into())]);
        message.insert("content".to_owned(), self.joined(|kind| matches!(kind, BlockKind::Text)));
        message.insert("refusal".to_owned(), Value::Null);
        message.insert("annotations".to_owned(), json!([]));
        let thinking = self.joined(|kind| matches!(kind, BlockKind::Thinking));
        if !thinking.is_null() {
            message.insert("reasoning_content".to_owned(), thinking);
        }
        let calls: Vec<Value> = self.calls().collect();
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), calls.into());
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": self.finish_reason,
            }],
            "usage": self.tokens(),
            "service_tier": "default",
            "system_fingerprint": null,
        })
    }
}
