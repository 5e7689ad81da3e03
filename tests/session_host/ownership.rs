//! Whose a session is: its opener's, also after a restart; what nobody is known to have opened, the holder's of its root.

use crate::{
    host_support::hello,
    tcp_support::{TcpHost, WsClient},
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// Opens a session with a file in the folder `root`, prompts and closes it. Returns its file.
fn begin(host: &TcpHost, token: &str) -> PathBuf {
    let mut client = host.client(token);
    let opened = client.request(&json!({ "type": "open_session", "id": 1, "cwd": root(host) }));
    let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    let file = opened["data"]["state"]["sessionFile"].as_str().unwrap().into();
    client.send(&json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session }));
    client.find(|frame| frame["type"] == "agent_settled");
    client.request(&json!({ "type": "close_session", "id": 3, "sessionId": session }));
    file
}

fn root(host: &TcpHost) -> PathBuf {
    let root = fs::canonicalize(host.dir.path()).unwrap().join("root");
    fs::create_dir_all(&root).unwrap();
    root
}

/// What each token is told that opens the file: whether it has the conversation, or the error.
fn opened_by(host: &TcpHost, file: &PathBuf) -> Vec<Value> {
    let open = |token: &str| {
        let mut client = host.client(token);
        let frame = json!({ "type": "open_session", "id": 1, "cwd": root(host), "sessionPath": file });
        let opened = client.request(&frame);
        let Some(session) = opened["data"]["sessionId"].as_str() else { return opened["error"].clone() };
        client.request(&json!({ "type": "close_session", "id": 2, "sessionId": session }));
        opened["data"]["state"]["messageCount"].clone()
    };
    ["secret", "other", "third"].map(open).to_vec()
}

/// Starts the host of a directory again, with these arguments.
fn start_again(mut host: TcpHost, arguments: &[&str]) -> TcpHost {
    let dir = std::mem::replace(&mut host.dir, tempfile::tempdir().unwrap());
    drop(host);
    TcpHost::start_in(dir, &hello(), &[&["--token-file", "tokens"], arguments].concat())
}

const STATE: [&str; 2] = ["--state", "state"];

#[test]
fn owners_outlive_a_host_with_state() {
    let everything = |_: &str| vec![json!({}), json!({}), json!({ "sees_all": true })];
    let host = TcpHost::start(&hello(), everything, &STATE);
    let file = begin(&host, "secret");
    let unknown = json!("unknown_session");
    let expected = [json!(3), unknown, json!(3)];
    assert_eq!(opened_by(&host, &file), expected);
    let host = start_again(host, &STATE);
    assert_eq!(opened_by(&host, &file), expected);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(host.dir.path().join("state/owners")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn unknown_files_are_their_root_holders() {
    let apart = |here: &str| {
        vec![
            json!({ "roots": [format!("{here}/root")] }),
            json!({ "roots": [format!("{here}/elsewhere")] }),
            json!({}),
        ]
    };
    let host = TcpHost::start(&hello(), apart, &[]);
    let file = begin(&host, "secret");
    let host = start_again(host, &[]);
    let mut answers = opened_by(&host, &file);
    let forbidden = answers.remove(1);
    assert!(forbidden.as_str().unwrap().starts_with("forbidden_directory: cwd: "), "{forbidden}");
    assert_eq!(answers, [json!(3), json!("unknown_session")]);
}

#[test]
fn unknown_files_in_common_roots_are_nobodys() {
    let nested = |here: &str| {
        vec![
            json!({ "roots": [format!("{here}/root")] }),
            json!({ "roots": [here] }),
            json!({ "sees_all": true }),
        ]
    };
    let host = TcpHost::start(&hello(), nested, &[]);
    let file = begin(&host, "secret");
    let unknown = json!("unknown_session");
    assert_eq!(opened_by(&host, &file), [json!(3), unknown.clone(), json!(3)]);
    let host = start_again(host, &[]);
    assert_eq!(opened_by(&host, &file), [unknown.clone(), unknown, json!(3)]);
}

#[test]
fn archived_session_keeps_its_owner() {
    let host = TcpHost::start(&hello(), |_| vec![json!({}), json!({})], &STATE);
    let file = begin(&host, "secret");
    let archive = json!({ "type": "archive_session", "id": 1, "sessionPath": file });
    let moved = host.client("secret").request(&archive)["data"]["sessionPath"].take();
    let host = start_again(host, &STATE);
    let read = json!({ "type": "read_stored_session", "id": 1, "sessionPath": moved });
    assert_eq!(host.client("other").refused(&read), "invalid_path");
    assert_eq!(host.client("secret").request(&read)["success"], true);
}

#[test]
fn token_without_roots_creates_by_path() {
    let host = TcpHost::start(&hello(), |_| vec![json!({}), json!({})], &[]);
    let path = root(&host).join("new.jsonl");
    let open = json!({ "type": "open_session", "id": 1, "cwd": root(&host), "sessionPath": path });
    assert_eq!(host.client("secret").request(&open)["success"], true);
    assert_eq!(host.client("other").refused(&open), "unknown_session");
}

#[test]
fn broken_record_of_owners_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("state")).unwrap();
    fs::write(dir.path().join("state/owners"), "{\n").unwrap();
    let mut line = crate::serve_support::command(crate::serve_support::binary(), dir.path());
    line.args(["host", "--listen", "unix:s", "--model", "scripted/demo", "--state", "state"]);
    let output = line.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("--state: whose the sessions are: state/owners: line 1: "), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn relative_paths_begin_at_the_session() {
    let host = TcpHost::start(&hello(), |here| vec![json!({ "roots": [format!("{here}/root")] })], &[]);
    let root = root(&host);
    let mut client = host.client("secret");
    let session = client.open(&json!({ "cwd": root }));
    let switch = json!({ "type": "switch_session", "id": 1, "sessionPath": "x.jsonl", "sessionId": session });
    assert_eq!(client.request(&switch)["success"], true);
    client.send(&json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session }));
    client.find(|frame| frame["type"] == "agent_settled");
    let export = json!({ "type": "export_html", "id": 3, "outputPath": "x.html", "sessionId": session });
    assert_eq!(client.request(&export)["success"], true);
    for name in ["x.jsonl", "x.html"] {
        assert!(root.join(name).exists() && !host.dir.path().join(name).exists(), "{name}");
    }
}

