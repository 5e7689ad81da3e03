//! Skeletons: the part of a conversation that is compared.

use super::{shape, stored};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Record of a conversation, from the side of the host.
#[derive(Debug, Clone)]
pub enum Record {
    /// Start of a server.
    Spawned,
    /// Frame of the host.
    Sent(Value),
    /// Bytes of the host that are more or less than a frame.
    SentBytes,
    /// Frame of the server.
    Said(Value),
    /// Lines of a session file.
    Stored(Vec<Value>),
    /// Names of the files in the server's folder, without hidden ones.
    Folder(Vec<String>),
    /// End of the server, with its exit code.
    Exited(Option<i64>),
}

/// The shapes of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skeleton {
    /// Name of the recorded program.
    pub of: String,
    /// The responses to each request, sorted: when they come is another rule's matter.
    pub answers: BTreeMap<String, String>,
    /// The events in their order, starts and ends of the process among them; repeated updates are one.
    pub events: Vec<String>,
    /// The lines of the session's file, where the host looked at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file: Vec<String>,
}

impl Skeleton {
    /// Creates the skeleton of `records`. Retry delays are given as multiples of `retry_base_ms`.
    pub fn new(of: &str, records: &[Record], retry_base_ms: u64) -> Self {
        let mut talk = Talk { retry_base_ms, ..Talk::default() };
        for record in records {
            talk.add(record);
        }
        talk.end_process();
        let answers = talk.answers.into_iter().map(|(key, answers)| (key, joined(answers))).collect();
        Self { of: of.to_owned(), answers, events: talk.events, file: talk.file }
    }

    /// The same without the numbers of these members in answers.
    pub fn without_numbers(mut self, members: &[&str]) -> Self {
        for answer in self.answers.values_mut() {
            for member in members {
                *answer = without_number(answer, &format!("{member}: "));
            }
        }
        self
    }

    /// Whether the two are the same but for where they come from.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.answers == other.answers && self.events == other.events && self.file == other.file
    }
}

/// The text with `number` for each number behind `label`.
fn without_number(text: &str, label: &str) -> String {
    let mut parts = text.split(label);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = if rest.len() < part.len() { "number" } else { "" };
        out += &format!("{label}{number}{rest}");
    }
    out
}

fn joined(mut answers: Vec<String>) -> String {
    answers.sort();
    if answers.is_empty() { "none".to_owned() } else { answers.join(" + ") }
}

#[derive(Default)]
struct Talk {
    /// Answers of all processes.
    answers: BTreeMap<String, Vec<String>>,
    events: Vec<String>,
    file: Vec<String>,
    retry_base_ms: u64,
    /// The requests to the process that runs, in the order in which they were sent.
    requests: Vec<Request>,
    lines: usize,
}

struct Request {
    key: String,
    id: Option<String>,
    command: Option<String>,
    answers: Vec<String>,
}

impl Talk {
    fn add(&mut self, record: &Record) {
        match record {
            Record::Spawned => {
                self.end_process();
                self.events.push("spawn".to_owned());
            }
            Record::Sent(frame) => {
                let [id, command] = ["id", "type"].map(|key| frame[key].as_str().map(str::to_owned));
                let kind = command.as_deref().unwrap_or_default();
                // What answers the server carries the server's own ids.
                let is_answer = kind.starts_with("host_tool_") || kind == "extension_ui_response";
                let key = match &id {
                    Some(id) if !is_answer => format!("{id} {kind}"),
                    _ => format!("- {kind}"),
                };
                self.requests.push(Request { key, id, command, answers: Vec::new() });
            }
            Record::SentBytes => {
                self.lines += 1;
                let key = format!("bytes {:02}", self.lines);
                self.requests.push(Request { key, id: None, command: None, answers: Vec::new() });
            }
            Record::Said(frame) if frame["type"] == "response" => self.answered(frame),
            Record::Said(frame) => self.happened(shape::event(frame, self.retry_base_ms)),
            Record::Stored(lines) => self.file.extend(stored::shapes(lines)),
            Record::Folder(names) => self.events.push(stored::folder(names)),
            Record::Exited(code) => {
                let exit = code.map_or("killed".to_owned(), |code| format!("exit {code}"));
                // Some recordings tell it twice.
                if self.events.last() != Some(&exit) {
                    self.events.push(exit);
                }
            }
        }
    }

    /// Puts a response to its request: to that of the same id, else to the last one.
    fn answered(&mut self, frame: &Value) {
        let id = frame["id"].as_str();
        let of_id = self.requests.iter().rposition(|request| id.is_some() && request.id.as_deref() == id);
        let Some(request) = of_id.or(self.requests.len().checked_sub(1)) else {
            return self.happened("response to nothing".to_owned());
        };
        let request = &mut self.requests[request];
        let answer = shape::answer(frame, request.id.as_deref(), request.command.as_deref());
        request.answers.push(answer);
    }

    fn happened(&mut self, event: String) {
        // Of calls that run together, it is chance which one's progress and end come first.
        let of_call = |event: &&String| {
            let kinds = [
                "tool_execution_update",
                "tool_execution_end",
                "message_start toolResult",
                "message_end toolResult",
            ];
            kinds.iter().any(|kind| event.starts_with(kind))
        };
        let repeats = match event.starts_with("tool_execution_update") {
            true => self.events.iter().rev().take_while(of_call).any(|other| *other == event),
            false => event.contains("_update") && self.events.last() == Some(&event),
        };
        if !repeats {
            self.events.push(event);
        }
    }

    /// Keeps the answers of a process; equal answers of several processes count once.
    fn end_process(&mut self) {
        for request in std::mem::take(&mut self.requests) {
            let answers = self.answers.entry(request.key).or_default();
            let new: Vec<String> =
                request.answers.into_iter().filter(|answer| !answers.contains(answer)).collect();
            answers.extend(new);
        }
    }
}
