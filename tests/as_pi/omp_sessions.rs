//! Session files that omp 18.2.3 and this server read from each other.
//!
//! Without npm nothing is tested, with a note on stderr; `PI_RPC_REQUIRE_PEERS=1` makes that a failure.

use crate::peer_support::{self, Agent, Kind, Session, lenient_vendor};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::OnceLock};

/// The published omp.
fn omp() -> Option<Kind> {
    static COMMAND: OnceLock<Option<[PathBuf; 2]>> = OnceLock::new();
    COMMAND.get_or_init(peer_support::omp).as_ref().map(|words| Kind::Pi(words))
}

/// A conversation with text, thinking, tools, a shell command, a name and another model.
#[track_caller]
fn write(agent: &mut Agent) -> Session {
    agent.run("think");
    agent.ask(json!({ "type": "set_session_name", "name": "One of everything" }));
    agent.run("work");
    agent.ask(json!({ "type": "bash", "command": "echo a line; exit 2" }));
    agent.ask(json!({ "type": "set_model", "provider": "second", "modelId": "model" }));
    agent.ask(json!({ "type": "set_thinking_level", "level": "low" }));
    agent.run("again");
    Session::of(agent)
}

/// The messages, without the `errorId` 0 that omp adds to good ones in memory.
fn compared(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        if let Value::Object(members) = message
            && members.get("errorId").and_then(Value::as_f64) == Some(0.0)
        {
            members.shift_remove("errorId");
        }
    }
    messages
}

/// Opens a session of another, checks that all of it is there, and goes on with it.
#[track_caller]
fn assert_opens(reader: &mut Agent, session: &Session) {
    reader.switch(&session.file);
    let state = reader.state();
    for key in ["sessionName", "sessionId", "thinkingLevel", "messageCount"] {
        assert_eq!(state[key], session.state[key], "{key}: read by {:?}", reader.kind);
    }
    assert_eq!(state["model"]["provider"], "second", "read by {:?}", reader.kind);
    assert_eq!(compared(&reader.messages()), compared(&session.messages), "read by {:?}", reader.kind);
    reader.run("after");
    assert_eq!(reader.messages().len(), session.messages.len() + 2, "read by {:?}", reader.kind);
}

/// Opens a session of its own again, in which another has had one more run.
#[track_caller]
fn assert_opens_again(writer: &mut Agent, session: &Session) {
    writer.switch(&session.file);
    let messages = writer.messages();
    assert_eq!(compared(&messages[..session.messages.len()]), compared(&session.messages));
    assert_eq!(messages.len(), session.messages.len() + 2);
}

#[test]
fn omp_and_server_open_each_others_sessions() {
    let Some(kind) = omp() else { return };
    let vendor = lenient_vendor();
    let project = tempfile::tempdir().unwrap();
    let start = |kind| Agent::start_in_omp(project.path(), kind, vendor.address);
    let (mut omp, mut ours) = (start(kind), start(Kind::Ours));
    let [by_omp, by_us] = [write(&mut omp), write(&mut ours)];
    for agent in [&mut omp, &mut ours] {
        agent.ask(json!({ "type": "new_session" }));
    }
    assert_opens(&mut ours, &by_omp);
    assert_opens_again(&mut omp, &by_omp);
    assert_opens(&mut omp, &by_us);
    assert_opens_again(&mut ours, &by_us);
    omp.ends();
    ours.ends();
}
