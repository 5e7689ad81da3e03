//! Extensions that are played: what they do when they are told something.

use crate::Checked;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Plays an extension: its steps, each with the milliseconds that pass before.
pub trait Peer {
    /// How the log calls it; its executable is `/x/<name>`.
    fn name(&self) -> &str;

    /// What it does when its process has started.
    fn on_start(&mut self) -> Vec<(u64, PeerStep)> {
        Vec::new()
    }

    /// What it does when `frame` is written to it.
    fn on_frame(&mut self, frame: &Value) -> Result<Vec<(u64, PeerStep)>, String>;

    /// It writes a frame.
    fn writes(&mut self, _frame: &Value) {}

    /// Its process has ended.
    fn ends(&mut self) {}

    /// Whether it was asked something that it is not going to answer by itself.
    fn is_waiting(&self) -> bool {
        false
    }

    /// The whole process is about to end: whether it owes the extension nothing.
    fn is_settled(&self) -> Checked {
        Ok(())
    }

    /// The same for another conversation.
    fn fresh_copy(&self) -> Box<dyn Peer>;
}

/// An extension by a table: what it does when it hears something.
#[derive(Clone)]
pub struct Extension {
    /// One letter, see [`Peer::name`].
    name: &'static str,
    /// By what was heard, in order; the last of them holds from then on.
    reactions: BTreeMap<String, VecDeque<Vec<PeerStep>>>,
    /// The requests that its own dialogs belong to.
    origins: BTreeMap<String, String>,
}

/// One thing that an extension does.
#[derive(Clone)]
pub enum PeerStep {
    /// Lets so many milliseconds pass first.
    Waits(u64),
    /// Writes a frame; `$` as `id` or `origin` stands for the request that it answers.
    Writes(Value),
    /// Writes a line that is no frame, for that reason.
    Strays(&'static str),
    /// Writes a `register` that is no frame, for that reason.
    Misregisters(&'static str),
    /// Its process ends, for that reason.
    Ends(&'static str),
}

impl Extension {
    /// Registers what `adds` names as soon as it is greeted, and does nothing else.
    pub fn new(name: &'static str, adds: Value) -> Self {
        let mut register = json!({ "type": "register" });
        for (key, value) in adds.as_object().into_iter().flatten() {
            register[key] = value.clone();
        }
        Self::silent(name).on("hello", [PeerStep::Writes(register)])
    }

    /// Says nothing to anything.
    pub fn silent(name: &'static str) -> Self {
        Self { name, reactions: BTreeMap::new(), origins: BTreeMap::new() }
    }

    /// Does this when it hears the frame whose short form is `heard`; the second time what is given the second time.
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

/// What a frame to or from an extension is, in a word or two: `command name`, `hook input`, `awaited agent_end`,
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
