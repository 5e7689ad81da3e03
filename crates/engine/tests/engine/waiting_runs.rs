//! Which runs that wait for a permission another process could go on with, and how it does.

use crate::bare_setup::bare_setup;
use pi_rpc_engine::{Engine, Input, Now, Output, Setup, Toolbox, WaitingRun};
use pi_rpc_model::types::{BlockStart, Finish, StreamEvent, ToolSpec};
use pi_rpc_protocol::{Dialect, Encoder, ToExtension, read, read_line};
use pi_rpc_test_kit::Disk;
use serde_json::{Value, json};
use std::{mem::take, time::Duration};

/// An engine that asks before `bash`, which the model calls in its answer. Its disk answers at once, but for pages.
struct World {
    engine: Engine,
    encoder: Encoder,
    disk: Disk,
    said: Vec<Value>,
    /// The arguments of the model's calls.
    arguments: Value,
    /// The arguments of the calls that have begun.
    started: Vec<Value>,
    /// The extension's process, and what it was told.
    process: u64,
    told: Vec<Value>,
}

/// The result of a call that a client has denied.
const DENIED: &str = "The user did not allow this call of bash.";

/// What the host is asked.
const QUESTION: &str = "extension_ui_request";

impl World {
    fn new() -> Self {
        Self::set_up(Disk::default(), |_| ())
    }

    /// Another process, with the session of this one and with an extension that has not registered yet.
    fn next(self, waiting: WaitingRun) -> Self {
        self.next_that_confirms(&["bash"], waiting)
    }

    /// Another such process, which asks before these tools.
    fn next_that_confirms(self, tools: &[&str], waiting: WaitingRun) -> Self {
        let mut disk = self.disk;
        let path = disk.open_file().expect("a file").to_owned();
        let session = disk.open(&path).expect("a session");
        let mut world = Self::set_up(disk, |setup| {
            setup.session = Some(session);
            setup.extension_setup.extensions = vec!["/ext/one".to_owned()];
            setup.extension_setup.confirm = tools.iter().map(|tool| (*tool).to_owned()).collect();
        });
        world.handle(Input::Resume(Box::new(waiting)));
        world
    }

    fn set_up(disk: Disk, change: impl FnOnce(&mut Setup)) -> Self {
        let (name, description) = ("bash".to_owned(), "Runs a command.".to_owned());
        let parameters = json!({ "type": "object" }).into();
        let bash = ToolSpec { name, description, parameters, exclusive: true, output: None };
        let mut setup = bare_setup();
        setup.place.folder = Some("/sessions".into());
        setup.tools = Toolbox::new(vec![bash]);
        setup.extension_setup.confirm = vec!["bash".to_owned()];
        change(&mut setup);
        let engine = Engine::new(setup, NOW);
        let encoder = Encoder::new(Dialect::Pi);
        let (said, started, told) = (Vec::new(), Vec::new(), Vec::new());
        Self { engine, encoder, disk, said, arguments: json!({}), started, process: 0, told }
    }

    /// Prompts. Returns the id of the question, and the run that waits for it.
    fn ask(&mut self) -> (Value, WaitingRun) {
        self.host(json!({ "id": "p", "type": "prompt", "message": "go" }));
        (self.question()["id"].clone(), self.engine.waiting_run().expect("it waits"))
    }

    /// The question that was asked last.
    fn question(&self) -> &Value {
        self.said.iter().rfind(|frame| frame["type"] == QUESTION).expect("a question")
    }

    /// The text of the first call that has ended.
    fn first_result(&self) -> &Value {
        let end = self.said.iter().find(|frame| frame["type"] == "tool_execution_end").expect("an end");
        &end["result"]["content"][0]["text"]
    }

    fn answer(&mut self, question: &Value, value: &str) {
        self.host(json!({ "type": "extension_ui_response", "id": question, "value": value }));
    }

