//! The host: what the words of its lines stand for, and how it answers what it is asked.

use crate::disk::Disk;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How the host answers a dialog or a call, after so many milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// As it should.
    Rightly(u64),
    /// With what does not fit the question, or an error.
    Wrongly(u64),
    /// The same answer two times.
    Twice(u64),
    /// A text where none belongs.
    Misspelt(u64),
    /// Not at all.
    Never,
}

/// What the host was asked, and what it wrote.
pub(crate) struct Host {
    /// How it answers, by turns; if it does so by itself.
    answers: Vec<Answers>,
    /// How many things it was asked.
    asked: usize,
    /// What it was asked and has not answered, where it answers by itself.
    open: BTreeSet<String>,
    /// The ids of the dialogs and of the calls that it was asked.
    dialogs: Vec<String>,
    calls: Vec<String>,
}

impl Host {
    pub fn new(answers: Vec<Answers>) -> Self {
        Self { answers, asked: 0, open: BTreeSet::new(), dialogs: Vec::new(), calls: Vec::new() }
    }

    /// `$N` as an entry stands for the entry of the user's message of that number, `ui 1` for the second dialog, `call 1`
    /// for the second call of a host tool.
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

    /// `@N` stands for one of the session files in a path, else for one of the entries of the user.
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

    /// Reads a frame; its answers, each with the milliseconds that pass before.
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

    /// It writes an answer.
    pub fn answered(&mut self, frame: &Value) {
        self.open.remove(frame["id"].as_str().unwrap_or_default());
    }

    /// It answers nothing any more.
    pub fn leave(&mut self) {
        self.open.clear();
    }

    /// Whether it was asked something that it has not answered.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }
}

/// The entries of the user's messages.
fn users(disk: &Disk) -> Vec<String> {
    let lines = disk.lines();
    let users = lines.iter().filter(|line| line["message"]["role"] == "user");
    users.filter_map(|line| line["id"].as_str().map(str::to_owned)).collect()
}

fn chosen(id: &str, frame: &Value, rightly: bool) -> Value {
    let mut answer = json!({ "type": "extension_ui_response", "id": id });
    match (frame["method"] == "confirm") == rightly {
        true => answer["confirmed"] = true.into(),
        // The question before a call is allowed.
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
