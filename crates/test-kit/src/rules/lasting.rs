//! Watcher of the rules that hold whatever happens:
//!
//! - the machine finds no violation, and every command gets its response;
//! - what frames report is stored, except for messages of a run that ends because a write failed;
//! - an acknowledged message is delivered once, in a run or through a queue, unless its session was left;
//! - a model is called for a turn only in a run, and at rest nothing is outstanding and no deadline is set;
//! - at the end the file has the same messages as memory, and no reported message is lost.

use super::Watcher;
use crate::{Checked, Disk, ensure, stored_messages};
use pi_rpc_engine::{CallId, Engine, Input, ModelCall, Now, Output, Purpose};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::{
    Dialect, DialectEndOfInput, DialectPromptAck, DialectRunEnd, Emission, ExtensionHook, HookEvent,
    ToExtension,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// Watcher of one conversation.
pub struct Lasting {
    dialect: Dialect,
    /// Id of the session.
    session: String,
    is_kept: bool,
    /// Whether there are extensions, whose dialogs and requests have deadlines.
    is_extended: bool,
    /// Outstanding model calls, and whether each is for a turn.
    models: BTreeMap<CallId, bool>,
    run_open: bool,
    /// Whether a run has begun whose `agent_start` waits for an extension.
    run_begins: bool,
    /// Whether what came since the start of the run announces that it goes on, in dialects where that has no end.
    goes_on: bool,
    /// Whether the end of input has cut the run, in dialects that show no more of it.
    is_cut: bool,
    /// Whether a write has failed in the open run.
    failed: bool,
    /// Acknowledged user texts that were not delivered yet, with their commands.
    owed: BTreeMap<String, String>,
    /// Commands without a response.
    asked: BTreeMap<String, Value>,
    /// Messages that were reported as stored, with their files.
    told: Vec<(PathBuf, Value)>,
    /// Inputs that an extension handled, which are not delivered.
    handled: BTreeSet<String>,
    /// Accepted user messages of extensions.
    accepted: BTreeSet<String>,
    stopped: bool,
    exited: bool,
    /// Whether the last write has failed.
    missed: bool,
    /// Outstanding requests to extensions.
    open: BTreeMap<(CallId, String), Value>,
    /// Notable occurrences.
    seen: BTreeSet<String>,
}

impl Lasting {
    /// Creates a watcher for one conversation.
    pub fn new(dialect: Dialect, is_kept: bool, is_extended: bool) -> Self {
        Self {
            dialect,
            session: String::new(),
            is_kept,
            is_extended,
            models: BTreeMap::new(),
            run_open: false,
            run_begins: false,
            goes_on: false,
            is_cut: false,
            failed: false,
            owed: BTreeMap::new(),
            asked: BTreeMap::new(),
            told: Vec::new(),
            handled: BTreeSet::new(),
            accepted: BTreeSet::new(),
            stopped: false,
            exited: false,
            missed: false,
            open: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    fn model_asked(&mut self, call: &ModelCall) -> Checked {
        ensure!(!self.stopped, "a model was asked after the shutdown");
        let turn = call.purpose == Purpose::Turn;
        ensure!(!turn || self.run_open, "a model was asked for a turn outside a run");
        let beside = self.models.values().any(|other| *other || turn);
        ensure!(!beside, "a model was asked while another was at work");
        self.models.insert(call.call, turn);
        Ok(())
    }

    /// Handles the end or the cancel of a model call.
    fn model_over(&mut self, call: CallId) -> bool {
        self.models.remove(&call).is_some()
    }

    /// Handles a frame of the server.
    fn said(&mut self, frame: &Value, disk: &Disk) -> Checked {
        let kind = text(&frame["type"]);
        self.seen.extend(interest(frame));
        let is_bridge = ["auto_retry_start", "auto_compaction_end"].contains(&kind.as_str());
        self.goes_on |= is_bridge && self.dialect.record().run_end == DialectRunEnd::Chain;
        if kind == "agent_start" {
            ensure!(!self.run_open || self.goes_on, "two runs at once");
            (self.run_open, self.run_begins, self.goes_on) = (true, false, false);
        }
        // The message of a shell command belongs to the session in which the command was started.
        let is_left = |asked: &Value| asked["left"] == true || asked["session"] != self.session.as_str();
        let elsewhere = self.asked.get(&text(&frame["id"])).is_some_and(is_left);
        if self.is_kept && !self.failed && !elsewhere {
            let run_open = self.run_open || self.run_begins;
            ensure!(disk.has_reported(frame, run_open), "told before it was stored: {frame}");
            // A message of an extension before the file exists is written with the first user message, if there is one.
            let early = frame["message"]["role"] == "custom" && disk.lines().is_empty();
            if let (Some(path), "message_end", false) = (disk.open_file(), kind.as_str(), early) {
                self.told.push((path.to_owned(), frame["message"].clone()));
            }
        }
        let message = &frame["message"];
        if kind == "message_end" && message["role"] == "user" {
            let said = text(&message["content"][0]["text"]);
            // A slash command of an extension that never registered goes to the model as text.
            let owed = self.owed.remove(&said).is_some() || self.accepted.remove(&said);
            let known = owed || said.starts_with('/');
            ensure!(known, "{said:?} was delivered, and nobody was told before");
        }
        if kind == "agent_end" {
            (self.run_open, self.failed) = (false, false);
        }
        if kind == "response" { self.answered(frame) } else { Ok(()) }
    }

    /// Handles the answer of an extension to a request.
    fn ended_by_extension(&mut self, request: &Value, frame: &Value) {
        self.seen.insert(
            format!("{} {}", text(&request["type"]), text(&request["hook"]["type"])).trim_end().to_owned(),
        );
        if request["hook"]["type"] == "input" && frame["result"]["action"] == "handled" {
            let said = text(&request["hook"]["text"]);
            // After a cancel: the input is used unchanged, or dropped with the aborted work.
            match request["unwanted"] == true {
                true => self.accepted.insert(said.clone()),
                false => self.accepted.remove(&said),
            };
            self.handled.insert(said);
        }
    }

    fn answered(&mut self, frame: &Value) -> Checked {
        let succeeded = frame["success"] == true;
        // The session does not change.
        let cancelled = frame["data"]["cancelled"] == true;
        let id = text(&frame["id"]);
        let late = self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        let Some(asked) = self.asked.remove(&id) else {
            // An acknowledged prompt may still be refused; other errors may have no id.
            self.owed.retain(|_, by| succeeded || *by != id);
            ensure!(!succeeded && (late || id.is_empty()), "a second response: {frame}");
            return Ok(());
        };
        match (asked["type"].as_str().unwrap_or_default(), succeeded) {
            ("prompt" | "abort_and_prompt" | "steer" | "follow_up", true) => {
                let said = text(&asked["message"]);
                if !self.handled.contains(&said) && !said.starts_with('/') {
                    self.owed.insert(said, id);
                }
            }
            (command @ ("new_session" | "switch_session" | "fork" | "branch"), true) if !cancelled => {
                ensure!(!self.run_open || self.is_cut, "a session was left in a run");
                for open in self.asked.values_mut() {
                    open["left"] = true.into();
                }
                if !matches!(command, "fork" | "branch") {
                    self.owed.clear();
                }
            }
            ("abort", _) => ensure!(!self.run_open || self.is_cut, "an abort was answered in a run"),
            _ => {}
        }
        Ok(())
    }
}

impl Watcher for Lasting {
    fn input(&mut self, input: &Input, _: Now) -> Checked {
        match input {
            Input::Model { call, event: StreamEvent::Finish(_) | StreamEvent::Fail { .. } } => {
                self.model_over(*call);
            }
            Input::EndOfInput => {
                self.stopped = false;
                self.is_cut = self.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
            }
            Input::Shutdown => {
                self.stopped = true;
                self.is_cut |= self.dialect.record().end_of_input == DialectEndOfInput::AbortRun;
            }
            _ => {}
        }
        Ok(())
    }

    fn wrote(&mut self, frame: &Value) {
        if !["extension_ui_response", "host_tool_result", "host_tool_update"]
            .map(Value::from)
            .contains(&frame["type"])
        {
            let mut asked = frame.clone();
            asked["session"] = self.session.clone().into();
            self.asked.insert(text(&frame["id"]), asked);
        }
    }

    fn output(&mut self, output: &Output) -> Checked {
        ensure!(!self.exited, "after the Exit: {output:?}");
        match output {
            Output::CallModel(call) => self.model_asked(call)?,
            Output::CancelModel(call) => {
                ensure!(self.model_over(*call), "a model was cancelled that was not at work");
            }
            Output::Store(_) => self.missed = false,
            Output::ToExtension { frame, .. } => self.run_begins |= is_of_agent_start(frame),
            Output::Exit => self.exited = true,
            _ => {}
        }
        Ok(())
    }

    fn frame(&mut self, _: &Emission, frame: &Value, disk: &Disk) -> Checked {
        self.said(frame, disk)
    }

    fn write_failed(&mut self) {
        (self.failed, self.missed) = (self.run_open, true);
        self.seen.insert(if self.run_open { "full in a run" } else { "full" }.to_owned());
    }

    fn frame_to_extension(&mut self, process: CallId, frame: &Value) {
        let id = text(&frame["id"]);
        match frame["type"].as_str().unwrap_or_default() {
            // A user message of the extension was accepted.
            "response" if frame["success"] == true && !self.handled.contains(&id) => {
                self.accepted.insert(id);
            }
            "command" | "tool_call" | "hook" => {
                self.open.insert((process, id), frame.clone());
            }
            "cancel" => {
                if let Some(request) = self.open.get_mut(&(process, id)) {
                    request["unwanted"] = true.into();
                }
            }
            _ => {}
        }
    }

    fn frame_from_extension(&mut self, process: CallId, frame: &Value) {
        if matches!(frame["type"].as_str(), Some("done" | "failed" | "tool_result"))
            && let Some(request) = self.open.remove(&(process, text(&frame["id"])))
        {
            self.ended_by_extension(&request, frame);
        }
    }

    fn handled(&mut self, engine: &Engine) -> Checked {
        engine.header().id.clone_into(&mut self.session);
        if self.exited {
            return Ok(());
        }
        let turn = self.models.values().any(|turn| *turn);
        ensure!(!turn || self.run_open, "a model is asked for a turn outside a run");
        let quiet = self.models.is_empty() && (engine.deadline().is_none() || self.is_extended);
        ensure!(
            !engine.is_idle() || quiet && (!self.run_open || self.is_cut),
            "idle, and something is still open"
        );
        if engine.is_idle() && !self.stopped {
            // A user message of an extension is accepted before it is parsed, and may be refused later.
            let most = self.owed.len() + self.accepted.len();
            ensure!(
                // A run that is cut delivers without a frame.
                self.is_cut || (self.owed.len()..=most).contains(&engine.queued()),
                "{} messages are owed, {} wait: {:?}",
                self.owed.len(),
                engine.queued(),
                self.owed
            );
            let waiting = engine.machine().requests().outstanding().count();
            let cut_off = engine.machine().state().closing
                && self.dialect.record().end_of_input == DialectEndOfInput::Exit;
            ensure!(waiting == 0 || cut_off, "{waiting} requests were never answered");
        }
        Ok(())
    }

    /// Checks at rest, with hanging work only.
    fn quiet(&self, engine: &Engine) -> Checked {
        ensure!(engine.is_idle() || !self.models.is_empty(), "not idle, and nothing goes on");
        Ok(())
    }

    fn ended(&self, engine: &Engine, disk: &Disk) -> Checked {
        if self.missed || !self.is_kept {
            return Ok(());
        }
        let memory = stored_messages(engine.messages());
        match disk.tree() {
            Some(tree) => {
                let file = stored_messages(&tree.context().messages);
                ensure!(file == memory, "the file has {file:#?}\nthe memory {memory:#?}");
            }
            None => ensure!(memory.iter().all(|it| it["role"] != "user"), "nothing was written"),
        }
        let mut files: BTreeMap<&PathBuf, BTreeSet<String>> = BTreeMap::new();
        for (path, message) in &self.told {
            let lines = files.entry(path).or_insert_with(|| {
                let lines = disk.text(path).unwrap_or_default().lines();
                let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
                let content = |line: &Value| match line["type"].as_str() {
                    Some("custom_message") => line["content"].to_string(),
                    _ => line["message"]["content"].to_string(),
                };
                lines.map(|line| content(&line)).collect()
            });
            ensure!(lines.contains(&message["content"].to_string()), "lost: {message}");
        }
        Ok(())
    }

    fn happened(&self) -> BTreeSet<String> {
        self.seen.clone()
    }
}

/// Notable occurrence in a frame.
fn interest(frame: &Value) -> Option<String> {
    let success = frame["success"] == true;
    Some(match frame["type"].as_str()? {
        kind @ "auto_retry_start" => kind.to_owned(),
        kind @ "auto_retry_end" => format!("{kind} {success}"),
        kind @ "auto_compaction_end" => match (&frame["result"], &frame["errorMessage"]) {
            (Value::Object(_), _) if frame["willRetry"] == true => format!("{kind} retry"),
            (Value::Object(_), _) => format!("{kind} done"),
            (_, Value::String(_)) => format!("{kind} failed"),
            _ if frame["aborted"] == true => format!("{kind} aborted"),
            _ => format!("{kind} nothing"),
        },
        "response" if success => frame["command"].as_str()?.to_owned(),
        _ => return None,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Whether an extension is awaited before `agent_start` is emitted.
fn is_of_agent_start(frame: &ToExtension) -> bool {
    let ToExtension::Hook(ExtensionHook { hook: HookEvent::Event(event), .. }) = frame else { return false };
    event.event.get("type").is_some_and(|kind| kind == "agent_start")
}
