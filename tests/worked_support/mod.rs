//! A scripted conversation in virtual time: the engine itself, the scripted model, simulated tools. What comes out is
//! the log of all that was written and said, one frame a line.
#![allow(dead_code)] // Each test file uses its part.

mod plan;
mod shape;
mod watch;

use pi_rpc::{
    engine::{
        CallId, Choice, Engine, Input, ModelCall, Modes, Now, Output, Place, Purpose, Setup, ShellEnd,
        Toolbox,
    },
    model::{
        scripted::{Ask, Player, Script, ToolText, What},
        types::ToolSpec,
    },
    protocol::{
        AgentMessage, AgentToolResult, Dialect, Encoder, MessageContent, Model, ThinkingLevel, UserContent,
        read, read_line,
    },
};
use plan::{Ending, Plan};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, time::Duration};
use watch::Watch;

/// The wall clock when a conversation begins.
const BEGAN: u64 = 1_764_000_000_000;

/// A conversation to be had: what the host writes and when, what the model says.
pub struct Scenario {
    turns: Value,
    host: Vec<(u64, Value)>,
}

/// The model plays `turns`, as in a script file.
pub fn scenario(turns: Value) -> Scenario {
    Scenario { turns, host: Vec::new() }
}

impl Scenario {
    /// The host writes `frame` at that millisecond.
    pub fn host(mut self, at: u64, frame: Value) -> Self {
        self.host.push((at, frame));
        self
    }

    /// Has the conversation in `dialect`.
    pub fn play(&self, dialect: Dialect) -> Played {
        let mut world = World::new(dialect, &self.turns);
        for (at, frame) in &self.host {
            world.due(*at, Event::Host(frame.to_string()));
        }
        world.run();
        assert!(world.engine.is_idle(), "{dialect}: something still runs");
        let state = world.engine.machine().state().to_string();
        assert_eq!(state, "idle", "{dialect}: where the machine stands at the end");
        Played { log: world.log, said: world.said, started: world.started }
    }

    /// Has the conversation in each of the `dialects`, holds its order against `shape` (see [`Played::shape`]) and its
    /// log against the snapshot of that name.
    pub fn is(&self, name: &str, dialects: &[Dialect], shape: &str) {
        for dialect in dialects {
            let played = self.play(*dialect);
            let expected: Vec<&str> = shape.split('·').map(str::trim).collect();
            assert_eq!(played.shape(), expected, "{name} in {dialect}");
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(format!("worked_{name}@{dialect}"), played.log));
        }
    }
}

/// What came of a conversation.
pub struct Played {
    /// Every frame, with its time and direction.
    pub log: String,
    /// Every frame of the server.
    pub said: Vec<Value>,
    /// The commands that tools were started with, in order.
    pub started: Vec<String>,
}

impl Played {
    /// The order of what was said, briefly: a run of updates to one block is one step, an input message one step.
    pub fn shape(&self) -> Vec<String> {
        shape::of(&self.said)
    }
}

/// What is due at some time.
enum Event {
    Host(String),
    Model(CallId, What),
    Progress(CallId, String),
    ToolEnds(CallId),
    ShellEnds(CallId),
    /// The engine wanted to be woken.
    Time,
}

struct World {
    dialect: Dialect,
    engine: Engine,
    encoder: Encoder,
    player: Player,
    watch: Watch,
    now: u64,
    /// By time, then in the order in which they were planned.
    due: BTreeMap<(u64, u64), Event>,
    planned: u64,
    /// When the engine wants to be woken.
    alarm: Option<u64>,
    plans: BTreeMap<CallId, Plan>,
    log: String,
    said: Vec<Value>,
    started: Vec<String>,
}

