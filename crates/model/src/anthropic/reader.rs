//! Reads streamed answers of Anthropic Messages.

use crate::{
    openai::{argument_text, count, stopped_with, text},
    openrouter_cost::billed,
    request::Reader,
    sequence::BlockSequencer,
    sse::{NO_STOP_REASON, STREAM_CUT, read},
    types::{AnswerDiagnostic, BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::Value;
use std::mem;

/// Creates the reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(AnswerReader::default())
}

/// The state of one answer.
#[derive(Default)]
struct AnswerReader {
    out: BlockSequencer,
    /// Blocks that are open, oldest first.
    open: Vec<OpenBlock>,
    usage: TokenCounts,
    finish: Option<(Finish, String)>,
    /// What the vendor has withheld from the model, such as thinking of earlier answers.
    transformations: Vec<Value>,
}

struct OpenBlock {
    /// The vendor's index, which may be used again once the block has stopped.
    number: u64,
    kind: BlockKind,
    /// Index of the block in our events.
    index: usize,
    signature: String,
    /// Arguments of a call that came whole at its start.
    input: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum BlockKind {
    Text,
    Thinking,
    Redacted,
    Call,
}

/// The kind of the diagnostic that lists what the vendor has withheld. Source: pi 1.6.0.
const INPUT_TRANSFORMATIONS: &str = "anthropic_input_transformations";

impl Reader for AnswerReader {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent> {
        if !self.out.is_finished() && KNOWN_EVENTS.contains(&name) {
            match read(data) {
                Ok(Some(event)) => self.handle_event(name, &event, data),
                // Not the vendor's JSON: the text is passed on.
                Ok(None) | Err(_) if name == "error" => self.out.fail(data.to_owned()),
                Ok(None) => {}
                Err(message) => self.out.fail(message),
            }
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.out.fail(STREAM_CUT.to_owned());
        }
        self.out.take()
    }
}

/// Events that are read; `message` is the name of nameless ones. The vendor adds others without notice.
const KNOWN_EVENTS: [&str; 8] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "message",
];

impl AnswerReader {
    fn handle_event(&mut self, name: &str, event: &Value, data: &str) {
        let number = count(&event["index"]).unwrap_or(0);
        match event["type"].as_str().unwrap_or(name) {
            "message_start" => {
                if let Some(id) = event["message"]["id"].as_str() {
                    self.out.emit(StreamEvent::ResponseId(id.to_owned()));
                }
                if let Some(model) = event["message"]["model"].as_str() {
                    self.out.emit(StreamEvent::Model(model.to_owned()));
                }
                self.transformed(&event["message"]["input_transformations"]);
                self.count(&event["message"]["usage"]);
            }
            "content_block_start" => self.start(number, &event["content_block"]),
            "content_block_delta" => self.delta(number, &event["delta"]),
            "content_block_stop" => {
                if let Some(at) = self.open.iter().position(|block| block.number == number) {
                    let block = self.open.remove(at);
                    self.stop(block, true);
                }
            }
            "message_delta" => {
                let delta = &event["delta"];
                self.transformed(&event["input_transformations"]);
                self.count(if event["usage"].is_object() { &event["usage"] } else { &delta["usage"] });
                let Some(word) = delta["stop_reason"].as_str() else { return };
                match finish(word, &delta["stop_details"]) {
                    Ok(finish) => self.finish = Some((finish, word.to_owned())),
                    Err(message) => self.out.fail_for(word, message),
                }
            }
            "message_stop" => {
                let Some((finish, word)) = self.finish.take() else {
                    return self.out.fail(NO_STOP_REASON.to_owned());
                };
                let items = mem::take(&mut self.transformations).into_iter();
                let members = ["type", "path", "reason"];
                let told = AnswerDiagnostic::of_transformations(INPUT_TRANSFORMATIONS, items, &members);
                told.into_iter().for_each(|event| self.out.emit(event));
                mem::take(&mut self.open).into_iter().for_each(|block| self.stop(block, false));
                self.out.finish(finish, Some(&word));
            }
            "error" => self.out.fail(data.to_owned()),
            _ => {}
        }
    }

    /// Notes what the vendor has withheld; a later list replaces an earlier one.
    fn transformed(&mut self, items: &Value) {
        if let Some(items) = items.as_array() {
            self.transformations.clone_from(items);
        }
    }

    /// Updates the token counts that `usage` names.
    fn count(&mut self, usage: &Value) {
        let known = &mut self.usage;
        for (key, known) in [
            ("input_tokens", &mut known.input),
            ("output_tokens", &mut known.output),
            ("cache_read_input_tokens", &mut known.cache_read),
            ("cache_creation_input_tokens", &mut known.cache_write),
        ] {
            *known = count(&usage[key]).unwrap_or(*known);
        }
        if usage.is_object() {
            let hour = count(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
            let known = &mut self.usage;
            known.reasoning = count(&usage["output_tokens_details"]["thinking_tokens"]).or(known.reasoning);
            known.cache_write_1h = hour.or(known.cache_write_1h).or(Some(0));
            known.billed = billed(usage).or(known.billed);
            self.out.emit(StreamEvent::Usage(self.usage));
        }
    }

    fn start(&mut self, number: u64, block: &Value) {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let (kind, start, first) = match block["type"].as_str().unwrap_or_default() {
            "text" => (BlockKind::Text, BlockStart::Text, text("text")),
            "thinking" => (BlockKind::Thinking, BlockStart::Thinking, text("thinking")),
            "redacted_thinking" => {
                (BlockKind::Redacted, BlockStart::Redacted { data: text("data") }, String::new())
            }
            "tool_use" => {
                (BlockKind::Call, BlockStart::ToolCall { id: text("id"), name: text("name") }, String::new())
            }
            // Blocks of the vendor's own tools, such as a search.
            _ => return,
        };
        // Calls begin with an empty object; some servers send all arguments there.
        let input =
            Some(argument_text(&block["input"])).filter(|input| kind == BlockKind::Call && input != "{}");
        let input = input.filter(|input| !input.is_empty());
        let index = self.out.open(start);
        self.open.push(OpenBlock { number, kind, index, signature: text("signature"), input });
        if !first.is_empty() {
            self.out.delta(index, &first);
        }
    }

    fn delta(&mut self, number: u64, delta: &Value) {
        let (kind, key) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => (BlockKind::Text, "text"),
            "thinking_delta" => (BlockKind::Thinking, "thinking"),
            "input_json_delta" => (BlockKind::Call, "partial_json"),
            "signature_delta" => (BlockKind::Thinking, "signature"),
            _ => return,
        };
        let block = self.open.iter_mut().find(|block| block.number == number && block.kind == kind);
        let more = match kind {
            BlockKind::Call => Some(argument_text(&delta[key])),
            _ => delta[key].as_str().map(str::to_owned),
        };
        let (Some(block), Some(more)) = (block, more) else { return };
        if key == "signature" {
            block.signature.push_str(&more);
            return self.out.count_bytes(more.len());
        }
        if kind == BlockKind::Call && !more.is_empty() {
            block.input = None;
        }
        self.out.delta(block.index, &more);
    }

    /// Ends a block; `closed`: the provider has ended it, not the answer.
    fn stop(&mut self, block: OpenBlock, closed: bool) {
        if let Some(input) = block.input {
            self.out.delta(block.index, &input);
        }
        if !closed && block.kind == BlockKind::Call {
            return;
        }
        self.out.end(block.index, Some(block.signature).filter(|signature| !signature.is_empty()));
    }
}

/// The text of a refusal that the vendor does not explain.
const REFUSED: &str = "The model refused to complete the request";

/// Maps the vendor's stop reason, or returns the text of a failure; `details`: why a model refuses.
fn finish(reason: &str, details: &Value) -> Result<Finish, String> {
    match reason {
        "end_turn" | "pause_turn" | "stop_sequence" => Ok(Finish::Stop),
        "max_tokens" => Ok(Finish::Length),
        "tool_use" => Ok(Finish::ToolUse),
        "refusal" => Err(match (text(details, "explanation"), text(details, "category")) {
            (Some(explanation), _) => explanation.to_owned(),
            (None, Some(category)) => format!("{REFUSED} ({category})"),
            (None, None) => REFUSED.to_owned(),
        }),
        "sensitive" => Err(stopped_with(reason, None)),
        other => Err(format!("Unhandled stop reason: {other}")),
    }
}
