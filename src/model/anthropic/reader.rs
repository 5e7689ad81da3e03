//! What Anthropic Messages answers.

use crate::model::{
    request::Reader,
    sse::{failure, json},
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::Value;
use std::collections::VecDeque;

/// A reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(Answer::default())
}

/// An answer while it arrives.
#[derive(Default)]
struct Answer {
    /// The blocks that have begun and are not yet told to the end, oldest first. Only of the first one the beginning
    /// is told: the vendor may mix the deltas of several, the engine takes one after another.
    open: VecDeque<Open>,
    /// How many blocks were told to the end.
    ended: usize,
    calls: bool,
    usage: TokenCounts,
    finish: Option<Finish>,
    over: bool,
}

struct Open {
    /// The vendor's number for it; a number may come again once its block has stopped.
    number: u64,
    kind: Kind,
    start: BlockStart,
    /// What came while another block was being told.
    waiting: Vec<String>,
    signature: String,
    /// A call's arguments, where they came at the beginning.
    input: Option<String>,
    stopped: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Redacted,
    Call,
}

impl Reader for Answer {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if !self.over && KNOWN.contains(&name) {
            match json(name, data) {
                Ok(event) => self.take(&event, data, &mut events),
                // Not the JSON that the vendor sends, but what there is to say.
                Err(_) if name == "error" => events.push(failure(data.to_owned())),
                Err(failure) => events.push(failure),
            }
        }
        self.over |= events.last().is_some_and(is_last);
        events
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        match std::mem::replace(&mut self.over, true) {
            true => Vec::new(),
            false => vec![failure("Anthropic stream ended before message_stop".to_owned())],
        }
    }
}

/// Events that say something; `message` is the name of those that have none. The vendor adds others without notice.
const KNOWN: [&str; 8] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "message",
];

fn is_last(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. })
}

impl Answer {
    fn take(&mut self, event: &Value, data: &str, events: &mut Vec<StreamEvent>) {
        let number = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                if let Some(id) = event["message"]["id"].as_str() {
                    events.push(StreamEvent::ResponseId(id.to_owned()));
                }
                self.count(&event["message"]["usage"], events);
            }
            "content_block_start" => self.start(number, &event["content_block"], events),
            "content_block_delta" => self.delta(number, &event["delta"], events),
            "content_block_stop" => self.stop(number, events),
            "message_delta" => {
                self.count(&event["usage"], events);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    match finish(reason) {
                        Ok(finish) => self.finish = Some(finish),
                        Err(failure) => events.push(failure),
                    }
                }
            }
            "message_stop" => {
                self.open.iter_mut().for_each(|block| block.stopped = true);
                self.tell(events);
                let unsaid = if self.calls { Finish::ToolUse } else { Finish::Stop };
                events.push(StreamEvent::Finish(self.finish.unwrap_or(unsaid)));
            }
            "error" => events.push(failure(data.to_owned())),
            _ => {}
        }
    }

    /// Takes over what `usage` counts; what it does not name stays.
    fn count(&mut self, usage: &Value, events: &mut Vec<StreamEvent>) {
        let known = &mut self.usage;
        for (key, count) in [
            ("input_tokens", &mut known.input),
            ("output_tokens", &mut known.output),
            ("cache_read_input_tokens", &mut known.cache_read),
            ("cache_creation_input_tokens", &mut known.cache_write),
        ] {
            *count = usage[key].as_u64().unwrap_or(*count);
        }
        if usage.is_object() {
            events.push(StreamEvent::Usage(self.usage));
        }
    }

    fn start(&mut self, number: u64, block: &Value, events: &mut Vec<StreamEvent>) {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let (kind, start, first) = match block["type"].as_str().unwrap_or_default() {
            "text" => (Kind::Text, BlockStart::Text, text("text")),
            "thinking" => (Kind::Thinking, BlockStart::Thinking, text("thinking")),
            "redacted_thinking" => {
                (Kind::Redacted, BlockStart::Redacted { data: text("data") }, String::new())
            }
            "tool_use" => {
                self.calls = true;
                (Kind::Call, BlockStart::ToolCall { id: text("id"), name: text("name") }, String::new())
            }
            // What the vendor does by itself, such as a search.
            _ => return,
        };
        let input = block["input"].as_object().filter(|input| !input.is_empty());
        let input = input.filter(|_| kind == Kind::Call).map(|_| block["input"].to_string());
        let index = self.ended;
        if self.open.is_empty() {
            events.push(StreamEvent::Start { index, block: start.clone() });
        }
        let signature = text("signature");
        let waiting = Vec::new();
        self.open.push_back(Open { number, kind, start, waiting, signature, input, stopped: false });
        if !first.is_empty() {
            self.grow(number, kind, &first, events);
        }
    }

    fn delta(&mut self, number: u64, delta: &Value, events: &mut Vec<StreamEvent>) {
        let (kind, key) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => (Kind::Text, "text"),
            "thinking_delta" => (Kind::Thinking, "thinking"),
            "input_json_delta" => (Kind::Call, "partial_json"),
            "signature_delta" => {
                let signed = self.open.iter_mut().find(|block| block.is(number, Kind::Thinking));
                if let (Some(block), Some(more)) = (signed, delta["signature"].as_str()) {
                    block.signature.push_str(more);
                }
                return;
            }
            _ => return,
        };
        if let Some(more) = delta[key].as_str() {
            self.grow(number, kind, more, events);
        }
    }

    fn grow(&mut self, number: u64, kind: Kind, more: &str, events: &mut Vec<StreamEvent>) {
        let Some(at) = self.open.iter().position(|block| block.is(number, kind)) else { return };
        let block = &mut self.open[at];
        if kind == Kind::Call && !more.is_empty() {
            block.input = None;
        }
        match at {
            0 => events.push(StreamEvent::Delta { index: self.ended, delta: more.to_owned() }),
            _ => block.waiting.push(more.to_owned()),
        }
    }

    fn stop(&mut self, number: u64, events: &mut Vec<StreamEvent>) {
        if let Some(block) = self.open.iter_mut().find(|block| block.number == number && !block.stopped) {
            block.stopped = true;
            self.tell(events);
        }
    }

    /// Ends the first block if it has stopped, and tells what waited for that.
    fn tell(&mut self, events: &mut Vec<StreamEvent>) {
        while let Some(block) = self.open.pop_front_if(|block| block.stopped) {
            let index = self.ended;
            events.extend(block.input.map(|delta| StreamEvent::Delta { index, delta }));
            let signature = (!block.signature.is_empty()).then_some(block.signature);
            events.push(StreamEvent::End { index, signature });
            self.ended += 1;
            if let Some(next) = self.open.front_mut() {
                let index = self.ended;
                events.push(StreamEvent::Start { index, block: next.start.clone() });
                let waiting = next.waiting.drain(..);
                events.extend(waiting.map(|delta| StreamEvent::Delta { index, delta }));
            }
        }
    }
}

impl Open {
    fn is(&self, number: u64, kind: Kind) -> bool {
        self.number == number && self.kind == kind && !self.stopped
    }
}

/// What the vendor's reason to stop means.
fn finish(reason: &str) -> Result<Finish, StreamEvent> {
    match reason {
        "end_turn" | "pause_turn" | "stop_sequence" => Ok(Finish::Stop),
        "max_tokens" => Ok(Finish::Length),
        "tool_use" => Ok(Finish::ToolUse),
        "refusal" | "sensitive" => Err(failure("An unknown error occurred".to_owned())),
        other => Err(failure(format!("Unhandled stop reason: {other}"))),
    }
}
