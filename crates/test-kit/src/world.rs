//! Event loop of a scenario in virtual time: the clock jumps to the next event that is due.

use crate::{
    Checked,
    between::Between,
    disk::{Disk, stored_messages},
    ensure,
    extension::{Peer, PeerStep},
    extension_host::discover,
    host::Host,
    logins,
    playback::{Playback, Step},
    rules::{SnapshotCheck, Watcher},
    scenario::{JudgedRules, Scenario, ScenarioEvent},
    setup::Models,
    work::{OnCancel, Steps, WorkPlan},
};
use pi_rpc_engine::{CallId, Engine, Input, Now, Output};
use pi_rpc_model::scripted::{Player, Script};
use pi_rpc_protocol::{Dialect, Emission, Encoder, ExtensionAnswer, Outbound, read, read_line};
use pi_rpc_session::Write;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, path::Path, sync::LazyLock, time::Duration};

/// Wall clock at the beginning of a conversation, in milliseconds since the Unix epoch.
const BEGAN: u64 = 1_764_000_000_000;

/// Error of a write that is given up while the disk hangs.
const NO_ANSWER: &str = "the file system has not answered";

/// Version of the package, which is replaced in logs, as it changes.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let package = include_str!("../../../Cargo.toml").split("\nversion = \"").nth(1).unwrap_or_default();
    format!("\"version\":\"{}", package.split('"').next().unwrap_or_default())
});

/// Number of inputs after which a conversation counts as endless.
const MAX_INPUTS: usize = 20_000;

/// Time limit of a shutdown in milliseconds: current work, then the shutdown hooks.
const SHUTDOWN_MS: u64 = 3500;

/// Actors of events that belong to no call and no process: the host, and everything else.
pub const HOST: CallId = CallId::MAX;
const OTHERS: CallId = CallId::MAX - 1;

/// Event that is due at some time.
pub(crate) enum Event {
    ScenarioEvent(ScenarioEvent),
    /// The host answers a dialog or a tool call.
    Answer(Value),
    /// A model, a tool or a shell makes a step.
    Step(CallId, Box<Input>),
    Extension(CallId, PeerStep),
    /// The front writes a line to the server.
    FrontLine(String),
    /// The deadline of the engine is reached.
    Time,
}

pub(crate) struct World<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) dialect: Dialect,
    pub(crate) engine: Engine,
    encoder: Encoder,
    pub(crate) player: Player,
    pub(crate) watchers: Vec<Box<dyn Watcher>>,
    /// Removes the snapshots of updates from the log.
    growth: SnapshotCheck,
    pub(crate) now: u64,
    /// Events by time, then by lot among the actors that are due together, then in the order in which they were
    /// planned.
    pub(crate) due: BTreeMap<(u64, u64, u64), Event>,
    planned: u64,
    /// Deadline of the engine.
    alarm: Option<u64>,
    /// Running tools and shells: their start, and their steps after a cancel.
    works: BTreeMap<CallId, (u64, OnCancel)>,
    tools: usize,
    shells: usize,
    models: Models,
    pub(crate) extensions: Vec<Box<dyn Peer>>,
    /// Running extension processes, with the indices of their extensions.
    pub(crate) processes: BTreeMap<CallId, usize>,
    host: Host,
    /// The front between host and engine; `None`: they speak the same.
    pub(crate) between: Option<Between>,
    /// Result so far, including the disk.
    pub(crate) played: Playback,
    /// Whether the log is written, which takes most of the time.
    pub(crate) records: bool,
    /// The disk answers no write.
    hung: bool,
    /// Write that waits for the disk.
    hung_write: Option<Write>,
    /// A write was given up that the disk may still complete.
    stuck: bool,
    /// The process ended during such a write.
    lost: bool,
    exited: bool,
}

