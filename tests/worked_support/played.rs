//! What came of a conversation.

use super::{disk::Disk, shape};
use serde_json::Value;

/// What came of a conversation.
pub struct Played {
    /// Every frame, with its time and direction.
    pub log: String,
    /// Every frame of the server.
    pub said: Vec<Value>,
    /// The commands that tools were started with, in order.
    pub started: Vec<String>,
    /// What each model call was asked: the purpose, and the roles of the conversation.
    pub asked: Vec<String>,
    /// What is on disk in the end.
    pub disk: Disk,
}

impl Played {
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

    /// The error of the frame that answers this request, or of the last one that names none.
    pub fn error(&self, id: &str) -> &str {
        let is_it =
            |frame: &&Value| frame["error"].is_string() && (frame["id"] == id || frame["id"].is_null());
        let frame = self.said.iter().rev().find(is_it);
        frame.and_then(|frame| frame["error"].as_str()).unwrap_or_default()
    }

    /// The last frame of this type.
    pub fn last(&self, kind: &str) -> &Value {
        self.said.iter().rev().find(|frame| frame["type"] == kind).unwrap_or(&Value::Null)
    }
}
