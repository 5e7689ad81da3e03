//! A host that says more than can be done: what goes beyond a limit is refused with its name, and all the rest is done.

use crate::serve_support::{Server, bash_turns, binary, command, of_type};
use pi_rpc::{
    engine::limits::Limits,
    protocol::{
        Dialect::{Pi, Pi1, Xcsh},
        FRAME_LIMIT,
    },
    server::MAX_PENDING_BYTES,
    tools::OUTPUT_FILES_LIMIT,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

#[test]
fn documented_limits_match_the_defaults() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/limits.md");
    let document = fs::read_to_string(document).unwrap();
    let usual = Limits::default();
    let bytes = |bytes: usize| match bytes >> 30 {
        0 => format!("{} MiB", bytes >> 20),
        gibibytes => format!("{gibibytes} GiB"),
    };
    for (option, limit) in [
        ("--max-frame", bytes(FRAME_LIMIT)),
        ("--max-queue", bytes(usual.queue)),
        ("--max-unread", bytes(MAX_PENDING_BYTES)),
        ("--max-session", bytes(usual.session)),
        ("--max-bash", usual.shells.to_string()),
        ("--max-output-files", bytes(OUTPUT_FILES_LIMIT as usize)),
    ] {
        let cells = format!("| {limit} | `{option}` |");
        assert!(document.contains(&cells), "{cells}");
        let help = Command::new(binary()).args(["serve", "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let told = help.split(option).nth(1).and_then(|rest| rest.split(")\n").next()).unwrap();
        assert!(told.ends_with(&limit), "{option}: {told}");
    }
}

/// What the bash tool runs until the file `go` is there.
const WAITS: &str = "touch begun; until [ -e go ]; do sleep 0.01; done";

#[track_caller]
fn assert_refused(answer: &Value, text: &str) {
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!(text)), "{answer}");
}

