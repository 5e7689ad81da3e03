//! Reads answers in pi's own events: blocks by their place in the message, each whole again at its end, and the rest of the message
//! in the last event.

use crate::{
    openai::{argument_text, count, text, unnamed_error},
    request::Reader,
    sequence::BlockSequencer,
    sse::{STREAM_CUT, read},
    types::{Bill, BlockStart, Finish, StreamEvent, TokenCounts},
};
use pi_rpc_protocol::received_arguments;
use serde_json::Value;

/// The state of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    out: BlockSequencer,
    /// The blocks so far, by their place.
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    /// The text or the arguments so far.
    content: String,
    /// Index of the block in our events; `None`: thinking without a text so far, which may be hidden.
    index: Option<usize>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Call,
}

impl Reader for AnswerReader {
    fn event(&mut self, _name: &str, data: &str) -> Vec<StreamEvent> {
        if self.out.is_finished() || data.trim() == "[DONE]" {
            return Vec::new();
        }
        let handled = match read(data) {
            Ok(Some(event)) => self.handle_event(&event),
            Ok(None) => Ok(()),
            Err(message) => Err(message),
        };
        if let Err(message) = handled {
            self.out.fail(message);
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.out.fail(STREAM_CUT.to_owned());
        }
        self.out.take()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        let error = &body["error"];
        let message = text(error, "message")?;
        Some(text(error, "code").map_or_else(|| message.to_owned(), |code| format!("{message} ({code})")))
    }
}

