//! Servers that extensions register: they go the way of those of `mcp.json`.

use crate::{
    mcp::{call, ends, finish},
    mcp_conversations::{added, results},
    serve_support::{Server, of_type},
};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};
use tempfile::TempDir;

/// An extension that registers a server by this name, and another one for `/other`.
fn registering(dir: &TempDir, name: &str, exposure: &str) -> String {
    let script = dir.path().join("registered.json");
    let tool = json!({ "name": "t", "description": "Answers.", "calls": [[{ "text": "registered" }]] });
    fs::write(&script, json!({ "tools": [tool] }).to_string()).unwrap();
    let config = json!({
        "command": env!("CARGO_BIN_EXE_pi-rpc"), "args": ["mock-mcp", "--script", script], "exposure": exposure,
        "description": "Of an extension.",
    });
    let commands = json!([{ "name": "back" }]);
    let register = json!({ "type": "register", "commands": commands, "mcpServers": [{ "name": name, "config": config }] });
    let without = json!({ "type": "register", "commands": commands });
    for (file, frame) in [("with", register), ("without", without)] {
        fs::write(dir.path().join(file), format!("{frame}\n")).unwrap();
    }
    let path = dir.path().join("registering");
    // The frame `done` has the id of the command.
    let done = r#"s/.*"id":"\([^"]*\)".*/{"type":"done","id":"\1"}/"#;
    let text = format!(
        "#!/bin/sh\nread -r hello\ncat with\nwhile read -r line; do\n  case $line in *'\"type\":\"command\"'*)\n    \
         cat without; printf '%s\\n' \"$line\" | sed '{done}';;\n  esac\ndone\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn extension_registers_server_and_takes_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let extension = registering(&dir, "own", "direct");
    let turns = json!([call("mcp__own__t", json!({})), ends(), call("mcp__own__t", json!({})), ends()]);
    let mut server = Server::script_in(Pi1, dir, turns, &["-e", &extension]);
    let frames = server.run("go");
    assert_eq!(added(&frames)[0].last().unwrap(), "mcp__own__t");
    assert_eq!(results(&frames), [("registered".to_owned(), false)]);
    server.until_type("agent_settled");
    server.send(json!({ "type": "prompt", "id": "back", "message": "/back" }));
    server.response("back");
    assert_eq!(results(&server.run("again")), [("Tool mcp__own__t not found".to_owned(), true)]);
    finish(server);
}

#[test]
fn registered_servers_are_searched_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let extension = registering(&dir, "own", "deferred");
    let turns =
        json!([call("tool_search", json!({ "query": "answers" })), call("mcp__own__t", json!({})), ends()]);
    let mut server = Server::script_in(Pi1, dir, turns, &["-e", &extension]);
    let frames = server.run("go");
    let loaded = "Loaded 1 tool. They are available from your next call:\n- mcp__own__t: Answers.";
    assert_eq!(results(&frames), [(loaded.to_owned(), false), ("registered".to_owned(), false)]);
    let system = of_type(&frames, "message_end");
    let section = &system[0]["message"]["sections"]["mcp_servers"];
    assert!(section.as_str().unwrap().contains("- mcp__own (tool_search): Of an extension."), "{section}");
    finish(server);
}

