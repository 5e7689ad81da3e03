//! The simulated host: placeholders in its lines, and its answers to dialogs and tool calls.

use crate::disk::Disk;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Way in which the host answers a dialog or a tool call, with a delay in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// Answers correctly.
    Rightly(u64),
    /// Answers with the wrong kind, or an error.
    Wrongly(u64),
    /// Answers correctly, twice.
    Twice(u64),
    /// Answers with a value of the wrong type.
    Misspelt(u64),
    /// Never answers.
    Never,
}

/// State of the host.
pub(crate) struct Host {
    /// Ways of answering, cyclically; empty: the host does not answer by itself.
    answers: Vec<Answers>,
    /// Number of dialogs and calls so far.
    asked: usize,
    /// Open dialogs and calls, if the host answers by itself.
    open: BTreeSet<String>,
    /// Ids of all dialogs and calls so far.
    dialogs: Vec<String>,
    calls: Vec<String>,
}

impl Host {
    pub fn new(answers: Vec<Answers>) -> Self {
        Self { answers, asked: 0, open: BTreeSet::new(), dialogs: Vec::new(), calls: Vec::new() }
    }

    /// Replaces placeholders: `$N` by the entry of the user message with that number, `ui 1` by the second dialog,
    /// `call 1` by the second call of a host tool.
    pub fn resolved(&self, mut frame: Value, disk: &Disk) -> Value {
        if let Some(number) = frame["entryId"].as_str().and_then(|id| id.strip_prefix('$')) {
            let number: usize = number.parse().expect("a number");
            frame["entryId"] = users(disk).into_iter().nth(number).expect("a user's message").into();
        }
        for (word, asked) in [("ui ", &self.dialogs), ("call ", &self.calls)] {
            if let Some(number) = frame["id"].as_str().and_then(|id| id.strip_prefix(word)) {
                let number: usize = number.parse().expect("a number");
                frame["id"] = asked.get(number).expect("something that the host was asked").clone().into();
            }
        }
        frame
    }

    /// Replaces `@N` by one of the session files in a path, else by one of the entries of user messages.
    pub fn line(&self, line: &str, disk: &Disk) -> String {
        let Some((before, after)) = line.split_once("\"@") else { return line.to_owned() };
        let digits = after.len() - after.trim_start_matches(|it: char| it.is_ascii_digit()).len();
        let number: usize = after[..digits].parse().unwrap_or_default();
        let choices = match line.contains("Path") {
            true => disk.paths().map(|path| path.to_string_lossy().into_owned()).collect(),
            false => users(disk),
        };
        let chosen = choices.get(number % (choices.len() + 1)).cloned();
        let chosen = chosen.unwrap_or_else(|| format!("/sessions/new-{number}.jsonl"));
        format!("{before}\"{chosen}{}", &after[digits..])
    }

    /// Returns the answers to a frame of the server, each with its delay in milliseconds.
    pub fn on_frame(&mut self, frame: &Value) -> Vec<(u64, Value)> {
        let id = frame["id"].as_str().unwrap_or_default().to_owned();
        let is_call = match frame["type"].as_str() {
            Some("host_tool_call") => true,
            Some("extension_ui_request") => false,
            Some("host_tool_cancel") => {
                self.open.remove(frame["targetId"].as_str().unwrap_or_default());
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        (if is_call { &mut self.calls } else { &mut self.dialogs }).push(id.clone());
        let method = frame["method"].as_str().unwrap_or_default();
        let asks = is_call || ["select", "confirm", "input", "editor"].contains(&method);
        if self.answers.is_empty() || !asks {
            return Vec::new();
        }
        let answer = self.answers[self.asked % self.answers.len()];
        self.asked += 1;
        self.open.insert(id.clone());
        let (after, times, answer) = match (answer, is_call) {
            (Answers::Never, _) => return Vec::new(),
            (Answers::Rightly(after), true) => (after, 1, carried_out(&id, false)),
            (Answers::Twice(after), true) => (after, 2, carried_out(&id, false)),
            (Answers::Wrongly(after) | Answers::Misspelt(after), true) => (after, 1, carried_out(&id, true)),
            (Answers::Rightly(after), false) => (after, 1, chosen(&id, frame, true)),
            (Answers::Twice(after), false) => (after, 2, chosen(&id, frame, true)),
            (Answers::Wrongly(after), false) => (after, 1, chosen(&id, frame, false)),
            (Answers::Misspelt(after), false) => {
                (after, 1, json!({ "type": "extension_ui_response", "id": id, "value": 7 }))
            }
        };
        vec![(after, answer); times]
    }

    /// Notes an answer that was written.
    pub fn answered(&mut self, frame: &Value) {
        self.open.remove(frame["id"].as_str().unwrap_or_default());
    }

    /// Stops answering.
    pub fn leave(&mut self) {
        self.open.clear();
    }

    /// Whether a dialog or a call is open.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }
}

/// Ids of the entries of user messages.
fn users(disk: &Disk) -> Vec<String> {
    let lines = disk.lines();
    let users = lines.iter().filter(|line| line["message"]["role"] == "user");
    users.filter_map(|line| line["id"].as_str().map(str::to_owned)).collect()
}

fn chosen(id: &str, frame: &Value, rightly: bool) -> Value {
    let mut answer = json!({ "type": "extension_ui_response", "id": id });
    match (frame["method"] == "confirm") == rightly {
        true => answer["confirmed"] = true.into(),
        // The confirmation dialog before a tool call.
        false => answer["value"] = frame["options"].get(0).cloned().unwrap_or("one".into()),
    }
    answer
}

fn carried_out(id: &str, is_error: bool) -> Value {
    json!({
        "type": "host_tool_result", "id": id, "isError": is_error,
        "result": { "content": [{ "type": "text", "text": "by the host" }] },
    })
}
