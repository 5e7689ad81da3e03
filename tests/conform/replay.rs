//! `pi-rpc replay`: a recording as a server.

use crate::serve_support::{BOTH, Server, bash_turns, binary, command};
use pi_rpc::{
    oracle::replay::{Action, HostInput, RecordedProcess, RecordedProcessError, Replay},
    protocol::Dialect::{self, Pi, Xcsh},
};
use serde_json::{Value, json};
use std::{fs, io::Write as _, process::Stdio};

/// A recording of these records: direction and frame, the time counting up by ten milliseconds.
fn recording(records: &[(&str, Value)]) -> String {
    let line = |(at, (dir, frame)): (usize, &(&str, Value))| match frame.as_str() {
        Some(raw) => format!("{}\n", json!({"t": at * 10, "dir": dir, "raw": raw})),
        None => format!("{}\n", json!({"t": at * 10, "dir": dir, "frame": frame})),
    };
    records.iter().enumerate().map(line).collect()
}

/// The host does nothing for a while.
const PAUSE: &str = "(a pause)";

/// What is said and done when the host sends `host` and ends its input: a line of the host stands before what it leads to.
fn played(recording: &str, host: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut replay = Replay::new(RecordedProcess::read(recording, 1).unwrap(), Pi);
    let (mut told, mut host) = (Vec::new(), host.iter());
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap().trim_end_matches('\n').to_owned();
    loop {
        match replay.advance() {
            Action::Write { line, .. } => told.push(text(&line)),
            Action::WriteStderr(line) => told.push(format!("stderr {}", text(&line))),
            Action::Exit(status) => {
                told.push(format!("exit {status}"));
                return (told, replay.remarks());
            }
            Action::Wait => {
                let line = host.next();
                told.push(line.map_or("> end".to_owned(), |line| format!("> {line}")));
                let heard = line.map_or(HostInput::End, |line| match *line {
                    PAUSE => HostInput::Pause,
                    line => HostInput::Line(line.as_bytes()),
                });
                told.extend(replay.handle(&heard).map(|line| text(&line)));
            }
        }
    }
}

fn request(id: &str, kind: &str) -> (&'static str, Value) {
    ("in", json!({"id": id, "type": kind}))
}

fn response(id: &str, kind: &str) -> (&'static str, Value) {
    ("out", json!({"id": id, "type": "response", "command": kind, "success": true}))
}

fn event(kind: &str) -> (&'static str, Value) {
    ("out", json!({"type": kind}))
}

fn meta(frame: Value) -> (&'static str, Value) {
    ("meta", frame)
}