#[test]
fn servers_of_files_come_before_registered() {
    let dir = tempfile::tempdir().unwrap();
    let extension = registering(&dir, "o-wn", "direct");
    let script = dir.path().join("file.json");
    fs::write(&script, json!({ "tools": [{ "name": "f" }] }).to_string()).unwrap();
    let entry = json!({ "command": env!("CARGO_BIN_EXE_pi-rpc"), "args": ["mock-mcp", "--script", script], "exposure": "direct" });
    let folder = dir.path().join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    fs::write(&file, json!({ "mcpServers": { "o_wn": entry } }).to_string()).unwrap();
    let mut server = Server::script_in(Pi1, dir, json!([ends()]), &["-e", &extension]);
    let mut frames = server.run("go");
    assert_eq!(added(&frames)[0].last().unwrap(), "mcp__o_wn__f");
    frames.extend(server.until_type("agent_settled"));
    assert_eq!(of_type(&frames, "extension_ui_request"), Vec::<&Value>::new());
    let file = file.canonicalize().unwrap();
    let line = format!(
        "overridden: \"o-wn\" registered by {extension} is overridden by \"o_wn\" in {}",
        file.display()
    );
    assert_eq!(shown(&mut server), format!("o_wn: connected, 1 tools (direct)\n{line}"));
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

/// What `/mcp` shows.
fn shown(server: &mut Server) -> String {
    server.send(json!({ "type": "prompt", "message": "/mcp" }));
    let frames = server.until_type("extension_ui_request");
    frames.last().unwrap()["message"].as_str().unwrap().to_owned()
}

#[test]
fn registered_servers_follow_options() {
    for (options, is_offered) in [
        (&[][..], true),
        (&["--tools", "read,mcp__own__*"], true),
        (&["--tools", "read"], false),
        (&["--exclude-tools", "mcp__*"], false),
        (&["--no-mcp"], false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let extension = registering(&dir, "own", "direct");
        let mut server =
            Server::script_in(Pi1, dir, json!([ends()]), &[&["-e", &extension], options].concat());
        let offered = added(&server.run("go")).concat();
        assert_eq!(offered.contains(&"mcp__own__t".to_owned()), is_offered, "{options:?}: {offered:?}");
        finish(server);
    }
}

#[test]
fn consent_is_asked_for_registered_tools() {
    let dir = tempfile::tempdir().unwrap();
    let extension = registering(&dir, "own", "direct");
    let turns = json!([call("mcp__own__t", json!({})), ends()]);
    let mut server = Server::script_in(Pi1, dir, turns, &["-e", &extension, "--confirm-tools", "mcp__*"]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    let asked = server.until_type("extension_ui_request").pop().unwrap();
    assert_eq!(asked["title"], "Allow mcp__own__t? {}");
    server.send(json!({ "type": "extension_ui_response", "id": asked["id"], "value": "Deny" }));
    let refused = "The user did not allow this call of mcp__own__t.".to_owned();
    assert_eq!(results(&server.until_type("agent_end")), [(refused, true)]);
    finish(server);
}

#[test]
fn registered_server_is_shown_until_withdrawn() {
    let dir = tempfile::tempdir().unwrap();
    let extension = registering(&dir, "own", "direct");
    let mut server = Server::script_in(Pi1, dir, json!([ends()]), &["-e", &extension]);
    server.run("go");
    server.until_type("agent_settled");
    assert_eq!(shown(&mut server), "own: connected, 1 tools (direct)");
    server.send(json!({ "type": "prompt", "id": "back", "message": "/back" }));
    server.response("back");
    assert_eq!(shown(&mut server), "No MCP servers.");
    server.send(json!({ "type": "prompt", "message": "/mcp reconnect own" }));
    let told = server.until_type("extension_ui_request").pop().unwrap();
    assert_eq!(told["message"], "No MCP server named \"own\".");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn unreachable_registered_servers_are_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let extension = registering(&dir, "own", "deferred");
    let options = ["-e", &extension, "--exclude-tools", "tool_search"];
    let mut server = Server::script_in(Pi1, dir, json!([ends(), ends()]), &options);
    let mut frames = server.run("go");
    frames.extend(server.until_type("agent_settled"));
    frames.extend(server.run("again"));
    let told: Vec<&Value> =
        of_type(&frames, "extension_ui_request").iter().map(|it| &it["message"]).collect();
    let text = "Tools of MCP servers are reached by codemode or tool_search, and neither is offered; they cannot be called: own";
    assert_eq!(told, [text]);
    finish(server);
}
