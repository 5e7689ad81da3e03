//! A slash command of an extension that was not loaded, or that only the original has, is refused: the model never gets it
//! as text.

use crate::extended_support::script;
use crate::serve_support::{Server, binary, command, of_type};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::fs;

const SOURCE: &str =
    "export default (pi) => {\n  pi.registerCommand(\"greet\", { handler: async () => {} });\n};\n";

/// A server with the extension `a.ts`, for which `node` is run, if that is something that can be.
fn server(dialect: Dialect, node: impl FnOnce(&std::path::Path) -> String) -> Server {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.ts"), SOURCE).unwrap();
    let node = node(dir.path());
    let mut command = command(binary(), dir.path());
    command.env("PI_RPC_NODE", node).env("XDG_CACHE_HOME", dir.path().join("caches"));
    command.args(["--mode", "rpc", "--no-session", "--model", "scripted/demo", "-e", "a.ts"]);
    command.args(["--dialect", dialect.as_str(), "--keep-going"]);
    Server::start(dialect, dir, command)
}

fn refusal(server: &Server, reason: &str) -> String {
    let path = server.path("a.ts");
    format!("/greet is a command of the extension {}, which was not loaded: {reason}", path.display())
}

/// Sends a command and gives its response, and whether a run began before it or before the one behind it.
fn response(server: &mut Server, command: Value) -> (Value, bool) {
    server.send(command);
    server.send(json!({ "id": "behind", "type": "get_state" }));
    let frames = server.until(|frame| frame["id"] == "behind");
    let response = frames.iter().rfind(|frame| frame["id"] == "c").expect("a response");
    (response.clone(), !of_type(&frames, "agent_start").is_empty())
}

#[test]
fn command_is_refused_without_node() {
    const REASON: &str = "PI_RPC_NODE: expected a program, and ./nowhere is none";
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh] {
        let mut server = server(dialect, |_| "./nowhere".to_owned());
        let error = refusal(&server, REASON);
        for (kind, message) in [("prompt", "/greet me"), ("steer", "/greet"), ("follow_up", "/greet")] {
            let found = response(&mut server, json!({ "id": "c", "type": kind, "message": message }));
            let expected =
                json!({ "id": "c", "type": "response", "command": kind, "success": false, "error": error });
            assert_eq!(found, (expected, false), "{dialect:?} {kind}");
        }
        server.finishes();
    }
}

#[test]
fn command_is_refused_when_loading_fails() {
    let mut server = server(Dialect::Pi, |dir| {
        let path = dir.join("a.ts").display().to_string();
        let fault =
            json!({ "type": "error", "extensionPath": path, "event": "load", "error": "line 1: bad" });
        script(
            dir,
            "node",
            &format!("say '{fault}'; say '{{\"type\":\"register\",\"commands\":[]}}'; await nothing"),
        )
    });
    let error = refusal(&server, "line 1: bad");
    let found = response(&mut server, json!({ "id": "c", "type": "prompt", "message": "/greet" }));
    let expected =
        json!({ "id": "c", "type": "response", "command": "prompt", "success": false, "error": error });
    assert_eq!(found, (expected, false));
    server.finishes();
}

#[test]
fn command_is_refused_when_host_ends() {
    let mut server = server(Dialect::Pi1, |dir| script(dir, "node", "exit 9"));
    let error = refusal(&server, "the process that hosts it is not running");
    let found = response(&mut server, json!({ "id": "c", "type": "prompt", "message": "/greet" }));
    let expected =
        json!({ "id": "c", "type": "response", "command": "prompt", "success": false, "error": error });
    assert_eq!(found, (expected, false));
    server.finishes();
}

#[test]
fn template_takes_place_of_unloaded_command() {
    let mut server = server(Dialect::Pi, |dir| {
        let prompts = dir.join(".pi/prompts");
        fs::create_dir_all(&prompts).unwrap();
        fs::write(prompts.join("greet.md"), "Say hello.").unwrap();
        "./nowhere".to_owned()
    });
    server.send(json!({ "id": "c", "type": "prompt", "message": "/greet" }));
    let frames = server.until(|frame| frame["type"] == "agent_end");
    let user = frames.iter().find(|it| it["message"]["role"] == "user").expect("what the user said");
    assert_eq!(user["message"]["content"], json!([{ "type": "text", "text": "Say hello." }]));
    server.finishes();
}

#[test]
fn built_in_commands_of_pi_are_refused() {
    for name in ["mcp", "llama"] {
        let server = |dialect: Dialect| {
            let dir = tempfile::tempdir().unwrap();
            let mut command = command(binary(), dir.path());
            command.args(["--mode", "rpc", "--no-session", "--model", "scripted/demo", "-ne"]);
            command.args(["--dialect", dialect.as_str()]);
            Server::start(dialect, dir, command)
        };
        let call = json!({ "id": "c", "type": "prompt", "message": format!("/{name} login x") });
        let mut current = server(Dialect::Pi1);
        let (refused, runs) = response(&mut current, call.clone());
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(&format!("/{name} is a command of")), "{refused}");
        assert!(error.contains("pi-rpc docs differences") && !runs, "{refused}");
        current.finishes();
        let mut earlier = server(Dialect::Pi);
        assert_eq!(response(&mut earlier, call).0["success"], true, "{name}");
        earlier.until(|frame| frame["type"] == "agent_end");
        earlier.finishes();
    }
}
