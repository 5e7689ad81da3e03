//! The `RpcClient` of pi 0.52 and of 0.73 drives pi 1.6.0 of npm through the front: their own methods do what they did with their own pi.

use crate::{
    peer_support,
    serve_support::{FakeVendor, write_agent_file},
    toolchain_support::run,
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{env, fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

#[test]
fn client_of_0_52_drives_pi() {
    drives("0.52.12", "pi");
}

#[test]
fn client_of_0_73_drives_pi() {
    drives("0.73.1", "pi@0.73");
}

fn script() -> Value {
    json!({ "turns": [
        { "match": "wait", "onResult": "", "repeat": true, "say": [{ "text": "It is there." }] },
        { "match": "wait", "say": [{ "tool": "bash", "arguments": { "command": "until [ -e go ]; do sleep 0.01; done" } }] },
        { "match": "hang", "repeat": true, "say": [{ "text": "Well" }], "hang": true },
        { "repeat": true, "say": [{ "text": "As you say." }] },
    ] })
}

#[track_caller]
fn drives(version: &str, dialect: &str) {
    let (Some(client), Some(server)) = (peer_support::peer(version), peer_support::peer("1.6.0")) else {
        return;
    };
    let client = fs::canonicalize(&client[0]).unwrap().with_file_name("modes").join("rpc/rpc-client.js");
    let vendor = FakeVendor::plays(&script());
    let home = tempfile::tempdir().unwrap();
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/pi.json");
    let adapter: Value = serde_json::from_str(&fs::read_to_string(adapter).unwrap()).unwrap();
    let models = adapter["files"]["${agentDir}/models.json"].to_string();
    let models =
        models.replace("${baseUrl}", &format!("http://{}", vendor.address)).replace("${apiKey}", "key");
    let models = models.replace("\"${contextWindow}\"", "128000").replace("\"${maxTokens}\"", "8192");
    write_agent_file(home.path(), Dialect::Pi, "models.json", &serde_json::from_str(&models).unwrap());
    let agent = home.path().join("agent");
    let words: Vec<String> = server.iter().map(|word| format!("'{}'", word.display())).collect();
    let front = format!(
        "exec '{BINARY}' front --speak {dialect} --server-dialect pi-1 -- {} \"$@\"",
        words.join(" ")
    );
    fs::write(&agent, format!("#!/bin/sh\n{front}\n")).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut node = Command::new("node");
    node.arg(project.join("tests/as_pi/rpc_client/through_front.mjs")).arg(client);
    node.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).env("PI_OFFLINE", "1");
    node.env("HOME", home.path())
        .env("TMPDIR", home.path())
        .current_dir(home.path())
        .env("PI_RPC_BIN", &agent);
    run(&mut node).unwrap_or_else(|error| panic!("{error}"));
}