#[test]
fn responses_carry_ids_of_current_commands() {
    let recording = recording(&[
        request("r1", "abort"),
        ("in", json!({"type": "abort_bash"})),
        response("r1", "abort"),
        ("out", json!({"type": "response", "command": "abort_bash", "success": true})),
        ("in", json!({"id": "r3", "type": "abort_retry"})),
        response("r3", "abort_retry"),
    ]);
    let host =
        [r#"{"type":"abort","id":7}"#, r#"{"id":"b","type":"abort_bash"}"#, r#"{"type":"abort_retry"}"#];
    let (told, remarks) = played(&recording, &host);
    let expected = [
        r#"> {"type":"abort","id":7}"#,
        r#"> {"id":"b","type":"abort_bash"}"#,
        r#"{"id":7,"type":"response","command":"abort","success":true}"#,
        r#"{"id":"b","type":"response","command":"abort_bash","success":true}"#,
        r#"> {"type":"abort_retry"}"#,
        r#"{"type":"response","command":"abort_retry","success":true}"#,
        "> end",
        "exit 0",
    ];
    assert_eq!((told, remarks), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn response_numbers_keep_their_recorded_notation() {
    let text = "{\"t\":0,\"dir\":\"in\",\"frame\":{\"type\":\"get_state\",\"id\":\"1\"}}\n\
                {\"t\":1,\"dir\":\"out\",\"frame\":{\"type\":\"response\", \"id\":\"1\",\"data\":{\"a\":1e2,\"b\":0.1000,\"c\":\"\\u0061\"},\"command\":\"get_state\"}}\n";
    let (told, _) = played(text, &[r#"{"type":"get_state","id":"x"}"#]);
    let said =
        r#"{"type":"response","id":"x","data":{"a":1e2,"b":0.1000,"c":"\u0061"},"command":"get_state"}"#;
    assert_eq!(told[1], said);
}

#[test]
fn frame_waits_for_all_earlier_input() {
    let recording = recording(&[
        request("1", "abort"),
        request("2", "get_state"),
        response("2", "get_state"),
        event("agent_start"),
        response("1", "abort"),
    ]);
    let (told, remarks) = played(&recording, &[r#"{"type":"get_state"}"#, r#"{"type":"abort"}"#]);
    let expected = [
        r#"> {"type":"get_state"}"#,
        r#"> {"type":"abort"}"#,
        r#"{"type":"response","command":"get_state","success":true}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"response","command":"abort","success":true}"#,
        "> end",
        "exit 0",
    ];
    assert_eq!((told, remarks), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn equal_commands_are_answered_in_order() {
    let recording = recording(&[
        request("1", "get_state"),
        ("out", json!({"id": "1", "type": "response", "command": "get_state", "data": 1})),
        request("2", "get_state"),
        ("out", json!({"id": "2", "type": "response", "command": "get_state", "data": 2})),
    ]);
    let (told, _) =
        played(&recording, &[r#"{"type":"get_state","id":"2"}"#, r#"{"type":"get_state","id":"1"}"#]);
    assert_eq!(told[1], r#"{"id":"2","type":"response","command":"get_state","data":1}"#);
    assert_eq!(told[3], r#"{"id":"1","type":"response","command":"get_state","data":2}"#);
}

#[test]
fn unrecorded_command_is_refused_and_reported() {
    let recording = recording(&[
        ("in", json!({"id": "1", "type": "prompt", "message": "one"})),
        response("1", "prompt"),
        (
            "out",
            json!({"type": "extension_ui_request", "id": "d1", "method": "confirm", "title": "", "message": ""}),
        ),
        ("in", json!({"type": "extension_ui_response", "id": "d1", "confirmed": true})),
        event("agent_start"),
    ]);
    let host = [
        r#"{"id":"a","type":"prompt","message":"two"}"#,
        r#"{"id":"b","type":"prompt","message":"one","images":null,"timestamp":5}"#,
        r#"{"type":"extension_ui_response","id":"d2","confirmed":true}"#,
        "nonsense",
    ];
    let (told, remarks) = played(&recording, &host);
    let expected = [
        r#"> {"id":"a","type":"prompt","message":"two"}"#,
        r#"{"id":"a","type":"response","command":"prompt","success":false,"error":"unexpected prompt: the recording has no such command here"}"#,
        r#"> {"id":"b","type":"prompt","message":"one","images":null,"timestamp":5}"#,
        r#"{"id":"b","type":"response","command":"prompt","success":true}"#,
        r#"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"","message":""}"#,
        r#"> {"type":"extension_ui_response","id":"d2","confirmed":true}"#,
        "> nonsense",
        r#"{"type":"response","command":"parse","success":false,"error":"Failed to parse command: expected ident at column 2"}"#,
        "> end",
        "exit 0",
    ];
    assert_eq!(told, expected);
    let expected = [
        r#"unexpected: {"id":"a","type":"prompt","message":"two"}"#,
        r#"unexpected: {"type":"extension_ui_response","id":"d2","confirmed":true}"#,
        "unexpected: nonsense",
        r#"record 4 never came: {"confirmed":true,"id":"d1","type":"extension_ui_response"}"#,
    ];
    assert_eq!(remarks[..3], expected[..3]);
    assert!(remarks[3].starts_with("record 4 never came: "), "{remarks:?}");
}

/// A conversation with two prompts, each with its run, and reads between.
fn two_prompts() -> String {
    let run = |id: &'static str| {
        let prompt = json!({"id": id, "type": "prompt", "message": id});
        let end = json!({"type": "agent_end", "messages": [{"role": "user", "content": id}]});
        [("in", prompt), response(id, "prompt"), event("agent_start"), ("out", end)]
    };
    let first = [request("1", "get_state"), response("1", "get_state")];
    let between = [request("3", "get_messages"), response("3", "get_messages")];
    recording(&[first.to_vec(), run("2").to_vec(), between.to_vec(), run("4").to_vec()].concat())
}

#[test]
fn host_may_leave_requests_out() {
    let prompt = r#"{"id":"x","type":"prompt","message":"4"}"#;
    let (told, remarks) = played(&two_prompts(), &[prompt, PAUSE]);
    let expected = [
        &*format!("> {prompt}"),
        "> (a pause)",
        r#"{"id":"x","type":"response","command":"prompt","success":true}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"agent_end","messages":[{"role":"user","content":"4"}]}"#,
        "> end",
        "exit 0",
    ];
    assert_eq!(told, expected);
    assert_eq!(remarks.len(), 3, "{remarks:?}");
}

#[test]
fn end_of_input_answers_received_commands() {
    let prompt = r#"{"type":"prompt","message":"2"}"#;
    let (told, _) = played(&two_prompts(), &[prompt]);
    let expected = [
        &*format!("> {prompt}"),
        "> end",
        r#"{"type":"response","command":"prompt","success":true}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"agent_end","messages":[{"role":"user","content":"2"}]}"#,
        "exit 0",
    ];
    assert_eq!(told, expected);
}

#[test]
fn skipped_command_is_answered_late() {
    let host = [r#"{"type":"get_messages"}"#, PAUSE, r#"{"id":"s","type":"get_state"}"#];
    let (told, _) = played(&two_prompts(), &host);
    assert_eq!(told[2], r#"{"type":"response","command":"get_messages","success":true}"#);
    assert_eq!(told[4], r#"{"id":"s","type":"response","command":"get_state","success":true}"#);
}

#[test]
fn recording_cut_within_line_is_played() {
    let cut = two_prompts();
    let (told, _) = played(&cut[..cut.len() - 9], &[r#"{"type":"get_state"}"#]);
    assert_eq!(told[1], r#"{"type":"response","command":"get_state","success":true}"#);
    assert!(RecordedProcess::read(&format!("{}\n{cut}", &cut[..cut.len() - 9]), 1).is_err());
}

#[test]
fn invalid_json_is_matched_by_its_bytes() {
    let error = json!({"type": "response", "command": "parse", "success": false, "error": "no"});
    let recording = recording(&[("in", json!("{b")), ("in", json!("ad\n")), ("out", error.clone())]);
    let (told, remarks) = played(&recording, &["{bad"]);
    assert_eq!((told[1].as_str(), remarks.len()), (error.to_string().as_str(), 0));
}

#[test]
fn end_of_input_plays_what_followed() {
    let records = [
        request("1", "abort"),
        response("1", "abort"),
        request("2", "get_state"),
        response("2", "get_state"),
        meta(json!({"event": "stdin closed"})),
        event("agent_end"),
        ("err", json!("a warning")),
        meta(json!({"event": "exit", "code": 3})),
    ];
    let abort = r#"{"type":"abort"}"#;
    let (told, remarks) = played(&recording(&records), &[abort]);
    let answer = r#"{"type":"response","command":"abort","success":true}"#;
    let ending = [r#"{"type":"agent_end"}"#, "stderr a warning", "exit 3"];
    assert_eq!(told[..3], ["> {\"type\":\"abort\"}", answer, "> end"]);
    assert_eq!(told[3..], ending);
    assert_eq!(remarks.len(), 1);
}

#[test]
fn recorded_exit_is_repeated() {
    for (code, status) in [(json!(7), 7), (json!(-9), 137), (Value::Null, 0)] {
        let records =
            [request("1", "abort"), response("1", "abort"), meta(json!({"event": "exit", "code": code}))];
        let (told, _) = played(&recording(&records), &[r#"{"type":"abort"}"#]);
        assert_eq!(told[2], format!("exit {status}"));
    }
}

#[test]
fn strings_that_were_shortened_are_not_compared() {
    let text = "{\"t\":0,\"dir\":\"in\",\"frame\":{\"type\":\"prompt\",\"message\":\"xx…\"},\"cut\":true}\n\
                {\"t\":1,\"dir\":\"out\",\"frame\":{\"type\":\"agent_start\"}}\n";
    assert!(RecordedProcess::read(text, 1).unwrap().cut);
    let (told, _) = played(text, &[r#"{"type":"prompt","message":"xxxxxxxxx"}"#]);
    assert_eq!(told[1], r#"{"type":"agent_start"}"#);
}

#[test]
fn each_process_of_recording_is_playable() {
    let spawn = |dialect: &str| meta(json!({"event": "spawn", "dialect": dialect}));
    let text = recording(&[spawn("pi"), event("agent_start"), spawn("xcsh"), event("turn_start")]);
    let said = |process| {
        let part = RecordedProcess::read(&text, process).unwrap();
        let dialect = part.dialect;
        let mut replay = Replay::new(part, Pi);
        (dialect, replay.advance())
    };
    let line = |line: &str| Action::Write { line: format!("{line}\n").into_bytes(), after: 0.0 };
    assert_eq!(said(1), (Some(Pi), line(r#"{"type":"agent_start"}"#)));
    assert_eq!(said(2), (Some(Xcsh), line(r#"{"type":"turn_start"}"#)));
    for process in [0, 3] {
        let missing = RecordedProcess::read(&text, process).unwrap_err();
        assert!(matches!(missing, RecordedProcessError::NoProcess { found: 2, .. }), "{missing}");
    }
    let bad = RecordedProcess::read("{}\n", 1).unwrap_err().to_string();
    assert_eq!(bad, "line 1: not a record: missing field `dir` at line 1 column 2");
}

/// One conversation with a server, ids beginning with `prefix`: every frame.
fn converse(mut server: Server, prefix: &str) -> (Vec<Value>, String) {
    let id = |name: &str| format!("{prefix}{name}");
    let mut frames = vec![server.ask(&id("state"), json!({"type": "get_state"}))];
    server.send(json!({"id": id("prompt"), "type": "prompt", "message": "go"}));
    frames.extend(server.until_type("agent_end"));
    frames.push(server.ask(&id("bash"), json!({"type": "bash", "command": "echo one"})));
    frames.push(server.ask(&id("name"), json!({"type": "set_session_name", "name": "n"})));
    frames.push(server.ask(&id("messages"), json!({"type": "get_messages"})));
    server.close_stdin();
    let ended = server.ends();
    frames.extend(ended.frames);
    for frame in frames.iter_mut().filter(|frame| frame["type"] == "response") {
        assert!(frame["id"].as_str().unwrap().starts_with(prefix), "{frame}");
        frame.as_object_mut().unwrap().shift_remove("id");
    }
    (frames, ended.stderr)
}

/// A server behind a tap that records into `trace`, of which the path is absolute.
fn tapped(dialect: Dialect, trace: &str, server: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let script = json!({ "turns": bash_turns("echo two") });
    fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
    let mut tap = command(binary(), dir.path());
    tap.args(["tap", "--dialect", dialect.as_str(), "--record", trace, "--"]).arg(binary()).args(server);
    let mut server = Server::start(dialect, dir, tap);
    if dialect == Xcsh {
        server.until_type("ready");
    }
    server
}

#[test]
fn tapped_conversation_is_replayed_exactly() {
    let dir = tempfile::tempdir().unwrap();
    for dialect in BOTH {
        let [first, second] = ["first.jsonl", "second.jsonl"].map(|name| dir.path().join(name));
        let [first, second] = [first.to_str().unwrap(), second.to_str().unwrap()];
        let serve =
            ["serve", "--dialect", dialect.as_str(), "--no-session", "--model", "scripted/script.json"];
        let (served, told) = converse(tapped(dialect, first, &serve), "a-");
        assert!(told.starts_with(CLEAN), "{told}");
        let (replayed, told) = converse(tapped(dialect, second, &["replay", "--strict", first]), "b-");
        assert_eq!(replayed, served);
        assert!(told.starts_with(CLEAN), "{told}");
    }
}

/// What a tap tells when nothing was wrong.
const CLEAN: &str = "tap: violations of the server: nothing; of the host: nothing; ";

/// Plays a recording to a host that sends `input`, with these options: status, stdout, stderr.
fn replay(recording: &str, options: &[&str], input: &str) -> (Option<i32>, String, String) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("trace.jsonl"), recording).unwrap();
    let mut replay = command(binary(), dir.path());
    replay.args(["replay", "trace.jsonl"]).args(options);
    replay.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = replay.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn strict_replay_fails_on_unexpected_command() {
    let recording = recording(&[request("1", "abort"), response("1", "abort")]);
    let other = "{\"type\":\"get_state\"}\n";
    for (options, status) in [(&[][..], 0), (&["--strict"][..], 1)] {
        let (code, said, told) = replay(&recording, options, other);
        assert_eq!(code, Some(status));
        assert_eq!(
            said,
            "{\"type\":\"response\",\"command\":\"get_state\",\"success\":false,\"error\":\"unexpected get_state: the recording has no such command here\"}\n"
        );
        let abort = r#"replay: record 1 never came: {"id":"1","type":"abort"}"#;
        assert_eq!(told, format!("replay: unexpected: {}\n{abort}\n", other.trim_end()));
    }
    assert_eq!(replay(&recording, &["--strict"], "{\"type\":\"abort\"}").0, Some(0));
}

#[test]
fn invalid_options_and_files_are_reported() {
    let (code, _, told) = replay("nonsense\n", &[], "");
    assert_eq!(
        (code, told.as_str()),
        (Some(3), "Error: trace.jsonl: line 1: not a record: expected ident at line 1 column 2\n")
    );
    let (code, _, told) = replay("", &["--process", "2"], "");
    assert_eq!((code, told.as_str()), (Some(3), "Error: trace.jsonl: no process 2: the recording has 0\n"));
    assert_eq!(replay("", &["--speed", "-1"], "").0, Some(2));
}
