//! What came of a conversation.

use crate::{disk::Disk, extension::heard, shape, transcript};
use serde_json::Value;
use std::collections::BTreeSet;

/// What came of a conversation.
#[derive(Default)]
pub struct Playback {
    /// Every frame, with its time and direction.
    pub log: String,
    /// Every frame of the server.
    pub said: Vec<Value>,
    /// The commands that tools were started with, in order.
    pub started: Vec<String>,
    /// Everything that anybody wrote, in order.
    pub steps: Vec<Step>,
    /// What each model call was asked: the purpose, and the roles of the conversation.
    pub asked: Vec<String>,
    /// What else each of them was called with.
    pub called: Vec<Called>,
    /// What is on disk in the end.
    pub disk: Disk,
    /// What the watchers found worth counting.
    pub happened: BTreeSet<String>,
}

/// Something that somebody wrote.
pub struct Step {
    /// When, in milliseconds.
    pub at: u64,
    /// `<` the host, `>` to the host, `<a` the extension a, `>a` to it, `#a` its process.
    pub who: String,
    /// What.
    pub frame: Value,
    /// Where the machine stood afterwards.
    pub state: String,
}

/// What a model was called with.
pub struct Called {
    /// The instructions that come first.
    pub instructions: String,
    /// The tools that it may call.
    pub tools: Vec<String>,
    /// The conversation.
    pub messages: Vec<Value>,
}

impl Playback {
    /// Who wrote what, briefly, see `transcript`.
    pub fn transcript(&self) -> String {
        transcript::of(&self.steps)
    }

    /// The same, each step with the millisecond.
    pub fn timed_transcript(&self) -> String {
        transcript::timed(&self.steps)
    }

    /// The frames of that kind that `who` wrote.
    pub fn wrote(&self, who: &str, what: &str) -> Vec<&Value> {
        let steps = self.steps.iter().filter(|step| step.who == who && heard(&step.frame) == what);
        steps.map(|step| &step.frame).collect()
    }

    /// The order of what was said, briefly: a run of updates to one block is one step, an input message one step.
    pub fn shape(&self) -> Vec<String> {
        shape::of(&self.said)
    }

    /// The same, from the answer to that request on.
    pub fn shape_from(&self, id: Option<&str>) -> Vec<String> {
        let is_first = |frame: &Value| frame["type"] == "response" && frame["id"].as_str() == id;
        let first = id.and_then(|_| self.said.iter().position(is_first)).unwrap_or(0);
        shape::of(&self.said[first..])
    }

    /// The frames that answer this request.
    pub fn answers(&self, id: &str) -> Vec<&Value> {
        self.said.iter().filter(|frame| frame["type"] == "response" && frame["id"] == id).collect()
    }

    /// The data of the only frame that answers this request.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    pub fn data(&self, id: &str) -> Value {
        let answers = self.answers(id);
        assert_eq!(answers.len(), 1, "{id}\n{}", self.log);
        answers[0]["data"].clone()
    }

    /// The error of the frame that answers this request, or of the last one that names none.
    pub fn error(&self, id: &str) -> &str {
        let is_it =
            |frame: &&Value| frame["error"].is_string() && (frame["id"] == id || frame["id"].is_null());
        let frame = self.said.iter().rev().find(is_it);
        frame.and_then(|frame| frame["error"].as_str()).unwrap_or_default()
    }

    /// The frames of this type that the host was told.
    pub fn frames<'p>(&'p self, kind: &'p str) -> impl Iterator<Item = &'p Value> {
        self.said.iter().filter(move |frame| frame["type"] == kind)
    }

    /// The last frame of this type.
    pub fn last(&self, kind: &str) -> &Value {
        self.said.iter().rev().find(|frame| frame["type"] == kind).unwrap_or(&Value::Null)
    }
}
