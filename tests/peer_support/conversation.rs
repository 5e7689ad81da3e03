//! A conversation with every kind of entry that a session file can have.

use super::{Agent, Kind};
use crate::serve_support::FakeVendor;
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// Session files of a program.
pub struct Written {
    /// Writer of the files.
    pub kind: Kind,
    /// The sessions, in the order in which they were left.
    pub sessions: Vec<Session>,
    /// Home with the files, removed with this value.
    _home: TempDir,
}

/// A session as its writer left it.
pub struct Session {
    pub file: PathBuf,
    pub messages: Vec<Value>,
    pub state: Value,
}

impl Session {
    #[track_caller]
    pub fn of(agent: &mut Agent) -> Self {
        Self { file: agent.file(), messages: agent.messages(), state: agent.state() }
    }
}

/// The vendor of all models.
pub fn vendor() -> FakeVendor {
    FakeVendor::plays(&script())
}

/// The same for omp, whose requests use a beta that the vendor does not know.
pub fn lenient_vendor() -> FakeVendor {
    FakeVendor::plays_leniently(&script())
}

fn script() -> Value {
    let call = |command: &str| json!({ "tool": "bash", "arguments": { "command": command } });
    json!({ "turns": [
        { "match": "think", "repeat": true, "say": [
            { "thinking": "Let me see.", "signature": "c2ln" }, { "text": "I have seen: Grüße 🎈\u{2028}." },
        ] },
        { "match": "work", "onResult": "", "repeat": true, "say": [{ "text": "Done." }] },
        { "match": "work", "repeat": true, "say": [
            { "text": "Two things." }, call("echo one; exit 3"), call("echo two"),
        ] },
        { "match": "wait", "repeat": true, "hang": true },
        { "match": "fail", "repeat": true, "fail": { "status": 400, "message": "No" } },
        { "repeat": true, "say": [{ "text": "Yes." }], "usage": { "input": 9, "output": 2, "cacheRead": 5 } },
    ] })
}

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Plays a conversation with every kind of entry, then a fork, and ends the agent.
#[track_caller]
pub fn conversation(mut agent: Agent) -> Written {
    let kind = agent.kind;
    agent.run("think");
    agent.ask(json!({ "type": "set_session_name", "name": "One of everything" }));
    agent.run("work");
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    agent.run_with(json!({ "message": "look", "images": [image] }));
    agent.ask(json!({ "type": "bash", "command": "echo a line; exit 2" }));
    agent.run("fail");
    agent.ask(json!({ "type": "set_model", "provider": "second", "modelId": "model" }));
    agent.ask(json!({ "type": "set_thinking_level", "level": "high" }));
    agent.run("think again");
    agent.prompt("wait");
    agent.until(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "user");
    agent.ask(json!({ "type": "abort" }));
    agent.run("work again");
    agent.ask(json!({ "type": "compact" }));
    agent.run("after");
    let mut sessions = vec![Session::of(&mut agent)];

    sessions.push(fork(&mut agent));
    Written { kind, sessions, _home: agent.ends() }
}

/// Forks at the prompt `work again`, and has a run there.
#[track_caller]
pub fn fork(agent: &mut Agent) -> Session {
    let mut forks = agent.ask(json!({ "type": "get_fork_messages" }));
    let Value::Array(forks) = forks["messages"].take() else { panic!("no messages to fork at") };
    let at = forks.iter().find(|message| message["text"] == "work again").expect("the prompt");
    let fork = agent.ask(json!({ "type": "fork", "entryId": at["entryId"] }));
    assert_eq!(
        (&fork["text"], &fork["cancelled"]),
        (&json!("work again"), &json!(false)),
        "{:?}",
        agent.kind
    );
    agent.run("instead");
    Session::of(agent)
}
