//! Simulated extensions and their reactions to frames.

use crate::Checked;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Simulated extension. Its methods return steps, each with a delay in milliseconds.
pub trait Peer {
    /// Name in the log; the executable is `/x/<name>`.
    fn name(&self) -> &str;

    /// Steps after the start of the process.
    fn on_start(&mut self) -> Vec<(u64, PeerStep)> {
        Vec::new()
    }

    /// Steps after the server has written `frame`.
    fn on_frame(&mut self, frame: &Value) -> Result<Vec<(u64, PeerStep)>, String>;

    /// Notes a frame that the extension writes.
    fn writes(&mut self, _frame: &Value) {}

    /// Notes the end of the process.
    fn ends(&mut self) {}

    /// Whether the extension has an open request that it will not answer by itself.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Checks at the exit of the server that it owes the extension nothing.
    fn is_settled(&self) -> Checked {
        Ok(())
    }

    /// Copy in its initial state, for another conversation.
    fn fresh_copy(&self) -> Box<dyn Peer>;
}

/// Extension with a table of reactions to frames.
#[derive(Clone)]
pub struct Extension {
    /// One letter, see [`Peer::name`].
    name: &'static str,
    /// Reactions by the short form of the frame, in order; the last one repeats.
    reactions: BTreeMap<String, VecDeque<Vec<PeerStep>>>,
    /// Requests that the dialogs of the extension belong to.
    origins: BTreeMap<String, String>,
}

/// Step of an extension.
#[derive(Clone)]
pub enum PeerStep {
    /// Waits for this many milliseconds.
    Waits(u64),
    /// Writes a frame; `$` as `id` or `origin` stands for the id of the request.
    Writes(Value),
    /// Writes a line that is not a frame, for this reason.
    Strays(&'static str),
    /// Writes a `register` that is not a frame, for this reason.
    Misregisters(&'static str),
    /// Exits, for this reason.
    Ends(&'static str),
}

impl Extension {
    /// Creates an extension that registers the members `adds` after `hello`, and does nothing else.
    pub fn new(name: &'static str, adds: Value) -> Self {
        let mut register = json!({ "type": "register" });
        for (key, value) in adds.as_object().into_iter().flatten() {
            register[key] = value.clone();
        }
        Self::silent(name).on("hello", [PeerStep::Writes(register)])
    }

    /// Creates an extension that never writes.
    pub fn silent(name: &'static str) -> Self {
        Self { name, reactions: BTreeMap::new(), origins: BTreeMap::new() }
    }

    /// Adds a reaction to the frame with the short form `heard`; a second call adds the reaction to the second such
    /// frame.
    pub fn on(mut self, heard: &str, does: impl IntoIterator<Item = PeerStep>) -> Self {
        self.reactions.entry(heard.to_owned()).or_default().push_back(does.into_iter().collect());
        self
    }

    fn react(&mut self, heard: &str, request: &str) -> Vec<(u64, PeerStep)> {
        let Some(all) = self.reactions.get_mut(heard) else { return Vec::new() };
        let does = if all.len() > 1 { all.pop_front() } else { all.front().cloned() };
        let mut after = 0;
        let mut steps = Vec::new();
        for step in does.into_iter().flatten() {
            match step {
                PeerStep::Waits(time) => after += time,
                PeerStep::Writes(mut frame) => {
                    for key in ["id", "origin"] {
                        if frame[key] == "$" {
                            frame[key] = request.into();
                        }
                    }
                    frame.as_object_mut().into_iter().for_each(|it| it.retain(|_, value| !value.is_null()));
                    if let (Some(own), Some(origin)) =
                        (frame["request"]["id"].as_str(), frame["origin"].as_str())
                    {
                        self.origins.insert(own.to_owned(), origin.to_owned());
                    }
                    steps.push((after, PeerStep::Writes(frame)));
                }
                other => steps.push((after, other)),
            }
        }
        steps
    }
}

impl Peer for Extension {
    fn name(&self) -> &str {
        self.name
    }

    fn on_start(&mut self) -> Vec<(u64, PeerStep)> {
        self.react("start", "")
    }

    fn on_frame(&mut self, frame: &Value) -> Result<Vec<(u64, PeerStep)>, String> {
        let request = match frame["type"].as_str() {
            Some("ui_answer") => self.origins.get(text(&frame["response"]["id"])).cloned(),
            _ => frame["id"].as_str().map(str::to_owned),
        };
        Ok(self.react(&heard(frame), &request.unwrap_or_default()))
    }

    fn fresh_copy(&self) -> Box<dyn Peer> {
        Box::new(self.clone())
    }
}

/// Short form of a frame to or from an extension: `command name`, `hook input`, `awaited agent_end`,
/// `ui_answer own-id`.
pub fn heard(frame: &Value) -> String {
    let kind = text(&frame["type"]);
    if frame["hook"]["type"] == "event" {
        return format!("awaited {}", text(&frame["hook"]["event"]["type"]));
    }
    let what = match kind {
        "command" => &frame["name"],
        "tool_call" => &frame["toolName"],
        "hook" => &frame["hook"]["type"],
        "event" => &frame["event"]["type"],
        "ui" => &frame["request"]["method"],
        "ui_answer" => &frame["response"]["id"],
        "response" => &frame["id"],
        _ => &Value::Null,
    };
    format!("{kind} {}", text(what)).trim_end().to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
