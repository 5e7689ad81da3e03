//! The tool calls of a streamed answer, put together from fragments.

use crate::model::{
    openai::{Hash, text},
    sequence::BlockSequencer,
    types::BlockStart,
};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashMap;

/// All calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<Call>,
    /// Proofs by the id of their call, for those that come before it.
    details: HashMap<String, String>,
}

#[derive(Debug, Default)]
struct Call {
    /// The server's `index`.
    place: Option<u64>,
    /// Empty while none has come.
    id: String,
    /// Empty while none has come.
    name: String,
    /// The arguments so far.
    arguments: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not told yet: so many fragments have come, all without arguments.
    Held(usize),
    /// The block is open.
    Open(usize),
    /// The block has ended.
    Ended(usize),
}

impl Default for State {
    fn default() -> Self {
        Self::Held(0)
    }
}

impl Calls {
    /// Whether `fragment` begins another call.
    pub fn begins(&self, fragment: &Value) -> bool {
        self.find(fragment).is_none() && !self.is_empty_call(fragment)
    }

    /// Takes in a fragment. `content_hash` tells answers apart, for the id of a call that comes without.
    pub fn fragment(&mut self, fragment: &Value, content_hash: &Hash, out: &mut BlockSequencer) {
        if self.is_empty_call(fragment) {
            return;
        }
        let at = self.find(fragment).unwrap_or_else(|| {
            self.close_for_next_block(content_hash, out);
            self.calls.push(Call { place: fragment["index"].as_u64(), ..Call::default() });
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
            State::Held(fragments) if more.is_empty() => call.state = State::Held(fragments + 1),
            State::Held(_) => {
                let index = self.open(at, content_hash, out);
                out.delta(index, &more);
            }
            State::Open(index) => {
                out.delta(index, &more);
                if out.is_followed(index) && call.is_complete() {
                    self.end_one(at, index, out);
                }
            }
            State::Ended(_) => {}
        }
    }

    /// An encrypted proof of a call, to be sent back with it; others say nothing to us.
    pub fn detail(&mut self, detail: &Value, out: &mut BlockSequencer) {
        let (Some("reasoning.encrypted"), Some(id), true) =
            (text(detail, "type"), text(detail, "id"), text(detail, "data").is_some())
        else {
            return;
        };
        let told = self.calls.iter().find(|call| call.id == id).and_then(Call::index);
        match told {
            Some(index) => out.sign(index, detail.to_string()),
            None => {
                let detail = detail.to_string();
                out.count_bytes(id.len() + detail.len());
                self.details.insert(id.to_owned(), detail);
            }
        }
    }

    /// Another block begins: calls that were held are told, and those that are complete end.
    pub fn close_for_next_block(&mut self, content_hash: &Hash, out: &mut BlockSequencer) {
        for at in 0..self.calls.len() {
            if let State::Held(_) = self.calls[at].state {
                self.open(at, content_hash, out);
            }
            if let State::Open(index) = self.calls[at].state
                && self.calls[at].is_complete()
            {
                self.end_one(at, index, out);
            }
        }
    }

    /// The answer is complete: all calls are told and end.
    pub fn end(&mut self, content_hash: &Hash, out: &mut BlockSequencer) {
        self.close_for_next_block(content_hash, out);
        for at in 0..self.calls.len() {
            if let State::Open(index) = self.calls[at].state {
                self.end_one(at, index, out);
            }
        }
    }

    /// Some servers send calls without any content where there are none.
    fn is_empty_call(&self, fragment: &Value) -> bool {
        let said = text(fragment, "id").or_else(|| text(&fragment["function"], "name"));
        said.is_none() && arguments(fragment).is_empty() && self.find(fragment).is_none()
    }

    /// The call that `fragment` continues.
    fn find(&self, fragment: &Value) -> Option<usize> {
        let (place, id) = (fragment["index"].as_u64(), text(fragment, "id"));
        let name = text(&fragment["function"], "name");
        let by_id = || self.calls.iter().rposition(|call| Some(call.id.as_str()) == id);
        let by_place = || self.calls.iter().rposition(|call| call.place == place);
        let at = match (place, id) {
            // A fragment without a name begins no call that is known already.
            (Some(_), _) => by_place().or_else(|| by_id().filter(|_| name.is_none())),
            (None, Some(_)) => by_id(),
            (None, None) => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[at];
        let another = match (id, name) {
            (_, None) => false,
            (Some(id), Some(_)) => !call.id.is_empty() && call.id != id,
            // Some servers number nothing: a name after complete arguments is the next call's.
            (None, Some(_)) => !arguments(fragment).is_empty() && call.is_complete(),
        };
        (!another).then_some(at)
    }

    fn open(&mut self, at: usize, content_hash: &Hash, out: &mut BlockSequencer) -> usize {
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = format!("call_{}_{at}", content_hash.digits());
        }
        let index = out.open(BlockStart::ToolCall { id: call.id.clone(), name: call.name.clone() });
        if let State::Held(fragments) = call.state {
            (0..fragments).for_each(|_| out.delta(index, ""));
        }
        call.state = State::Open(index);
        if let Some(detail) = self.details.remove(&call.id) {
            out.sign(index, detail);
        }
        index
    }

    fn end_one(&mut self, at: usize, index: usize, out: &mut BlockSequencer) {
        self.calls[at].state = State::Ended(index);
        out.end(index, None);
    }
}

impl Call {
    /// A piece of the name, or the whole of it once more. Once told, a name stays.
    fn append_name(&mut self, piece: &str) {
        match self.state {
            State::Held(_) if piece.starts_with(&self.name) => piece.clone_into(&mut self.name),
            State::Held(_) => self.name.push_str(piece),
            State::Open(_) | State::Ended(_) => {}
        }
    }

    fn index(&self) -> Option<usize> {
        match self.state {
            State::Held(_) => None,
            State::Open(index) | State::Ended(index) => Some(index),
        }
    }

    fn is_complete(&self) -> bool {
        let text = self.arguments.trim();
        text.ends_with('}') && serde_json::from_str::<IgnoredAny>(text).is_ok()
    }
}

/// The arguments in a fragment; servers that do not write them as text write the object.
fn arguments(fragment: &Value) -> String {
    match &fragment["function"]["arguments"] {
        Value::String(text) => text.clone(),
        object @ Value::Object(_) => object.to_string(),
        _ => String::new(),
    }
}
