//! Sessions that leave memory, and hosts that are started again.

use crate::{
    host_support::{Client, Host, hello, refusal, waiting},
    serve_support::eventually,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

/// Opens a session with a file, and prompts. Returns its handle and its file.
fn begin(client: &mut Client, last: &str) -> (String, PathBuf) {
    let opened = client.request(&json!({ "type": "open_session", "id": "open" }));
    let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    let file = PathBuf::from(opened["data"]["state"]["sessionFile"].as_str().unwrap());
    client.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    client.until_type(last);
    (session, file)
}

fn messages(client: &mut Client, session: &str) -> Value {
    client.request(&json!({ "type": "get_messages", "id": "m", "sessionId": session }))["data"].take()
}

/// Whether no process has the file open.
fn is_let_go(file: &Path) -> bool {
    File::open(file).unwrap().try_lock().is_ok()
}

const STATE: [&str; 4] = ["--state", "state", "--session-dir", "sessions"];

#[test]
fn idle_session_leaves_memory_and_returns() {
    let host = Host::start(&hello(), &["--keep-idle", "0.01", "--session-dir", "sessions"]);
    let mut client = host.client();
    let (session, file) = begin(&mut client, "agent_settled");
    let before = messages(&mut client, &session);
    assert!(!is_let_go(&file), "a session with a client stays");
    client.request(&json!({ "type": "detach_session", "id": 2, "sessionId": session }));
    eventually("the file is let go", || is_let_go(&file));
    let listed = client.request(&json!({ "type": "list_sessions", "id": 3 }))["data"].take();
    let entry = json!({ "sessionId": session, "sessionPath": file, "status": "idle" });
    for (key, value) in entry.as_object().unwrap() {
        assert_eq!(&listed["sessions"][0][key], value, "{listed}");
    }
    assert_eq!(messages(&mut client, &session), before);
    assert!(!is_let_go(&file));
}

#[test]
fn numbers_go_on_after_memory() {
    let host = Host::start(&hello(), &["--keep-idle", "0.01", "--session-dir", "sessions"]);
    let mut client = host.client();
    let (session, file) = begin(&mut client, "agent_settled");
    let last = client.request(&json!({ "type": "get_state", "id": 1, "sessionId": session }));
    let sequence = last["sequence"].as_u64().unwrap();
    client.request(&json!({ "type": "detach_session", "id": 2, "sessionId": session }));
    eventually("the file is let go", || is_let_go(&file));
    let attach = json!({ "type": "attach_session", "id": 3, "sessionId": session, "after": sequence });
    let attached = client.request(&attach);
    assert_eq!(attached["data"], json!({ "sessionId": session, "dialect": "pi-1", "sequence": sequence }));
    let next = client.request(&json!({ "type": "get_state", "id": 4, "sessionId": session }));
    assert_eq!((next["sequence"].as_u64(), &next["data"]), (Some(sequence + 1), &last["data"]));
}

#[test]
fn pipe_survives_a_restart_of_host() {
    let host = Host::start(&hello(), &STATE);
    let mut pipe = host.attach("", &[]).spawn().unwrap();
    let mut input = pipe.stdin.take().unwrap();
    let mut output = BufReader::new(pipe.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    input.write_all(b"{\"type\":\"prompt\",\"id\":1,\"message\":\"Hi\"}\n").unwrap();
    output.find(|frame| frame["type"] == "agent_settled").unwrap();
    input.write_all(b"{\"type\":\"get_messages\",\"id\":2}\n").unwrap();
    let before = output.next().unwrap();
    let dir = host.dir.clone();
    host.stop();
    let _host = Host::start_in(dir, &STATE);
    input.write_all(b"{\"type\":\"get_messages\",\"id\":2}\n").unwrap();
    assert_eq!(output.next().unwrap(), before);
    drop(input);
    assert!(pipe.wait().unwrap().success());
}

#[test]
fn pipe_survives_an_upgrade_of_host() {
    let host = Host::start(&hello(), &STATE);
    let mut pipe = host.attach("", &[]).spawn().unwrap();
    let mut input = pipe.stdin.take().unwrap();
    let mut output = BufReader::new(pipe.stdout.take().unwrap()).lines();
    input.write_all(b"{\"type\":\"prompt\",\"id\":1,\"message\":\"Hi\"}\n").unwrap();
    output.find(|line| line.as_ref().unwrap().contains("agent_settled")).unwrap().unwrap();
    input.write_all(b"{\"type\":\"get_messages\",\"id\":2}\n").unwrap();
    let before = output.next().unwrap().unwrap();
    host.signal(Signal::USR2);
    let stderr = pipe.stderr.take().unwrap();
    BufReader::new(stderr)
        .lines()
        .find(|line| line.as_ref().unwrap().contains("trying again"))
        .unwrap()
        .unwrap();
    input.write_all(b"{\"type\":\"get_messages\",\"id\":2}\n").unwrap();
    assert_eq!(output.next().unwrap().unwrap(), before);
    drop(input);
    assert!(pipe.wait().unwrap().success());
}

#[test]
fn killed_run_is_closed_as_aborted() {
    let host = Host::start(&waiting(), &STATE);
    let dir = host.dir.clone();
    let mut client = host.client();
    let (session, _) = begin(&mut client, "tool_execution_start");
    let frames = messages(&mut client, &session);
    host.kill();
    let host = Host::start_in(dir, &STATE);
    let mut client = host.client();
    let attach = json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": 3 });
    client.request(&attach);
    let snapshot = client.next();
    assert_eq!(
        (&snapshot["type"], &snapshot["state"]["isStreaming"]),
        (&json!("session_snapshot"), &json!(false))
    );
    let after = messages(&mut client, &session)["messages"].as_array().unwrap().clone();
    let told = frames["messages"].as_array().unwrap();
    assert_eq!(&after[..told.len()], told.as_slice());
    let ends: Vec<Value> = after[told.len()..]
        .iter()
        .map(|message| {
            json!([message["role"], message["content"], message["stopReason"], message["isError"]])
        })
        .collect();
    let text = json!([{ "type": "text", "text": "Command aborted" }]);
    assert_eq!(ends, [json!(["toolResult", text, null, true]), json!(["assistant", [], "aborted", null])]);
}

#[test]
fn closed_session_stays_closed_after_restart() {
    let host = Host::start(&hello(), &STATE);
    let dir = host.dir.clone();
    let mut client = host.client();
    let (kept, _) = begin(&mut client, "agent_settled");
    let (closed, _) = begin(&mut client, "agent_settled");
    client.request(&json!({ "type": "close_session", "id": 2, "sessionId": closed }));
    host.stop();
    let host = Host::start_in(dir, &STATE);
    let listed = host.client().request(&json!({ "type": "list_sessions", "id": 3 }));
    let ids: Vec<&Value> =
        listed["data"]["sessions"].as_array().unwrap().iter().map(|listed| &listed["sessionId"]).collect();
    assert_eq!(ids, [&json!(kept)]);
}

#[test]
fn stored_sessions_are_listed_and_searched() {
    let host = Host::start(&hello(), &["--session-dir", "sessions"]);
    let mut client = host.client();
    let (open, _) = begin(&mut client, "agent_settled");
    let (closed, file) = begin(&mut client, "agent_settled");
    client
        .request(&json!({ "type": "set_session_name", "id": 2, "name": "Blue Whale", "sessionId": closed }));
    client.request(&json!({ "type": "close_session", "id": 3, "sessionId": closed }));
    let listed = client.request(&json!({ "type": "list_stored_sessions", "id": 4 }))["data"].take();
    let mut statuses: Vec<Value> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|listed| json!([listed["status"], listed["sessionId"], listed["name"]]))
        .collect();
    statuses.sort_by_key(Value::to_string);
    assert_eq!(statuses, [json!(["idle", open, null]), json!(["stored", null, "Blue Whale"])]);
    let search = json!({ "type": "list_stored_sessions", "id": 5, "query": "blue wh" });
    let mut found = client.request(&search)["data"].take();
    for key in ["created", "lastActivity", "durableSessionId"] {
        assert!(found["sessions"][0].as_object_mut().unwrap().remove(key).is_some(), "{key}");
    }
    let whole = json!({
        "sessionPath": file, "cwd": std::fs::canonicalize(host.dir.path()).unwrap(), "name": "Blue Whale",
        "title": "Hi", "status": "stored", "messages": 3, "cost": 0, "archived": false,
    });
    assert_eq!(found, json!({ "sessions": [whole], "hasMore": false }));
}

#[test]
fn stored_session_is_renamed_and_archived() {
    let host = Host::start(&hello(), &["--session-dir", "sessions"]);
    let mut client = host.client();
    let (session, file) = begin(&mut client, "agent_settled");
    let rename = json!({ "type": "rename_stored_session", "id": 2, "sessionPath": file, "name": "Old" });
    assert_eq!(client.request(&rename), refusal(&json!(2), "rename_stored_session", "session_path_in_use"));
    client.request(&json!({ "type": "close_session", "id": 3, "sessionId": session }));
    assert_eq!(client.request(&rename)["data"]["name"], "Old");
    let archive = json!({ "type": "archive_session", "id": 4, "sessionPath": file });
    let moved = client.request(&archive)["data"]["sessionPath"].take();
    assert_eq!(moved, json!(file.parent().unwrap().join("archived").join(file.file_name().unwrap())));
    let listed = |client: &mut Client, archived: bool| {
        let list = json!({ "type": "list_stored_sessions", "id": 5, "archived": archived });
        client.request(&list)["data"]["sessions"].as_array().unwrap().len()
    };
    assert_eq!((listed(&mut client, false), listed(&mut client, true)), (0, 1));
    let read = json!({ "type": "read_stored_session", "id": 6, "sessionPath": moved });
    let entries = client.request(&read)["data"]["entries"].take();
    assert_eq!(entries.as_array().unwrap().last().unwrap()["name"], "Old");
    let back = json!({ "type": "archive_session", "id": 7, "sessionPath": moved, "archived": false });
    assert_eq!(client.request(&back)["data"]["sessionPath"], json!(file));
}

#[test]
fn files_elsewhere_are_no_sessions() {
    let host = Host::start(&hello(), &["--session-dir", "sessions"]);
    std::fs::write(host.dir.path().join("other.jsonl"), "{}").unwrap();
    let mut client = host.client();
    for path in ["other.jsonl", "sessions/../other.jsonl", "/etc/passwd", "sessions"] {
        let path = host.dir.path().join(path);
        let read = json!({ "type": "read_stored_session", "id": 1, "sessionPath": path });
        assert_eq!(
            client.request(&read),
            refusal(&json!(1), "read_stored_session", "invalid_path"),
            "{path:?}"
        );
    }
}

#[test]
fn state_folder_is_for_one_host() {
    let host = Host::start(&hello(), &STATE);
    let mut second = crate::serve_support::command(crate::serve_support::binary(), host.dir.path());
    second.args(["host", "--listen", "unix:other", "--model", "scripted/demo", "--state", "state"]);
    let output = second.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.ends_with("--state state: another host keeps its sessions there\n"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}
