//! Lets a conversation happen.

use super::{
    Checked,
    extended::Extended,
    scenario::{Act, Close, Scenario},
    watch::Watch,
};
use crate::disk_support::Disk;
use pi_rpc::{
    engine::{
        CallId, Choice, CompactionPlan, Engine, Extending, Input, ModelCall, Modes, Now, Output, Place,
        Purpose, Setup, ShellEnd, Toolbox, limits::Limits,
    },
    machine::Rule,
    model::{
        scripted::{Ask, Player, Script, What},
        types::StreamEvent,
    },
    protocol::{AgentToolResult, Encoder, Model, ThinkingLevel, read_line},
    tools::specs,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

/// Rules that the frames alone cannot judge where extensions take prompts, queue messages and begin runs.
const UNSEEN: [Rule; 9] = [
    Rule::AckBeforeStart,
    Rule::DeliverFifo,
    Rule::Disposition,
    Rule::OneAtATime,
    Rule::OneQueuePerTurn,
    Rule::OverflowRetry,
    Rule::QueueCount,
    Rule::RunAfterAck,
    Rule::StreamingFlag,
];

/// Inputs after which a conversation counts as endless.
const ENDLESS: usize = 8_000;

/// Milliseconds that a process may take to end when it is told to: what is under way, then farewells.
const LEAVING_MS: u64 = 3500;

/// Milliseconds from being cancelled to the end.
const DYING_MS: u64 = 3;

/// Lets `scenario` happen, and tells what of interest did. The error tells the first rule that was broken, and all that
/// happened up to then.
pub fn play(scenario: &Scenario) -> Result<BTreeSet<String>, String> {
    let mut world = World::new(scenario);
    world.run().map_err(|wrong| format!("{wrong}\n\n{}", world.story.join("\n")))?;
    Ok(world.watch.seen)
}

pub(super) struct World<'a> {
    pub(super) scenario: &'a Scenario,
    engine: Engine,
    encoder: Encoder,
    player: Player,
    pub(super) watch: Watch,
    pub(super) extended: Extended,
    disk: Disk,
    pub(super) now: u64,
    due: BTreeMap<(u64, u64), Due>,
    planned: u64,
    works: Vec<CallId>,
    shells: Vec<CallId>,
    alarm: Option<u64>,
    exited: bool,
    /// There are extensions.
    is_extended: bool,
    /// The last write has failed.
    missed: bool,
    story: Vec<String>,
}

