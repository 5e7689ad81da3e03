//! Tools that work in the client: files, terminals, and tools of MCP servers.

use crate::acp_support::{Setup, Wire, drive, new_session, prompt};
use agent_client_protocol::{
    Agent, Error,
    v1::{ConnectionTo, schema as acp},
};
use axum::{Json, Router, http::StatusCode, response::IntoResponse, routing::post};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The methods that the agent has called at the client.
fn called(wire: &Wire) -> Vec<String> {
    let methods = wire.messages().into_iter().filter(|(_, it)| it.get("id").is_some());
    let methods = methods.filter_map(|(_, it)| it["method"].as_str().map(str::to_owned));
    methods.filter(|it| it.starts_with("fs/") || it.starts_with("terminal/")).collect()
}

#[tokio::test]
async fn files_go_through_the_client() {
    let mut setup = Setup::own(json!([
        { "match": "go", "say": [{ "tool": "read", "arguments": { "path": "a.txt" } }] },
        { "onResult": "unsaved", "say": [{ "tool": "edit", "arguments": { "path": "a.txt", "edits": [{ "oldText": "unsaved", "newText": "edited" }] } }] },
        { "onResult": "replaced", "say": [{ "text": "Done." }] },
        { "onResult": "", "repeat": true, "say": [{ "text": "Odd." }] }
    ]));
    let project = setup.project();
    fs::write(project.join("a.txt"), "saved\n").unwrap();
    setup.unsaved.insert(project.join("a.txt"), "unsaved\n".to_owned());
    let files = acp::FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
    setup.capabilities = setup.capabilities.fs(files);
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "go").await
    })
    .await;
    assert_eq!(called(&wire), ["fs/read_text_file", "fs/read_text_file", "fs/write_text_file"]);
    assert_eq!(wire.text("agent_message_chunk"), "Done.");
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "edited\n");
}

#[tokio::test]
async fn commands_run_in_terminals() {
    let mut setup = Setup::own(json!([
        { "match": "go", "say": [{ "tool": "bash", "arguments": { "command": "echo out; exit 3" } }] },
        { "onResult": "exited with code 3", "say": [{ "text": "Seen." }] },
        { "onResult": "", "repeat": true, "say": [{ "text": "Odd." }] }
    ]));
    setup.capabilities = setup.capabilities.terminal(true);
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "go").await
    })
    .await;
    assert_eq!(
        called(&wire),
        ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
    );
    assert_eq!(wire.text("agent_message_chunk"), "Seen.");
    let last = wire.updates_of("tool_call_update").pop().unwrap();
    assert_eq!(last["content"], json!([{ "type": "terminal", "terminalId": "terminal-0" }]));
    assert_eq!(last["status"], "failed");
}

#[tokio::test]
async fn commands_at_once_have_their_terminals() {
    let command =
        |id: &str| json!({ "tool": "bash", "arguments": { "command": format!("echo {id}") }, "id": id });
    let mut setup = Setup::own(json!([
        { "match": "go", "say": [command("first"), command("second")] },
        { "onResult": "", "repeat": true, "say": [{ "text": "Done." }] }
    ]));
    setup.capabilities = setup.capabilities.terminal(true);
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "go").await
    })
    .await;
    let mut shown = BTreeMap::new();
    for update in wire.updates_of("tool_call_update") {
        if let Some(terminal) = update["content"][0]["terminalId"].as_str() {
            let call = update["toolCallId"].as_str().unwrap().to_owned();
            shown.entry(call).or_insert_with(BTreeSet::new).insert(terminal.to_owned());
        }
    }
    assert_eq!(shown.keys().collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(shown["first"].len() + shown["second"].len(), 2);
    assert!(shown["first"].is_disjoint(&shown["second"]));
}

fn endless() -> Value {
    let endless = |arguments: Value| json!([{ "tool": "bash", "arguments": arguments }]);
    json!([
        { "match": "cancel", "say": endless(json!({ "command": "exec sleep 600" })) },
        { "match": "timeout", "say": endless(json!({ "command": "exec sleep 600", "timeout": 0.01 })) },
        { "onResult": "", "repeat": true, "say": [{ "text": "Well." }] }
    ])
}

/// How a terminal is used whose command is killed.
const KILLED: [&str; 5] =
    ["terminal/create", "terminal/wait_for_exit", "terminal/kill", "terminal/output", "terminal/release"];

#[tokio::test]
async fn cancel_kills_terminal() {
    let mut setup = Setup::own(endless());
    setup.capabilities = setup.capabilities.terminal(true);
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        let content = vec![acp::ContentBlock::Text(acp::TextContent::new("cancel"))];
        let open = connection.send_request(acp::PromptRequest::new(session.clone(), content));
        wire.wait_for(|message| message["method"] == "terminal/wait_for_exit").await;
        connection.send_notification(acp::CancelNotification::new(session))?;
        assert_eq!(open.block_task().await?.stop_reason, acp::StopReason::Cancelled);
        Ok(())
    })
    .await;
    assert_eq!(called(&wire), KILLED);
    assert_eq!(wire.updates_of("tool_call_update").last().unwrap()["status"], "failed");
}

#[tokio::test]
async fn timeout_kills_terminal() {
    let mut setup = Setup::own(endless());
    setup.capabilities = setup.capabilities.terminal(true);
    let project = setup.project();
    let (stop, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "timeout").await
    })
    .await;
    assert_eq!(stop, acp::StopReason::EndTurn);
    assert_eq!(called(&wire), KILLED);
    assert_eq!(wire.text("agent_message_chunk"), "Well.");
}

