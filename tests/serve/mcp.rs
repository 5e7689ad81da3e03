//! Servers of `mcp.json`: what their tools look like to hosts, and what a bad server cannot do.

use crate::serve_support::{Server, of_type};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// A server in the shell with one tool; `call` handles a call of it.
pub fn shell_server(call: &str) -> String {
    let answer = |id: u8, result: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        format!("read line\ncat <<'END'\n{message}\nEND\n")
    };
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": {} });
    let tool = json!({ "name": "echo", "description": "echoes", "inputSchema": { "type": "object" } });
    let tools = answer(2, json!({ "tools": [tool] }));
    format!("{}read line\n{tools}read line\n{call}\n", answer(1, hello))
}

/// The answer to the first call.
pub const ANSWER: &str =
    r#"echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"heard"}]}}'; read line"#;

pub fn entry(script: &str, exposure: &str) -> Value {
    json!({ "command": "/bin/sh", "args": ["-c", script], "exposure": exposure, "timeout": 60 })
}

/// A server of ours with these servers of the user's, and of the project's.
pub fn start(user: Value, project: Option<Value>, turns: Value, options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    write(&dir, ".pi/agent", user);
    if let Some(project) = project {
        write(&dir, ".pi", project);
    }
    Server::script_in(Pi1, dir, turns, options)
}

fn write(dir: &TempDir, folder: &str, servers: Value) {
    let folder = dir.path().join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
}

pub fn call(name: &str, arguments: Value) -> Value {
    json!({ "say": [{ "tool": name, "arguments": arguments }] })
}

pub fn ends() -> Value {
    json!({ "say": [{ "text": "done" }] })
}

/// Ends the input of a server, which ends well.
pub fn finish(mut server: Server) {
    server.until_type("agent_settled");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

/// The names of the tools that each system message adds.
fn added(frames: &[Value]) -> Vec<Vec<String>> {
    let starts = of_type(frames, "message_end");
    let messages = starts.iter().map(|frame| &frame["message"]).filter(|message| message["role"] == "system");
    let names = |message: &Value| -> Vec<String> {
        let tools = message["toolsAdded"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    messages.map(names).collect()
}

#[test]
fn direct_tool_is_declared_and_called() {
    let user = json!({ "t": entry(&shell_server(ANSWER), "direct") });
    let mut server = start(user, None, json!([call("mcp__t__echo", json!({})), ends()]), &[]);
    let frames = server.run("go");
    assert_eq!(added(&frames), [["read", "bash", "edit", "write", "mcp__t__echo"]]);
    let end = of_type(&frames, "tool_execution_end")[0];
    let content = json!([{ "type": "text", "text": "heard" }]);
    let expected = json!({ "content": content, "details": { "server": "t", "tool": "echo" },
        "structuredContent": { "content": content } });
    assert_eq!((&end["result"], &end["isError"]), (&expected, &json!(false)));
    finish(server);
}

#[test]
fn deferred_tool_is_found_by_search() {
    // Without scripts, their servers are deferred, too.
    let exposure = if cfg!(feature = "codemode") { "deferred" } else { "codemode" };
    let user = json!({ "t": entry(&shell_server(ANSWER), exposure) });
    let turns = json!([
        call("mcp__t__echo", json!({})),
        call("tool_search", json!({ "query": "echo" })),
        call("mcp__t__echo", json!({})),
        ends(),
    ]);
    let mut server = start(user, None, turns, &[]);
    let frames = server.run("go");
    let own = ["read", "bash", "edit", "write", "tool_search"].map(str::to_owned).to_vec();
    assert_eq!(added(&frames), [own, vec!["mcp__t__echo".to_owned()]]);
    let texts: Vec<&Value> = of_type(&frames, "tool_execution_end")
        .iter()
        .map(|end| &end["result"]["content"][0]["text"])
        .collect();
    let loaded = "Loaded 1 tool. They are available from your next call:\n- mcp__t__echo: echoes";
    assert_eq!(texts, ["Tool mcp__t__echo not found", loaded, "heard"]);
    finish(server);
}

#[test]
fn options_leave_servers_out() {
    for (options, expected) in [
        (&["--no-mcp"][..], vec!["read", "bash", "edit", "write"]),
        (&["--no-extensions"], vec!["read", "bash", "edit", "write"]),
        (&["--tools", "read"], vec!["read"]),
        (&["--exclude-tools", "mcp__t__*"], vec!["read", "bash", "edit", "write"]),
        (&["--tools", "mcp__t__*"], vec!["mcp__t__echo"]),
    ] {
        let user = json!({ "t": entry(&shell_server(ANSWER), "direct") });
        let mut server = start(user, None, json!([ends()]), options);
        assert_eq!(added(&server.run("go")), [expected], "{options:?}");
        finish(server);
    }
}

#[test]
fn project_servers_need_approval() {
    for (options, is_started) in [(&[][..], false), (&["--no-approve"], false), (&["--approve"], true)] {
        let script = format!("touch started\n{}", shell_server(ANSWER));
        let project = json!({ "t": entry(&script, "direct") });
        let mut server = start(json!({}), Some(project), json!([ends()]), options);
        server.run("go");
        assert_eq!(server.path("started").exists(), is_started, "{options:?}");
        finish(server);
    }
}

#[test]
fn consent_is_asked_for_their_tools() {
    let user = json!({ "t": entry(&shell_server(ANSWER), "direct") });
    let turns = json!([call("mcp__t__echo", json!({})), ends()]);
    let mut server = start(user, None, turns, &["--confirm-tools", "mcp__*"]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    let frames = server.until_type("extension_ui_request");
    let asked = frames.last().unwrap();
    assert_eq!(asked["title"], "Allow mcp__t__echo? {}");
    server.send(json!({ "type": "extension_ui_response", "id": asked["id"], "value": "Deny" }));
    let frames = server.until_type("agent_end");
    let text = &of_type(&frames, "tool_execution_end")[0]["result"]["content"][0]["text"];
    assert_eq!(text, "The user did not allow this call of mcp__t__echo.");
}

#[test]
fn bad_servers_are_named_and_bounded() {
    let large = "head -c 9000000 /dev/zero | tr '\\0' x; read line";
    for (script, reason) in [
        ("echo nothing works >&2; exit 3", "s: failed: Connection closed (exit status: 3)"),
        (
            "trap '' TERM; yes \"$(printf '%01000d' 0)\"",
            "s: failed: it wrote 4194304 bytes to stdout without a message of MCP",
        ),
        (large, "s: failed: it wrote a message of more than 8388608 bytes"),
        (
            "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"1\"}}'; read line",
            "s: failed: initialize: protocolVersion: expected one of 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, got \"1\"",
        ),
    ] {
        let mut server = start(json!({ "s": entry(script, "direct") }), None, json!([ends()]), &[]);
        let frames = server.run("go");
        let notice = of_type(&frames, "extension_ui_request")[0];
        let expected = format!("MCP servers need attention:\n  {reason}\nRun /mcp to fix.");
        assert_eq!(notice["message"], expected);
        finish(server);
    }
}

#[test]
fn call_fails_where_the_server_ends() {
    let user = json!({ "t": entry(&shell_server("exit 4"), "direct") });
    let mut server = start(user, None, json!([call("mcp__t__echo", json!({})), ends()]), &[]);
    let end = of_type(&server.run("go"), "tool_execution_end")[0].clone();
    let text = "Connection closed (exit status: 4)";
    assert_eq!((&end["result"]["content"][0]["text"], &end["isError"]), (&json!(text), &json!(true)));
    finish(server);
}