pub(super) enum Due {
    Act(usize, Act),
    DiskFree,
    Model(CallId, StreamEvent),
    Tool(CallId),
    Shell(CallId),
    Extension(CallId, Value),
    ExtensionStrays(CallId),
    ExtensionEnds(CallId),
    HostAnswers(String),
    Time,
    Close(Close),
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let script = json!({ "turns": scenario.turns }).to_string();
        let mut disk = Disk::default();
        disk.put("/sessions/garbage.jsonl", "no session\n");
        disk.put("/sessions/empty.jsonl", "");
        let folder = scenario.kept.then(|| "/sessions".into());
        let setup = Setup {
            dialect: scenario.dialect,
            models: vec![choice("thinker"), choice("plain")],
            start: (scenario.seed % 2) as usize,
            chosen: false,
            scope: None,
            level: None,
            modes: Modes {
                compaction: CompactionPlan { reserve: 1000, keep_recent: 8 },
                ..Modes::of(scenario.dialect)
            },
            limits: Limits::default(),
            place: Place { directory: "/work".to_owned(), folder, id: None },
            session: None,
            tools: Toolbox::new(specs(&scenario.dialect.record().tools)),
            system_prompt: "Be brief.".into(),
            extending: Extending {
                extensions: (0..scenario.habits.len()).map(|place| format!("/x/{place}")).collect(),
                confirm: scenario.confirm.iter().map(|name| (*name).to_owned()).collect(),
                ..Extending::default()
            },
            name: None,
            seed: scenario.seed,
            checked: true,
        };
        let mut world = Self {
            scenario,
            engine: Engine::new(setup, at(0)),
            encoder: Encoder::new(scenario.dialect),
            player: Player::new(Script::from_json(&script).expect("a script")),
            watch: Watch::new(scenario.dialect, scenario.kept, !scenario.answers.is_empty()),
            extended: Extended::default(),
            disk,
            now: 0,
            due: BTreeMap::new(),
            planned: 0,
            works: Vec::new(),
            shells: Vec::new(),
            alarm: None,
            exited: false,
            is_extended: !scenario.habits.is_empty(),
            missed: false,
            story: Vec::new(),
        };
        let mut moment = 0;
        for (number, (wait, act)) in scenario.acts.iter().enumerate() {
            moment += wait;
            world.plan(moment, Due::Act(number, *act));
        }
        if let Some((moment, close)) = scenario.close {
            world.plan(moment, Due::Close(close));
        }
        world
    }

    fn run(&mut self) -> Checked {
        self.perform()?;
        self.until_quiet()?;
        if !self.exited {
            if !self.is_waiting() {
                self.watch.quiet(&self.engine)?;
            }
            self.disk_free();
            self.watch.stopped = true;
            let before = self.now;
            self.take(Input::Shutdown)?;
            self.until_quiet()?;
            if self.now > before + LEAVING_MS {
                return Err(format!("told to stop at {before}, and still there at {}", self.now));
            }
        }
        if !self.exited {
            return Err("shut down, and nothing left to do, but no Exit".to_owned());
        }
        self.watch.ended(&self.engine, &self.disk, self.missed)
    }

    fn until_quiet(&mut self) -> Checked {
        for _ in 0..ENDLESS {
            let Some(((now, _), due)) = self.due.pop_first().filter(|_| !self.exited) else {
                return Ok(());
            };
            self.now = now;
            if let Some(input) = self.input(due)? {
                self.take(input)?;
            }
        }
        Err(format!("still not quiet after {ENDLESS} inputs"))
    }

    fn input(&mut self, due: Due) -> Result<Option<Input>, String> {
        Ok(Some(match due {
            Due::Act(number, Act::Line(line)) => {
                let line = self.line(number, line);
                self.tell("<", &line);
                let frame: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
                // Commands of other dialects are no commands.
                let read = read_line(line.as_bytes(), self.scenario.dialect);
                if matches!(read, Ok(Some(_))) {
                    self.watch.wrote(&frame);
                }
                Input::line(read.transpose().ok_or("a blank line")?)
            }
            Due::Act(_, Act::DiskFull(left, lasts)) => {
                self.disk.left = Some(left);
                self.plan(self.now + lasts, Due::DiskFree);
                return Ok(None);
            }
            Due::DiskFree => {
                self.disk_free();
                return Ok(None);
            }
            Due::Model(call, event) => {
                let over = matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. });
                if !self.watch.is_asked(call) {
                    return Ok(None);
                }
                if over {
                    self.watch.model_over(call);
                }
                Input::Model { call, event }
            }
            Due::Tool(call) => {
                if !take(&mut self.works, call) {
                    return Ok(None);
                }
                Input::ToolEnd { call, result: result(&format!("tool {call}")), is_error: false }
            }
            Due::Shell(call) => {
                if !take(&mut self.shells, call) {
                    return Ok(None);
                }
                let output = format!("shell {call}");
                Input::ShellEnd {
                    call,
                    end: Ok(ShellEnd { output, exit_code: Some(0), ..ShellEnd::default() }),
                }
            }
            Due::Extension(process, frame) => return self.extension_writes(process, frame),
            Due::ExtensionStrays(process) => return Ok(self.extension_strays(process)),
            Due::ExtensionEnds(process) => return Ok(self.extension_ends(process)),
            Due::HostAnswers(line) => {
                self.tell("<", &line);
                let frame: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
                self.extended.host.remove(frame["id"].as_str().unwrap_or_default());
                let read = read_line(line.as_bytes(), self.scenario.dialect);
                Input::line(read.transpose().ok_or("a blank line")?)
            }
            Due::Time => Input::Time,
            Due::Close(Close::EndOfInput) => {
                self.due.retain(|_, due| !matches!(due, Due::Act(_, Act::Line(_)) | Due::HostAnswers(_)));
                self.extended.host.clear();
                self.watch.stopped = false;
                Input::EndOfInput
            }
            Due::Close(Close::Shutdown) => {
                self.watch.stopped = true;
                Input::Shutdown
            }
        }))
    }

    /// The line that the host writes; `@` is chosen from what there is.
    fn line(&self, number: usize, line: &str) -> String {
        let entries: Vec<String> = self
            .disk
            .lines()
            .iter()
            .filter(|line| line["message"]["role"] == "user")
            .map(|line| line["id"].as_str().unwrap_or_default().to_owned())
            .collect();
        let paths: Vec<String> = self.disk.paths().map(|path| path.to_string_lossy().into_owned()).collect();
        let new = format!("/sessions/new-{number}.jsonl");
        let choices = if line.contains("sessionPath") { &paths } else { &entries };
        let chosen = choices.get(number % (choices.len() + 1)).cloned().unwrap_or(new);
        let line = line.replace('$', &number.to_string()).replace('@', &chosen);
        line.replacen('{', &format!(r#"{{"id":"c{number}","#), 1)
    }

    fn take(&mut self, input: Input) -> Checked {
        self.engine.handle(input, at(self.now));
        self.perform()?;
        if self.exited { Ok(()) } else { self.watch.handled(&self.engine) }
    }

    fn perform(&mut self) -> Checked {
        while let Some(output) = self.engine.poll() {
            if self.exited {
                return Err(format!("after the Exit: {output:?}"));
            }
            match output {
                Output::Say(said) => {
                    let mut line = Vec::new();
                    self.encoder.encode(&said, &mut line);
                    let frame: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
                    if frame["type"] != "message_update" {
                        self.tell(">", &frame);
                    }
                    self.watch.said(&frame, &self.disk)?;
                    self.host_asked(&frame);
                }
                Output::CallModel(call) => self.call_model(&call)?,
                Output::CancelModel(call) => {
                    if !self.watch.model_over(call) {
                        return Err("a model was cancelled that was not at work".to_owned());
                    }
                }
                Output::StartTool(start) => {
                    self.works.push(start.call);
                    self.plan(self.now + 10 + start.call % 40, Due::Tool(start.call));
                }
                Output::StartShell(start) => {
                    self.shells.push(start.call);
                    self.plan(self.now + 10 + start.call % 90, Due::Shell(start.call));
                }
                Output::CancelTool(call) => self.plan(self.now + DYING_MS, Due::Tool(call)),
                Output::CancelShell(call) => self.plan(self.now + DYING_MS, Due::Shell(call)),
                Output::Store(write) => {
                    let written = self.disk.write(&write);
                    self.missed = written.is_err();
                    if let Err(reason) = written {
                        self.tell("#", &reason);
                        self.watch.not_stored();
                        self.engine.handle(Input::StoreFailed(reason), at(self.now));
                    } else {
                        self.tell("#", &"stored");
                        self.engine.handle(Input::Stored, at(self.now));
                    }
                }
                Output::OpenSession(path) => {
                    let opened = self.disk.open(Path::new(&path));
                    self.engine.handle(Input::Opened(Box::new(opened)), at(self.now));
                }
                Output::CloseSession => self.disk.close(),
                Output::HurryStore => return Err("the disk answers at once here".to_owned()),
                Output::WriteFile { .. } => self.engine.handle(Input::FileWritten(Ok(())), at(self.now)),
                Output::StartExtension { process, place } => self.start_extension(process, place),
                Output::ToExtension { to, frame } => self.tell_extension(to, &frame)?,
                Output::StopExtension(process) => self.stop_extension(process),
                Output::Query { .. } | Output::Provide { .. } | Output::Choose | Output::Hooked { .. } => {
                    panic!("nobody asks for this here")
                }
                Output::ReadFile(_) | Output::LookInto { .. } => panic!("there are no skills here"),
                Output::Violation(violation) if self.is_extended && UNSEEN.contains(&violation.rule) => {}
                Output::Violation(violation) => return Err(format!("the machine objects: {violation}")),
                Output::Exit => {
                    self.dialogs_are_over()?;
                    self.exited = true;
                }
            }
        }
        let due = self.engine.deadline().map(|due| due.as_millis() as u64);
        if let Some(moment) = due.filter(|_| due != self.alarm) {
            self.plan(moment, Due::Time);
        }
        self.alarm = due;
        Ok(())
    }

    fn call_model(&mut self, call: &ModelCall) -> Checked {
        let roles: Vec<String> =
            call.messages.iter().map(|message| message.kind().as_str().to_owned()).collect();
        self.tell("?", &roles.join(" "));
        self.watch.model_asked(call)?;
        let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
        let summary = call.purpose != Purpose::Turn;
        let ask = Ask { prompt: "", call: call.count, results: &[], tools: &tools, summary, input_chars: 40 };
        let mut moment = self.now;
        for step in self.player.answer(&ask) {
            moment += step.delay_ms;
            if let What::Event(event) = step.what {
                self.plan(moment, Due::Model(call.call, event));
            }
        }
        Ok(())
    }

    fn disk_free(&mut self) {
        (self.disk.full, self.disk.left) = (false, None);
    }

    pub(super) fn plan(&mut self, moment: u64, due: Due) {
        self.planned += 1;
        self.due.insert((moment, self.planned), due);
    }

    pub(super) fn tell(&mut self, mark: &str, what: &impl ToString) {
        let line: String = format!("{:>5} {mark} {}", self.now, what.to_string()).chars().take(260).collect();
        self.story.push(line);
    }
}

fn take(calls: &mut Vec<CallId>, call: CallId) -> bool {
    let at = calls.iter().position(|it| *it == call);
    at.map(|at| calls.remove(at)).is_some()
}

fn at(now: u64) -> Now {
    Now { monotonic: Duration::from_millis(now), wall: 1_764_000_000_000 + now }
}

fn result(text: &str) -> AgentToolResult {
    let result = json!({ "content": [{ "type": "text", "text": text }] });
    serde_json::from_value(result).expect("a result")
}

fn choice(id: &str) -> Choice {
    let model = json!({
        "id": id, "name": id, "api": "scripted", "provider": "lab", "baseUrl": "", "reasoning": id != "plain",
        "input": ["text"], "contextWindow": 10_000, "maxTokens": 1000,
        "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 },
    });
    let model: Model = serde_json::from_value(model).expect("a model");
    let levels = if id == "plain" { 1 } else { 5 };
    Choice { model, levels: ThinkingLevel::ALL[..levels].to_vec(), preferred: None, unusable: None }
}
