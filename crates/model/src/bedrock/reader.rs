//! Reads a streamed answer of the Converse API. Its events are frames, whose names and JSON come here.
//!
//! Texts and thinking begin with their first delta, calls with an event of their own. The reason to stop comes before the counts
//! of tokens: an answer that breaks off between both is complete.

use crate::{
    openai::{argument_text, count, stopped_with, text, unnamed_error},
    request::{Reader, StreamFormat},
    sequence::BlockSequencer,
    sse::{NO_STOP_REASON, STREAM_CUT, read},
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

/// The state of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    out: BlockSequencer,
    open: Vec<OpenBlock>,
    stop_reason: Option<String>,
}

/// A block that has not ended.
#[derive(Debug)]
struct OpenBlock {
    /// The vendor's number.
    number: u64,
    kind: BlockKind,
    /// The place in the message; `None`: hidden thinking, which is opened when it is whole.
    index: Option<usize>,
    /// The signature of visible thinking.
    signature: String,
    /// The bytes of hidden thinking.
    hidden: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Hidden,
    Call,
}

impl Reader for AnswerReader {
    fn stream_format(&self) -> StreamFormat {
        StreamFormat::AmazonEventStream
    }

    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            match read(data) {
                Ok(event) => self.named(name, &event.unwrap_or_default()),
                Err(message) => self.out.fail(message),
            }
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.finish(None);
        }
        self.out.take()
    }

    fn is_complete(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        text(body, "message").or(text(body, "Message")).map(str::to_owned)
    }

    fn error_kind_header(&self) -> Option<&'static str> {
        Some("x-amzn-errortype")
    }
}

impl AnswerReader {
    fn named(&mut self, name: &str, event: &Value) {
        let number = count(&event["contentBlockIndex"]).unwrap_or(0);
        match name {
            "contentBlockStart" => self.start(number, &event["start"]),
            "contentBlockDelta" => self.delta(number, &event["delta"]),
            "contentBlockStop" => self.stop(number),
            "messageStop" => {
                self.stop_reason = Some(text(event, "stopReason").unwrap_or_default().to_owned());
            }
            "metadata" => {
                if let Some(counts) = usage(&event["usage"]) {
                    self.out.emit(StreamEvent::Usage(counts));
                }
                if self.stop_reason.is_some() {
                    self.finish(text(&event["trace"]["guardrail"], "actionReason"));
                }
            }
            // An unmodelled error has a code in place of a name.
            "error" => {
                let code = text(event, "code").unwrap_or("error");
                let said = text(event, "message").map_or_else(|| unnamed_error(event), str::to_owned);
                self.out.fail(format!("{code}: {said}"));
            }
            exception if exception.ends_with("Exception") => {
                let said = self.refusal(event).unwrap_or_else(|| unnamed_error(event));
                self.out.fail(format!("{}: {said}", exception_title(exception)));
            }
            // `messageStart`, and events of later versions.
            _ => {}
        }
    }

    fn start(&mut self, number: u64, start: &Value) {
        let call = &start["toolUse"];
        if call.is_object() {
            let id = text(call, "toolUseId").unwrap_or_default().to_owned();
            let name = text(call, "name").unwrap_or_default().to_owned();
            self.open(number, BlockKind::Call, Some(BlockStart::ToolCall { id, name }));
        }
    }

    fn delta(&mut self, number: u64, delta: &Value) {
        let reasoning = &delta["reasoningContent"];
        if let Some(more) = delta["text"].as_str() {
            self.append(number, BlockKind::Text, more);
        } else if delta["toolUse"].is_object() {
            self.append(number, BlockKind::Call, &argument_text(&delta["toolUse"]["input"]));
        } else if let Some(more) = text(reasoning, "redactedContent") {
            let Ok(bytes) = BASE64_STANDARD.decode(more) else {
                return self
                    .out
                    .fail("Could not read what the provider sent: hidden thinking is no base64".to_owned());
            };
            self.out.count_bytes(bytes.len());
            if let Some(block) = self.block(number, BlockKind::Hidden) {
                block.hidden.extend(bytes);
            }
        } else if reasoning.is_object() {
            self.append(number, BlockKind::Thinking, reasoning["text"].as_str().unwrap_or_default());
            if let Some(more) = text(reasoning, "signature") {
                self.out.count_bytes(more.len());
                if let Some(block) = self.block(number, BlockKind::Thinking) {
                    block.signature.push_str(more);
                }
            }
        }
    }

    fn append(&mut self, number: u64, kind: BlockKind, more: &str) {
        let index = self.block(number, kind).and_then(|block| block.index);
        if let Some(index) = index.filter(|_| !more.is_empty()) {
            self.out.delta(index, more);
        }
    }

    /// The open block of this number and kind, opened if there is none of the number; calls have an event for that.
    fn block(&mut self, number: u64, kind: BlockKind) -> Option<&mut OpenBlock> {
        if !self.open.iter().any(|block| block.number == number) {
            match kind {
                BlockKind::Text => self.open(number, kind, Some(BlockStart::Text)),
                BlockKind::Thinking => self.open(number, kind, Some(BlockStart::Thinking)),
                BlockKind::Hidden => self.open(number, kind, None),
                BlockKind::Call => {}
            }
        }
        self.open.iter_mut().find(|block| block.number == number && block.kind == kind)
    }

    fn open(&mut self, number: u64, kind: BlockKind, start: Option<BlockStart>) {
        let index = start.map(|start| self.out.open(start));
        self.open.push(OpenBlock { number, kind, index, signature: String::new(), hidden: Vec::new() });
    }

    fn stop(&mut self, number: u64) {
        let Some(at) = self.open.iter().position(|block| block.number == number) else { return };
        let block = self.open.remove(at);
        let signature = Some(block.signature).filter(|signature| !signature.is_empty());
        match block.index {
            Some(index) => self.out.end(index, signature),
            None => {
                let index =
                    self.out.open(BlockStart::Redacted { data: BASE64_STANDARD.encode(block.hidden) });
                self.out.end(index, None);
            }
        }
    }

    /// Handles the end of the answer; `details`: why a guardrail intervened.
    fn finish(&mut self, details: Option<&str>) {
        let Some(reason) = self.stop_reason.clone() else { return self.out.fail(STREAM_CUT.to_owned()) };
        // Calls are left to be ended as unclosed.
        let unclosed = self.open.iter().filter(|block| block.kind != BlockKind::Call);
        for number in unclosed.map(|block| block.number).collect::<Vec<_>>() {
            self.stop(number);
        }
        let finish = match reason.as_str() {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_use" => Finish::ToolUse,
            "" => return self.out.fail(NO_STOP_REASON.to_owned()),
            other => return self.out.fail_for(other, stopped_with(other, details)),
        };
        self.out.finish(finish, Some(&reason));
    }
}

/// The vendor's exceptions within a stream begin with a small letter; those of refusals do not.
fn exception_title(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn usage(usage: &Value) -> Option<TokenCounts> {
    let usage = Some(usage).filter(|usage| usage.is_object())?;
    let tokens = |key: &str| count(&usage[key]).unwrap_or(0);
    let details = usage["cacheDetails"].as_array().into_iter().flatten();
    let hour =
        details.filter(|detail| detail["ttl"] == "1h").filter_map(|detail| count(&detail["inputTokens"]));
    Some(TokenCounts {
        input: tokens("inputTokens"),
        output: tokens("outputTokens"),
        cache_read: tokens("cacheReadInputTokens"),
        cache_write: tokens("cacheWriteInputTokens"),
        cache_write_1h: Some(hour.fold(0, u64::saturating_add)),
        ..TokenCounts::default()
    })
}