impl World {
    fn new(dialect: Dialect, turns: &Value) -> Self {
        let script = Script::from_json(&json!({ "turns": turns }).to_string()).expect("a script");
        let setup = Setup {
            dialect,
            models: vec![Choice {
                model: model(dialect),
                levels: ThinkingLevel::ALL[..5].to_vec(),
                unusable: None,
            }],
            start: 0,
            chosen: false,
            scope: None,
            level: None,
            modes: Modes::of(dialect),
            place: Place::in_memory("/work"),
            session: None,
            tools: Toolbox::new(tools()).expect("schemas"),
            system_prompt: "Be brief.".into(),
            name: None,
            seed: 7,
            checked: true,
        };
        Self {
            dialect,
            engine: Engine::new(setup, at(0)),
            encoder: Encoder::default(),
            player: Player::new(script),
            watch: Watch::default(),
            now: 0,
            due: BTreeMap::new(),
            planned: 0,
            alarm: None,
            plans: BTreeMap::new(),
            log: String::new(),
            said: Vec::new(),
            started: Vec::new(),
        }
    }

    fn due(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.due.insert((at, self.planned), event);
    }

    fn run(&mut self) {
        self.perform();
        while let Some(((now, _), event)) = self.due.pop_first() {
            self.now = now;
            if let Some(input) = self.input(event) {
                self.engine.handle(input, at(now));
                self.perform();
            }
        }
    }

    fn input(&mut self, event: Event) -> Option<Input> {
        Some(match event {
            Event::Host(line) => {
                self.write('<', &line);
                let frame = read_line(line.as_bytes(), self.dialect).transpose().expect("no blank line");
                Input::line(frame)
            }
            Event::Model(call, What::Event(event)) => Input::Model { call, event },
            Event::Model(_, What::Hang) => return None,
            Event::Progress(call, text) => {
                if self.plans.get(&call).is_none_or(Plan::is_cancelled) {
                    return None;
                }
                Input::ToolProgress { call, result: result(text, true) }
            }
            Event::ToolEnds(call) => {
                let plan = self.plans.remove(&call)?;
                let (text, is_error) = plan.result(self.dialect);
                Input::ToolEnd { call, result: result(text, is_error), is_error }
            }
            Event::Time => Input::Time,
            Event::ShellEnds(call) => {
                let plan = self.plans.remove(&call)?;
                let Ending { output, exit_code, cancelled } = plan.ending();
                let (lines, bytes) = (output.lines().count() as u64, output.len() as u64);
                let counts = [lines, bytes, lines, bytes];
                let end = ShellEnd { output, exit_code, cancelled, counts, ..ShellEnd::default() };
                Input::ShellEnd { call, end: Ok(end) }
            }
        })
    }

