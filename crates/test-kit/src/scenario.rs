//! Scenarios: descriptions of conversations, and playing them.

use crate::{
    Checked,
    extension::{Extension, Peer},
    host::Answers,
    playback::Playback,
    rules::{Stored, Watcher},
    setup::{Models, tools},
    work::WorkSource,
    world::World,
};
use pi_rpc_engine::{ExtensionSetup, Modes, SessionStorage, Setup, Toolbox, limits::Limits, todos};
use pi_rpc_machine::Rule;
use pi_rpc_model::types::{StreamEvent, ToolSpec};
use pi_rpc_protocol::Dialect;
use pi_rpc_session::OpenedSession;
use serde_json::{Value, json};
use std::path::Path;

/// Directory of session files, for conversations with stored sessions.
const FOLDER: &str = "/sessions";

/// Change of the setup of an engine.
type Change = Box<dyn Fn(&mut Setup)>;

/// Conversation to play: timed lines of the host, turns of the model, and faults of the disk.
pub struct Scenario {
    pub(crate) turns: Value,
    /// Answer to the first request of a model, in place of a turn; empty: there is none.
    pub(crate) stream: Vec<StreamEvent>,
    pub(crate) events: Vec<(u64, ScenarioEvent)>,
    /// Whether sessions are stored in files.
    pub(crate) kept: bool,
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) disk_text: Option<&'static str>,
    /// Session file to resume.
    pub(crate) opened: Option<&'static str>,
    pub(crate) window: u64,
    change: fn(&mut Modes),
    pub(crate) changes: Vec<Change>,
    pub(crate) extensions: Vec<Box<dyn Peer>>,
    extension_setup: ExtensionSetup,
    /// Offers the tool `todo_write` to the model.
    todos: bool,
    pub(crate) judged: JudgedRules,
    pub(crate) works: WorkSource,
    /// Ways in which the host answers dialogs and calls, cyclically; empty: it does not answer by itself.
    pub(crate) answers: Vec<Answers>,
    /// Seed of the order of events at the same time; `None`: the order in which they were planned.
    pub(crate) shuffles: Option<u64>,
    /// Whether cancelled work still sends inputs.
    pub(crate) echoes: bool,
    /// Whether models also send invalid events.
    pub(crate) strays: bool,
    /// Error of opening another session; `None`: sessions can be opened.
    pub(crate) no_session: Option<&'static str>,
    /// Whether snapshots of updates are compared with the sum of their deltas.
    pub(crate) checks_growth: bool,
    /// Whether frames are checked against the schema here; a watcher may do that, too.
    pub(crate) reads_frames: bool,
    pub(crate) watchers: Box<dyn Fn(Dialect) -> Vec<Box<dyn Watcher>>>,
    /// Starts the shape with the response with this id.
    from: Option<&'static str>,
}

/// Rules that the machine can judge in the scenario.
pub(crate) enum JudgedRules {
    AllBut(&'static [Rule]),
    Nothing,
}

/// Planned event of a scenario.
#[derive(Clone)]
pub(crate) enum ScenarioEvent {
    Frame(Value),
    /// Line of the host, see [`Host::line`](crate::host::Host::line).
    Line(String),
    /// Whether every write fails from now on.
    Full(bool),
    /// Number of writes that succeed from now on.
    Left(usize),
    /// Whether the disk hangs from now on; `false` also answers a waiting write.
    Hung(bool),
    EndOfInput,
    Shutdown,
}

impl ScenarioEvent {
    /// Whether the event is written by the host.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Frame(_) | Self::Line(_))
    }
}

/// Creates a scenario whose model plays `turns`, which have the form of a script file.
pub fn scenario(turns: Value) -> Scenario {
    Scenario {
        turns,
        stream: Vec::new(),
        events: Vec::new(),
        kept: false,
        files: Vec::new(),
        disk_text: None,
        opened: None,
        window: 128_000,
        change: |_| {},
        changes: Vec::new(),
        extensions: Vec::new(),
        extension_setup: ExtensionSetup::default(),
        todos: false,
        judged: JudgedRules::AllBut(&[]),
        works: WorkSource::Planned,
        answers: Vec::new(),
        shuffles: None,
        echoes: false,
        strays: false,
        no_session: None,
        checks_growth: true,
        reads_frames: true,
        watchers: Box::new(|_| Vec::new()),
        from: None,
    }
}

