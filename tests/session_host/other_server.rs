//! Sessions of another's server (`--backend rpc`): their clients speak their own dialect, and have what the host can hold them to.

use crate::{
    host_support::hello,
    serve_support::{binary, command},
    tcp_support::{TcpHost, WsClient, write_tokens},
};
use serde_json::{Value, json};
use std::fs;

/// A host whose clients speak `pi`, before servers of `pi-1`, with these limits of tokens and further arguments.
fn host(limits: Vec<Value>, arguments: &[&str]) -> TcpHost {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script.json"), json!({ "turns": hello() }).to_string()).unwrap();
    write_tokens(dir.path(), limits);
    let script = dir.path().join("script.json");
    let mut line = command(binary(), dir.path());
    line.args(["host", "--dialect", "pi", "--token-file", "tokens", "--backend", "rpc:pi-1"]);
    let program = binary();
    let server = ["--", program.to_str().unwrap(), "serve", "--dialect", "pi-1", "--model"];
    let model = format!("scripted/{}", script.display());
    let listen = ["--listen", "ws://127.0.0.1:0"];
    TcpHost::start_line(line, dir, &[arguments, &listen, &server, &[&*model]].concat())
}

/// A host whose clients speak what this command line of a shell speaks, in which `$0` is this program.
fn shell_host(line: &str) -> TcpHost {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script.json"), json!({ "turns": hello() }).to_string()).unwrap();
    write_tokens(dir.path(), anybody());
    let mut host = command(binary(), dir.path());
    host.args(["host", "--dialect", "pi-1", "--token-file", "tokens", "--backend", "rpc:pi-1"]);
    let program = binary();
    let server = ["--", "/bin/sh", "-c", line, program.to_str().unwrap()];
    TcpHost::start_line(host, dir, &[&["--listen", "ws://127.0.0.1:0"], &server[..]].concat())
}

/// A command line with a server of ours whose output goes through this filter.
fn filtered(filter: &str) -> String {
    format!("\"$0\" serve --dialect pi-1 --model scripted/script.json | {filter}")
}

/// Why this program gets no session.
fn opening_error(line: &str) -> String {
    shell_host(line).client("secret").refused(&json!({ "type": "open_session", "id": 1 }))
}

fn anybody() -> Vec<Value> {
    vec![json!({}), json!({}), json!({ "sees_all": true })]
}

/// Prompts, and returns the frames until the end of the run.
fn prompt(client: &mut WsClient, session: &str) -> Vec<Value> {
    client.send(&json!({ "type": "prompt", "id": "p", "message": "Hi", "sessionId": session }));
    let mut frames = Vec::new();
    loop {
        frames.push(client.next());
        if frames.last().unwrap()["type"] == "agent_end" {
            return frames;
        }
    }
}

#[test]
fn client_speaks_its_own_dialect() {
    let host = host(anybody(), &[]);
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let frames = prompt(&mut client, &session);
    let updates: Vec<_> = frames.iter().filter(|frame| frame["type"] == "message_update").collect();
    assert!(!updates.is_empty() && updates.iter().all(|frame| frame["message"].is_object()), "{frames:?}");
    let response = frames.iter().find(|frame| frame["type"] == "response").unwrap();
    assert_eq!(response["id"], "p");
    let messages = client.request(&json!({ "type": "get_messages", "id": 1, "sessionId": session }));
    assert_eq!(messages["data"]["messages"].as_array().map(Vec::len), Some(2), "{messages}");
}

#[test]
fn two_clients_share_a_session() {
    let host = host(anybody(), &[]);
    let mut one = host.client("secret");
    let session = one.open(&json!({}));
    let mut other = host.client("third");
    let attached = other.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    assert_eq!(attached["success"], true, "{attached}");
    prompt(&mut one, &session);
    let seen = other.find(|frame| frame["type"] == "response" || frame["type"] == "agent_end");
    assert_eq!(seen["type"], "agent_end");
}

#[test]
fn unheld_limits_get_no_session() {
    for (limits, code) in [
        (json!({ "roots": ["/"] }), "forbidden_directory: roots"),
        (json!({ "models": ["*"] }), "forbidden_model: models"),
        (json!({ "tools": ["*"] }), "forbidden_tool: tools"),
        (json!({ "mcp": false }), "forbidden_tool: mcp"),
    ] {
        let host = host(vec![limits], &[]);
        let error = host.client("secret").refused(&json!({ "type": "open_session", "id": 1 }));
        assert!(error.starts_with(code), "{error}");
    }
}

#[test]
fn unheld_limits_give_no_commands() {
    let host = host(vec![json!({}), json!({ "sees_all": true, "roots": ["/"] })], &[]);
    let session = host.client("secret").open(&json!({}));
    let mut other = host.client("other");
    let refused = other.refused(&json!({ "type": "get_messages", "id": 1, "sessionId": session }));
    assert!(refused.contains("forbidden_directory"), "{refused}");
}

