//! Extensions that answer as they please, and a host that does: what is asked of either, and what became of it.

use super::{
    Checked,
    world::{Due, World},
};
use pi_rpc::{
    engine::{CallId, Input},
    protocol::{FromExtension, ToExtension, read},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What an extension makes of what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Answers,
    AnswersLate(u64),
    /// Not before it is told that nobody wants the answer any more.
    AnswersCancelled,
    Never,
    AnswersTwice,
    /// Cancels, blocks, has dealt with it, or calls it an error.
    Objects,
    Fails,
    Dies,
    Strays,
    /// Opens a dialog first; of what it was asked, or of nothing. The number is the timeout, if it is one.
    Asks(&'static str, Option<u64>, bool),
    /// Opens a dialog, takes it back and ends.
    AsksInVain,
    /// Sends a message first.
    Sends(Option<&'static str>, bool),
    /// Says something for the user first.
    Says(Option<&'static str>),
    Keeps,
    Renames,
    /// Registers once more first.
    Registers,
    /// Puts something in the place of what it is told.
    Replaces,
}

/// How the host answers a dialog or a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    Rightly(u64),
    Wrongly(u64),
    Twice(u64),
    /// A text where none belongs.
    Misspelt(u64),
    Never,
}

pub fn habits() -> impl Strategy<Value = Vec<Habit>> {
    let method = prop::sample::select(vec!["select", "confirm", "input", "editor"]);
    let deliver = || prop::sample::select(vec![None, Some("steer"), Some("followUp"), Some("nextTurn")]);
    let timeout = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 2 => (1..5000_u64).prop_map(Some)];
    let habit = prop_oneof![
        8 => Just(Habit::Answers),
        4 => (1..500_u64).prop_map(Habit::AnswersLate),
        1 => (500..40_000_u64).prop_map(Habit::AnswersLate),
        1 => Just(Habit::AnswersCancelled),
        1 => Just(Habit::Never),
        1 => Just(Habit::AnswersTwice),
        3 => Just(Habit::Objects),
        1 => Just(Habit::Fails),
        1 => Just(Habit::Dies),
        1 => Just(Habit::Strays),
        6 => (method, timeout, prop::bool::weighted(0.8)).prop_map(|(method, timeout, own)| Habit::Asks(method, timeout, own)),
        1 => Just(Habit::AsksInVain),
        3 => (deliver(), any::<bool>()).prop_map(|(deliver, trigger)| Habit::Sends(deliver, trigger)),
        2 => deliver().prop_map(Habit::Says),
        1 => Just(Habit::Keeps),
        1 => Just(Habit::Renames),
        1 => Just(Habit::Registers),
        2 => Just(Habit::Replaces),
    ];
    prop::collection::vec(habit, 1..10)
}

pub fn answers() -> impl Strategy<Value = Vec<Answers>> {
    let answer = prop_oneof![
        6 => (0..400_u64).prop_map(Answers::Rightly),
        1 => (0..400_u64).prop_map(Answers::Wrongly),
        1 => (0..400_u64).prop_map(Answers::Twice),
        1 => (0..400_u64).prop_map(Answers::Misspelt),
        1 => Just(Answers::Never),
    ];
    prop::collection::vec(answer, 1..8)
}

/// The extensions of a conversation and what the host was asked, with what became of it.
#[derive(Default)]
pub struct Extended {
    /// The processes that run, with the places of their extensions.
    processes: BTreeMap<CallId, usize>,
    /// How often each was asked.
    asked: Vec<usize>,
    /// How many things the host was asked.
    questions: usize,
    /// What extensions were asked and have not ended, by process and id.
    open: BTreeMap<(CallId, String), Value>,
    /// Their dialogs without an answer, by process and own id, with what they were opened for.
    dialogs: BTreeMap<(CallId, String), String>,
    /// What dialogs are opened for, by own id.
    purposes: BTreeMap<String, String>,
    /// What the host was asked and has not answered.
    pub host: BTreeSet<String>,
    number: usize,
    /// How often extensions have had something to say.
    words: usize,
}

/// How often extensions have something to say in one conversation.
const WORDS: usize = 8;

impl World<'_> {
    pub(super) fn start_extension(&mut self, process: CallId, place: usize) {
        self.tell(&format!("+{place}"), &process);
        self.extended.processes.insert(process, place);
        self.extended.asked.resize(self.scenario.habits.len(), 0);
    }

    pub(super) fn stop_extension(&mut self, process: CallId) {
        self.plan(self.now + 3, Due::ExtensionEnds(process));
    }

    /// An extension is told something; it reacts.
    pub(super) fn tell_extension(&mut self, process: CallId, frame: &ToExtension) -> Checked {
        let line = serde_json::to_string(frame).map_err(|error| error.to_string())?;
        read::<ToExtension>(line.as_bytes(), self.scenario.dialect)
            .map_err(|error| format!("{error}: {line}"))?;
        let frame: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        self.watch.told_extension(&frame);
        let Some(place) = self.extended.processes.get(&process).copied() else { return Ok(()) };
        self.tell(&format!(">{place}"), &line);
        let id = text(&frame["id"]);
        match frame["type"].as_str().unwrap_or_default() {
            "hello" => {
                let register = register(place);
                // The third of them is slow.
                let after = if place == 2 { 700 } else { 0 };
                self.plan(self.now + after, Due::Extension(process, register));
            }
            "ui_answer" => {
                let own = text(&frame["response"]["id"]);
                let Some(of) = self.extended.dialogs.remove(&(process, own.clone())) else {
                    return Err(format!("a second answer to a dialog, or one to none: {line}"));
                };
                if let Some(request) = self.extended.open.get(&(process, of)).cloned() {
                    self.end(process, &request, false);
                }
            }
            "cancel" => {
                let Some(request) = self.extended.open.get_mut(&(process, id)) else { return Ok(()) };
                request["unwanted"] = true.into();
                let request = request.clone();
                if request["cancels"] == true {
                    self.end(process, &request, false);
                }
            }
            "command" | "tool_call" | "hook" => {
                let before = self.extended.open.insert((process, id.clone()), frame.clone());
                if before.is_some() {
                    return Err(format!("an id that is open was used again: {line}"));
                }
                self.react(process, place, frame, &id);
            }
            _ => {}
        }
        Ok(())
    }

    fn react(&mut self, process: CallId, place: usize, mut request: Value, id: &str) {
        let habits = &self.scenario.habits[place];
        let mut habit = habits[self.extended.asked[place] % habits.len()];
        if matches!(habit, Habit::Sends(..) | Habit::Says(_)) {
            // What is said leads to what is asked about: somebody has to stop.
            self.extended.words += 1;
            if self.extended.words > WORDS {
                habit = Habit::Answers;
            }
        }
        self.extended.asked[place] += 1;
        self.extended.number += 1;
        let number = self.extended.number;
        let now = |world: &mut Self, frame: Value| world.plan(world.now, Due::Extension(process, frame));
        let takes_up = json!({ "type": "accept", "id": id });
        match habit {
            Habit::Answers => self.end(process, &request, false),
            Habit::AnswersLate(after) => {
                let frame = end(&request, false);
                self.plan(self.now + after, Due::Extension(process, frame));
            }
            Habit::AnswersCancelled => {
                request["cancels"] = true.into();
                self.extended.open.insert((process, id.to_owned()), request);
                now(self, takes_up);
            }
            Habit::Never => now(self, takes_up),
            Habit::AnswersTwice => {
                self.end(process, &request, false);
                self.end(process, &request, true);
            }
            Habit::Objects => self.end(process, &request, true),
            Habit::Fails => now(self, json!({ "type": "failed", "id": id, "error": "no idea" })),
            Habit::Dies => self.plan(self.now + 1, Due::ExtensionEnds(process)),
            Habit::Strays => {
                self.plan(self.now, Due::ExtensionStrays(process));
                self.end(process, &request, false);
            }
            Habit::Asks(method, timeout, own) => {
                let origin = own.then_some(id);
                now(self, takes_up);
                now(self, dialog(number, method, timeout, origin));
                self.extended.purposes.insert(format!("d{number}"), id.to_owned());
            }
            Habit::AsksInVain => {
                now(self, dialog(number, "editor", None, Some(id)));
                now(self, json!({ "type": "ui_cancel", "id": format!("d{number}") }));
                self.end(process, &request, false);
            }
            Habit::Sends(deliver, trigger) => {
                let message =
                    json!({ "customType": "note", "content": format!("note {number}"), "display": true });
                let mut frame = json!({ "type": "send_message", "message": message, "triggerTurn": trigger });
                if let Some(deliver) = deliver {
                    frame["deliverAs"] = deliver.into();
                }
                now(self, frame);
                self.end(process, &request, false);
            }
            Habit::Says(deliver) => {
                let said = format!("said for the user {number}");
                let mut frame = json!({ "type": "send_user_message", "id": said, "content": said });
                if let Some(deliver) = deliver {
                    frame["deliverAs"] = deliver.into();
                }
                now(self, frame);
                self.end(process, &request, false);
            }
            Habit::Keeps => {
                now(self, json!({ "type": "append_entry", "customType": "count", "data": number }));
                self.end(process, &request, false);
            }
            Habit::Registers => {
                now(self, register(place));
                self.end(process, &request, false);
            }
            Habit::Replaces => {
                let frame = replaced(&request).unwrap_or_else(|| end(&request, false));
                self.plan(self.now, Due::Extension(process, frame));
            }
            Habit::Renames => {
                now(
                    self,
                    json!({ "type": "set_session_name", "name": format!("name {number}"), "origin": id }),
                );
                self.end(process, &request, false);
            }
        }
    }

    fn end(&mut self, process: CallId, request: &Value, objects: bool) {
        let frame = end(request, objects);
        self.plan(self.now, Due::Extension(process, frame));
    }

    /// An extension writes a frame.
    pub(super) fn extension_writes(
        &mut self,
        process: CallId,
        frame: Value,
    ) -> Result<Option<Input>, String> {
        let Some(place) = self.extended.processes.get(&process).copied() else { return Ok(None) };
        self.tell(&format!("<{place}"), &frame);
        let id = text(&frame["id"]);
        if matches!(frame["type"].as_str(), Some("done" | "failed" | "tool_result"))
            && let Some(request) = self.extended.open.remove(&(process, id))
        {
            self.watch.ended_by_extension(&request, &frame);
        }
        if frame["type"] == "ui" {
            let own = text(&frame["request"]["id"]);
            let purpose = self.extended.purposes.get(&own).cloned().unwrap_or_default();
            self.extended.dialogs.insert((process, own), purpose);
        }
        let line = frame.to_string();
        let frame = read::<FromExtension>(line.as_bytes(), self.scenario.dialect)
            .map_err(|error| format!("{error}: {line}"))?;
        Ok(Some(Input::Extension { from: process, frame: Box::new(frame) }))
    }

    pub(super) fn extension_ends(&mut self, process: CallId) -> Option<Input> {
        let place = self.extended.processes.remove(&process)?;
        self.tell(&format!("-{place}"), &process);
        self.extended.open.retain(|(of, _), _| *of != process);
        self.extended.dialogs.retain(|(of, _), _| *of != process);
        Some(Input::ExtensionEnded { from: process, text: "killed".to_owned() })
    }

    pub(super) fn extension_strays(&mut self, process: CallId) -> Option<Input> {
        self.extended.processes.get(&process)?;
        Some(Input::ExtensionStrayed { from: process, text: "no JSON".to_owned() })
    }

    /// The host is asked something; it answers as it pleases.
    pub(super) fn host_asked(&mut self, frame: &Value) {
        let id = text(&frame["id"]);
        let method = frame["method"].as_str().unwrap_or_default();
        let is_call = match frame["type"].as_str() {
            Some("host_tool_call") => true,
            Some("extension_ui_request") if ["select", "confirm", "input", "editor"].contains(&method) => {
                false
            }
            Some("host_tool_cancel") => {
                self.extended.host.remove(&text(&frame["targetId"]));
                return;
            }
            _ => return,
        };
        self.extended.host.insert(id.clone());
        let answers = &self.scenario.answers;
        let answer = answers[self.extended.questions % answers.len()];
        self.extended.questions += 1;
        let (after, times, line) = match (answer, is_call) {
            (Answers::Never, _) => return,
            (Answers::Rightly(after), true) => (after, 1, carried_out(&id, false)),
            (Answers::Twice(after), true) => (after, 2, carried_out(&id, false)),
            (Answers::Wrongly(after) | Answers::Misspelt(after), true) => (after, 1, carried_out(&id, true)),
            (Answers::Rightly(after), false) => (after, 1, answered(&id, frame, true)),
            (Answers::Twice(after), false) => (after, 2, answered(&id, frame, true)),
            (Answers::Wrongly(after), false) => (after, 1, answered(&id, frame, false)),
            (Answers::Misspelt(after), false) => {
                (after, 1, json!({ "type": "extension_ui_response", "id": id, "value": 7 }))
            }
        };
        for _ in 0..times {
            self.plan(self.now + after, Due::HostAnswers(line.to_string()));
        }
    }

    /// Whether something was asked that nobody is going to answer by itself.
    pub(super) fn is_waiting(&self) -> bool {
        !self.extended.open.is_empty() || !self.extended.host.is_empty()
    }

    /// The process is about to end: every dialog of an extension that runs has had its answer.
    pub(super) fn dialogs_are_over(&self) -> Checked {
        let dialogs: Vec<_> = self.extended.dialogs.keys().collect();
        if dialogs.is_empty() { Ok(()) } else { Err(format!("no answer to the dialogs {dialogs:?}")) }
    }
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
    // The first of them is not asked while the engine stands still, the second has no say in prompts.
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

/// The end of a hook that puts something in the place of what it is about, if there is anything.
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

/// The end of a request; `objects`: it does not happen, or has failed.
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

fn dialog(number: usize, method: &str, timeout: Option<u64>, origin: Option<&str>) -> Value {
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

fn answered(id: &str, frame: &Value, rightly: bool) -> Value {
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

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