/// A server that has one tool, on stdio.
const MCP_SERVER: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"tools/list"'*) answer '{"tools":[{"name":"look up","description":"Looks up.","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}}}]}';;
    *'"tools/call"'*) answer '{"content":[{"type":"text","text":"meaning of '"$WORD"'"}]}';;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id";;
  esac
done"#;

fn on_stdio() -> acp::McpServer {
    let server =
        acp::McpServerStdio::new("words", "/bin/sh").args(vec!["-c".to_owned(), MCP_SERVER.to_owned()]);
    acp::McpServer::Stdio(server.env(vec![acp::EnvVariable::new("WORD", "life")]))
}

/// The same over HTTP.
async fn on_http() -> acp::McpServer {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = async |Json(request): Json<Value>| {
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => {
                json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" } })
            }
            "tools/list" => {
                json!({ "tools": [{ "name": "look up", "description": "Looks up.", "inputSchema": { "type": "object" } }] })
            }
            "tools/call" => json!({ "content": [{ "type": "text", "text": "meaning of life" }] }),
            _ if request.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
            _ => {
                let error = json!({ "code": -32601, "message": "unknown" });
                return Json(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }))
                    .into_response();
            }
        };
        Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into_response()
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/mcp", post(answer))).await });
    acp::McpServer::Http(acp::McpServerHttp::new("words", url))
}

async fn open(
    connection: &ConnectionTo<Agent>,
    project: &Path,
    server: acp::McpServer,
) -> Result<acp::SessionId, Error> {
    let request = acp::NewSessionRequest::new(project).mcp_servers(vec![server]);
    Ok(connection.send_request(request).block_task().await?.session_id)
}

fn looks_up() -> Value {
    json!([
        { "match": "go", "say": [{ "tool": "mcp__words__look_up", "arguments": { "word": "life" } }] },
        { "onResult": "meaning of life", "say": [{ "text": "Found." }] },
        { "onResult": "", "repeat": true, "say": [{ "text": "Odd." }] }
    ])
}

#[tokio::test]
async fn tools_of_mcp_servers_are_offered() {
    for setup in [Setup::own(looks_up()), Setup::own(looks_up()), Setup::foreign(looks_up(), "xcsh")] {
        let is_foreign = setup.options[0] == "--agent";
        let server = if is_foreign { on_http().await } else { on_stdio() };
        let project = setup.project();
        let (_, wire) = drive(&setup, async |connection, _| {
            let session = open(&connection, &project, server.clone()).await?;
            prompt(&connection, &session, "go").await
        })
        .await;
        assert_eq!(wire.text("agent_message_chunk"), "Found.");
        assert_eq!(wire.updates_of("tool_call")[0]["name"], "mcp__words__look_up");
    }
}

#[tokio::test]
async fn mcp_servers_are_refused_with_reason() {
    let setup = Setup::foreign(json!([]), "pi-1");
    let project = setup.project();
    drive(&setup, async |connection, _| {
        new_session(&connection, &project).await?;
        let error = open(&connection, &project, on_stdio()).await.unwrap_err();
        let reason = "mcpServers: pi-1 has no command by which a host offers tools";
        assert_eq!(error.data, Some(json!(reason)));
        Ok(())
    })
    .await;
    let setup = Setup::own(json!([]));
    let project = setup.project();
    drive(&setup, async |connection, _| {
        new_session(&connection, &project).await?;
        let missing = acp::McpServer::Stdio(acp::McpServerStdio::new("words", "/no/such/program"));
        let error = open(&connection, &project, missing).await.unwrap_err();
        assert!(error.data.unwrap().to_string().contains("mcpServers[0] (words): /no/such/program"));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn mcp_servers_get_no_keys() {
    let keys = [
        ("ANTHROPIC_API_KEY", "one"),
        ("OPENAI_API_KEY", "two"),
        ("GEMINI_API_KEY", "three"),
        ("GH_TOKEN", "four"),
        ("PASSED_TOKEN", "five"),
    ];
    let passed = Setup::own(looks_up()).with(&["--pass-keys", "PASSED_*"]);
    for (mut setup, names) in [
        (passed, vec!["OWN_TOKEN", "PASSED_TOKEN", "PLAIN", "WORD"]),
        (Setup::foreign(looks_up(), "xcsh"), vec!["OWN_TOKEN", "PLAIN", "WORD"]),
    ] {
        setup.variables = keys.into_iter().chain([("PLAIN", "six")]).collect();
        let project = setup.project();
        let script = format!("env > mcp.env\n{MCP_SERVER}");
        let server = acp::McpServerStdio::new("words", "/bin/sh").args(vec!["-c".to_owned(), script]);
        // What the client gives its own server is the client's.
        let own = ["OWN_TOKEN", "WORD"].map(|name| acp::EnvVariable::new(name, "life"));
        let server = acp::McpServer::Stdio(server.env(own.to_vec()));
        drive(&setup, async |connection, _| {
            open(&connection, &project, server.clone()).await?;
            Ok(())
        })
        .await;
        let environment = fs::read_to_string(project.join("mcp.env")).unwrap();
        let found = environment.lines().filter_map(|line| Some(line.split_once('=')?.0));
        let known = |name: &&str| {
            keys.iter().any(|(key, _)| key == name) || ["OWN_TOKEN", "PLAIN", "WORD"].contains(name)
        };
        let mut found: Vec<&str> = found.filter(known).collect();
        found.sort_unstable();
        assert_eq!(found, names);
    }
}