/// The errors of a client in the session of another.
fn refusals(client: &mut WsClient, session: &str) -> Vec<String> {
    [
        json!({ "type": "bash", "id": 1, "command": "echo", "sessionId": session }),
        json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }),
        json!({ "type": "set_model", "id": 1, "provider": "scripted", "modelId": "demo", "sessionId": session }),
        json!({ "type": "cycle_model", "id": 1, "sessionId": session }),
    ]
    .iter()
    .map(|frame| {
        let response = client.request(frame);
        let error = response["error"].as_str().unwrap_or("served");
        error.split(':').next().unwrap().to_owned()
    })
    .collect()
}

#[test]
fn limits_hold_in_sessions_of_others() {
    let viewers = |here: &str| {
        vec![
            json!({}),
            json!({ "sees_all": true, "tools": [], "models": ["other/*"] }),
            json!({ "sees_all": true, "roots": [here] }),
        ]
    };
    let host = TcpHost::start(&hello(), viewers, &[]);
    let session = host.client("secret").open(&json!({ "cwd": "/" }));
    let refused = refusals(&mut host.client("other"), &session);
    assert_eq!(refused, ["forbidden_tool", "forbidden_model", "forbidden_model", "forbidden_model"]);
    let refused = refusals(&mut host.client("third"), &session);
    assert_eq!(refused[..2], ["forbidden_directory", "forbidden_directory"]);
}

#[test]
fn viewer_without_tools_cannot_prompt_for_them() {
    let viewers = |_: &str| {
        vec![
            json!({}),
            json!({ "sees_all": true, "tools": ["read"] }),
            json!({ "sees_all": true, "dialects": ["xcsh"] }),
        ]
    };
    let host = TcpHost::start(&hello(), viewers, &[]);
    let session = host.client("secret").open(&json!({}));
    let mut viewer = host.client("other");
    let prompt = json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session });
    let refused = viewer.refused(&prompt);
    assert_eq!(
        refused,
        "forbidden_tool: prompt: the session offers \"bash\", not one of the tools of the token"
    );
    let state = json!({ "type": "get_state", "id": 2, "sessionId": session });
    assert_eq!(viewer.request(&state)["success"], true);
    let spoken = host.client("third").refused(&state);
    assert_eq!(spoken, "forbidden_dialect: dialect: expected one of xcsh, got \"pi-1\"");
}

#[test]
fn only_owner_permits_for_good() {
    let call = |command: &str| json!([{ "tool": "bash", "arguments": { "command": command } }]);
    let turns =
        json!([{ "say": call("touch one") }, { "say": call("touch one") }, { "say": [{ "text": "Done." }] }]);
    let host = TcpHost::start(
        &turns,
        |_| vec![json!({}), json!({ "sees_all": true })],
        &["--confirm-tools", "bash"],
    );
    let mut owner = host.client("secret");
    let session = owner.open(&json!({ "cwd": root(&host) }));
    let mut other = host.client("other");
    let attached = other.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    assert_eq!(attached["success"], true, "{attached}");
    owner.send(&json!({ "type": "prompt", "id": 2, "message": "go", "sessionId": session }));
    for _ in 0..2 {
        let asked = other.find(|frame| frame["type"] == "extension_ui_request");
        let value = "Always allow bash in this project";
        assert!(asked["options"].as_array().unwrap().contains(&json!(value)), "{asked}");
        other.send(&json!({
            "type": "extension_ui_response", "id": asked["id"], "value": value, "sessionId": session,
        }));
    }
    other.find(|frame| frame["type"] == "agent_settled");
    assert!(root(&host).join("one").exists());
}