    /// The extension registers with hooks, or completes the one that it was sent last.
    fn extension(&mut self, mut frame: Value) {
        if frame["type"] == "done" {
            frame["id"] = self.told.last().expect("a hook")["id"].clone();
        }
        let frame = Box::new(read(frame.to_string().as_bytes(), Dialect::Pi).expect("a frame"));
        self.handle(Input::Extension { from: self.process, frame });
    }

    fn handle(&mut self, input: Input) {
        self.engine.handle(input, NOW);
        self.perform();
    }

    fn host(&mut self, frame: Value) {
        let line = read_line(frame.to_string().as_bytes(), Dialect::Pi).transpose().expect("no blank line");
        self.handle(Input::line(line));
    }

    fn perform(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Emit(said) => {
                    let mut bytes = Vec::new();
                    self.encoder.encode(&said, &mut bytes);
                    self.said.push(serde_json::from_slice(&bytes).expect("JSON"));
                }
                Output::Store(write) => {
                    self.disk.write(&write).expect("room");
                    self.engine.handle(Input::Stored, NOW);
                }
                Output::StartExtension { process, .. } => self.process = process,
                Output::ToExtension { frame, .. } => {
                    let frame: &ToExtension = &frame;
                    self.told.push(serde_json::to_value(frame).expect("JSON"));
                }
                Output::CallModel(call) => {
                    let block = BlockStart::ToolCall { id: "t1".to_owned(), name: "bash".to_owned() };
                    for event in [
                        StreamEvent::Start { index: 0, block },
                        StreamEvent::Delta { index: 0, delta: self.arguments.to_string() },
                        StreamEvent::End { index: 0, signature: None },
                        StreamEvent::Finish(Finish::ToolUse),
                    ] {
                        self.engine.handle(Input::Model { call: call.call, event }, NOW);
                    }
                }
                Output::StartTool(start) => self.started.push(start.arguments.into()),
                Output::Violation(violation) => panic!("{violation}"),
                _ => {}
            }
        }
    }
}

const NOW: Now = Now { monotonic: Duration::ZERO, wall: 0 };

#[test]
fn unwritten_answer_is_no_open_question() {
    let mut world = World::new();
    let (question, _) = world.ask();
    world.host(json!({ "id": "e", "type": "export_html" }));
    assert_eq!(world.engine.waiting_run(), None);
    world.answer(&question, "Allow once");
    assert_eq!((world.engine.waiting_run(), &*world.started), (None, &[][..]));
    world.handle(Input::FileWritten(Ok(())));
    assert_eq!(world.started, [json!({})]);
}

/// A process whose extension is asked about the call first, and the question of the process before.
fn resumed() -> (World, Value) {
    let mut before = World::new();
    let (question, waiting) = before.ask();
    let mut world = before.next(waiting);
    assert!(world.engine.waiting_run().is_some(), "before the extension is there");
    world.extension(json!({ "type": "register", "hooks": ["tool_call"] }));
    assert_eq!(world.told.last().expect("a hook")["hook"]["type"], "tool_call");
    (world, question)
}

#[test]
fn answer_during_resumption_counts_once() {
    let (mut world, question) = resumed();
    world.answer(&question, "Allow once");
    world.answer(&question, "Deny");
    assert_eq!(world.started, [] as [Value; 0], "the extension has its say first");
    world.extension(json!({ "type": "done", "result": {} }));
    assert_eq!(world.started, [json!({})]);
    assert!(!world.said.iter().any(|frame| frame["type"] == QUESTION), "it is answered");
}

#[test]
fn denial_during_resumption_counts() {
    let (mut world, question) = resumed();
    world.answer(&question, "Deny");
    world.extension(json!({ "type": "done", "result": {} }));
    assert_eq!(world.started, [] as [Value; 0]);
    assert_eq!(world.first_result(), DENIED);
}

/// A process that asks before no tool, with the question of the process before.
fn resumed_without_questions() -> (World, Value) {
    let mut before = World::new();
    let (question, waiting) = before.ask();
    (before.next_that_confirms(&[], waiting), question)
}

