//! Result of playing a conversation.

use crate::{disk::Disk, extension::heard, shape, transcript};
use serde_json::Value;
use std::collections::BTreeSet;

/// Result of playing a conversation.
#[derive(Default)]
pub struct Playback {
    /// Log: every frame, with its time and direction.
    pub log: String,
    /// Frames of the server.
    pub said: Vec<Value>,
    /// Command lines of the started tools, in order.
    pub started: Vec<String>,
    /// Frames of all sides, in order.
    pub steps: Vec<Step>,
    /// Short form of each request to a model: its purpose, and the roles of its messages.
    pub asked: Vec<String>,
    /// Contents of each request to a model.
    pub called: Vec<Called>,
    /// Disk at the end.
    pub disk: Disk,
    /// Notable occurrences, from the watchers.
    pub happened: BTreeSet<String>,
}

/// Frame of any side.
pub struct Step {
    /// Time in milliseconds.
    pub at: u64,
    /// Writer: `<` the host, `>` the server, `<a` the extension `a`, `>a` the server to that extension, `#a` its
    /// process.
    pub who: String,
    /// The frame.
    pub frame: Value,
    /// State of the machine after the frame.
    pub state: String,
}

/// Contents of a request to a model.
pub struct Called {
    /// System prompt.
    pub instructions: String,
    /// Names of the offered tools.
    pub tools: Vec<String>,
    /// Texts of the messages.
    pub messages: Vec<Value>,
    /// Whether its system messages add up to its instructions and tools, so that changes may stand where they come.
    pub has_system_messages: bool,
}

impl Playback {
    /// Formats all frames in short form, each with its writer, as the module `transcript` describes.
    pub fn transcript(&self) -> String {
        transcript::of(&self.steps)
    }

    /// Formats the [`transcript`](Self::transcript) with the time of each step in milliseconds.
    pub fn timed_transcript(&self) -> String {
        transcript::timed(&self.steps)
    }

    /// Frames of this kind that `who` wrote.
    pub fn wrote(&self, who: &str, what: &str) -> Vec<&Value> {
        let steps = self.steps.iter().filter(|step| step.who == who && heard(&step.frame) == what);
        steps.map(|step| &step.frame).collect()
    }

    /// Short form of the order of server frames: consecutive updates of a block are one step, and so is an input
    /// message.
    pub fn shape(&self) -> Vec<String> {
        shape::of(&self.said)
    }

    /// Formats the [`shape`](Self::shape) from the response with this id on.
    pub fn shape_from(&self, id: Option<&str>) -> Vec<String> {
        let is_first = |frame: &Value| frame["type"] == "response" && frame["id"].as_str() == id;
        let first = id.and_then(|_| self.said.iter().position(is_first)).unwrap_or(0);
        shape::of(&self.said[first..])
    }

    /// Responses with this id.
    pub fn answers(&self, id: &str) -> Vec<&Value> {
        self.said.iter().filter(|frame| frame["type"] == "response" && frame["id"] == id).collect()
    }

    /// `data` of the only response with this id.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    pub fn data(&self, id: &str) -> Value {
        let answers = self.answers(id);
        assert_eq!(answers.len(), 1, "{id}\n{}", self.log);
        answers[0]["data"].clone()
    }

    /// `error` of the response with this id, or of the last response without an id.
    pub fn error(&self, id: &str) -> &str {
        let is_it =
            |frame: &&Value| frame["error"].is_string() && (frame["id"] == id || frame["id"].is_null());
        let frame = self.said.iter().rev().find(is_it);
        frame.and_then(|frame| frame["error"].as_str()).unwrap_or_default()
    }

    /// Server frames of this type.
    pub fn frames<'p>(&'p self, kind: &'p str) -> impl Iterator<Item = &'p Value> {
        self.said.iter().filter(move |frame| frame["type"] == kind)
    }

    /// Last server frame of this type.
    pub fn last(&self, kind: &str) -> &Value {
        self.said.iter().rev().find(|frame| frame["type"] == kind).unwrap_or(&Value::Null)
    }
}