impl Scenario {
    /// Adds a frame of the host at `at` milliseconds.
    pub fn host(self, at: u64, frame: Value) -> Self {
        self.given(at, ScenarioEvent::Frame(frame))
    }

    /// Answers the first request of a model with `events`, all at once; the turns answer the others.
    pub fn stream(mut self, events: Vec<StreamEvent>) -> Self {
        self.stream = events;
        self
    }

    /// Changes the setup of the engine.
    pub fn set_up(mut self, change: fn(&mut Setup)) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// Offers the model a tool, too, that requires no arguments.
    pub fn tool_without_arguments(mut self, name: &'static str) -> Self {
        self.changes.push(Box::new(move |setup| {
            let spec = ToolSpec {
                name: name.to_owned(),
                description: "Needs nothing.".to_owned(),
                parameters: json!({ "type": "object", "properties": { "command": { "type": "string" } } })
                    .into(),
                exclusive: false,
                output: None,
            };
            setup.tools = Toolbox::new(tools().into_iter().chain([spec]).collect());
        }));
        self
    }

    /// Stores the session in a file.
    pub fn kept(mut self) -> Self {
        self.kept = true;
        self
    }

    /// Adds a file to the disk.
    pub fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.kept = true;
        self.files.push((path, text.into()));
        self
    }

    /// Resumes the session in this file.
    pub fn opened(mut self, path: &'static str) -> Self {
        self.opened = Some(path);
        self
    }

    /// Fails every write between two times in milliseconds.
    pub fn disk_full(mut self, from: u64, to: u64) -> Self {
        self.kept = true;
        self.given(from, ScenarioEvent::Full(true)).given(to, ScenarioEvent::Full(false))
    }

    /// Lets writes hang between two times in milliseconds, unless they are given up.
    pub fn disk_hangs(self, from: u64, to: u64) -> Self {
        self.given(from, ScenarioEvent::Hung(true)).given(to, ScenarioEvent::Hung(false))
    }

    /// Lets `writes` writes succeed after `from`, and none after them until `to`, in milliseconds.
    pub fn disk_fails_after(mut self, from: u64, writes: usize, to: u64) -> Self {
        self.kept = true;
        self.given(from, ScenarioEvent::Left(writes)).given(to, ScenarioEvent::Full(false))
    }

    /// Sets the error of failed writes.
    pub fn disk_text(mut self, text: &'static str) -> Self {
        self.disk_text = Some(text);
        self
    }

    /// Sets the context window of the model in tokens.
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// Changes the settings of the user.
    pub fn modes(mut self, change: fn(&mut Modes)) -> Self {
        self.change = change;
        self
    }

    /// Adds an extension.
    pub fn extended(mut self, extension: Extension) -> Self {
        self.extensions.push(Box::new(extension));
        self
    }

    /// Sets further options for extensions.
    pub fn extension_setup(mut self, extension_setup: ExtensionSetup) -> Self {
        self.extension_setup = extension_setup;
        self
    }

    /// Offers the tool `todo_write` to the model.
    pub fn todos(mut self) -> Self {
        self.todos = true;
        self
    }

    /// Turns the judging of frames off, as the machine does not see enough when extensions change sessions.
    pub fn unjudged(mut self) -> Self {
        self.judged = JudgedRules::Nothing;
        self
    }

    /// Has a watcher see all inputs and outputs.
    pub fn watched(mut self, watcher: impl Fn() -> Box<dyn Watcher> + 'static) -> Self {
        self.watchers = Box::new(move |_| vec![watcher()]);
        self
    }

    /// Ends the input at `at` milliseconds.
    pub fn ends(self, at: u64) -> Self {
        self.given(at, ScenarioEvent::EndOfInput)
    }

    /// Shuts the process down at `at` milliseconds.
    pub fn stops(self, at: u64) -> Self {
        self.given(at, ScenarioEvent::Shutdown)
    }

    /// Starts the shape with the response with this id.
    pub fn from(mut self, id: &'static str) -> Self {
        self.from = Some(id);
        self
    }

    pub(crate) fn given(mut self, at: u64, given: ScenarioEvent) -> Self {
        self.events.push((at, given));
        self
    }

    /// Plays the scenario in `dialect` to its end.
    ///
    /// # Panics
    ///
    /// If a rule is broken, work is outstanding at the end, or the session file differs from memory.
    pub fn play(&self, dialect: Dialect) -> Playback {
        let mut world = self.world(dialect);
        assert!(world.engine.is_idle(), "{dialect}: something still runs\n{}", world.played.log);
        let state = world.engine.machine().state().to_string();
        let last = if self.closes() { "idle+closing" } else { "idle" };
        // A slash command of an extension is acknowledged without a run.
        let state = match self.extensions.is_empty() {
            true => state,
            false => state.replace("starting", "idle"),
        };
        assert_eq!(state, last, "{dialect}: where the machine stands at the end\n{}", world.played.log);
        if self.kept {
            let same = world.compare();
            holds(dialect, &world, same);
        }
        world.played
    }

    /// Plays the scenario in `dialect`, which may end with outstanding work.
    ///
    /// # Panics
    ///
    /// If a rule is broken.
    pub fn finish(&self, dialect: Dialect) -> Playback {
        self.world(dialect).played
    }

    /// Plays the scenario in `dialect` and shuts the process down once nothing is due. The error has the first
    /// violation and the log up to it.
    pub(crate) fn run_out(&self, dialect: Dialect) -> Result<Playback, String> {
        let mut world = World::new(dialect, self, false);
        world.run_out().map_err(|wrong| {
            // The scenario determines everything, so it can be played again for the log.
            let mut told = World::new(dialect, self, true);
            drop(told.run_out());
            format!("{wrong}\n\n{}", told.played.log)
        })?;
        Ok(world.played)
    }

    fn closes(&self) -> bool {
        self.events
            .iter()
            .any(|(_, given)| matches!(given, ScenarioEvent::EndOfInput | ScenarioEvent::Shutdown))
    }

    fn world(&self, dialect: Dialect) -> World<'_> {
        let mut world = World::new(dialect, self, true);
        if self.kept {
            world.watchers.push(Box::new(Stored::default()));
        }
        let ran = world.run();
        holds(dialect, &world, ran);
        world
    }

    /// Setup of the engine.
    pub(crate) fn setup(&self, dialect: Dialect, session: Option<OpenedSession>) -> Setup {
        let mut modes = Modes::of(dialect);
        (self.change)(&mut modes);
        let mut tools = tools();
        tools.extend(self.todos.then(todos::spec));
        let place = match self.kept {
            true => SessionStorage { directory: "/work".to_owned(), folder: Some(FOLDER.into()), id: None },
            false => SessionStorage::in_memory("/work"),
        };
        let mut setup = Setup {
            dialect,
            models: Models::new(dialect, self.window).all,
            start: 0,
            chosen: false,
            reloads_models: false,
            scope: None,
            level: None,
            modes,
            limits: Limits::default(),
            place,
            session,
            tools: Toolbox::new(tools),
            system_prompt: "Be brief.".into(),
            extension_setup: ExtensionSetup {
                extensions: self.extensions.iter().map(|it| format!("/x/{}", it.name())).collect(),
                agent_directory: "/agent".to_owned(),
                max_frame: 1_000_000,
                ..self.extension_setup.clone()
            },
            name: None,
            seed: 7,
            checked: true,
        };
        self.changes.iter().for_each(|change| change(&mut setup));
        setup
    }

    /// Plays the scenario in each of the `dialects`, compares its order with `shape` (see [`Playback::shape`]) and its
    /// log with the snapshot `name`. A log that is that of an earlier dialect has no snapshot of its own.
    pub fn is(&self, name: &str, dialects: &[Dialect], shape: &str) {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
        let mut logs: Vec<(&Dialect, String)> = Vec::new();
        for dialect in dialects {
            let played = self.play(*dialect);
            let expected: Vec<&str> = shape.split('·').map(str::trim).collect();
            assert_eq!(played.shape_from(self.from), expected, "{name} in {dialect}");
            let snapshot = format!("worked_{name}@{dialect}");
            if let Some((earlier, _)) = logs.iter().find(|(_, log)| *log == played.log) {
                let file = format!("{snapshot}.snap");
                let is_alone = !folder.join(&file).exists();
                assert!(
                    is_alone,
                    "snapshots/{file}: the frames are those of {earlier}; if so they should be, remove it"
                );
                continue;
            }
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(folder);
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(snapshot, played.log));
            logs.push((dialect, played.log));
        }
    }
}

fn holds(dialect: Dialect, world: &World<'_>, checked: Checked) {
    if let Err(wrong) = checked {
        panic!("{dialect}: {wrong}\n{}", world.played.log);
    }
}