#[test]
fn question_outlives_the_rule_behind_it() {
    let (mut world, question) = resumed_without_questions();
    world.extension(json!({ "type": "register" }));
    assert_eq!((&world.question()["id"], &*world.started), (&question, &[][..]));
    world.answer(&question, "Allow once");
    assert_eq!(world.started, [json!({})]);
}

#[test]
fn early_denial_outlives_the_rule() {
    let (mut world, question) = resumed_without_questions();
    world.answer(&question, "Deny");
    world.extension(json!({ "type": "register" }));
    assert_eq!(world.first_result(), DENIED);
}

#[test]
fn early_answer_permits_nothing_unseen() {
    let long = |middle: &str| json!({ "command": format!("{0}{middle}{0}", "x".repeat(20_000)) });
    let mut before = World::new();
    before.arguments = long("a");
    let (question, waiting) = before.ask();
    let mut world = before.next(waiting);
    world.extension(json!({ "type": "register", "hooks": ["tool_call"] }));
    world.answer(&question, "Allow once");
    world.extension(json!({ "type": "done", "result": { "input": long("b") } }));
    assert_eq!(world.started, [] as [Value; 0]);
    assert_ne!(world.question()["id"], question);
}

#[test]
fn early_answer_outlives_its_process() {
    let (mut world, question) = resumed();
    assert!(world.engine.waiting_run().is_some(), "before the extension has decided");
    world.answer(&question, "Allow once");
    let waiting = world.engine.waiting_run().expect("it waits");
    let waiting = serde_json::from_value(serde_json::to_value(waiting).expect("JSON")).expect("a run");
    let mut next = world.next(waiting);
    next.extension(json!({ "type": "register" }));
    assert_eq!(next.started, [json!({})]);
}

#[test]
fn early_answer_is_to_the_same_call() {
    let (mut world, question) = resumed();
    world.answer(&question, "Allow once");
    world.extension(json!({ "type": "done", "result": { "input": { "command": "other" } } }));
    assert_eq!(world.started, [] as [Value; 0]);
    let asked = world.question()["id"].clone();
    assert_ne!(asked, question);
    world.answer(&asked, "Allow once");
    assert_eq!(world.started, [json!({ "command": "other" })]);
}

#[test]
fn early_answer_of_another_is_narrowed() {
    let (world, question) = resumed();
    for (value, narrowed) in
        [("Allow for this session", "Allow once"), ("Deny", "Deny"), ("Allow ever", "Deny")]
    {
        let answer = json!({ "type": "extension_ui_response", "id": question, "value": value });
        let mut answer = serde_json::from_value(answer).expect("an answer");
        world.engine.narrow_answer(&mut answer);
        assert_eq!(serde_json::to_value(answer).expect("JSON")["value"], narrowed);
    }
}

#[test]
fn run_that_is_not_resumed_is_closed() {
    let mut before = World::new();
    let (_, waiting) = before.ask();
    let mut other = serde_json::to_value(waiting).expect("JSON");
    other["answer"] = json!([7, ["other"]]);
    let waiting = serde_json::from_value(other).expect("a run");
    let mut world = before.next(waiting);
    world.extension(json!({ "type": "register", "hooks": ["session_start"] }));
    let roles = |world: &World| -> Vec<Value> {
        let messages = world.engine.messages().iter().map(|it| serde_json::to_value(it).expect("JSON"));
        messages.map(|it| json!([it["role"], it["stopReason"]])).collect()
    };
    let closed = [
        json!(["user", null]),
        json!(["assistant", "toolUse"]),
        json!(["toolResult", null]),
        json!(["assistant", "aborted"]),
    ];
    assert_eq!(roles(&world), closed);
    assert_eq!(world.disk.tree().expect("a file").context().messages.len(), 4);
    let told = take(&mut world.said);
    let error = told.iter().find(|frame| frame["type"] == "extension_error").expect("the host is told");
    assert_eq!(error["event"], "session");
    assert_eq!(world.engine.waiting_run(), None);
}
