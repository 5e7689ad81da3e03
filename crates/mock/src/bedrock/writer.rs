//! Writes the Converse API's stream: frames with checksums, each with an event's name and JSON.

use crate::answer::AnswerWriter;
use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Value, json};

/// The padding that the service adds to each event.
const PADDING: &str = "abcdefghijkl";

/// Marks a line with an exception instead of an event.
const EXCEPTION: char = '!';

/// Writer of one answer.
///
/// Its texts are lines: the name of an event, a blank, and the event's JSON. [`AnswerWriter::encode`] makes them frames.
pub struct FrameWriter {
    usage: TokenCounts,
    /// Blocks so far, as an answer that is not streamed has them.
    blocks: Vec<Value>,
    block: Block,
    has_begun: bool,
    stop_reason: Option<&'static str>,
}

/// The open block.
enum Block {
    None,
    Text(String),
    Thinking(String),
    Call { id: String, name: String, input: String },
}

impl FrameWriter {
    /// Creates the writer of an answer.
    pub fn new() -> Self {
        Self {
            usage: TokenCounts::default(),
            blocks: Vec::new(),
            block: Block::None,
            has_begun: false,
            stop_reason: None,
        }
    }

    fn start(&mut self, block: &BlockStart) -> String {
        let index = self.blocks.len();
        match block {
            BlockStart::Text => self.block = Block::Text(String::new()),
            BlockStart::Thinking => self.block = Block::Thinking(String::new()),
            BlockStart::Redacted { data } => {
                let hidden = json!({"redactedContent": data});
                self.blocks.push(json!({"reasoningContent": hidden}));
                return delta(index, json!({"reasoningContent": hidden})) + &stop(index);
            }
            BlockStart::ToolCall { id, name } => {
                self.block = Block::Call { id: id.clone(), name: name.clone(), input: String::new() };
                let start = json!({"toolUse": {"toolUseId": id, "name": name}});
                return line("contentBlockStart", json!({"contentBlockIndex": index, "start": start}));
            }
        }
        String::new()
    }

    fn append_delta(&mut self, more: &str) -> String {
        let index = self.blocks.len();
        let (text, part) = match &mut self.block {
            Block::None => return String::new(),
            Block::Text(text) => (text, json!({"text": more})),
            Block::Thinking(text) => (text, json!({"reasoningContent": {"text": more}})),
            Block::Call { input, .. } => (input, json!({"toolUse": {"input": more}})),
        };
        text.push_str(more);
        delta(index, part)
    }

    fn end(&mut self, signature: Option<&str>) -> String {
        let index = self.blocks.len();
        match std::mem::replace(&mut self.block, Block::None) {
            Block::None => return String::new(),
            Block::Text(text) => self.blocks.push(json!({"text": text})),
            Block::Thinking(text) => {
                let mut whole = json!({"text": text});
                if let Some(signature) = signature {
                    whole["signature"] = signature.into();
                }
                self.blocks.push(json!({"reasoningContent": {"reasoningText": whole}}));
            }
            Block::Call { id, name, input } => {
                // A script may break the arguments on purpose, but a whole answer has objects only.
                let input =
                    serde_json::from_str(&input).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
                self.blocks.push(json!({"toolUse": {"toolUseId": id, "name": name, "input": input}}));
                return stop(index);
            }
        }
        let signed = signature.map(|it| delta(index, json!({"reasoningContent": {"signature": it}})));
        signed.unwrap_or_default() + &stop(index)
    }

    fn finish(&mut self, finish: Finish) -> String {
        let reason = match finish {
            Finish::Stop => "end_turn",
            Finish::Length => "max_tokens",
            Finish::ToolUse => "tool_use",
        };
        self.stop_reason = Some(reason);
        let metadata = json!({"metrics": {"latencyMs": 1}, "usage": self.usage()});
        line("messageStop", json!({"stopReason": reason})) + &line("metadata", metadata)
    }

    fn usage(&self) -> Value {
        let TokenCounts { input, output, cache_read, cache_write, .. } = self.usage;
        let total = [input, output, cache_read, cache_write].into_iter().fold(0, u64::saturating_add);
        let mut usage = json!({"inputTokens": input, "outputTokens": output, "totalTokens": total});
        if cache_read > 0 || cache_write > 0 {
            usage["cacheReadInputTokens"] = cache_read.into();
            usage["cacheWriteInputTokens"] = cache_write.into();
        }
        usage
    }

    fn begin(&mut self) -> String {
        match std::mem::replace(&mut self.has_begun, true) {
            true => String::new(),
            false => line("messageStart", json!({"role": "assistant"})),
        }
    }
}

impl AnswerWriter for FrameWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        let said = match event {
            StreamEvent::Usage(usage) => {
                self.usage = *usage;
                return String::new();
            }
            StreamEvent::Start { block, .. } => self.start(block),
            StreamEvent::Delta { delta, .. } => self.append_delta(delta),
            StreamEvent::End { signature, .. } => self.end(signature.as_deref()),
            StreamEvent::Finish(finish) => self.finish(*finish),
            // The API has no ids of answers; scripts have signatures at the end of a block, and failures are written elsewhere.
            StreamEvent::ResponseId(_)
            | StreamEvent::Model(_)
            | StreamEvent::Effort(_)
            | StreamEvent::Diagnostic(_)
            | StreamEvent::ProviderReason(_)
            | StreamEvent::Signature { .. }
            | StreamEvent::Unclosed { .. }
            | StreamEvent::Fail { .. } => return String::new(),
        };
        self.begin() + &said
    }

    fn failure(&mut self, failure: &Failure, body: &str) -> String {
        let exception = match failure.status() {
            Some(400) => "validationException",
            Some(424) => "modelStreamErrorException",
            Some(429) => "throttlingException",
            Some(503 | 529) => "serviceUnavailableException",
            _ => "internalServerException",
        };
        format!("{EXCEPTION}{exception} {}\n", body.replace('\n', " "))
    }

    fn whole(&self) -> Value {
        json!({
            "output": {"message": {"role": "assistant", "content": self.blocks}},
            "stopReason": self.stop_reason,
            "usage": self.usage(),
            "metrics": {"latencyMs": 1},
        })
    }

    fn encode(&self, text: String) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in text.lines() {
            let (name, payload) = line.split_once(' ').unwrap_or((line, ""));
            let (kind, label, name) = match name.strip_prefix(EXCEPTION) {
                Some(name) => ("exception", ":exception-type", name),
                None => ("event", ":event-type", name),
            };
            let headers = [(label, name), (":content-type", "application/json"), (":message-type", kind)];
            let header = |(name, value): (&'static str, &str)| {
                Header::new(name, HeaderValue::String(value.to_owned().into()))
            };
            let frame = Message::new_from_parts(headers.map(header).to_vec(), payload.to_owned());
            // Fails only beyond the sizes of a frame, which no script reaches.
            let _ = write_message_to(&frame, &mut bytes);
        }
        bytes
    }
}

fn delta(index: usize, delta: Value) -> String {
    line("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}))
}

fn stop(index: usize) -> String {
    line("contentBlockStop", json!({"contentBlockIndex": index}))
}

fn line(name: &str, mut event: Value) -> String {
    event["p"] = PADDING.into();
    format!("{name} {event}\n")
}