    fn perform(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Say(said) => {
                    let mut line = Vec::new();
                    self.encoder.encode(&said, &mut line);
                    self.say(&line);
                }
                Output::Violation(violation) => panic!("{}: {violation}\n{}", self.dialect, self.log),
                Output::CallModel(call) => self.call_model(&call),
                Output::CancelModel(call) => {
                    self.due.retain(|_, event| !matches!(event, Event::Model(of, _) if *of == call));
                }
                Output::StartTool(start) => {
                    let command = start.arguments["command"].as_str().expect("checked").to_owned();
                    self.started.push(command.clone());
                    let plan = Plan::new(&command, self.now);
                    for (at, text) in plan.progress() {
                        self.due(at, Event::Progress(start.call, text));
                    }
                    self.due(plan.ends(), Event::ToolEnds(start.call));
                    self.plans.insert(start.call, plan);
                }
                Output::StartShell(start) => {
                    let plan = Plan::new(&start.command, self.now);
                    self.due(plan.ends(), Event::ShellEnds(start.call));
                    self.plans.insert(start.call, plan);
                }
                Output::CancelTool(call) => self.cancel(call, Event::ToolEnds(call)),
                Output::CancelShell(call) => self.cancel(call, Event::ShellEnds(call)),
                Output::Exit => self.write('>', "exit"),
                Output::CloseSession => {}
                Output::Store(_) | Output::OpenSession(_) | Output::WriteFile { .. } => {
                    panic!("nothing is kept in files here")
                }
            }
        }
        let due = self.engine.deadline().map(|due| due.as_millis() as u64);
        if let Some(at) = due.filter(|_| due != self.alarm) {
            self.due(at, Event::Time);
        }
        self.alarm = due;
    }

    /// What is cancelled takes a while to end.
    fn cancel(&mut self, call: CallId, end: Event) {
        if let Some(plan) = self.plans.get_mut(&call) {
            plan.cancel(self.now);
            self.due(self.now + plan::DYING_MS, end);
        }
    }

    fn call_model(&mut self, call: &ModelCall) {
        let newest = call.messages.iter().rposition(|message| matches!(**message, AgentMessage::User(_)));
        let prompt = newest.map(|at| user_text(&call.messages[at])).unwrap_or_default();
        let results: Vec<ToolText> = call.messages[newest.unwrap_or(0)..]
            .iter()
            .filter_map(|message| match message.as_ref() {
                AgentMessage::ToolResult(it) => Some(ToolText {
                    name: it.tool_name.clone(),
                    text: text(&it.content),
                    is_error: it.is_error,
                }),
                _ => None,
            })
            .collect();
        let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
        let ask = Ask {
            prompt: &prompt,
            call: call.count,
            results: &results,
            tools: &tools,
            summary: call.purpose != Purpose::Turn,
            input_chars: 400,
        };
        let mut due = self.now;
        for step in self.player.answer(&ask) {
            due += step.delay_ms;
            self.due(due, Event::Model(call.call, step.what));
        }
    }

    fn say(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").expect("a whole line");
        let line = std::str::from_utf8(line).expect("UTF-8");
        if let Err(error) = read::<pi_rpc::protocol::Outbound>(line.as_bytes(), self.dialect) {
            panic!("{}: {error}\n{line}", self.dialect);
        }
        let frame: Value = serde_json::from_str(line).expect("JSON");
        let shown = self.watch.see(&frame);
        self.said.push(frame);
        let shown = shown.map_or(line.to_owned(), |shown| shown.to_string());
        self.write(
            '>',
            &shown.replace(concat!("\"version\":\"", env!("CARGO_PKG_VERSION")), "\"version\":\"…"),
        );
    }

    fn write(&mut self, direction: char, line: &str) {
        let _ = writeln!(self.log, "{:>5} {direction} {line}", self.now);
    }
}

fn at(now: u64) -> Now {
    Now { monotonic: Duration::from_millis(now), wall: BEGAN + now }
}

/// As the built-in tools have it: details with progress and with failures.
fn result(text: String, details: bool) -> AgentToolResult {
    let text = json!([{ "type": "text", "text": text }]);
    let result = match details {
        true => json!({ "content": text, "details": {} }),
        false => json!({ "content": text }),
    };
    serde_json::from_value(result).expect("a result")
}

fn user_text(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(it) => match &it.content {
            MessageContent::Blocks(blocks) => text(blocks),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn text(blocks: &[UserContent]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserContent::Text(it) => Some(it.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// `bash` runs alone where others may run side by side; both read a plan, see [`Plan`].
fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, exclusive| ToolSpec {
        name: name.to_owned(),
        description: format!("Runs a plan as {name}."),
        parameters: json!({
            "type": "object",
            "properties": { "command": { "type": "string" }, "timeout": { "type": "number" } },
            "required": ["command"],
        }),
        exclusive,
    };
    vec![tool("bash", true), tool("probe", false)]
}

fn model(dialect: Dialect) -> Model {
    let model = json!({
        "id": "play", "name": "Play", "api": "scripted", "provider": "scripted", "baseUrl": "scripted:",
        "reasoning": true, "input": ["text"],
        "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 },
        "contextWindow": 128_000, "maxTokens": 16_384,
    });
    let text = model.to_string();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{dialect}: {error}"))
}
