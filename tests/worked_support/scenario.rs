//! A conversation to be had, and having it.

use super::{
    extension::Extension,
    played::Played,
    world::{Event, World},
};
use pi_rpc::{
    engine::{Extending, Modes},
    protocol::Dialect,
};
use serde_json::Value;

/// A conversation to be had: what the host writes and when, what the model says, what becomes of the disk.
pub struct Scenario {
    pub(super) turns: Value,
    pub(super) events: Vec<(u64, Given)>,
    /// Sessions are kept in files.
    pub(super) kept: bool,
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) disk_text: Option<&'static str>,
    /// The file to take up.
    pub(super) opened: Option<&'static str>,
    pub(super) window: u64,
    pub(super) change: fn(&mut Modes),
    pub(super) extensions: Vec<Extension>,
    pub(super) extending: Extending,
    /// The model has `todo_write`.
    pub(super) todos: bool,
    /// The machine sees enough to judge what is said: not where extensions go from session to session.
    pub(super) judged: bool,
    /// The shape begins with the answer to this request.
    from: Option<&'static str>,
}

/// What happens without anybody asking for it.
#[derive(Clone)]
pub(super) enum Given {
    Frame(Value),
    /// From now on nothing can be written, or everything again.
    Full(bool),
    /// From now on so many writes succeed.
    Left(usize),
    /// From now on no write is answered; or the one that waits is, and so are all others.
    Hung(bool),
    EndOfInput,
    Shutdown,
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
        extensions: Vec::new(),
        extending: Extending::default(),
        todos: false,
        judged: true,
        from: None,
    }
}

impl Scenario {
    /// The host writes `frame` at that millisecond.
    pub fn host(self, at: u64, frame: Value) -> Self {
        self.given(at, Given::Frame(frame))
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
        self.given(from, Given::Full(true)).given(to, Given::Full(false))
    }

    /// Writes are not answered in that time, unless they are hurried.
    pub fn disk_hangs(self, from: u64, to: u64) -> Self {
        self.given(from, Given::Hung(true)).given(to, Given::Hung(false))
    }

    /// So many writes succeed from one millisecond on, then none, until another.
    pub fn disk_fails_after(mut self, from: u64, writes: usize, to: u64) -> Self {
        self.kept = true;
        self.given(from, Given::Left(writes)).given(to, Given::Full(false))
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
        self.extensions.push(extension);
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
        self.judged = false;
        self
    }

    /// The host closes its side.
    pub fn ends(self, at: u64) -> Self {
        self.given(at, Given::EndOfInput)
    }

    /// The process is told to stop.
    pub fn stops(self, at: u64) -> Self {
        self.given(at, Given::Shutdown)
    }

    /// The shape begins with the answer to this request.
    pub fn from(mut self, id: &'static str) -> Self {
        self.from = Some(id);
        self
    }

    fn given(mut self, at: u64, given: Given) -> Self {
        self.events.push((at, given));
        self
    }

    /// Has the conversation in `dialect`, to its end.
    pub fn play(&self, dialect: Dialect) -> Played {
        let mut world = self.world(dialect);
        assert!(world.engine.is_idle(), "{dialect}: something still runs\n{}", world.log);
        let state = world.engine.machine().state().to_string();
        let last = if self.closes() { "idle+closing" } else { "idle" };
        // A command of an extension is acknowledged, and no run follows.
        let state = match self.extensions.is_empty() {
            true => state,
            false => state.replace("starting", "idle"),
        };
        assert_eq!(state, last, "{dialect}: where the machine stands at the end\n{}", world.log);
        if self.kept {
            world.compare();
        }
        world.played()
    }

    /// Has the conversation in `dialect`, which may break off.
    pub fn finish(&self, dialect: Dialect) -> Played {
        self.world(dialect).played()
    }

    fn closes(&self) -> bool {
        self.events.iter().any(|(_, given)| matches!(given, Given::EndOfInput | Given::Shutdown))
    }

    fn world(&self, dialect: Dialect) -> World {
        let mut world = World::new(dialect, self);
        for (at, given) in &self.events {
            world.due(*at, Event::Given(given.clone()));
        }
        world.run();
        world
    }

    /// Has the conversation in each of the `dialects`, holds its order against `shape` (see [`Played::shape`]) and its
    /// log against the snapshot of that name.
    pub fn is(&self, name: &str, dialects: &[Dialect], shape: &str) {
        for dialect in dialects {
            let played = self.play(*dialect);
            let expected: Vec<&str> = shape.split('·').map(str::trim).collect();
            assert_eq!(played.shape_from(self.from), expected, "{name} in {dialect}");
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(format!("worked_{name}@{dialect}"), played.log));
        }
    }
}