impl<'s> World<'s> {
    pub(crate) fn new(dialect: Dialect, scenario: &'s Scenario, records: bool) -> Self {
        let script = Script::from_json(&json!({ "turns": scenario.turns }).to_string()).expect("a script");
        let mut disk = Disk::default();
        disk.text = scenario.disk_text;
        for (path, text) in &scenario.files {
            disk.put(path, text);
        }
        let session = scenario.opened.map(|path| disk.open(Path::new(path)).expect("a session"));
        let mut world = Self {
            scenario,
            dialect,
            engine: Engine::new(scenario.setup(dialect, session), at(0)),
            encoder: Encoder::new(dialect),
            player: Player::new(script),
            watchers: (scenario.watchers)(dialect),
            growth: SnapshotCheck::new(scenario.checks_growth),
            now: 0,
            due: BTreeMap::new(),
            planned: 0,
            alarm: None,
            works: BTreeMap::new(),
            tools: 0,
            shells: 0,
            models: Models::new(dialect, scenario.window),
            extensions: scenario.extensions.iter().map(|it| it.fresh_copy()).collect(),
            processes: BTreeMap::new(),
            host: Host::new(scenario.answers.clone()),
            between: None,
            played: Playback { disk, ..Playback::default() },
            records,
            hung: false,
            hung_write: None,
            stuck: false,
            lost: false,
            exited: false,
        };
        for (at, given) in &scenario.events {
            world.plan(
                *at,
                if given.is_written() { HOST } else { OTHERS },
                Event::ScenarioEvent(given.clone()),
            );
        }
        world
    }

    pub(crate) fn plan(&mut self, at: u64, who: CallId, event: Event) {
        self.planned += 1;
        let lot = self.scenario.shuffles.map_or(0, |seed| lot(seed, who, at));
        self.due.insert((at, lot, self.planned), event);
    }

    /// Handles events until none is due.
    pub(crate) fn run(&mut self) -> Checked {
        self.perform()?;
        self.until_quiet()
    }

    /// Handles events until none is due, then shuts the process down and checks that it exits in time and in order.
    pub(crate) fn run_out(&mut self) -> Checked {
        self.run()?;
        if !self.exited {
            let is_waiting = self.host.is_waiting() || self.extensions.iter().any(|it| it.is_waiting());
            if !is_waiting {
                self.watch(|watcher, world| watcher.quiet(&world.engine))?;
            }
            (self.played.disk.full, self.played.disk.left) = (false, None);
            let before = self.now;
            self.take(Input::Shutdown)?;
            self.until_quiet()?;
            ensure!(
                self.now <= before + SHUTDOWN_MS,
                "told to stop at {before}, and still there at {}",
                self.now
            );
        }
        ensure!(self.exited, "shut down, and nothing left to do, but no Exit");
        self.watch(|watcher, world| watcher.ended(&world.engine, &world.played.disk))?;
        self.played.happened = self.watchers.iter().flat_map(|it| it.happened()).collect();
        Ok(())
    }

    fn until_quiet(&mut self) -> Checked {
        for _ in 0..MAX_INPUTS {
            let Some(((now, _, _), event)) = self.due.pop_first() else { return Ok(()) };
            self.now = now;
            if let Some(input) = self.input(event)? {
                self.take(input)?;
            }
        }
        Err(format!("still not quiet after {MAX_INPUTS} inputs"))
    }

    fn take(&mut self, input: Input) -> Checked {
        let now = at(self.now);
        for watcher in &mut self.watchers {
            watcher.input(&input, now)?;
        }
        self.engine.handle(input, now);
        self.perform()?;
        self.watch(|watcher, world| watcher.handled(&world.engine))
    }

    /// Runs a check of every watcher.
    fn watch(&mut self, ask: impl Fn(&mut dyn Watcher, &Self) -> Checked) -> Checked {
        let mut watchers = std::mem::take(&mut self.watchers);
        let asked = watchers.iter_mut().try_for_each(|watcher| ask(watcher.as_mut(), self));
        self.watchers = watchers;
        asked
    }