impl AnswerReader {
    /// Handles one event. An error is the text for a failed answer.
    fn handle_event(&mut self, event: &Value) -> Result<(), String> {
        let Some(kind) = event["type"].as_str() else {
            // An error that the gateway could not put into an event.
            return self.refusal(event).map_or(Ok(()), Err);
        };
        match kind {
            "text_start" => self.start(event, kind, BlockKind::Text),
            "thinking_start" => self.start(event, kind, BlockKind::Thinking),
            "toolcall_start" => self.start(event, kind, BlockKind::Call),
            "text_delta" => self.delta(event, kind, BlockKind::Text),
            "thinking_delta" => self.delta(event, kind, BlockKind::Thinking),
            "toolcall_delta" => self.delta(event, kind, BlockKind::Call),
            "text_end" => self.end_block(event, kind, BlockKind::Text),
            "thinking_end" => self.end_block(event, kind, BlockKind::Thinking),
            "toolcall_end" => self.end_block(event, kind, BlockKind::Call),
            "done" => self.finish(event),
            "error" => {
                self.rest(event);
                let own = text(event, "errorMessage").or_else(|| text(event, "message")).map(str::to_owned);
                Err(own.or_else(|| self.refusal(event)).unwrap_or_else(|| unnamed_error(event)))
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, event: &Value, name: &str, kind: BlockKind) -> Result<(), String> {
        let at = place(event, name)?;
        if at < self.blocks.len() {
            return Ok(());
        }
        if at > self.blocks.len() {
            return Err(misplaced(event, name));
        }
        let member = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let start = match kind {
            BlockKind::Text => Some(BlockStart::Text),
            BlockKind::Thinking => None,
            BlockKind::Call => Some(BlockStart::ToolCall { id: member("id"), name: member("toolName") }),
        };
        let index = start.map(|start| self.out.open(start));
        self.blocks.push(Block { kind, content: String::new(), index, is_over: false });
        Ok(())
    }

    fn delta(&mut self, event: &Value, name: &str, kind: BlockKind) -> Result<(), String> {
        let more = event["delta"].as_str().unwrap_or_default();
        let (block, out) = self.block(event, name, kind)?;
        if !block.is_over {
            append(block, more, out);
        }
        Ok(())
    }

    fn end_block(&mut self, event: &Value, name: &str, kind: BlockKind) -> Result<(), String> {
        let (block, out) = self.block(event, name, kind)?;
        if std::mem::replace(&mut block.is_over, true) {
            return Ok(());
        }
        let call = &event["toolCall"];
        let (whole, signature) = match kind {
            BlockKind::Call if block.content.is_empty() => {
                // A gateway that could not read the arguments quotes them.
                let refused = text(call, "argumentsError").map(|error| received_arguments(error).to_owned());
                if refused.as_ref().is_some_and(|arguments| arguments.trim().is_empty()) {
                    return Ok(());
                }
                let whole = refused.unwrap_or_else(|| argument_text(&call["arguments"]));
                (whole, &call["thoughtSignature"])
            }
            BlockKind::Call => (String::new(), &call["thoughtSignature"]),
            BlockKind::Text | BlockKind::Thinking => {
                (event["content"].as_str().unwrap_or_default().to_owned(), &event["contentSignature"])
            }
        };
        let signature = signature.as_str().map(str::to_owned);
        if block.index.is_none() && event["redacted"] == true {
            let index = out.open(BlockStart::Redacted { data: signature.unwrap_or_default() });
            out.end(index, None);
            return Ok(());
        }
        if let Some(rest) = whole.strip_prefix(&block.content) {
            let rest = rest.to_owned();
            append(block, &rest, out);
        }
        let index = block.index.unwrap_or_else(|| out.open(BlockStart::Thinking));
        out.end(index, signature);
        Ok(())
    }

    /// The block that an event is about.
    fn block(
        &mut self,
        event: &Value,
        name: &str,
        kind: BlockKind,
    ) -> Result<(&mut Block, &mut BlockSequencer), String> {
        let found = self.blocks.get_mut(place(event, name)?).filter(|block| block.kind == kind);
        found.map(|block| (block, &mut self.out)).ok_or_else(|| misplaced(event, name))
    }

    fn finish(&mut self, event: &Value) -> Result<(), String> {
        self.rest(event);
        let finish = match event["reason"].as_str() {
            Some("stop") => Finish::Stop,
            Some("length") => Finish::Length,
            Some("toolUse") => Finish::ToolUse,
            _ => {
                return Err(format!(
                    "The provider ended the answer for an unknown reason: {}",
                    event["reason"]
                ));
            }
        };
        self.out.finish(finish, None);
        Ok(())
    }

    /// Emits what the last event has of the message beside its end.
    fn rest(&mut self, event: &Value) {
        if let Some(id) = text(event, "responseId") {
            self.out.emit(StreamEvent::ResponseId(id.to_owned()));
        }
        if let Some(model) = text(event, "responseModel") {
            self.out.emit(StreamEvent::Model(model.to_owned()));
        }
        if event["usage"].is_object() {
            self.out.emit(StreamEvent::Usage(usage(&event["usage"])));
        }
    }
}

fn append(block: &mut Block, more: &str, out: &mut BlockSequencer) {
    if more.is_empty() {
        return;
    }
    let index = *block.index.get_or_insert_with(|| out.open(BlockStart::Thinking));
    block.content.push_str(more);
    out.delta(index, more);
}

fn usage(usage: &Value) -> TokenCounts {
    let count = |name: &str| count(&usage[name]);
    let dollars = |name: &str| {
        let dollars = usage["cost"][name].as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0);
        dollars.map(|dollars| (dollars * 1e12).round() as u64)
    };
    let bill = || {
        Some(Bill::Parts {
            input: dollars("input")?,
            output: dollars("output")?,
            cache_read: dollars("cacheRead")?,
            cache_write: dollars("cacheWrite")?,
            total: dollars("total")?,
        })
    };
    TokenCounts {
        input: count("input").unwrap_or(0),
        output: count("output").unwrap_or(0),
        cache_read: count("cacheRead").unwrap_or(0),
        cache_write: count("cacheWrite").unwrap_or(0),
        cache_write_1h: count("cacheWrite1h"),
        reasoning: count("reasoning"),
        billed: bill(),
    }
}

/// The place of the block that an event is about.
fn place(event: &Value, name: &str) -> Result<usize, String> {
    let at = count(&event["contentIndex"]).and_then(|at| usize::try_from(at).ok());
    at.ok_or_else(|| misplaced(event, name))
}

fn misplaced(event: &Value, name: &str) -> String {
    let at = &event["contentIndex"];
    format!(
        "Could not read what the provider sent: contentIndex of {name}: expected a block of the answer, got {at}"
    )
}
