//! Writes the Gemini API's stream: chunks with the newest part. A call is complete in one part.

use crate::answer::AnswerWriter;
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Value, json};

/// The signature if the script has none: the service always sends one.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// Writer of one answer.
pub struct PartWriter {
    id: String,
    model: String,
    usage: Option<TokenCounts>,
    /// The parts so far; consecutive parts of one kind are merged.
    parts: Vec<Value>,
    block: Block,
    /// Whether the answer has a call.
    has_call: bool,
    finish_reason: Option<&'static str>,
}

/// The open block.
enum Block {
    None,
    Text,
    Thought,
    Call { id: String, name: String, arguments: String },
}

impl PartWriter {
    /// Creates the writer of an answer by `model`.
    pub fn new(model: &str) -> Self {
        Self {
            id: "scripted".to_owned(),
            model: model.to_owned(),
            usage: None,
            parts: Vec::new(),
            block: Block::None,
            has_call: false,
            finish_reason: None,
        }
    }

    /// Adds `part`; returns its chunk.
    fn add(&mut self, part: Value) -> String {
        let merges = |last: &Value| {
            last["text"].is_string()
                && part["text"].is_string()
                && last["thought"] == part["thought"]
                && last["thoughtSignature"].is_null()
        };
        match self.parts.last_mut().filter(|last| merges(last)) {
            Some(last) => {
                let text = [&last["text"], &part["text"]].map(|text| text.as_str().unwrap_or_default());
                last["text"] = text.concat().into();
                if part["thoughtSignature"].is_string() {
                    last["thoughtSignature"] = part["thoughtSignature"].clone();
                }
            }
            None => self.parts.push(part.clone()),
        }
        self.chunk(vec![part])
    }

    fn chunk(&self, parts: Vec<Value>) -> String {
        format!("data: {}\r\n\r\n", self.response(parts))
    }

    fn response(&self, parts: Vec<Value>) -> Value {
        let mut candidate = json!({ "content": { "parts": parts, "role": "model" } });
        if let Some(reason) = self.finish_reason {
            candidate["finishReason"] = reason.into();
        }
        candidate["index"] = 0.into();
        let mut response = json!({ "candidates": [candidate] });
        if let Some(TokenCounts { input, output, cache_read, cache_write, .. }) = self.usage {
            let prompt = input.saturating_add(cache_read).saturating_add(cache_write);
            let mut usage = json!({
                "promptTokenCount": prompt,
                "candidatesTokenCount": output,
                "totalTokenCount": prompt.saturating_add(output),
            });
            if cache_read > 0 {
                usage["cachedContentTokenCount"] = cache_read.into();
            }
            response["usageMetadata"] = usage;
        }
        response["modelVersion"] = self.model.as_str().into();
        response["responseId"] = self.id.as_str().into();
        response
    }

    fn start(&mut self, block: &BlockStart) -> String {
        self.block = match block {
            BlockStart::Text => Block::Text,
            BlockStart::Thinking => Block::Thought,
            // The API has no hidden blocks: they are signatures without a text.
            BlockStart::Redacted { data } => {
                self.block = Block::None;
                return self.add(json!({ "text": "", "thought": true, "thoughtSignature": data }));
            }
            BlockStart::ToolCall { id, name } => {
                Block::Call { id: id.clone(), name: name.clone(), arguments: String::new() }
            }
        };
        String::new()
    }

    fn append_delta(&mut self, more: &str) -> String {
        match &mut self.block {
            Block::None => String::new(),
            Block::Text => self.add(json!({ "text": more })),
            Block::Thought => self.add(json!({ "text": more, "thought": true })),
            Block::Call { arguments, .. } => {
                arguments.push_str(more);
                String::new()
            }
        }
    }

    fn end(&mut self, signature: Option<&str>) -> String {
        match (std::mem::replace(&mut self.block, Block::None), signature) {
            (Block::None, _) | (Block::Text, None) => String::new(),
            (Block::Text, Some(signature)) => self.add(json!({ "text": "", "thoughtSignature": signature })),
            (Block::Thought, signature) => {
                let signature = signature.unwrap_or(SIGNATURE);
                self.add(json!({ "text": "", "thought": true, "thoughtSignature": signature }))
            }
            (Block::Call { id, name, arguments }, signature) => {
                // A script may break the arguments on purpose, but the API has objects only.
                let arguments = serde_json::from_str(&arguments).ok().filter(Value::is_object);
                let arguments = arguments.unwrap_or_else(|| json!({}));
                let mut part = json!({ "functionCall": { "name": name, "args": arguments, "id": id } });
                // Of parallel calls only the first has a signature.
                let first = (!std::mem::replace(&mut self.has_call, true)).then_some(SIGNATURE);
                if let Some(signature) = signature.or(first) {
                    part["thoughtSignature"] = signature.into();
                }
                self.add(part)
            }
        }
    }

    fn finish(&mut self, finish: Finish) -> String {
        self.finish_reason = Some(match finish {
            Finish::Stop | Finish::ToolUse => "STOP",
            Finish::Length => "MAX_TOKENS",
        });
        self.chunk(vec![json!({ "text": "" })])
    }
}

impl AnswerWriter for PartWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        match event {
            StreamEvent::ResponseId(id) => {
                self.id.clone_from(id);
                String::new()
            }
            StreamEvent::Usage(usage) => {
                self.usage = Some(*usage);
                String::new()
            }
            StreamEvent::Start { block, .. } => self.start(block),
            StreamEvent::Delta { delta, .. } => self.append_delta(delta),
            StreamEvent::End { signature, .. } => self.end(signature.as_deref()),
            StreamEvent::Finish(finish) => self.finish(*finish),
            // Scripts have signatures at the end of a block, and failures are written elsewhere.
            StreamEvent::Model(_)
            | StreamEvent::Effort(_)
            | StreamEvent::Diagnostic(_)
            | StreamEvent::ProviderReason(_)
            | StreamEvent::Signature { .. }
            | StreamEvent::Unclosed { .. }
            | StreamEvent::Fail { .. } => String::new(),
        }
    }

    // The service writes the error without an event around it.
    fn failure(&mut self, _failure: &Failure, body: &str) -> String {
        format!("{body}\r\n\r\n")
    }

    fn whole(&self) -> Value {
        self.response(self.parts.clone())
    }
}
