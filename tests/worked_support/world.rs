//! Lets a scenario happen in virtual time.

use super::{
    extension::{Does, Extension},
    plan::{self, Ending, Plan},
    played::{Called, Played, Step},
    scenario::{Given, Scenario},
    setup::{Models, tools},
    watch::Watch,
};
use crate::disk_support::{Disk, kept};
use pi_rpc::{
    engine::{
        CallId, Engine, Extending, Input, ModelCall, Modes, Now, Output, Place, Purpose, Setup, ShellEnd,
        Toolbox, limits::Limits, todos,
    },
    model::scripted::{Ask, Player, Script, ToolText, What},
    protocol::{
        AgentMessage, AgentToolResult, Dialect, Encoder, ExtensionAnswer, MessageContent, UserContent, read,
        read_line,
    },
    session::Write,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

/// The wall clock when a conversation begins.
const BEGAN: u64 = 1_764_000_000_000;

/// The folder of session files, for conversations that are kept.
const FOLDER: &str = "/sessions";

/// Why a write has failed that was hurried in vain.
pub const NO_ANSWER: &str = "the file system has not answered";

/// What is due at some time.
pub(super) enum Event {
    Given(Given),
    Model(CallId, What),
    Progress(CallId, String),
    ToolEnds(CallId),
    ShellEnds(CallId),
    Extension(CallId, Does),
    /// The engine wanted to be woken.
    Time,
}

pub(super) struct World {
    pub(super) dialect: Dialect,
    pub(super) engine: Engine,
    encoder: Encoder,
    player: Player,
    watch: Watch,
    pub(super) now: u64,
    /// By time, then in the order in which they were planned.
    pub(super) due: BTreeMap<(u64, u64), Event>,
    planned: u64,
    /// When the engine wants to be woken.
    alarm: Option<u64>,
    plans: BTreeMap<CallId, Plan>,
    models: Models,
    judged: bool,
    pub(super) extensions: Vec<Extension>,
    /// The processes that run, with the places of their extensions.
    pub(super) processes: BTreeMap<CallId, usize>,
    pub(super) log: String,
    said: Vec<Value>,
    steps: Vec<Step>,
    started: Vec<String>,
    asked: Vec<String>,
    called: Vec<Called>,
    kept: bool,
    pub(super) disk: Disk,
    /// Nothing is answered by the disk.
    hung: bool,
    /// The write that waits for its answer.
    hung_write: Option<Write>,
    /// A write was given up that the disk still has in hand.
    stuck: bool,
    /// The process has ended meanwhile.
    lost: bool,
    /// A write has failed in the open run, which is why it will end.
    failed: bool,
    run_open: bool,
}

impl World {
    pub(super) fn new(dialect: Dialect, scenario: &Scenario) -> Self {
        let script = Script::from_json(&json!({ "turns": scenario.turns }).to_string()).expect("a script");
        let mut disk = Disk::default();
        disk.text = scenario.disk_text;
        for (path, text) in &scenario.files {
            disk.put(path, text);
        }
        let session = scenario.opened.map(|path| disk.open(Path::new(path)).expect("a session"));
        let mut modes = Modes::of(dialect);
        (scenario.change)(&mut modes);
        let mut tools = tools();
        tools.extend(scenario.todos.then(todos::spec));
        let place = match scenario.kept {
            true => Place { directory: "/work".to_owned(), folder: Some(FOLDER.into()), id: None },
            false => Place::in_memory("/work"),
        };
        let setup = Setup {
            dialect,
            models: Models::new(dialect, scenario.window).all,
            start: 0,
            chosen: false,
            scope: None,
            level: None,
            modes,
            limits: Limits::default(),
            place,
            session,
            tools: Toolbox::new(tools),
            system_prompt: "Be brief.".into(),
            extending: Extending {
                extensions: scenario.extensions.iter().map(Extension::path).collect(),
                agent_directory: "/agent".to_owned(),
                max_frame: 1_000_000,
                ..scenario.extending.clone()
            },
            name: None,
            seed: 7,
            checked: true,
        };
        Self {
            dialect,
            engine: Engine::new(setup, at(0)),
            encoder: Encoder::new(dialect),
            player: Player::new(script),
            watch: Watch::default(),
            now: 0,
            due: BTreeMap::new(),
            planned: 0,
            alarm: None,
            plans: BTreeMap::new(),
            models: Models::new(dialect, scenario.window),
            judged: scenario.judged,
            extensions: scenario.extensions.clone(),
            processes: BTreeMap::new(),
            log: String::new(),
            said: Vec::new(),
            steps: Vec::new(),
            started: Vec::new(),
            asked: Vec::new(),
            called: Vec::new(),
            kept: scenario.kept,
            disk,
            hung: false,
            hung_write: None,
            stuck: false,
            lost: false,
            failed: false,
            run_open: false,
        }
    }

    pub(super) fn played(self) -> Played {
        let Self { log, said, steps, started, asked, called, disk, .. } = self;
        Played { log, said, steps, started, asked, called, disk }
    }

    pub(super) fn due(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.due.insert((at, self.planned), event);
    }

    pub(super) fn run(&mut self) {
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
            Event::Given(Given::Left(writes)) => {
                self.disk.left = Some(writes);
                return None;
            }
            Event::Given(Given::Hung(hung)) => {
                self.write("#", if hung { "disk hangs" } else { "disk answers" });
                self.hung = hung;
                if let Some(write) = self.hung_write.take() {
                    self.store(&write);
                    self.perform();
                }
                self.stuck = false;
                return None;
            }
            Event::Given(Given::Full(full)) => {
                (self.disk.full, self.disk.left) = (full, None);
                self.write("#", if full { "disk full" } else { "disk free" });
                return None;
            }
            Event::Given(Given::EndOfInput) => {
                self.step("<", &json!({ "type": "end of input" }));
                Input::EndOfInput
            }
            Event::Given(Given::Shutdown) => {
                self.step("<", &json!({ "type": "shutdown" }));
                Input::Shutdown
            }
            Event::Given(Given::Frame(frame)) => {
                let frame = self.resolved(frame);
                let line = frame.to_string();
                self.step("<", &frame);
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
            Event::Extension(process, does) => self.extension_does(process, does)?,
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
                Output::StartExtension { process, place } => self.start_extension(process, place),
                Output::ToExtension { to, frame } => self.tell_extension(to, &frame),
                Output::StopExtension(process) => self.stop_extension(process),
                Output::Query { from, query } => {
                    let data = Some(json!({ "about": query.about.as_str() }));
                    let answer = Box::new(ExtensionAnswer { id: query.id, data, error: None });
                    self.engine.handle(Input::Known { to: from, answer }, at(self.now));
                }
                Output::Provide { name, config, .. } => {
                    let provided = self.models.provide(&name, config.as_ref());
                    self.engine.handle(Input::Provided(provided), at(self.now));
                }
                Output::Choose => {
                    let selected = self.models.choose();
                    self.engine.handle(Input::Chosen(selected), at(self.now));
                }
                Output::Hooked { .. } => unreachable!("nothing happens beside the engine"),
                Output::LookInto { skills, templates } => {
                    let found = self.found(skills, templates);
                    self.engine.handle(Input::Found(Box::new(found)), at(self.now));
                }
                Output::ReadFile(path) => {
                    let read = self.disk.read(&path);
                    self.engine.handle(Input::FileRead(read), at(self.now));
                }
                Output::Violation(_) if !self.judged => {}
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
                Output::Exit => {
                    self.lost = self.stuck;
                    self.step(">", &json!({ "type": "exit" }));
                    self.due.clear();
                }
                Output::CloseSession => self.disk.close(),
                Output::Store(_) if self.stuck => self.store_failed(NO_ANSWER.to_owned()),
                Output::Store(write) if self.hung => self.hung_write = Some(write),
                Output::Store(write) => self.store(&write),
                Output::HurryStore => {
                    self.write("#", "hurried");
                    if self.hung_write.take().is_some() {
                        self.stuck = true;
                        self.store_failed(NO_ANSWER.to_owned());
                    }
                }
                Output::OpenSession(path) => {
                    let opened = self.disk.open(&path);
                    self.engine.handle(Input::Opened(Box::new(opened)), at(self.now));
                }
                Output::WriteFile { path, .. } => {
                    self.write("#", &format!("page {}", path.display()));
                    self.engine.handle(Input::FileWritten(Ok(())), at(self.now));
                }
            }
        }
        let due = self.engine.deadline().map(|due| due.as_millis() as u64);
        if let Some(at) = due.filter(|_| due != self.alarm) {
            self.due(at, Event::Time);
        }
        self.alarm = due;
    }

    fn store(&mut self, write: &Write) {
        assert!(self.kept, "nothing is kept in files here");
        if let Err(reason) = self.disk.write(write) {
            return self.store_failed(reason);
        }
        let (how, lines) = match write {
            Write::Create { lines, .. } => ("begin", lines.concat()),
            Write::Append(line) => ("store", line.to_vec()),
            Write::Rewrite(lines) => ("rewrite", lines.concat()),
            Write::Sync => {
                self.write("#", "sync");
                return self.engine.handle(Input::Stored, at(self.now));
            }
        };
        for line in String::from_utf8(lines).expect("UTF-8").lines() {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            let (kind, role) = (&entry["type"], entry["message"]["role"].as_str().unwrap_or_default());
            self.write("#", format!("{how} {} {role}", kind.as_str().unwrap_or_default()).trim_end());
        }
        self.engine.handle(Input::Stored, at(self.now));
    }

    fn store_failed(&mut self, reason: String) {
        self.write("#", &format!("not stored: {reason}"));
        self.failed = self.run_open;
        self.engine.handle(Input::StoreFailed(reason), at(self.now));
    }

    /// `$N` as an entry stands for the entry of the user's message of that number.
    fn resolved(&self, mut frame: Value) -> Value {
        if let Some(number) = frame["entryId"].as_str().and_then(|id| id.strip_prefix('$')) {
            let number: usize = number.parse().expect("a number");
            let users = |line: &&Value| line["message"]["role"] == "user";
            let lines = self.disk.lines();
            frame["entryId"] =
                lines.iter().filter(users).nth(number).expect("a user's message")["id"].clone();
        }
        // `ui 1` stands for the second dialog, `call 1` for the second call of a host tool.
        for (word, kind) in [("ui ", "extension_ui_request"), ("call ", "host_tool_call")] {
            if let Some(number) = frame["id"].as_str().and_then(|id| id.strip_prefix(word)) {
                let number: usize = number.parse().expect("a number");
                let mut asked = self.said.iter().filter(|said| said["type"] == kind);
                frame["id"] = asked.nth(number).expect("something that the host was asked")["id"].clone();
            }
        }
        frame
    }

    /// What is in the file is what the model would be told, but for failed answers: those that were asked for again are
    /// in the file alone, with the results of their calls.
    pub(super) fn compare(&mut self) {
        let (log, said, steps) = (self.log.clone(), self.said.clone(), self.steps.len());
        // What was missed while the disk was full is written at the very end.
        self.engine.handle(Input::Shutdown, at(self.now));
        self.perform();
        (self.log, self.said) = (log, said);
        self.steps.truncate(steps);
        let Some(tree) = self.disk.tree().filter(|_| !self.lost) else { return };
        let (file, memory) = (kept(&tree.context().messages), kept(self.engine.messages()));
        assert_eq!(file, memory, "{}: the file and the memory\n{}", self.dialect, self.log);
    }

    /// What is cancelled takes a while to end.
    fn cancel(&mut self, call: CallId, end: Event) {
        if let Some(plan) = self.plans.get_mut(&call) {
            plan.cancel(self.now);
            self.due(self.now + plan::DYING_MS, end);
        }
    }

    fn call_model(&mut self, call: &ModelCall) {
        let roles: String = call.messages.iter().map(|message| letter(message)).collect();
        let what = match call.purpose {
            Purpose::Turn => "turn",
            Purpose::Summary(_) => "summary",
            Purpose::Outside(_) => "outside",
        };
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
        let forced = call.forced_tool.as_ref().map(|tool| format!(" must {tool}")).unwrap_or_default();
        self.asked.push(format!("{what} {} [{roles}]{forced}", call.model.id));
        let messages = call.messages.iter().map(|it| serde_json::to_value(it.as_ref()).expect("JSON"));
        self.called.push(Called {
            instructions: call.system_prompt.to_string(),
            tools: tools.clone(),
            messages: messages.collect(),
        });
        let ask = Ask {
            prompt: &prompt,
            call: call.count,
            results: &results,
            tools: &tools,
            summary: matches!(call.purpose, Purpose::Summary(_)),
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
        match frame["type"].as_str() {
            Some("agent_start") => self.run_open = true,
            Some("agent_end") => (self.run_open, self.failed) = (false, false),
            _ => {}
        }
        let told = !self.kept || self.failed || self.disk.has_what_is_told(&frame, self.run_open);
        assert!(told, "{}: told before it was stored: {frame}\n{}", self.dialect, self.log);
        self.note(">", frame.clone());
        self.said.push(frame);
        let shown = shown.map_or(line.to_owned(), |shown| shown.to_string());
        self.write(
            ">",
            &shown.replace(concat!("\"version\":\"", env!("CARGO_PKG_VERSION")), "\"version\":\"…"),
        );
    }

    /// Notes what was written, by whom.
    pub(super) fn step(&mut self, who: &str, frame: &Value) {
        self.note(who, frame.clone());
        match &frame["type"] {
            Value::String(word)
                if frame.as_object().is_some_and(|it| it.len() == 1) && !who.ends_with('<') =>
            {
                self.write(who, word);
            }
            _ => self.write(who, &frame.to_string()),
        }
    }

    fn note(&mut self, who: &str, frame: Value) {
        let state = self.engine.machine().state().to_string();
        self.steps.push(Step { at: self.now, who: who.to_owned(), frame, state });
    }

    fn write(&mut self, direction: &str, line: &str) {
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

/// The first letter of who speaks; a summary is `S`.
fn letter(message: &AgentMessage) -> char {
    match message {
        AgentMessage::User(_) => 'u',
        AgentMessage::Assistant(_) => 'a',
        AgentMessage::ToolResult(_) => 't',
        AgentMessage::BashExecution(_) => 'b',
        AgentMessage::Developer(_) => 'd',
        AgentMessage::Custom(_) => 'c',
        AgentMessage::System(_) => 's',
        AgentMessage::CompactionSummary(_) => 'S',
        _ => '?',
    }
}