    fn input(&mut self, event: Event) -> Result<Option<Input>, String> {
        Ok(Some(match event {
            Event::ScenarioEvent(ScenarioEvent::Left(writes)) => {
                self.played.disk.left = Some(writes);
                return Ok(None);
            }
            Event::ScenarioEvent(ScenarioEvent::Hung(hung)) => {
                self.write("#", if hung { "disk hangs" } else { "disk answers" });
                self.hung = hung;
                if let Some(write) = self.hung_write.take() {
                    self.store(&write);
                    self.perform()?;
                }
                self.stuck = false;
                return Ok(None);
            }
            Event::ScenarioEvent(ScenarioEvent::Full(full)) => {
                (self.played.disk.full, self.played.disk.left) = (full, None);
                self.write("#", if full { "disk full" } else { "disk free" });
                return Ok(None);
            }
            Event::ScenarioEvent(ScenarioEvent::EndOfInput) => {
                self.step("<", &json!({ "type": "end of input" }));
                self.due.retain(|_, event| match event {
                    Event::ScenarioEvent(given) => !given.is_written(),
                    Event::Answer(_) => false,
                    _ => true,
                });
                self.host.leave();
                Input::EndOfInput
            }
            Event::ScenarioEvent(ScenarioEvent::Shutdown) => {
                self.step("<", &json!({ "type": "shutdown" }));
                Input::Shutdown
            }
            Event::ScenarioEvent(ScenarioEvent::Frame(frame)) => {
                let frame = self.host.resolved(frame, &self.played.disk);
                let line = frame.to_string();
                self.step("<", &frame);
                return self.read(&line);
            }
            Event::ScenarioEvent(ScenarioEvent::Line(line)) => {
                let line = self.host.line(&line, &self.played.disk);
                self.write("<", &line);
                return self.read(&line);
            }
            Event::Answer(frame) => {
                self.step("<", &frame);
                self.host.answered(&frame);
                if self.between.is_some() {
                    return self.read(&frame.to_string());
                }
                let read = read_line(frame.to_string().as_bytes(), self.dialect);
                Input::line(read.transpose().ok_or("a blank line")?)
            }
            Event::Step(call, input) => {
                if matches!(*input, Input::ToolEnd { .. } | Input::ShellEnd { .. } | Input::LoginEnd { .. }) {
                    self.works.remove(&call);
                }
                *input
            }
            Event::FrontLine(line) => return self.read_untranslated(&line),
            Event::Extension(process, does) => return self.extension_step(process, does),
            Event::Time => {
                // The same time may become the deadline once more.
                self.alarm = None;
                Input::Time
            }
        }))
    }

    /// A line of the host, which the front translates if there is one.
    fn read(&mut self, line: &str) -> Result<Option<Input>, String> {
        let Some(between) = &mut self.between else { return self.read_untranslated(line) };
        let passed = between.host_line(self.now, line);
        self.pass(passed);
        Ok(None)
    }

    /// Passes on what the front has made of a line: the lines for the host, and for the server.
    pub(crate) fn pass(&mut self, (to_host, to_server): (Vec<String>, Vec<String>)) {
        for line in to_host {
            let frame = serde_json::from_str(&line).unwrap_or_default();
            for (after, answer) in self.host.on_frame(&frame) {
                self.plan(self.now + after, HOST, Event::Answer(answer));
            }
        }
        for line in to_server {
            self.plan(self.now, HOST, Event::FrontLine(line));
        }
    }

    fn read_untranslated(&mut self, line: &str) -> Result<Option<Input>, String> {
        let Some(read) = read_line(line.as_bytes(), self.dialect).transpose() else { return Ok(None) };
        if read.is_ok() {
            let frame = serde_json::from_str(line).map_err(|error| error.to_string())?;
            self.watchers.iter_mut().for_each(|watcher| watcher.wrote(&frame));
        }
        Ok(Some(Input::line(read)))
    }

