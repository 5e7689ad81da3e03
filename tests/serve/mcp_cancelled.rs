//! Calls of MCP servers that are cancelled: the server is told, where it may be working on them, and nothing more is sent.

use crate::{
    mcp::{call, ends, finish},
    mcp_conversations::{over_http, results},
    serve_support::{Server, eventually},
};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The methods that the server was sent from its first call on; a cancellation with the request that it is for.
fn sent(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // Over HTTP, a line has the message in its body.
    let messages = lines.map(|line| if line["body"].is_object() { line["body"].clone() } else { line });
    let methods = messages.filter(|message| message["jsonrpc"].is_string()).filter_map(|message| {
        let request = &message["params"]["requestId"];
        let of = if request.is_null() { String::new() } else { format!(" {request}") };
        Some(format!("{}{of}", message["method"].as_str()?))
    });
    methods.skip_while(|method| method != "tools/call").collect()
}

/// A prompt whose first call is aborted once the server works on it.
fn abort_first_call(server: &mut Server) {
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until_type("tool_execution_update");
    server.send(json!({ "type": "abort" }));
    server.until_type("agent_settled");
}

fn tools() -> Value {
    json!({ "tools": [
        { "name": "slow", "calls": [[{ "progress": { "progress": 1 } }, { "hang": true }]] },
        { "name": "busy", "calls": [[{ "http": { "status": 503 } }]] },
        { "name": "quick", "calls": [[{ "text": "quick" }]] },
    ] })
}

#[test]
fn aborted_call_is_cancelled_at_its_process() {
    let dir = tempfile::tempdir().unwrap();
    let (script, log) = (dir.path().join("mcp-script.json"), dir.path().join("log"));
    fs::write(&script, tools().to_string()).unwrap();
    let arguments = json!(["mock-mcp", "--script", script, "--log", log]);
    let entry = json!({ "command": env!("CARGO_BIN_EXE_pi-rpc"), "args": arguments, "exposure": "direct" });
    let folder = dir.path().join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mcp.json"), json!({ "mcpServers": { "s": entry } }).to_string()).unwrap();
    let turns = json!([call("mcp__s__slow", json!({})), call("mcp__s__quick", json!({})), ends()]);
    let mut server = Server::script_in(Pi1, dir, turns, &[]);
    abort_first_call(&mut server);
    assert_eq!(results(&server.run("again")), [("quick".to_owned(), false)]);
    assert_eq!(sent(&log), ["tools/call", "notifications/cancelled 3", "tools/call"]);
    finish(server);
}

#[test]
fn aborted_call_is_cancelled_over_http() {
    let (_mock, mut server) = over_http(&tools(), json!([call("mcp__s__slow", json!({}))]));
    let log = server.path("requests.jsonl");
    abort_first_call(&mut server);
    eventually("the server knows", || sent(&log) == ["tools/call", "notifications/cancelled 3"]);
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn refused_call_is_not_cancelled() {
    let turns = json!([call("mcp__s__busy", json!({})), call("mcp__s__quick", json!({})), ends()]);
    let (_mock, mut server) = over_http(&tools(), turns);
    let log = server.path("requests.jsonl");
    let expected = [("HTTP 503".to_owned(), true), ("quick".to_owned(), false)];
    assert_eq!(results(&server.run("go")), expected);
    server.until_type("agent_settled");
    server.close_stdin();
    let ended = server.ends();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(sent(&log), ["tools/call", "tools/call"]);
}
