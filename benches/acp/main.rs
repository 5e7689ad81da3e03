//! Bridges between editors and pi, side by side: `cargo bench --bench acp`; with `-- --write`, the tables of
//! `docs/explanation/acp.md` are written.
//!
//! All talk to the same scripted model and have the same conversations. Published programs are installed below `target/`,
//! from lock files.

mod client;
mod conversations;
mod model;
mod table;

#[path = "../../tests/toolchain_support/mod.rs"]
mod toolchain_support;

use client::{Client, Seen};
use conversations::CONVERSATIONS;
use model::{LONG, Model};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// Why something was not measured.
pub type Outcome<T> = Result<T, String>;

/// Starts and rounds of conversations that are measured; the medians count.
const RUNS: usize = 3;

/// A case, and whether it holds.
pub type Case = (&'static str, Outcome<bool>);

/// How long every answer in a conversation may take.
const CONVERSATION_LIMIT: Duration = Duration::from_secs(5);

/// How long a bridge whose client has vanished may take to end all that it has started.
const VANISHED_WITHIN: Duration = Duration::from_secs(10);

/// The page that has the tables.
const PAGE: &str = "docs/explanation/acp.md";

/// A bridge: its name, and how it is started.
struct Bridge {
    name: &'static str,
    words: Vec<PathBuf>,
    variables: Vec<(&'static str, PathBuf)>,
}

/// Where bridges run.
struct World {
    home: PathBuf,
    project: PathBuf,
}

/// What was measured of a bridge.
pub struct Measured {
    /// Its name.
    pub name: &'static str,
    /// From the start of the process to an open session, in seconds.
    pub start: f64,
    /// From a prompt to the first piece of its answer, in seconds.
    pub first_chunk: f64,
    /// Each conversation in each round, in seconds.
    pub rounds: Vec<Vec<f64>>,
    /// Memory of the bridge and of what it has started, with one session, in bytes.
    pub memory: f64,
    /// The conversations: whether the editor has seen what it needs.
    pub seen: Vec<Case>,
    /// What it claims.
    pub claims: Vec<(&'static str, bool)>,
    /// Hard cases: whether it survives them.
    pub hard: Vec<Case>,
}

fn main() {
    // `cargo test --benches` runs it without this.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    match run() {
        Ok(tables) => {
            println!("{tables}");
            if std::env::args().any(|argument| argument == "--write") {
                let page = fs::read_to_string(PAGE).expect(PAGE);
                fs::write(PAGE, table::replaced(&page, &tables)).expect(PAGE);
            }
        }
        Err(reason) => {
            eprintln!("{reason}");
            std::process::exit(1);
        }
    }
}

fn run() -> Outcome<String> {
    let place = tempfile::tempdir().map_err(text)?;
    let model = Model::start(place.path())?;
    let (home, project) = model::configure(place.path(), &model.address)?;
    let world = World { home, project };
    let mut measured = Vec::new();
    for bridge in bridges(place.path())? {
        eprintln!("{} …", bridge.name);
        measured.push(bridge.measure(&world)?);
    }
    Ok(table::tables(&measured))
}

fn bridges(place: &Path) -> Outcome<Vec<Bridge>> {
    let own: PathBuf = env!("CARGO_BIN_EXE_pi-rpc").into();
    let pi = toolchain_support::locked("tests/peer_support/pi-1.5.2", &[])?.join("node_modules/.bin");
    let (node, pi) = (pi.join("node"), pi.join("pi"));
    let adapter = toolchain_support::locked("benches/acp/pi-acp-0.0.34", &[])?;
    let adapter = adapter.join("node_modules/pi-acp/dist/index.js");
    // pi-acp starts one word.
    let started = place.join("pi");
    let script = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node.display(), pi.display());
    fs::write(&started, script).map_err(text)?;
    fs::set_permissions(&started, fs::Permissions::from_mode(0o755)).map_err(text)?;
    let behind = ["acp", "--agent", "--"].map(PathBuf::from);
    let of_pi = [started.clone(), "--mode".into(), "rpc".into()];
    Ok(vec![
        Bridge {
            name: "`pi-acp` 0.0.34",
            words: vec![node, adapter],
            variables: vec![("PI_ACP_PI_COMMAND", started)],
        },
        Bridge {
            name: "`pi-rpc acp --agent -- pi --mode rpc`",
            words: [own.clone()].into_iter().chain(behind).chain(of_pi).collect(),
            variables: Vec::new(),
        },
        Bridge { name: "`pi-rpc acp`", words: vec![own, "acp".into()], variables: Vec::new() },
    ])
}

impl Bridge {
    /// Starts it, and opens a session.
    fn start(&self, world: &World) -> Outcome<Client> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(&world.home).env_clear();
        command.env("HOME", &world.home).env("LANG", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("PI_OFFLINE", "1").env("PI_SKIP_VERSION_CHECK", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Client::start(&mut command, &world.project)
    }

    fn measure(&self, world: &World) -> Outcome<Measured> {
        // The first start fills caches.
        self.start(world)?;
        let mut starts = Vec::new();
        for _ in 0..RUNS {
            let since = Instant::now();
            self.start(world)?;
            starts.push(since.elapsed().as_secs_f64());
        }
        let mut client = self.start(world)?;
        client.prompt("warm up")?;
        let (memory, claims) = (client.memory(), client.claims());
        let mut first = Vec::new();
        for number in 0..RUNS * 4 {
            let seen = client.prompt(&format!("question {number}"))?;
            first.push(seen.first_chunk.ok_or("no piece of an answer")?.as_secs_f64());
        }
        drop(client);
        let (mut rounds, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let outcomes = self.converse(world)?;
            rounds.push(outcomes.iter().map(|(_, seconds)| *seconds).collect());
            seen = outcomes.into_iter().map(|(outcome, _)| outcome).collect();
        }
        Ok(Measured {
            name: self.name,
            start: median(starts),
            first_chunk: median(first),
            rounds,
            memory,
            seen,
            claims,
            hard: self.hard_cases(world),
        })
    }

    /// All conversations, each in a session of its own, by one process; how they went, and how many seconds they took.
    fn converse(&self, world: &World) -> Outcome<Vec<(Case, f64)>> {
        let mut client = self.start(world)?;
        client.limit = CONVERSATION_LIMIT;
        let mut outcomes = Vec::new();
        for conversation in &CONVERSATIONS {
            fs::write(world.project.join("notes.txt"), "one\n").map_err(text)?;
            let _ = fs::remove_file(world.project.join("new.txt"));
            let since = Instant::now();
            client.new_session()?;
            let seen = (conversation.play)(&mut client);
            let seconds = since.elapsed().as_secs_f64();
            if std::env::var_os("SHOW").is_some()
                && let Ok(seen) = &seen
            {
                eprintln!("{}: {} {:?} {:#?}", conversation.name, seen.end, seen.requests, seen.updates);
            }
            let holds = seen.map(|seen: Seen| (conversation.holds)(&seen));
            outcomes.push(((conversation.name, holds), seconds));
        }
        Ok(outcomes)
    }

    /// Long lines, cancels at each moment, and a client that vanishes; each with a process of its own.
    fn hard_cases(&self, world: &World) -> Vec<Case> {
        let long_prompt = |client: &mut Client| -> Outcome<bool> {
            let seen = client.prompt(&format!("length {}", "x".repeat(LONG)))?;
            Ok(seen.text() == model::END)
        };
        let long_answer =
            |client: &mut Client| -> Outcome<bool> { Ok(client.prompt("long")?.text().len() == LONG) };
        let mut outcomes = vec![
            ("a prompt of 5 MB", self.start(world).and_then(|mut client| long_prompt(&mut client))),
            ("an answer of 5 MB", self.start(world).and_then(|mut client| long_answer(&mut client))),
        ];
        for (name, prompt, sign) in [
            ("cancel before the answer", "silent", None),
            ("cancel in the answer", "endless", Some("agent_message_chunk")),
            ("cancel in a tool", "sleep", Some("in_progress")),
            ("cancel while a retry is awaited", "busy", None),
            ("cancel in a dialog", "ask", Some("session/request_permission")),
        ] {
            let cancelled = self.start(world).and_then(|mut client| {
                let end = client.cancel(prompt, sign)?;
                let next = client.prompt("go on")?;
                Ok(end == "cancelled" && next.text() == model::END)
            });
            outcomes.push((name, cancelled));
        }
        let vanished = self.start(world).and_then(|mut client| {
            client.begin(serde_json::json!([{ "type": "text", "text": "sleep" }]))?;
            client.wait_for("in_progress")?;
            Ok(client.vanish(VANISHED_WITHIN))
        });
        outcomes.push(("a client that vanishes in a tool: all processes end", vanished));
        outcomes
    }
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The text of an error.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