fn texts(frames: &[Value]) -> Vec<String> {
    let starts =
        of_type(frames, "message_start").into_iter().filter(|frame| frame["message"]["role"] == "user");
    starts.map(|frame| frame["message"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn messages_beyond_queue_limit_are_refused() {
    for dialect in [Pi, Pi1] {
        let script = json!({ "turns": bash_turns(WAITS) });
        let mut server = Server::script_with(dialect, script, &["--max-queue", "2000"]);
        server.send(json!({ "type": "prompt", "message": "first" }));
        server.awaits("begun");
        let said: Vec<String> = ["a", "b", "c", "d"].map(|letter| letter.repeat(700)).into();
        let full = "Too much waits for its turn already: the limit is 2000 bytes (--max-queue). Send it again when less waits.";
        for (at, text) in said.iter().enumerate() {
            let steer = json!({ "type": "steer", "message": text });
            let follow_up = json!({ "type": "prompt", "message": text, "streamingBehavior": "followUp" });
            let answer = server.ask("q", if at == 1 { follow_up.clone() } else { steer });
            match at {
                3 => {
                    assert_refused(&answer, full);
                    assert_refused(&server.ask("q", follow_up), full);
                    let bash = json!({ "type": "bash", "command": "echo" });
                    assert_refused(&server.ask("q", bash), full);
                }
                _ => assert_eq!(answer["success"], true, "{answer}"),
            }
        }
        fs::write(server.path("go"), "").unwrap();
        let mut frames = Vec::new();
        while texts(&frames).len() < 3 {
            frames.push(server.next());
        }
        let mut delivered = texts(&frames);
        delivered.sort();
        assert_eq!(delivered, said[..3]);
        server.until_type(if dialect == Pi { "agent_end" } else { "agent_settled" });
        // There is room again.
        assert_eq!(server.ask("q", json!({ "type": "follow_up", "message": said[3] }))["success"], true);
        server.close_stdin();
        assert_eq!(server.ends().stderr, "");
    }
}

#[test]
fn bash_commands_beyond_limit_are_refused() {
    let mut server = Server::with(Pi, &["--max-bash", "2"]);
    for id in ["1", "2"] {
        server.send(json!({ "id": id, "type": "bash", "command": format!("touch begun{id}; {WAITS}") }));
        server.awaits(&format!("begun{id}"));
    }
    let third = json!({ "type": "bash", "command": "echo third" });
    let text = "2 shell commands run already, the limit (--max-bash). Send it again when one has ended.";
    assert_refused(&server.ask("3", third.clone()), text);
    fs::write(server.path("go"), "").unwrap();
    for _ in 0..2 {
        let ended = server.next();
        assert_eq!((&ended["command"], &ended["success"]), (&json!("bash"), &json!(true)), "{ended}");
    }
    assert_eq!(server.ask("3", third)["data"]["output"], "third\n");
    server.finishes();
}

#[test]
fn session_beyond_limit_refuses_further_entries() {
    let dir = tempfile::tempdir().unwrap();
    let turns = json!([{ "repeat": true, "say": [{ "text": "yes" }] }]);
    let options = ["--max-session", "3000", "--session-dir", "talks"];
    let mut server = Server::script_in(Pi, dir, turns, &options);
    let long = json!({ "type": "prompt", "message": "x".repeat(3000) });
    assert_eq!(server.ask("1", long.clone())["success"], true);
    server.until_type("agent_end");
    let file = server.data(json!({ "type": "get_state" }))["sessionFile"].clone();
    let text = "The session is larger than 3000 bytes (--max-session). Begin another one with new_session.";
    for kind in ["prompt", "steer", "follow_up"] {
        assert_refused(&server.ask("2", json!({ "type": kind, "message": "x" })), text);
    }
    assert_refused(&server.ask("2", json!({ "type": "bash", "command": "echo" })), text);
    assert_eq!(server.ask("3", json!({ "type": "get_messages" }))["success"], true);
    assert_eq!(server.ask("4", json!({ "type": "new_session" }))["success"], true);
    assert_eq!(server.run("short").last().unwrap()["type"], "agent_end");
    // The long one is not opened again, and is as it was.
    let path = file.as_str().unwrap();
    let bytes = fs::metadata(path).unwrap().len();
    let too_long = format!("Session file has {bytes} bytes, the limit is 3000 (--max-session): {path}");
    let answer = server.ask("5", json!({ "type": "switch_session", "sessionPath": path }));
    assert_refused(&answer, &too_long);
    let dir = server.finishes();
    let mut again = command(binary(), dir.path());
    again.args(["serve", "--model", "scripted/demo", "--max-session", "3000", "--session", path]);
    let ended = again.stdin(Stdio::null()).output().unwrap();
    assert_eq!(
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr)),
        (Some(1), format!("Error: {too_long}\n").into())
    );
    assert_eq!(fs::metadata(path).unwrap().len(), bytes);
}

#[test]
fn waiting_commands_beyond_limit_stay_unread() {
    const LINES: usize = 3000;
    let mut server = Server::with(Xcsh, &["--max-queue", "100000"]);
    server.send(json!({ "id": "b", "type": "bash", "command": WAITS }));
    server.awaits("begun");
    // Where commands are served one by one, these wait for the one that runs.
    let filler = "x".repeat(900);
    let line =
        format!("{}\n", json!({ "id": "s", "type": "set_auto_retry", "enabled": true, "filler": filler }));
    let sending = server.send_aside(line.repeat(LINES).into_bytes());
    server.stands_still();
    assert!(!sending.is_finished(), "all of it was read");
    assert!(server.peak_mib() < 100, "{} MiB", server.peak_mib());
    fs::write(server.path("go"), "").unwrap();
    assert_eq!(server.next()["command"], "bash");
    for _ in 0..LINES {
        assert_eq!(server.next()["command"], "set_auto_retry");
    }
    server.sent(sending);
    server.finishes();
}

#[test]
fn unread_output_beyond_limit_stops_reading_commands() {
    const LINES: usize = 3000;
    let mut server = Server::with(Pi, &["--max-unread", "100000"]);
    let line = format!("{}\n", json!({ "id": "s", "type": "get_state", "filler": "x".repeat(900) }));
    let sending = server.send_aside(line.repeat(LINES).into_bytes());
    server.stands_still();
    assert!(!sending.is_finished(), "all of it was read");
    for _ in 0..LINES {
        assert_eq!(server.next()["command"], "get_state");
    }
    server.sent(sending);
    server.finishes();
}
