//! The wire of many sessions on one connection: names and codes are those of the fork that has it.

use crate::{
    host_support::{Client, Host, hello, refusal, waiting},
    serve_support::{binary, command, of_type, types},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{io::Write, process::Stdio};

#[test]
fn protocol_info_names_the_wire() {
    let host = Host::start(&hello(), &[]);
    let info = host.client().request(&json!({ "type": "get_protocol_info", "id": 1 }));
    let data = json!({
        "protocolVersion": 1,
        "capabilities": ["multi_session", "attach", "sequence"],
        "mode": "multi",
    });
    assert_eq!(
        info,
        json!({ "id": 1, "type": "response", "command": "get_protocol_info", "success": true, "data": data })
    );
}

#[test]
fn refusals_have_codes_and_connection_lives() {
    let host = Host::start(&hello(), &[]);
    let mut client = host.client();
    let known = Dialect::ALL.map(Dialect::as_str).join(", ");
    let unknown_dialect = format!("open_failed: dialect: expected one of {known}, got \"esperanto\"");
    for (frame, error) in [
        (json!({ "type": "get_state", "id": 1 }), "missing_session_id"),
        (json!({ "type": "get_state", "id": 1, "sessionId": "x" }), "unknown_session"),
        (json!({ "type": "close_session", "id": 1, "sessionId": "x" }), "unknown_session"),
        (json!({ "type": "attach_session", "id": 1, "sessionId": "x" }), "unknown_session"),
        (json!({ "type": "detach_session", "id": 1, "sessionId": "x" }), "unknown_session"),
        (json!({ "type": "open_session", "id": 1, "cwd": "here" }), "invalid_path"),
        (
            json!({ "type": "open_session", "id": 1, "cwd": "/no/such/folder" }),
            "open_failed: cwd: /no/such/folder: No such file or directory (os error 2)",
        ),
        (json!({ "type": "open_session", "id": 1, "dialect": "esperanto" }), &unknown_dialect),
    ] {
        let command = frame["type"].as_str().unwrap();
        assert_eq!(client.request(&frame), refusal(&json!(1), command, error));
    }
    client.send_line("{\"type\":");
    let broken = client.next();
    assert_eq!((&broken["command"], &broken["success"]), (&json!("parse"), &json!(false)));
    client.open();
}

#[test]
fn frames_of_session_have_its_handle() {
    let host = Host::start(&hello(), &[]);
    let mut client = host.client();
    let session = client.open();
    client.send(&json!({ "type": "prompt", "id": "p", "message": "Hi", "sessionId": session }));
    let frames = client.until_type("agent_settled");
    assert!(frames.iter().all(|frame| frame["sessionId"] == json!(session)), "{frames:?}");
    let numbers: Vec<u64> = frames.iter().map(|frame| frame["sequence"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(frames[0]["id"], "p");
}

#[test]
fn response_to_close_is_last_frame() {
    let host = Host::start(&waiting(), &[]);
    let mut client = host.client();
    let session = client.open();
    client.send(&json!({ "type": "prompt", "id": "p", "message": "Hi", "sessionId": session }));
    client.until_type("tool_execution_start");
    client.send(&json!({ "type": "close_session", "id": "c", "sessionId": session }));
    let last = client.until(|frame| frame["id"] == "c").pop().unwrap();
    let closed = json!({
        "id": "c", "type": "response", "command": "close_session", "success": true, "data": {},
        "sessionId": session,
    });
    assert_eq!(last, closed);
    let again = client.request(&json!({ "type": "close_session", "id": 2, "sessionId": session }));
    assert_eq!(again, refusal(&json!(2), "close_session", "unknown_session"));
    let listed = client.request(&json!({ "type": "list_sessions", "id": 3 }));
    assert_eq!(listed["data"], json!({ "sessions": [] }));
}

#[test]
fn open_file_is_in_use() {
    let host = Host::start(&hello(), &[]);
    let mut client = host.client();
    let path = host.dir.path().join("one.jsonl");
    let open = json!({ "type": "open_session", "id": 1, "sessionPath": path });
    let session = client.request(&open)["data"]["sessionId"].clone();
    assert_eq!(client.request(&open), refusal(&json!(1), "open_session", "session_path_in_use"));
    let listed = client.request(&json!({ "type": "list_sessions", "id": 2 }));
    let listed = &listed["data"]["sessions"][0];
    assert_eq!((&listed["sessionId"], &listed["sessionPath"]), (&session, &json!(path)));
    assert_eq!(listed["status"], "idle");
    client.request(&json!({ "type": "close_session", "id": 3, "sessionId": session }));
    let reopened = client.request(&open);
    assert_eq!(reopened["success"], true, "{reopened}");
}

#[test]
fn sessions_run_beside_each_other() {
    let host = Host::start(&waiting(), &[]);
    let mut client = host.client();
    let (held, free) = (client.open(), client.open());
    client.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": held }));
    client.until_type("tool_execution_start");
    let state = client.request(&json!({ "type": "get_state", "id": 2, "sessionId": free }));
    assert_eq!(state["data"]["isStreaming"], false);
    client.send(&json!({ "type": "prompt", "id": 3, "message": "Hi", "sessionId": free }));
    client.until(|frame| frame["type"] == "tool_execution_start" && frame["sessionId"] == json!(free));
    host.put("go");
    let mut settled = Vec::new();
    while settled.len() < 2 {
        settled.push(client.until_type("agent_settled").pop().unwrap()["sessionId"].clone());
    }
    settled.sort_by_key(ToString::to_string);
    let mut both = vec![json!(held), json!(free)];
    both.sort_by_key(ToString::to_string);
    assert_eq!(settled, both);
}

#[test]
fn many_sessions_fit_on_stdio() {
    let dir = tempfile::tempdir().unwrap();
    let mut line = command(binary(), dir.path());
    line.args(["--mode", "rpc", "--multi-session", "--model", "scripted/demo", "--dialect", "pi-1"]);
    let mut child = line.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let open = json!({ "type": "open_session", "id": "o", "inMemory": true });
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{open}\n{}", json!({ "type": "list_sessions", "id": "l" })).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let frames: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(output.status.code(), Some(0));
    let listed = of_type(&frames, "response").into_iter().find(|frame| frame["id"] == "l").unwrap();
    assert_eq!(listed["data"]["sessions"][0]["status"], "opening", "{frames:?}");
}

#[test]
fn stop_persists_and_removes_the_socket() {
    let host = Host::start(&waiting(), &[]);
    let mut client = host.client();
    let path = host.dir.path().join("kept.jsonl");
    let opened = client.request(&json!({ "type": "open_session", "id": 1, "sessionPath": path }));
    let session = opened["data"]["sessionId"].clone();
    client.send(&json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session }));
    client.until_type("tool_execution_start");
    let socket = host.socket();
    assert_eq!(host_mode(&socket), 0o600);
    let ended = end_of(host, client);
    assert_eq!(types(&ended[ended.len() - 1..]), ["session_ended"], "{ended:?}");
    assert!(!socket.exists());
}

fn host_mode(socket: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(socket).unwrap().permissions().mode() & 0o777
}

fn end_of(host: Host, mut client: Client) -> Vec<Value> {
    let stopped = std::thread::spawn(move || host.stop());
    let ended = client.until_type("session_ended");
    let output = stopped.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    ended
}
