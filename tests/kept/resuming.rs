//! With which model and level a session goes on.

use crate::serve_support::{FakeVendor, Server, binary, command, write_agent_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// Starts in `home`, where two models are configured and the first is the default.
fn start(home: TempDir, vendor: &FakeVendor, options: &[&str]) -> Server {
    let model = |id: &str| json!({ "id": id, "reasoning": true });
    let provider = json!({
        "baseUrl": format!("http://{}", vendor.address), "apiKey": "key", "api": "anthropic-messages",
        "models": [model("first"), model("second")],
    });
    write_agent_file(home.path(), Dialect::Pi, "models.json", &json!({ "providers": { "fake": provider } }));
    let settings = json!({ "defaultProvider": "fake", "defaultModel": "first" });
    write_agent_file(home.path(), Dialect::Pi, "settings.json", &settings);
    let mut command = command(binary(), home.path());
    command.args(["--mode", "rpc"]).args(options);
    Server::start(Dialect::Pi, home, command)
}

/// The model's id, the level, and where the session is written to.
fn state(server: &mut Server) -> (Value, Value, Value) {
    let mut state = server.data(json!({ "type": "get_state" }));
    (state["model"]["id"].take(), state["thinkingLevel"].take(), state["sessionFile"].take())
}

#[test]
fn resumed_session_keeps_model_and_level() {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Yes." }], "repeat": true }] }));
    let mut server = start(tempfile::tempdir().unwrap(), &vendor, &[]);
    server.data(json!({ "type": "set_model", "provider": "fake", "modelId": "second" }));
    server.data(json!({ "type": "set_thinking_level", "level": "high" }));
    server.run("hi");
    let file = state(&mut server).2.as_str().unwrap().to_owned();
    let mut home = server.finishes();
    for (options, model, level) in [
        (&[][..], "second", "high"),
        (&["--models", "fake/first:low"], "second", "high"),
        (&["--model", "fake/first"], "first", "high"),
        (&["--model", "fake/first:low"], "first", "low"),
        (&["--thinking", "low"], "second", "low"),
    ] {
        for which in [&["--continue"][..], &["--session", &file], &["--fork", &file]] {
            let written = std::fs::read(&file).unwrap();
            let mut server = start(home, &vendor, &[options, which].concat());
            let (is_model, is_level, is_file) = state(&mut server);
            assert_eq!((&is_model, &is_level), (&json!(model), &json!(level)), "{options:?} {which:?}");
            assert_eq!(is_file == file.as_str(), which[0] != "--fork", "{options:?} {which:?}");
            home = server.finishes();
            assert_eq!(
                std::fs::read(&file).unwrap(),
                written,
                "looking changes nothing: {options:?} {which:?}"
            );
            if which[0] == "--fork" {
                // The next `--continue` is to find the first one.
                std::fs::remove_file(is_file.as_str().unwrap()).unwrap();
            }
        }
    }
    assert!(Path::new(&file).exists());
}

#[test]
fn lost_model_is_told_once() {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Yes." }], "repeat": true }] }));
    let mut server = start(tempfile::tempdir().unwrap(), &vendor, &[]);
    server.data(json!({ "type": "set_model", "provider": "fake", "modelId": "second" }));
    server.run("hi");
    let file = state(&mut server).2.as_str().unwrap().to_owned();
    let home = server.finishes();
    let lost = std::fs::read_to_string(&file).unwrap().replace("second", "gone");
    std::fs::write(&file, lost).unwrap();
    let mut server = start(home, &vendor, &["--session", &file]);
    for _ in 0..2 {
        server.data(json!({ "type": "new_session" }));
        server.data(json!({ "type": "switch_session", "sessionPath": file }));
    }
    assert_eq!(state(&mut server).0, "first");
    server.close_stdin();
    let stderr = server.ends().stderr;
    let told = stderr.matches("Could not restore model fake/gone. Using fake/first").count();
    assert_eq!(told, 1, "{stderr}");
}

#[test]
fn new_named_session_records_its_model() {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Yes." }], "repeat": true }] }));
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("talk.jsonl");
    let named = ["--session", file.to_str().unwrap()];
    for begins_empty in [false, true] {
        match begins_empty {
            true => std::fs::write(&file, "").unwrap(),
            false => assert!(!file.exists()),
        }
        let options = [&["--model", "fake/second"], &named[..]].concat();
        let mut server = start(home_of(&home), &vendor, &options);
        server.run("hi");
        server.finishes();
        let text = std::fs::read_to_string(&file).unwrap();
        let types: Vec<Value> =
            text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take()).collect();
        assert_eq!(types, ["session", "model_change", "thinking_level_change", "message", "message"]);
        let mut server = start(home_of(&home), &vendor, &named);
        assert_eq!(state(&mut server).0, "second");
        server.finishes();
        std::fs::remove_file(&file).unwrap();
    }
}

/// A home beside the file.
fn home_of(home: &TempDir) -> TempDir {
    TempDir::new_in(home.path()).unwrap()
}
