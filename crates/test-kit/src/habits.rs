//! Extensions that answer requests by habits: late, never, twice, wrongly, or after a dialog.

use crate::{
    Checked,
    extension::{Peer, PeerStep},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Way in which an extension treats a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Habit {
    /// Answers at once.
    Answers,
    /// Answers after this many milliseconds.
    AnswersLate(u64),
    /// Answers only after a cancel.
    AnswersCancelled,
    /// Accepts the request and never answers.
    Never,
    /// Answers twice, the second time with an objection.
    AnswersTwice,
    /// Answers with an objection: cancels, blocks, handles the input itself, or marks the result as an error.
    Objects,
    /// Answers with a failure.
    Fails,
    /// Exits.
    Dies,
    /// Writes a line that is not a frame, and answers.
    Strays,
    /// Opens a dialog before it answers.
    Asks {
        /// `select`, `confirm`, `input` or `editor`.
        method: String,
        /// Timeout of the dialog in milliseconds.
        timeout: Option<u64>,
        /// Whether the dialog has the request as its origin.
        own: bool,
    },
    /// Opens a dialog, withdraws it, and answers.
    AsksInVain,
    /// Sends a message before it answers.
    Sends {
        /// `steer`, `followUp` or `nextTurn`.
        deliver: Option<String>,
        /// Whether the message starts a run.
        trigger: bool,
    },
    /// Sends a user message before it answers, with this delivery.
    Says(Option<String>),
    /// Appends an entry, and answers.
    Keeps,
    /// Sets the session name, and answers.
    Renames,
    /// Registers again, and answers.
    Registers,
    /// Replaces the subject of the hook.
    Replaces,
}

/// Maximum number of messages of an extension in one conversation, as messages lead to further requests.
const WORDS: usize = 4;

/// Extension that applies its habits to its requests, cyclically.
pub(crate) struct Habits {
    name: String,
    place: usize,
    habits: Vec<Habit>,
    /// Number of requests so far.
    asked: usize,
    /// Number of messages so far.
    words: usize,
    /// Open requests, by id.
    open: BTreeMap<String, Value>,
    /// Open dialogs, by the id of the extension, with the requests that they were opened for.
    dialogs: BTreeMap<String, String>,
    /// Requests that dialogs were opened for, by the id of the extension.
    purposes: BTreeMap<String, String>,
}

impl Habits {
    /// Creates the extension with this index.
    pub fn new(place: usize, habits: Vec<Habit>) -> Self {
        Self {
            name: place.to_string(),
            place,
            habits,
            asked: 0,
            words: 0,
            open: BTreeMap::new(),
            dialogs: BTreeMap::new(),
            purposes: BTreeMap::new(),
        }
    }

    fn react(&mut self, mut request: Value, id: &str) -> Vec<(u64, PeerStep)> {
        let mut habit = self.habits[self.asked % self.habits.len()].clone();
        if matches!(habit, Habit::Sends { .. } | Habit::Says(_)) {
            self.words += 1;
            if self.words > WORDS {
                habit = Habit::Answers;
            }
        }
        self.asked += 1;
        let number = format!("{}.{}", self.place, self.asked);
        let end = |objects| end(&request, objects);
        let accept = json!({ "type": "accept", "id": id });
        let frames = match habit {
            Habit::Answers => vec![end(false)],
            Habit::AnswersLate(after) => return vec![(after, PeerStep::Writes(end(false)))],
            Habit::AnswersCancelled => {
                request["cancels"] = true.into();
                self.open.insert(id.to_owned(), request);
                vec![accept]
            }
            Habit::Never => vec![accept],
            Habit::AnswersTwice => vec![end(false), end(true)],
            Habit::Objects => vec![end(true)],
            Habit::Fails => vec![json!({ "type": "failed", "id": id, "error": "no idea" })],
            Habit::Dies => return vec![(1, PeerStep::Ends("killed"))],
            Habit::Strays => {
                return vec![(0, PeerStep::Strays("no JSON")), (0, PeerStep::Writes(end(false)))];
            }
            Habit::Asks { method, timeout, own } => {
                self.purposes.insert(format!("d{number}"), id.to_owned());
                vec![accept, dialog(&number, &method, timeout, own.then_some(id))]
            }
            Habit::AsksInVain => vec![
                dialog(&number, "editor", None, Some(id)),
                json!({ "type": "ui_cancel", "id": format!("d{number}") }),
                end(false),
            ],
            Habit::Sends { deliver, trigger } => {
                let message =
                    json!({ "customType": "note", "content": format!("note {number}"), "display": true });
                let frame = json!({ "type": "send_message", "message": message, "triggerTurn": trigger });
                vec![delivered(frame, deliver), end(false)]
            }
            Habit::Says(deliver) => {
                let said = format!("said for the user {number}");
                let frame = json!({ "type": "send_user_message", "id": said, "content": said });
                vec![delivered(frame, deliver), end(false)]
            }
            Habit::Keeps => {
                vec![json!({ "type": "append_entry", "customType": "count", "data": number }), end(false)]
            }
            Habit::Registers => vec![register(self.place), end(false)],
            Habit::Replaces => vec![replaced(&request).unwrap_or_else(|| end(false))],
            Habit::Renames => {
                let name = format!("name {number}");
                vec![json!({ "type": "set_session_name", "name": name, "origin": id }), end(false)]
            }
        };
        frames.into_iter().map(|frame| (0, PeerStep::Writes(frame))).collect()
    }
}

impl Peer for Habits {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_frame(&mut self, frame: &Value) -> Result<Vec<(u64, PeerStep)>, String> {
        let id = text(&frame["id"]);
        let now = |frame| Ok(vec![(0, PeerStep::Writes(frame))]);
        match frame["type"].as_str().unwrap_or_default() {
            // The third extension is slow.
            "hello" => {
                let after = if self.place == 2 { 700 } else { 0 };
                Ok(vec![(after, PeerStep::Writes(register(self.place)))])
            }
            "ui_answer" => {
                let own = text(&frame["response"]["id"]);
                let of = self.dialogs.remove(&own);
                let of = of.ok_or_else(|| format!("a second answer to a dialog, or one to none: {frame}"))?;
                self.open.get(&of).map_or(Ok(Vec::new()), |request| now(end(request, false)))
            }
            "cancel" => match self.open.get(&id) {
                Some(request) if request["cancels"] == true => now(end(request, false)),
                _ => Ok(Vec::new()),
            },
            "command" | "tool_call" | "hook" => {
                let before = self.open.insert(id.clone(), frame.clone());
                if before.is_some() {
                    return Err(format!("an id that is open was used again: {frame}"));
                }
                Ok(self.react(frame.clone(), &id))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn writes(&mut self, frame: &Value) {
        if matches!(frame["type"].as_str(), Some("done" | "failed" | "tool_result")) {
            self.open.remove(&text(&frame["id"]));
        }
        if frame["type"] == "ui" {
            let own = text(&frame["request"]["id"]);
            let purpose = self.purposes.get(&own).cloned().unwrap_or_default();
            self.dialogs.insert(own, purpose);
        }
    }

    fn ends(&mut self) {
        self.open.clear();
        self.dialogs.clear();
    }

    fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    fn is_settled(&self) -> Checked {
        let dialogs: Vec<_> = self.dialogs.keys().collect();
        if dialogs.is_empty() { Ok(()) } else { Err(format!("no answer to the dialogs {dialogs:?}")) }
    }

    fn fresh_copy(&self) -> Box<dyn Peer> {
        Box::new(Self::new(self.place, self.habits.clone()))
    }
}

fn delivered(mut frame: Value, deliver: Option<String>) -> Value {
    if let Some(deliver) = deliver {
        frame["deliverAs"] = deliver.into();
    }
    frame
}

fn register(place: usize) -> Value {
    let tool = json!({
        "name": format!("mine{place}"), "description": "Mine.", "parameters": { "type": "object" },
    });
    let hooks = [
        "session_before_switch",
        "session_before_fork",
        "session_before_compact",
        "input",
        "before_agent_start",
        "tool_call",
        "tool_result",
        "session_shutdown",
        "session_start",
        "session_compact",
        "model_select",
        "thinking_level_select",
        "context",
        "message_end",
        "event",
        "user_bash",
    ];
    // The first extension has no hooks that the idle engine waits for, the second none about prompts.
    let left_out: &[&str] = match place {
        0 => &["context", "message_end", "event"],
        1 => &["input", "before_agent_start", "message_end"],
        _ => &["context"],
    };
    let hooks: Vec<&str> = hooks.into_iter().filter(|it| !left_out.contains(it)).collect();
    let awaits: &[&str] = match place {
        0 => &[],
        1 => &[
            "agent_start",
            "turn_start",
            "turn_end",
            "agent_end",
            "tool_execution_start",
            "tool_execution_end",
        ],
        _ => &["message_start", "message_end", "agent_end", "agent_settled", "session_info_changed"],
    };
    json!({
        "type": "register", "commands": [{ "name": "do" }], "tools": [tool], "hooks": hooks,
        "events": if place == 0 { &["*"] } else { awaits }, "awaits": awaits,
    })
}

/// Answer to a hook that replaces its subject, if the hook allows that.
fn replaced(request: &Value) -> Option<Value> {
    let hook = &request["hook"];
    let result = match hook["type"].as_str()? {
        "context" => {
            let messages = hook["messages"].as_array()?;
            json!({ "messages": messages[messages.len() / 2..] })
        }
        "message_end" => {
            let mut message = hook["message"].clone();
            message["timestamp"] = 1.into();
            json!({ "messages": [message] })
        }
        "tool_call" => json!({ "input": { "command": "other" } }),
        "user_bash" => {
            json!({ "bash": { "output": "mine", "exitCode": 0, "cancelled": false, "truncated": false } })
        }
        _ => return None,
    };
    Some(json!({ "type": "done", "id": request["id"], "result": result }))
}

/// Answer to a request; `objects`: prevents the operation, or reports a failure.
fn end(request: &Value, objects: bool) -> Value {
    let id = &request["id"];
    match request["type"].as_str().unwrap_or_default() {
        "tool_call" => json!({
            "type": "tool_result", "id": id, "isError": objects,
            "result": { "content": [{ "type": "text", "text": "done" }] },
        }),
        "hook" if objects => json!({
            "type": "done", "id": id,
            "result": { "cancel": true, "action": "handled", "block": true, "isError": true },
        }),
        _ => json!({ "type": "done", "id": id }),
    }
}

fn dialog(number: &str, method: &str, timeout: Option<u64>, origin: Option<&str>) -> Value {
    let mut request =
        json!({ "type": "extension_ui_request", "id": format!("d{number}"), "method": method, "title": "?" });
    match method {
        "select" => request["options"] = json!(["one"]),
        "confirm" => request["message"] = "?".into(),
        _ => {}
    }
    if let Some(timeout) = timeout.filter(|_| method != "editor") {
        request["timeout"] = timeout.into();
    }
    let mut frame = json!({ "type": "ui", "request": request });
    if let Some(origin) = origin {
        frame["origin"] = origin.into();
    }
    frame
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