    fn perform(&mut self) -> Checked {
        while let Some(output) = self.engine.poll() {
            for watcher in &mut self.watchers {
                watcher.output(&output)?;
            }
            match output {
                Output::Emit(emission) => self.emit(&emission)?,
                Output::StartExtension { process, place } => self.start_extension(process, place),
                Output::ToExtension { to, frame } => self.send_to_extension(to, &frame)?,
                Output::StopExtension(process) => self.stop_extension(process),
                Output::Query { from, query } => {
                    let data = Some(json!({ "about": query.about.as_str() }));
                    let answer = Box::new(ExtensionAnswer { id: query.id, data, error: None });
                    self.engine.handle(Input::QueryAnswered { to: from, answer }, at(self.now));
                }
                Output::ChangeProvider { name, config, .. } => {
                    let provided = self.models.provide(&name, config.as_ref());
                    self.engine.handle(Input::ProviderChanged(provided), at(self.now));
                }
                Output::ChangeVirtualModel { provider, id, definition } => {
                    let provided = self.models.provide_virtual(&provider, &id, definition.as_deref());
                    self.engine.handle(Input::ProviderChanged(provided), at(self.now));
                }
                Output::SelectModel => {
                    let selected = self.models.choose();
                    self.engine.handle(Input::ModelSelected(selected), at(self.now));
                }
                Output::ReloadModels { .. } => unreachable!("the models are given"),
                Output::AgentDialogClosed { .. } => unreachable!("no agent is behind the server"),
                Output::ProviderHookCompleted { .. } => unreachable!("nothing happens beside the engine"),
                Output::FindResources { skills, templates } => {
                    let found = discover(&self.played.disk, &skills, &templates);
                    self.engine.handle(Input::ResourcesFound(Box::new(found)), at(self.now));
                }
                Output::FindPermission { .. } | Output::StorePermission(_) => {
                    unreachable!("no permissions are stored")
                }
                Output::ReadFile(path) => {
                    let read = self.played.disk.read(&path);
                    self.engine.handle(Input::FileRead(read), at(self.now));
                }
                Output::Violation(violation) => match self.scenario.judged {
                    JudgedRules::AllBut(rules) if !rules.contains(&violation.rule) => {
                        return Err(format!("the machine objects: {violation}"));
                    }
                    _ => {}
                },
                Output::UnshownUsage(_) => {}
                Output::CallModel(call) => self.call_model(&call),
                Output::CancelModel(call) => {
                    if !self.scenario.echoes {
                        self.forget(call);
                    }
                }
                Output::StartTool(start) => {
                    if let Some(command) = start.arguments.get("command").and_then(Value::as_str) {
                        self.played.started.push(command.to_owned());
                    }
                    let course = self.scenario.works.tool(self.tools, &start, self.dialect);
                    self.tools += 1;
                    self.start(start.call, course);
                }
                Output::StartShell(start) => {
                    let course = self.scenario.works.shell(self.shells, &start);
                    self.shells += 1;
                    self.start(start.call, course);
                }
                Output::CancelTool(call) | Output::CancelShell(call) | Output::CancelLogin(call) => {
                    self.cancel(call);
                }
                Output::ListLogins => {
                    self.engine.handle(Input::LoginsListed(logins::listed()), at(self.now));
                }
                Output::StartLogin(start) => self.start(start.call, logins::course(&start)),
                Output::PasteLogin { call, text } => {
                    self.forget(call);
                    self.plan_steps(call, vec![logins::pasted(call, &text)]);
                }
                Output::StartLogout { call, provider } => {
                    let removed = Ok(provider == logins::WITH_BROWSER);
                    self.plan_steps(call, vec![(7, Input::LogoutEnd { call, removed })]);
                }
                Output::Refuse(text) => self.step(">", &json!({ "type": "refuse", "text": text })),
                Output::Exit => {
                    self.lost = self.stuck;
                    self.exited = true;
                    self.step(">", &json!({ "type": "exit" }));
                    self.due.clear();
                    let running = self.processes.values();
                    running.copied().try_for_each(|place| self.extensions[place].is_settled())?;
                }
                Output::CloseSession => self.played.disk.close(),
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
                    let opened = match &self.scenario.no_session {
                        Some(why) => Err((*why).to_owned()),
                        None => self.played.disk.open(&path),
                    };
                    self.engine.handle(Input::SessionOpened(Box::new(opened)), at(self.now));
                }
                Output::FindNewestSession(folder) => {
                    let file = self.played.disk.newest(&folder);
                    self.engine.handle(Input::NewestSessionFound { folder, file }, at(self.now));
                }
                Output::WritePage { path, .. } => {
                    self.write("#", &format!("page {}", path.display()));
                    self.engine.handle(Input::FileWritten(Ok(())), at(self.now));
                }
            }
        }
        let due = self.engine.deadline().map(|due| due.as_millis() as u64);
        if let Some(at) = due.filter(|_| due != self.alarm && !self.exited) {
            self.plan(at, OTHERS, Event::Time);
        }
        self.alarm = due;
        Ok(())
    }

    fn start(&mut self, call: CallId, course: WorkPlan) {
        self.works.insert(call, (self.now, course.stop));
        self.plan_steps(call, course.steps);
    }

    /// Cancels a tool or a shell, which takes a while to end; a second cancel has no effect.
    fn cancel(&mut self, call: CallId) {
        let Some((since, stop)) = self.works.remove(&call) else { return };
        self.forget(call);
        self.plan_steps(call, stop(self.now - since));
    }

    fn plan_steps(&mut self, call: CallId, steps: Steps) {
        for (after, input) in steps {
            self.plan(self.now + after, call, Event::Step(call, Box::new(input)));
        }
    }

    fn forget(&mut self, call: CallId) {
        self.due.retain(|_, event| !matches!(event, Event::Step(of, _) if *of == call));
    }

    fn store(&mut self, write: &Write) {
        if let Err(reason) = self.played.disk.write(write) {
            return self.store_failed(reason);
        }
        if self.records {
            self.note_write(write);
        }
        self.engine.handle(Input::Stored, at(self.now));
    }

    fn note_write(&mut self, write: &Write) {
        let (how, lines) = match write {
            Write::Create { lines, .. } => ("begin", lines.concat()),
            Write::Append(line) => ("store", line.to_vec()),
            Write::Rewrite(lines) => ("rewrite", lines.concat()),
            Write::Sync => return self.write("#", "sync"),
        };
        for line in String::from_utf8(lines).expect("UTF-8").lines() {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            let (kind, role) = (&entry["type"], entry["message"]["role"].as_str().unwrap_or_default());
            self.write("#", format!("{how} {} {role}", kind.as_str().unwrap_or_default()).trim_end());
        }
    }

    fn store_failed(&mut self, reason: String) {
        self.write("#", &format!("not stored: {reason}"));
        self.watchers.iter_mut().for_each(|watcher| watcher.write_failed());
        self.engine.handle(Input::StoreFailed(reason), at(self.now));
    }

    /// Checks that the session file has the same context as memory, without failed answers: those that were retried are
    /// only in the file, with the results of their calls.
    pub(crate) fn compare(&mut self) -> Checked {
        let (log, said, steps) = (self.played.log.clone(), self.played.said.clone(), self.played.steps.len());
        // Entries that could not be written while the disk was full are written at the shutdown.
        self.engine.handle(Input::Shutdown, at(self.now));
        self.perform()?;
        (self.played.log, self.played.said) = (log, said);
        self.played.steps.truncate(steps);
        let Some(tree) = self.played.disk.tree().filter(|_| !self.lost) else { return Ok(()) };
        let (file, memory) =
            (stored_messages(&tree.context().messages), stored_messages(self.engine.messages()));
        ensure!(file == memory, "the file has {file:#?}\nthe memory {memory:#?}");
        Ok(())
    }

    fn emit(&mut self, emission: &Emission) -> Checked {
        let mut line = Vec::new();
        self.encoder.encode(emission, &mut line);
        let line = line.strip_suffix(b"\n").ok_or("not a whole line")?;
        let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        if self.scenario.reads_frames {
            read::<Outbound>(line.as_bytes(), self.dialect).map_err(|error| format!("{error}\n{line}"))?;
        }
        let frame: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if self.records {
            let shown = self.growth.see(&frame);
            let shown = shown.map_or(line.to_owned(), |shown| shown.to_string());
            self.note(">", &frame);
            self.write(">", &shown.replace(&*VERSION, "\"version\":\"…"));
        }
        let watched = self
            .watchers
            .iter_mut()
            .try_for_each(|watcher| watcher.frame(emission, &frame, &self.played.disk));
        match &mut self.between {
            Some(between) => {
                let passed = between.server_line(self.now, line);
                self.pass(passed);
            }
            None => {
                for (after, answer) in self.host.on_frame(&frame) {
                    self.plan(self.now + after, HOST, Event::Answer(answer));
                }
            }
        }
        self.played.said.push(frame);
        watched
    }

    /// Records a frame with its writer.
    pub(crate) fn step(&mut self, who: &str, frame: &Value) {
        if !self.records {
            return;
        }
        self.note(who, frame);
        match &frame["type"] {
            Value::String(word)
                if frame.as_object().is_some_and(|it| it.len() == 1) && !who.ends_with('<') =>
            {
                self.write(who, word);
            }
            _ => self.write(who, &frame.to_string()),
        }
    }

    fn note(&mut self, who: &str, frame: &Value) {
        let state = self.engine.machine().state().to_string();
        self.played.steps.push(Step { at: self.now, who: who.to_owned(), frame: frame.clone(), state });
    }

    fn write(&mut self, direction: &str, line: &str) {
        if self.records {
            let _ = writeln!(self.played.log, "{:>5} {direction} {line}", self.now);
        }
    }
}

fn at(now: u64) -> Now {
    Now { monotonic: Duration::from_millis(now), wall: BEGAN + now }
}

/// Random order of an actor among those that are due together. Events of one actor keep their order.
fn lot(seed: u64, who: CallId, at: u64) -> u64 {
    let mixed = [who, at].into_iter().fold(seed, |mixed, it| {
        (mixed ^ it).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
    });
    mixed >> 32
}
