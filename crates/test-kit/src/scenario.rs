//! A conversation to be had, and having it.

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
use pi_rpc::{
    engine::{Extending, Modes, Place, Setup, Toolbox, limits::Limits, todos},
    machine::Rule,
    protocol::Dialect,
    session::OpenedSession,
};
use serde_json::Value;

/// The folder of session files, for conversations that are kept.
const FOLDER: &str = "/sessions";

/// Changes what an engine is set up with.
type Change = Box<dyn Fn(&mut Setup)>;

/// A conversation to be had: what the host writes and when, what the model says, what becomes of the disk.
pub struct Scenario {
    pub(crate) turns: Value,
    pub(crate) events: Vec<(u64, ScenarioEvent)>,
    /// Sessions are kept in files.
    pub(crate) kept: bool,
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) disk_text: Option<&'static str>,
    /// The file to take up.
    pub(crate) opened: Option<&'static str>,
    pub(crate) window: u64,
    change: fn(&mut Modes),
    pub(crate) changes: Vec<Change>,
    pub(crate) extensions: Vec<Box<dyn Peer>>,
    extending: Extending,
    /// The model has `todo_write`.
    todos: bool,
    pub(crate) judged: JudgedRules,
    pub(crate) works: WorkSource,
    /// How the host answers what it is asked, by turns; if it does so by itself.
    pub(crate) answers: Vec<Answers>,
    /// A seed: who is due at the same moment as others acts in an order drawn by lot.
    pub(crate) shuffles: Option<u64>,
    /// What was cancelled is still heard of.
    pub(crate) echoes: bool,
    /// Models also say what has no place in their answers.
    pub(crate) strays: bool,
    /// Why no other session can be opened.
    pub(crate) no_session: Option<&'static str>,
    /// Updates are held against what their steps add up to.
    pub(crate) checks_growth: bool,
    /// Frames are held against the schema; a watcher may do that, too.
    pub(crate) reads_frames: bool,
    pub(crate) watchers: Box<dyn Fn(Dialect) -> Vec<Box<dyn Watcher>>>,
    /// The shape begins with the answer to this request.
    from: Option<&'static str>,
}

/// What the machine sees enough of to judge it.
pub(crate) enum JudgedRules {
    AllBut(&'static [Rule]),
    Nothing,
}

/// What happens without anybody asking for it.
#[derive(Clone)]
pub(crate) enum ScenarioEvent {
    Frame(Value),
    /// The host writes this, see [`Host::line`](crate::host::Host::line).
    Line(String),
    /// From now on nothing can be written, or everything again.
    Full(bool),
    /// From now on so many writes succeed.
    Left(usize),
    /// From now on no write is answered; or the one that waits is, and so are all others.
    Hung(bool),
    EndOfInput,
    Shutdown,
}

impl ScenarioEvent {
    /// Whether the host writes it.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Frame(_) | Self::Line(_))
    }
}

