//! Servers in each state that a fault can meet them in, and what has to be left of them: nothing but a whole file.

use crate::{
    kept_support::{FOLDER, files, violations},
    serve_support::{Server, bash_turns, binary, command, write_agent_file},
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};
use tempfile::TempDir;

pub const DIALECTS: [Dialect; 3] = [Pi, Pi1, Xcsh];

/// A tree of processes that does not listen to TERM.
pub const STUCK: &str =
    "trap '' TERM; sleep 1000 & (trap '' TERM HUP; sleep 1000 & wait) & touch begun; wait; sleep 1000";

/// What a server does when something happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Idle,
    /// A model has said the half of it.
    Streaming,
    /// A tool of the model runs, with children that do not listen to TERM.
    Tool,
    /// A command of the host runs, likewise.
    Bash,
    /// A conversation is summed up.
    Compacting,
    /// It waits before it asks the model again.
    Retrying,
    /// A dialog is open.
    Dialog,
    /// An extension has yet to register, and does not listen to TERM.
    Loading,
    /// It has more to say than a pipe holds, and the host does not read.
    Unread,
}

impl State {
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::Streaming,
        Self::Tool,
        Self::Bash,
        Self::Compacting,
        Self::Retrying,
        Self::Dialog,
        Self::Loading,
        Self::Unread,
    ];

    /// The states in which something goes on.
    pub fn busy() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|state| *state != Self::Idle)
    }

    /// A server in this state, whose host has read everything so far unless it reads nothing.
    pub fn server(self, dialect: Dialect) -> Server {
        let dir = place(&self.turns());
        let waits = json!({ "retry": { "baseDelayMs": 600_000, "maxDelayMs": 600_000 } });
        write_agent_file(dir.path(), dialect, "settings.json", &waits);
        let options: &[&str] = match self {
            Self::Dialog => &["--confirm-tools", "bash"],
            Self::Loading => &["-e", "./silent"],
            _ => &[],
        };
        if self == Self::Loading {
            let path = dir.path().join("silent");
            fs::write(&path, "#!/bin/sh\ntrap '' TERM\ntouch begun\nsleep 1000 & wait\nsleep 1000\n")
                .unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut server = start(dialect, dir, options);
        if self != Self::Loading {
            greeted(&mut server);
        }
        self.reach(&mut server);
        server
    }

    fn turns(self) -> Value {
        let answers = json!({ "repeat": true, "say": [{ "text": "An answer." }] });
        match self {
            Self::Streaming => json!([{ "repeat": true, "hang": true, "say": [{ "text": "Half" }] }]),
            // It prints more than is shown, which goes to a file.
            Self::Tool | Self::Dialog => bash_turns(&format!("seq 30000; {STUCK}")),
            Self::Compacting => json!([{ "summary": true, "hang": true }, answers]),
            Self::Retrying => json!([{ "repeat": true, "fail": { "status": 529 } }]),
            Self::Unread => json!([{ "hang": true, "say": [{ "deltas": 2000, "size": 20 }] }]),
            Self::Idle | Self::Bash | Self::Loading => json!([answers]),
        }
    }

    fn reach(self, server: &mut Server) {
        let prompt = |message: &str| json!({ "type": "prompt", "message": message });
        match self {
            Self::Idle => drop(server.data(json!({ "type": "get_state" }))),
            Self::Streaming => {
                server.send(prompt("Why?"));
                server.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
            }
            Self::Tool => {
                server.send(prompt("Why?"));
                server.until_type("tool_execution_start");
                server.awaits("begun");
            }
            Self::Bash => {
                server.send(json!({ "id": "bash", "type": "bash", "command": STUCK }));
                server.awaits("begun");
            }
            Self::Compacting => {
                // More than a compaction keeps.
                for _ in 0..2 {
                    server.send(prompt(&("words ".repeat(16_000) + "?")));
                    server.until_type(last(server.dialect));
                }
                server.send(json!({ "id": "compact", "type": "compact" }));
                // It is asked behind the other, and answered beside it.
                match server.dialect {
                    Xcsh => server.stands_still(),
                    _ => drop(server.data(json!({ "type": "get_state" }))),
                }
            }
            Self::Retrying => {
                server.send(prompt("Why?"));
                server.until_type("auto_retry_start");
            }
            Self::Dialog => {
                server.send(prompt("Why?"));
                server.until_type("extension_ui_request");
            }
            Self::Loading => server.awaits("begun"),
            Self::Unread => {
                server.send(prompt("Why?"));
                server.send(json!({ "id": "bash", "type": "bash", "command": STUCK }));
                server.awaits("begun");
                server.stands_still();
            }
        }
    }
}

/// The event that ends what a prompt has started.
pub fn last(dialect: Dialect) -> &'static str {
    if dialect == Pi1 { "agent_settled" } else { "agent_end" }
}

/// A directory with a script of these `turns`, and a folder for temporary files alone.
pub fn place(turns: &Value) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let script = json!({ "model": { "contextWindow": 100_000_000 }, "turns": turns });
    fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
    fs::create_dir(dir.path().join("tmp")).unwrap();
    dir
}

/// Starts a server in a [`place`], which keeps its sessions there.
pub fn start(dialect: Dialect, dir: TempDir, options: &[&str]) -> Server {
    let mut command = command(binary(), dir.path());
    command.env("TMPDIR", dir.path().join("tmp")).args(["serve", "--model", "scripted/script.json"]);
    command.args(["--session-dir", FOLDER, "--dialect", dialect.as_str()]).args(options);
    Server::start(dialect, dir, command)
}

/// Reads the greeting, where there is one.
pub fn greeted(server: &mut Server) {
    if server.dialect == Xcsh {
        assert_eq!(server.next()["type"], "ready");
    }
}

/// A server with a script of these turns, which has greeted.
pub fn serving(dialect: Dialect, turns: &Value, options: &[&str]) -> Server {
    let mut server = start(dialect, place(turns), options);
    greeted(&mut server);
    server
}

/// A prompt and what it leads to, up to and with the last event of that.
#[track_caller]
pub fn run(server: &mut Server, message: &str) -> Vec<Value> {
    server.send(json!({ "type": "prompt", "message": message }));
    server.until_type(last(server.dialect))
}

/// What a server may leave in its [`place`]: session files that are whole, and files with the output of commands, each of
/// which the host was told of, in `frames` or in the session.
#[track_caller]
pub fn assert_tidy(dir: &Path, frames: &[Value], what: &str) {
    let mut told = json!(frames).to_string();
    assert_whole(dir, what);
    for file in files(dir) {
        told += &fs::read_to_string(file).unwrap();
    }
    let untold: Vec<String> = temporary(dir).into_iter().filter(|name| !told.contains(name)).collect();
    assert_eq!(untold, Vec::<String>::new(), "{what}");
}

/// The session files are whole, and nothing is beside them.
#[track_caller]
pub fn assert_whole(dir: &Path, what: &str) {
    for file in files(dir) {
        assert_eq!(violations(&fs::read(&file).unwrap()), Vec::<String>::new(), "{what}: {}", file.display());
    }
    let kept = fs::read_dir(dir.join(FOLDER)).into_iter().flatten().flatten();
    let beside: Vec<_> =
        kept.filter(|file| !file.file_name().as_encoded_bytes().ends_with(b".jsonl")).collect();
    assert!(beside.is_empty(), "{what}: {beside:?}");
}

/// The names of the temporary files in a [`place`].
pub fn temporary(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The descriptors that a server has open.
pub fn descriptors(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count()
}
