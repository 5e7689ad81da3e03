//! Servers of MCP in sessions of a host: who may have them, and where they may work.

use crate::{
    extended_support::executable,
    host_support::hello,
    serve_support::binary,
    tcp_support::{TcpHost, WsClient},
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// The entries of scripted servers, each in its folder: `here`, `inside` of the root, and `outside`.
fn write_servers(home: &Path) {
    let servers = json!({
        "here": entry(home, None), "inside": entry(home, Some("inner")), "outside": entry(home, Some("../root2")),
    });
    fs::create_dir_all(home.join(".pi/agent")).unwrap();
    fs::write(home.join(".pi/agent/mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
}

/// The entry of a scripted server that works in this folder, which is there then.
fn entry(home: &Path, cwd: Option<&str>) -> Value {
    let script = json!({ "tools": [{ "name": "t", "calls": [[{ "text": "from the server" }]] }] });
    fs::write(home.join("mcp-script.json"), script.to_string()).unwrap();
    for folder in ["root/inner", "root2"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    let mut entry = json!({
        "command": binary(), "args": ["mock-mcp", "--script", home.join("mcp-script.json")], "exposure": "direct",
    });
    if let Some(cwd) = cwd {
        entry["cwd"] = cwd.into();
    }
    entry
}

/// A host with those servers, whose token `secret` has the first limits and `other` the second.
fn host(limits: impl FnOnce(&str) -> Vec<Value>) -> TcpHost {
    TcpHost::start_prepared(&hello(), limits, &[], write_servers)
}

/// The servers whose tools a session offers.
fn servers(client: &mut WsClient, session: &str) -> Vec<String> {
    client.send(&json!({ "type": "prompt", "id": 9, "message": "Hi", "sessionId": session }));
    let system = client.find(|frame| frame["message"]["role"] == "system" && frame["type"] == "message_end");
    let tools = system["message"]["toolsAdded"].as_array().unwrap();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str().unwrap().strip_prefix("mcp__"));
    names.map(|name| name.split("__").next().unwrap().to_owned()).collect()
}

#[test]
fn token_forbids_servers_and_narrows_them() {
    for (limits, expected) in [
        (json!({}), &["here", "inside", "outside"][..]),
        (json!({ "mcp": true }), &["here", "inside", "outside"]),
        (json!({ "mcp": false }), &[]),
        (json!({ "tools": ["read"] }), &[]),
        (json!({ "tools": ["read", "mcp__inside__*"] }), &["inside"]),
    ] {
        let host = host(|_| vec![limits.clone()]);
        let mut client = host.client("secret");
        let session = client.open(&json!({ "cwd": host.dir.path().join("root") }));
        assert_eq!(servers(&mut client, &session), expected, "{limits}");
    }
}

#[test]
fn servers_stay_below_the_roots() {
    let host = host(|here| vec![json!({ "roots": [format!("{here}/root")] })]);
    let mut client = host.client("secret");
    let session = client.open(&json!({ "cwd": host.dir.path().join("root") }));
    assert_eq!(servers(&mut client, &session), ["here", "inside"]);
}

/// A host with an extension that registers these servers, whose token `secret` has these limits; and the folder of the extension.
fn registering(
    limits: impl FnOnce(&str) -> Value,
    servers: impl FnOnce(&Path) -> Value,
) -> (TempDir, TcpHost) {
    let extensions = tempfile::tempdir().unwrap();
    let path = executable(
        extensions.path(),
        "registering",
        "#!/bin/sh\nread -r hello\ncat \"$0.json\"\ncat > /dev/null\n",
    );
    let host = TcpHost::start_prepared(
        &hello(),
        |here| vec![limits(here)],
        &["-e", &path],
        |home| {
            let register = json!({ "type": "register", "mcpServers": servers(home) });
            fs::write(format!("{path}.json"), format!("{register}\n")).unwrap();
        },
    );
    (extensions, host)
}

#[test]
fn registered_servers_stay_below_the_roots() {
    let (_extensions, host) = registering(
        |here| json!({ "roots": [format!("{here}/root")] }),
        |home| {
            json!([
                { "name": "inside", "config": entry(home, Some("inner")) },
                { "name": "outside", "config": entry(home, Some("../root2")) },
            ])
        },
    );
    let mut client = host.client("secret");
    let session = client.open(&json!({ "cwd": host.dir.path().join("root") }));
    assert_eq!(servers(&mut client, &session), ["inside"]);
}

#[test]
fn token_forbids_and_narrows_registered_servers() {
    for (limits, expected) in [
        (json!({}), &["one", "two"][..]),
        (json!({ "mcp": false }), &[]),
        (json!({ "tools": ["read", "mcp__two__*"] }), &["two"]),
    ] {
        let (_extensions, host) = registering(
            |_| limits.clone(),
            |home| {
                let server = |name: &str| json!({ "name": name, "config": entry(home, None) });
                json!([server("one"), server("two")])
            },
        );
        let mut client = host.client("secret");
        let session = client.open(&json!({}));
        assert_eq!(servers(&mut client, &session), expected, "{limits}");
    }
}

#[cfg(feature = "codemode")]
#[test]
fn token_without_servers_runs_its_scripts() {
    let settings = |home: &Path| {
        fs::create_dir_all(home.join(".pi/agent")).unwrap();
        fs::write(home.join(".pi/agent/settings.json"), r#"{"defaultTools":["+codemode"]}"#).unwrap();
    };
    let host = TcpHost::start_prepared(&hello(), |_| vec![json!({ "mcp": false })], &[], settings);
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    assert_eq!(servers(&mut client, &session), [""; 0]);
}

#[test]
fn forbidden_token_runs_no_session_with_servers() {
    let host = host(|_| vec![json!({}), json!({ "mcp": false, "sees_all": true })]);
    let mut owner = host.client("secret");
    let session = owner.open(&json!({ "cwd": host.dir.path().join("root") }));
    let mut other = host.client("other");
    other.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    let prompt = json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session });
    let text = "forbidden_tool: prompt: the session connects MCP servers, which the token forbids (`mcp`)";
    assert_eq!(other.refused(&prompt), text);
    let login = json!({ "type": "prompt", "id": 3, "message": "/mcp login here", "sessionId": session });
    assert_eq!(owner.refused(&login), "forbidden_tool: prompt: the token lacks the limit `logins`");
}

#[cfg(feature = "codemode")]
#[test]
fn narrower_models_run_no_scripts() {
    use crate::{
        serve_support::{command, write_agent_file, write_models_file},
        tcp_support::write_tokens,
    };
    use pi_rpc::protocol::Dialect::Pi1;
    let dir = tempfile::tempdir().unwrap();
    let models = json!([{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }]);
    let provider = json!({
        "api": "anthropic-messages", "baseUrl": "http://127.0.0.1:9", "apiKey": "k", "models": models,
    });
    write_models_file(dir.path(), Pi1, &json!({ "providers": { "fake": provider } }));
    write_agent_file(dir.path(), Pi1, "settings.json", &json!({ "defaultTools": ["+codemode"] }));
    write_tokens(dir.path(), vec![json!({}), json!({ "models": ["fake/*"], "sees_all": true })]);
    let mut line = command(binary(), dir.path());
    line.args(["host", "--dialect", "pi-1", "--token-file", "tokens", "--model", "fake/model"]);
    let host = TcpHost::start_line(line, dir, &[]);
    let session = host.client("secret").open(&json!({}));
    let mut other = host.client("other");
    other.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    let prompt = json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session });
    let text =
        "forbidden_model: prompt: expected one of the models fake/*, got a session whose scripts may run any";
    assert_eq!(other.refused(&prompt), text);
}
