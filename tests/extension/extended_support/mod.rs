//! The real binary with extensions that are shell scripts.
#![allow(dead_code)] // each test binary uses its part

use crate::serve_support::{Server, binary, command};
use pi_rpc::protocol::Dialect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Beginning of every script: `next` reads a frame and sets its type and its id; `await TYPE` skips others.
const PRELUDE: &str = r#"#!/bin/sh
say() { printf '%s\n' "$1"; }
notify() { say '{"type":"ui","request":{"type":"extension_ui_request","id":"n","method":"notify","message":"'"$1"'"}}'; }
next() {
  IFS= read -r line || exit 0
  type=${line#*'"type":"'} type=${type%%'"'*}
  id=${line#*'"id":"'} id=${id%%'"'*}
}
await() { while next; do [ "$type" = "$1" ] && return; done; }
await hello
"#;

/// Starts a server with the extensions `scripts`: name and body, which runs after the greeting.
pub fn extended(dialect: Dialect, turns: &Value, scripts: &[(&str, &str)]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<String> = scripts.iter().map(|(name, body)| script(dir.path(), name, body)).collect();
    started(dialect, dir, turns, &paths)
}

/// Starts a server with these executables.
pub fn started(dialect: Dialect, dir: TempDir, turns: &Value, paths: &[String]) -> Server {
    std::fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    let mut command = command(binary(), dir.path());
    command.args(["serve", "--no-session", "--model", "scripted/script.json"]);
    command.args(["--dialect", dialect.as_str()]).args(paths.iter().flat_map(|path| ["-e", path]));
    let mut server = Server::start(dialect, dir, command);
    if dialect == Dialect::Xcsh {
        assert_eq!(server.next()["type"], "ready");
    }
    server
}

/// Writes a script, [`PRELUDE`] first.
pub fn script(dir: &Path, name: &str, body: &str) -> String {
    executable(dir, name, &format!("{PRELUDE}{body}\n"))
}

/// Writes an executable. A process of its own does so: a descriptor of ours would be inherited for a moment by whatever
/// another test starts, and a file that somebody writes cannot be executed.
pub fn executable(dir: &Path, name: &str, content: &str) -> String {
    let path = dir.join(name);
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(&path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    path.to_str().unwrap().to_owned()
}

/// Turns in which the model calls the tool `name` at each prompt, and then answers with text.
pub fn calling(name: &str, arguments: Value) -> Value {
    json!([
        {"onResult": "", "repeat": true, "say": [{"text": "So it was."}]},
        {"match": "go", "repeat": true, "say": [{"tool": name, "arguments": arguments}]},
        {"repeat": true, "say": [{"text": "Hello."}]},
    ])
}

/// `extension_error` of the extension `name`.
pub fn error(server: &Server, name: &str, event: &str, text: &str) -> Value {
    let path = server.path(name).display().to_string();
    json!({"type": "extension_error", "extensionPath": path, "event": event, "error": text})
}

/// Message of a notice; `None` for other frames.
pub fn notice(frame: &Value) -> Option<&str> {
    frame["message"].as_str().filter(|_| frame["method"] == "notify")
}

/// The result text of the only tool call among these frames, and whether it failed.
pub fn outcome(frames: &[Value]) -> (&str, bool) {
    let ends: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    let [end] = ends[..] else { panic!("one call ends: {ends:?}") };
    (end["result"]["content"][0]["text"].as_str().unwrap(), end["isError"].as_bool().unwrap())
}

/// Last text of the model in the run that ends these frames.
pub fn answer(frames: &[Value]) -> &str {
    let messages = frames.last().unwrap()["messages"].as_array().unwrap();
    messages.last().unwrap()["content"][0]["text"].as_str().unwrap()
}

/// Checks that the session goes on: a prompt is answered, without an error.
#[track_caller]
pub fn assert_goes_on(server: &mut Server) {
    let frames = server.run("hello");
    assert_eq!(answer(&frames), "Hello.", "{frames:?}");
    let strange = frames.iter().find(|frame| frame["type"] == "extension_error");
    assert_eq!(strange, None);
}

/// Kills the process whose id a script has left in that file.
pub fn kill(server: &Server, file: &str) {
    let id = std::fs::read_to_string(server.path(file)).unwrap();
    let id = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
}