/// The model plays `turns`, as in a script file.
pub fn scenario(turns: Value) -> Scenario {
    Scenario {
        turns,
        events: Vec::new(),
        kept: false,
        files: Vec::new(),
        disk_text: None,
        opened: None,
        window: 128_000,
        change: |_| {},
        changes: Vec::new(),
        extensions: Vec::new(),
        extending: Extending::default(),
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
    /// The host writes `frame` at that millisecond.
    pub fn host(self, at: u64, frame: Value) -> Self {
        self.given(at, ScenarioEvent::Frame(frame))
    }

    /// The session is kept in a file.
    pub fn kept(mut self) -> Self {
        self.kept = true;
        self
    }

    /// There is such a file.
    pub fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.kept = true;
        self.files.push((path, text.into()));
        self
    }

    /// The session in that file is taken up.
    pub fn opened(mut self, path: &'static str) -> Self {
        self.opened = Some(path);
        self
    }

    /// Nothing can be written from one millisecond to another.
    pub fn disk_full(mut self, from: u64, to: u64) -> Self {
        self.kept = true;
        self.given(from, ScenarioEvent::Full(true)).given(to, ScenarioEvent::Full(false))
    }

    /// Writes are not answered in that time, unless they are hurried.
    pub fn disk_hangs(self, from: u64, to: u64) -> Self {
        self.given(from, ScenarioEvent::Hung(true)).given(to, ScenarioEvent::Hung(false))
    }

    /// So many writes succeed from one millisecond on, then none, until another.
    pub fn disk_fails_after(mut self, from: u64, writes: usize, to: u64) -> Self {
        self.kept = true;
        self.given(from, ScenarioEvent::Left(writes)).given(to, ScenarioEvent::Full(false))
    }

    /// Why nothing can be written, where it is not for want of space.
    pub fn disk_text(mut self, text: &'static str) -> Self {
        self.disk_text = Some(text);
        self
    }

    /// The model's context has so many tokens.
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// The user has set something.
    pub fn modes(mut self, change: fn(&mut Modes)) -> Self {
        self.change = change;
        self
    }

    /// The server is extended.
    pub fn extended(mut self, extension: Extension) -> Self {
        self.extensions.push(Box::new(extension));
        self
    }

    /// What else the server is started with.
    pub fn extending(mut self, extending: Extending) -> Self {
        self.extending = extending;
        self
    }

    /// The model has `todo_write`.
    pub fn todos(mut self) -> Self {
        self.todos = true;
        self
    }

    /// The machine does not see enough to judge what is said: extensions go from session to session.
    pub fn unjudged(mut self) -> Self {
        self.judged = JudgedRules::Nothing;
        self
    }

    /// The host closes its side.
    pub fn ends(self, at: u64) -> Self {
        self.given(at, ScenarioEvent::EndOfInput)
    }

    /// The process is told to stop.
    pub fn stops(self, at: u64) -> Self {
        self.given(at, ScenarioEvent::Shutdown)
    }

    /// The shape begins with the answer to this request.
    pub fn from(mut self, id: &'static str) -> Self {
        self.from = Some(id);
        self
    }

    pub(crate) fn given(mut self, at: u64, given: ScenarioEvent) -> Self {
        self.events.push((at, given));
        self
    }

    /// Has the conversation in `dialect`, to its end.
    ///
    /// # Panics
    ///
    /// If a rule is broken, something still runs in the end, or the file is not what the memory is.
    pub fn play(&self, dialect: Dialect) -> Playback {
        let mut world = self.world(dialect);
        assert!(world.engine.is_idle(), "{dialect}: something still runs\n{}", world.played.log);
        let state = world.engine.machine().state().to_string();
        let last = if self.closes() { "idle+closing" } else { "idle" };
        // A command of an extension is acknowledged, and no run follows.
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

    /// Has the conversation in `dialect`, which may break off.
    ///
    /// # Panics
    ///
    /// If a rule is broken.
    pub fn finish(&self, dialect: Dialect) -> Playback {
        self.world(dialect).played
    }

    /// Has the conversation in `dialect` and ends the process when nothing more happens. The error tells the first rule
    /// that is broken, and what happened up to then.
    pub(crate) fn run_out(&self, dialect: Dialect) -> Result<Playback, String> {
        let mut world = World::new(dialect, self, false);
        world.run_out().map_err(|wrong| {
            // Everything is determined by the scenario, so the story can be told afterwards.
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

    /// What an engine is set up with for this.
    pub(crate) fn setup(&self, dialect: Dialect, session: Option<OpenedSession>) -> Setup {
        let mut modes = Modes::of(dialect);
        (self.change)(&mut modes);
        let mut tools = tools();
        tools.extend(self.todos.then(todos::spec));
        let place = match self.kept {
            true => Place { directory: "/work".to_owned(), folder: Some(FOLDER.into()), id: None },
            false => Place::in_memory("/work"),
        };
        let mut setup = Setup {
            dialect,
            models: Models::new(dialect, self.window).all,
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
                extensions: self.extensions.iter().map(|it| format!("/x/{}", it.name())).collect(),
                agent_directory: "/agent".to_owned(),
                max_frame: 1_000_000,
                ..self.extending.clone()
            },
            name: None,
            seed: 7,
            checked: true,
        };
        self.changes.iter().for_each(|change| change(&mut setup));
        setup
    }

    /// Has the conversation in each of the `dialects`, holds its order against `shape` (see [`Playback::shape`]) and its
    /// log against the snapshot of that name.
    pub fn is(&self, name: &str, dialects: &[Dialect], shape: &str) {
        for dialect in dialects {
            let played = self.play(*dialect);
            let expected: Vec<&str> = shape.split('·').map(str::trim).collect();
            assert_eq!(played.shape_from(self.from), expected, "{name} in {dialect}");
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(format!("worked_{name}@{dialect}"), played.log));
        }
    }
}

fn holds(dialect: Dialect, world: &World<'_>, checked: Checked) {
    if let Err(wrong) = checked {
        panic!("{dialect}: {wrong}\n{}", world.played.log);
    }
}
