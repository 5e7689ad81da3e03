//! Assembles the tool calls of a streamed answer from fragments.

use crate::{
    openai::{ContentHash, argument_text, count, text},
    sequence::BlockSequencer,
    types::BlockStart,
};
use serde::de::IgnoredAny;
use serde_json::Value;

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<StreamedCall>,
}

#[derive(Debug, Default)]
struct StreamedCall {
    /// The server's `index`.
    place: Option<u64>,
    /// The call's id; empty: none yet.
    id: String,
    /// The tool's name; empty: none yet.
    name: String,
    /// The arguments received so far.
    arguments: String,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    /// Not emitted yet: the number of fragments, all without arguments.
    Held(usize),
    /// Emitted, with the index of its open block.
    Open(usize),
    /// Ended.
    Ended,
}

impl Default for CallState {
    fn default() -> Self {
        Self::Held(0)
    }
}

impl Calls {
    /// Whether `fragment` begins a new call.
    pub fn begins(&self, fragment: &Value) -> bool {
        self.find(fragment).is_none() && !self.is_empty_call(fragment)
    }

    /// Adds a fragment. `content_hash` distinguishes answers, for calls that come without an id.
    pub fn fragment(&mut self, fragment: &Value, content_hash: &ContentHash, out: &mut BlockSequencer) {
        if self.is_empty_call(fragment) {
            return;
        }
        let at = self.find(fragment).unwrap_or_else(|| {
            self.close_for_next_block(content_hash, out);
            self.calls.push(StreamedCall { place: count(&fragment["index"]), ..StreamedCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if let (Some(id), true) = (text(fragment, "id"), call.id.is_empty()) {
            call.id = id.to_owned();
        }
        if let Some(piece) = text(&fragment["function"], "name") {
            call.append_name(piece);
            out.count_bytes(piece.len());
        }
        let more = arguments(fragment);
        call.arguments.push_str(&more);
        match call.state {
            CallState::Held(fragments) if more.is_empty() => call.state = CallState::Held(fragments + 1),
            CallState::Held(_) => {
                let index = self.open(at, content_hash, out);
                out.delta(index, &more);
            }
            CallState::Open(index) => {
                out.delta(index, &more);
                if out.is_followed(index) && call.is_complete() {
                    self.end_one(at, index, out);
                }
            }
            CallState::Ended => {}
        }
    }

    /// Prepares for another block: emits calls that were held back, and ends complete ones.
    pub fn close_for_next_block(&mut self, content_hash: &ContentHash, out: &mut BlockSequencer) {
        for at in 0..self.calls.len() {
            if let CallState::Held(_) = self.calls[at].state {
                self.open(at, content_hash, out);
            }
            if let CallState::Open(index) = self.calls[at].state
                && self.calls[at].is_complete()
            {
                self.end_one(at, index, out);
            }
        }
    }

    /// Emits all calls, and ends them if the answer `has_reason` for its end; returns whether there are any.
    pub fn end(&mut self, has_reason: bool, content_hash: &ContentHash, out: &mut BlockSequencer) -> bool {
        self.close_for_next_block(content_hash, out);
        for at in 0..self.calls.len() {
            if let CallState::Open(index) = self.calls[at].state
                && has_reason
            {
                self.end_one(at, index, out);
            }
        }
        !self.calls.is_empty()
    }

    /// Whether a fragment has no content at all; some servers send such ones instead of no calls.
    fn is_empty_call(&self, fragment: &Value) -> bool {
        let name = text(fragment, "id").or_else(|| text(&fragment["function"], "name"));
        name.is_none() && arguments(fragment).is_empty() && self.find(fragment).is_none()
    }

    /// Finds the call that `fragment` continues.
    fn find(&self, fragment: &Value) -> Option<usize> {
        let (place, id) = (count(&fragment["index"]), text(fragment, "id"));
        let name = text(&fragment["function"], "name");
        let by_id = || self.calls.iter().rposition(|call| Some(call.id.as_str()) == id);
        let by_place = || self.calls.iter().rposition(|call| call.place == place);
        let at = match (place, id) {
            // A fragment without a name begins no new call.
            (Some(_), _) => by_place().or_else(|| by_id().filter(|_| name.is_none())),
            (None, Some(_)) => by_id(),
            (None, None) => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[at];
        let another = match (id, name) {
            (_, None) => false,
            (Some(id), Some(_)) => !call.id.is_empty() && call.id != id,
            // Some servers send no index: a name after complete arguments begins the next call.
            (None, Some(_)) => !arguments(fragment).is_empty() && call.is_complete(),
        };
        (!another).then_some(at)
    }

    fn open(&mut self, at: usize, content_hash: &ContentHash, out: &mut BlockSequencer) -> usize {
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = format!("call_{}_{at}", content_hash.digits());
        }
        let index = out.open(BlockStart::ToolCall { id: call.id.clone(), name: call.name.clone() });
        if let CallState::Held(fragments) = call.state {
            (0..fragments).for_each(|_| out.delta(index, ""));
        }
        call.state = CallState::Open(index);
        index
    }

    fn end_one(&mut self, at: usize, index: usize, out: &mut BlockSequencer) {
        self.calls[at].state = CallState::Ended;
        out.end(index, None);
    }
}

impl StreamedCall {
    /// Adds a piece of the name, or its repetition. An emitted name is final.
    fn append_name(&mut self, piece: &str) {
        match self.state {
            CallState::Held(_) if piece.starts_with(&self.name) => piece.clone_into(&mut self.name),
            CallState::Held(_) => self.name.push_str(piece),
            CallState::Open(_) | CallState::Ended => {}
        }
    }

    fn is_complete(&self) -> bool {
        let text = self.arguments.trim();
        text.ends_with('}') && serde_json::from_str::<IgnoredAny>(text).is_ok()
    }
}

/// The arguments in a fragment.
fn arguments(fragment: &Value) -> String {
    argument_text(&fragment["function"]["arguments"])
}