#[test]
fn what_the_server_decides_is_refused() {
    let host = host(anybody(), &[]);
    for members in [
        json!({ "modelId": "m" }),
        json!({ "provider": "p" }),
        json!({ "thinkingLevel": "high" }),
        json!({ "name": "n" }),
        json!({ "maxCost": "1" }),
    ] {
        let mut frame = json!({ "type": "open_session", "id": 1 });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let error = host.client("secret").refused(&frame);
        assert!(error.contains("another program's"), "{members}: {error}");
    }
}

#[test]
fn options_that_reach_nothing_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options =
        ["--no-tools", "--tools=read", "--max-cost=1", "--nats=nats://x", "--keep-idle=1", "--no-extensions"];
    for option in options {
        let mut line = command(binary(), dir.path());
        line.args(["host", "--listen", "unix:s", "--backend", "rpc:pi-1", option, "--", "pi"]);
        let output = line.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {text}");
        assert!(text.contains("cannot be combined with --backend rpc"), "{option}: {text}");
    }
}

#[test]
fn session_of_another_is_not_there() {
    let host = host(anybody(), &[]);
    let mut owner = host.client("secret");
    let opened = owner.request(&json!({ "type": "open_session", "id": 1 }));
    let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    prompt(&mut owner, &session);
    let file = opened["data"]["state"]["sessionFile"].as_str().unwrap().to_owned();
    let mut other = host.client("other");
    let attach = json!({ "type": "attach_session", "id": 1, "sessionId": session });
    assert_eq!(other.refused(&attach), "unknown_session");
    let open = json!({ "type": "open_session", "id": 2, "sessionPath": file });
    assert_eq!(other.refused(&open), "unknown_session");
    let own = other.open(&json!({}));
    let switch = json!({ "type": "switch_session", "id": 3, "sessionPath": file, "sessionId": own });
    assert!(other.refused(&switch).contains("unknown_session"));
}

#[test]
fn client_that_missed_frames_gets_all_messages() {
    let host = host(anybody(), &["--kept-output", "1"]);
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    prompt(&mut client, &session);
    let mut late = host.client("secret");
    let attach = json!({ "type": "attach_session", "id": 1, "sessionId": session, "after": 1 });
    late.send(&attach);
    let snapshot = late.find(|frame| frame["type"] == "session_snapshot");
    let roles: Vec<_> =
        snapshot["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert_eq!(snapshot["state"]["isStreaming"], false);
}

#[test]
fn lost_server_ends_its_session() {
    let host = host(anybody(), &[]);
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let bash = json!({ "type": "bash", "id": 1, "command": "kill -9 $PPID", "sessionId": session });
    client.send(&bash);
    let ended = client.find(|frame| frame["type"] == "session_ended");
    assert!(ended["error"].as_str().is_some_and(|error| error.contains("signal: 9")), "{ended}");
}

#[test]
fn refused_state_ends_the_opening() {
    let answer = json!({
        "id": "pi-rpc-host:1", "type": "response", "command": "get_state", "success": false, "error": "nothing here",
    });
    let error = opening_error(&format!("read -r line; echo '{answer}'; cat > /dev/null"));
    assert!(error.ends_with("the server does not tell its state: nothing here"), "{error}");
}

#[test]
fn exit_counts_though_children_go_on() {
    let error = opening_error("sleep 9999 & exit 3");
    assert!(error.ends_with("the server has ended: exit status: 3"), "{error}");
}

#[test]
fn closed_input_ends_the_session() {
    let serve =
        "mkfifo in; \"$0\" serve --dialect pi-1 --model scripted/script.json --no-session < in & exec 3> in";
    let pass = "read -r line; echo \"$line\" >&3; read -r line; exec 0<&-; echo \"$line\" >&3; wait";
    let host = shell_host(&format!("{serve}; {pass}"));
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    client.send(&json!({ "type": "get_commands", "id": 1, "sessionId": session }));
    let ended = client.find(|frame| frame["type"] == "session_ended");
    assert_eq!(ended["error"], "the server has closed its input", "{ended}");
}

#[test]
fn endless_line_ends_the_session() {
    let error = opening_error("head -c 70000000 /dev/zero | tr '\\0' x; sleep 9999");
    assert!(error.ends_with("a line of more than 67108864 bytes"), "{error}");
}

#[test]
fn too_many_dialogs_end_the_session() {
    let dialog = r#"{\"type\":\"extension_ui_request\",\"id\":\"%d\",\"method\":\"confirm\",\"title\":\"t\",\"message\":\"m\"}\n"#;
    let program = format!("BEGIN {{ for (i = 0; i < 4097; i++) printf \"{dialog}\", i }}");
    let error = opening_error(&format!("awk '{program}'; sleep 9999"));
    assert!(error.contains("more open dialogs than 4096"), "{error}");
}

#[test]
fn unreadable_response_is_an_error() {
    let host =
        shell_host(&filtered("sed -u '/\"command\":\"get_commands\"/s/\"data\":{/\"data\":7,\"x\":{/'"));
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let response = client.request(&json!({ "type": "get_commands", "id": 7, "sessionId": session }));
    let error = "the response of the server cannot be read";
    assert_eq!((&response["id"], &response["error"]), (&json!(7), &json!(error)), "{response}");
}
