//! What servers of `mcp.json` do during a session, played by `pi-rpc mock-mcp`: changes, ends, resources, logs.

use crate::{
    mcp::{call, ends, finish},
    serve_support::{Server, of_type},
};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

/// A session with the scripted server `s`.
pub fn scripted(script: &Value, exposure: &str, turns: Value, options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mcp-script.json");
    fs::write(&path, script.to_string()).unwrap();
    let entry = json!({ "command": env!("CARGO_BIN_EXE_pi-rpc"), "args": ["mock-mcp", "--script", path], "exposure": exposure });
    let folder = dir.path().join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mcp.json"), json!({ "mcpServers": { "s": entry } }).to_string()).unwrap();
    Server::script_in(Pi1, dir, turns, options)
}

/// The texts of results, each with whether it is an error.
pub fn results(frames: &[Value]) -> Vec<(String, bool)> {
    let ends = of_type(frames, "tool_execution_end");
    let text = |end: &&Value| {
        (end["result"]["content"][0]["text"].as_str().unwrap().to_owned(), end["isError"] == true)
    };
    ends.iter().map(text).collect()
}

/// The names of the tools that each system message adds.
pub fn added(frames: &[Value]) -> Vec<Vec<String>> {
    let system = of_type(frames, "message_end");
    let system = system.iter().map(|frame| &frame["message"]).filter(|message| message["role"] == "system");
    let names = |message: &Value| -> Vec<String> {
        let tools = message["toolsAdded"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    system.map(names).collect()
}

#[test]
fn closed_server_is_connected_by_next_call() {
    let script = json!({ "tools": [
        { "name": "die", "calls": [[{ "stderr": "out of memory" }, { "exit": 3 }]] },
        { "name": "live", "calls": [[{ "text": "here" }]] },
    ] });
    let turns = json!([call("mcp__s__die", json!({})), call("mcp__s__live", json!({})), ends()]);
    let mut server = scripted(&script, "direct", turns, &[]);
    let ended = "Connection closed (exit status: 3)\nout of memory".to_owned();
    assert_eq!(results(&server.run("go")), [(ended, true), ("here".to_owned(), false)]);
    finish(server);
}

#[test]
fn command_shows_and_reconnects_servers() {
    let script = json!({ "tools": [{ "name": "die", "calls": [[{ "exit": 3 }]] }] });
    let mut server = scripted(&script, "direct", json!([call("mcp__s__die", json!({})), ends()]), &[]);
    server.run("go");
    server.until_type("agent_settled");
    let mut told = |text: &str| {
        server.send(json!({ "type": "prompt", "message": text }));
        let frames = server.until_type("extension_ui_request");
        frames.last().unwrap()["message"].as_str().unwrap().to_owned()
    };
    let gone = "s: disconnected, reconnects on next call (direct)\n    Connection closed (exit status: 3)";
    assert_eq!(told("/mcp"), gone);
    assert_eq!(told("/mcp reconnect none"), "No MCP server named \"none\".");
    assert_eq!(told("/mcp reconnect s"), "Reconnected to MCP server \"s\" (connected · 1 tool).");
    assert_eq!(told("/mcp"), "s: connected, 1 tools (direct)");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn changed_list_offers_and_withdraws_tools() {
    let other = json!({ "name": "other", "calls": [[{ "text": "new" }]] });
    let script = json!({ "tools": [{ "name": "change", "calls": [[{ "tools": [other] }, { "waitMs": 2000 }, { "text": "changed" }]] }] });
    let turns = json!([
        call("mcp__s__change", json!({})),
        call("mcp__s__other", json!({})),
        call("mcp__s__change", json!({})),
        ends()
    ]);
    let mut server = scripted(&script, "direct", turns, &[]);
    let frames = server.run("go");
    let gone = ("Tool mcp__s__change not found".to_owned(), true);
    assert_eq!(results(&frames), [("changed".to_owned(), false), ("new".to_owned(), false), gone]);
    finish(server);
}

fn with_resources() -> Value {
    json!({
        "pageSize": 1,
        "resources": [
            { "uri": "f://a", "name": "a", "mimeType": "text/plain", "text": "first" },
            { "uri": "ui://b", "name": "b", "text": "not shown" },
            { "uri": "f://c.bin", "name": "c", "blob": "AAECAw==" },
        ],
        "resourceTemplates": [{ "uriTemplate": "f://{name}", "name": "files", "icons": [] }],
    })
}

#[test]
fn resources_are_listed_and_read() {
    let turns = json!([
        call("list_mcp_resources", json!({})),
        call("list_mcp_resources", json!({ "server": "s" })),
        call("list_mcp_resource_templates", json!({})),
        call("read_mcp_resource", json!({ "server": "s", "uri": "f://a" })),
        call("read_mcp_resource", json!({ "server": "s", "uri": "f://none" })),
        call("read_mcp_resource", json!({ "server": "none", "uri": "f://a" })),
        call("list_mcp_resources", json!({ "cursor": "1" })),
        ends(),
    ]);
    let mut server = scripted(&with_resources(), "direct", turns, &[]);
    let frames = server.run("go");
    let first = r#"{"server":"s","uri":"f://a","name":"a","mimeType":"text/plain"}"#;
    let third = r#"{"server":"s","uri":"f://c.bin","name":"c"}"#;
    let expected = [
        (format!(r#"{{"resources":[{first},{third}]}}"#), false),
        (format!(r#"{{"server":"s","resources":[{first}],"nextCursor":"1"}}"#), false),
        (
            r#"{"resourceTemplates":[{"server":"s","uriTemplate":"f://{name}","name":"files"}]}"#.to_owned(),
            false,
        ),
        ("first".to_owned(), false),
        ("MCP error -32002: Resource not found: f://none".to_owned(), true),
        ("MCP server \"none\" has no resources. Servers with resources: s".to_owned(), true),
        ("cursor can only be used when a server is specified".to_owned(), true),
    ];
    assert_eq!(results(&frames), expected);
    let details = json!({ "server": "s", "tool": "read_mcp_resource" });
    let read = &of_type(&frames, "tool_execution_end")[3]["result"];
    let contents = json!([{ "uri": "f://a", "mimeType": "text/plain", "text": "first" }]);
    let structured = json!({ "server": "s", "uri": "f://a", "contents": contents });
    assert_eq!((&read["details"], &read["structuredContent"]), (&details, &structured));
    finish(server);
}

#[test]
fn tools_for_resources_follow_exposure_and_options() {
    let own = ["read", "bash", "edit", "write"].map(str::to_owned).to_vec();
    let with = |more: &[&str]| [own.clone(), more.iter().map(|it| (*it).to_owned()).collect()].concat();
    let three = ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"];
    for (exposure, options, expected) in [
        ("direct", &[][..], with(&three)),
        ("direct", &["--exclude-tools", "mcp__*"], own.clone()),
        ("direct", &["--exclude-tools", "read_mcp_resource"], with(&three[..2])),
        ("deferred", &[], with(&["tool_search"])),
        ("hidden", &[], own.clone()),
    ] {
        let mut server = scripted(&with_resources(), exposure, json!([ends()]), options);
        assert_eq!(added(&server.run("go")), [expected], "{exposure} {options:?}");
        finish(server);
    }
}

#[test]
fn bytes_of_resources_go_to_a_file() {
    let turns = json!([call("read_mcp_resource", json!({ "server": "s", "uri": "f://c.bin" })), ends()]);
    let mut server = scripted(&with_resources(), "direct", turns, &[]);
    let (text, _) = results(&server.run("go")).remove(0);
    let path = text.strip_prefix("[Binary resource f://c.bin (unknown type, 4B) saved to ").unwrap();
    let path = path.strip_suffix("]").unwrap();
    assert!(path.ends_with(".bin"));
    assert_eq!(fs::read(path).unwrap(), [0, 1, 2, 3]);
    fs::remove_file(path).unwrap();
    finish(server);
}

#[test]
fn messages_of_servers_are_logged() {
    let logged = json!({ "notify": { "method": "notifications/message", "params": { "level": "error", "logger": "disk", "data": "full\u{1b}[1m" } } });
    let script = json!({ "tools": [{ "name": "t", "calls": [[logged, { "text": "done" }]] }] });
    let mut server = scripted(&script, "direct", json!([call("mcp__s__t", json!({})), ends()]), &[]);
    server.run("go");
    let log = fs::read_to_string(server.path(".pi/agent/mcp.log")).unwrap();
    let (_, line) = log.split_once(' ').unwrap();
    assert_eq!(line, "[s] error disk: full\\u{1b}[1m\n");
    finish(server);
}

#[test]
fn late_direct_server_has_its_resources_declared() {
    let dir = tempfile::tempdir().unwrap();
    let entry = |name: &str, exposure: &str, wait: u64| {
        let mut script = with_resources();
        script["methods"] = json!({ "initialize": [{ "waitMs": wait }] });
        let path = dir.path().join(format!("{name}.json"));
        fs::write(&path, script.to_string()).unwrap();
        json!({ "command": env!("CARGO_BIN_EXE_pi-rpc"), "args": ["mock-mcp", "--script", path], "exposure": exposure })
    };
    let servers = json!({ "early": entry("early", "deferred", 0), "late": entry("late", "direct", 700) });
    let folder = dir.path().join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    let mut server = Server::script_in(Pi1, dir, json!([ends()]), &[]);
    let first = added(&server.run("go")).remove(0);
    assert!(first.contains(&"read_mcp_resource".to_owned()), "{first:?}");
    finish(server);
}

/// A scripted server over HTTP, ended with the test.
pub struct HttpServer(Child);

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A session with the scripted server `s` over HTTP, whose requests are in the file `requests.jsonl`.
pub fn over_http(script: &Value, turns: Value) -> (HttpServer, Server) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("http.json");
    fs::write(&path, script.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command.args(["mock-mcp", "--listen", "127.0.0.1:0", "--script"]).arg(&path);
    command.arg("--log").arg(dir.path().join("requests.jsonl"));
    let mut mock = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(mock.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim_end().strip_prefix("listening on ").unwrap();
    let folder = dir.path().join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    let servers = json!({ "mcpServers": { "s": { "url": url, "exposure": "direct" } } });
    fs::write(folder.join("mcp.json"), servers.to_string()).unwrap();
    (HttpServer(mock), Server::script_in(Pi1, dir, turns, &[]))
}

/// A header of a request in the log.
fn header(request: &Value, name: &str) -> Option<String> {
    let mut headers = request["headers"].as_array()?.iter();
    headers.find(|header| header[0] == name).map(|header| header[1].as_str().unwrap().to_owned())
}

#[test]
fn changes_come_beside_answers_over_http() {
    let other = json!({ "name": "other", "calls": [[{ "text": "new" }]] });
    let slow = json!({ "name": "slow", "calls": [[{ "waitMs": 3000 }, { "text": "slow" }]] });
    let script = json!({ "tools": [slow], "onListen": [{ "waitMs": 100 }, { "tools": [slow, other] }] });
    let turns = json!([call("mcp__s__slow", json!({})), call("mcp__s__other", json!({})), ends()]);
    let (_mock, mut server) = over_http(&script, turns);
    assert_eq!(results(&server.run("go")), [("slow".to_owned(), false), ("new".to_owned(), false)]);
    finish(server);
}

#[test]
fn closed_streams_are_resumed_at_their_place() {
    let progress = json!({ "progress": { "progress": 1, "message": "half" } });
    let close = json!({ "closeStream": 100 });
    let steps = json!([{ "text": "first" }, close, { "waitMs": 50 }, progress, close, { "text": "second" }]);
    let lost = json!([progress, { "exit": 1 }]);
    let script = json!({ "tools": [{ "name": "t", "calls": [steps] }, { "name": "lost", "calls": [lost] }] });
    let turns = json!([call("mcp__s__t", json!({})), call("mcp__s__lost", json!({})), ends()]);
    let (_mock, mut server) = over_http(&script, turns);
    let frames = server.run("go");
    let end = of_type(&frames, "tool_execution_end");
    let content = json!([{ "type": "text", "text": "first" }, { "type": "text", "text": "second" }]);
    assert_eq!(end[0]["result"]["content"], content);
    // Without a place, the call has failed: it may have been performed.
    assert_eq!(end[1]["isError"], true);
    let requests = fs::read_to_string(server.path("requests.jsonl")).unwrap();
    let requests = requests.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let places: Vec<String> = requests.filter_map(|request| header(&request, "last-event-id")).collect();
    assert_eq!(places, ["event-1", "event-2"]);
    finish(server);
}

#[test]
fn session_over_http_is_deleted() {
    let script = json!({ "tools": [{ "name": "t" }] });
    let (_mock, mut server) = over_http(&script, json!([call("mcp__s__t", json!({})), ends()]));
    assert_eq!(results(&server.run("go")), [("{}".to_owned(), false)]);
    server.until_type("agent_settled");
    server.close_stdin();
    let dir = server.ends().dir;
    let requests = fs::read_to_string(dir.path().join("requests.jsonl")).unwrap();
    let last: Value = serde_json::from_str(requests.lines().last().unwrap()).unwrap();
    assert_eq!((&last["method"], &last["status"]), (&json!("DELETE"), &json!(200)));
    assert_eq!(header(&last, "mcp-session-id").unwrap(), "scripted-session-1");
    assert_eq!(header(&last, "mcp-protocol-version").unwrap(), "2025-11-25");
}
