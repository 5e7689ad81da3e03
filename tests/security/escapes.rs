//! Texts of models, servers and files cannot move the cursor of a terminal, or hide or reorder text.

use crate::extended_support::{executable, script};
use crate::serve_support::{binary, command, write_agent_file, write_models_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Output, Stdio},
};
use tempfile::TempDir;

/// Colours, a title, a link, a C1 control, marks of direction, separators, what has no width, tags.
const HOSTILE: &str = "EVIL\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}]8;;http://x\u{1b}\\\u{9b}31m\u{202e}\u{2066}\u{61c}\u{200b}\u{2028}\u{e0041}\rEVIL";

/// What none of our texts needs; colours are ours where a terminal reads, and none does.
fn is_hostile(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Nothing in what was printed is hostile, and it was told.
#[track_caller]
fn assert_inert(what: &str, text: &str) {
    assert!(text.contains("EVIL"), "{what} does not tell of it: {text}");
    if let Some(letter) = text.chars().find(|letter| is_hostile(*letter)) {
        panic!("{what} has {letter:?}: {text:?}");
    }
}

fn run(dir: &TempDir, arguments: &[&str]) -> [String; 2] {
    let mut command = command(binary(), dir.path());
    command.args(arguments).env("RUST_LOG", "info").stdin(Stdio::null());
    let Output { stdout, stderr, .. } = command.output().unwrap();
    [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap())
}

/// A recording in which everything that a server may say is hostile, and wrong.
fn recording(path: &Path) {
    let record = |dir: &str, frame: Value| json!({"t": 1.0, "dir": dir, "frame": frame}).to_string() + "\n";
    let raw = |dir: &str| json!({"t": 1.0, "dir": dir, "raw": HOSTILE}).to_string() + "\n";
    let lines = [
        record("meta", json!({"event": "spawn", "argv": [HOSTILE], "dialect": "pi", "server": HOSTILE})),
        record("in", json!({"id": HOSTILE, "type": "get_state"})),
        record("out", json!({"id": HOSTILE, "type": "response", "command": HOSTILE, "success": HOSTILE})),
        record("out", json!({"type": HOSTILE, HOSTILE: HOSTILE})),
        record("out", json!({"type": "agent_end", HOSTILE: 1, "messages": HOSTILE})),
        record("in", json!({"id": "p", "type": "prompt", "message": HOSTILE})),
        record(
            "out",
            json!({"id": "p", "type": "response", "command": "prompt", "success": false, "error": HOSTILE}),
        ),
        raw("out"),
        raw("err"),
        "no record \u{1b}[2J\u{202e}EVIL\n".to_owned(),
    ];
    fs::write(path, lines.concat()).unwrap();
}

#[test]
fn reports_of_recordings_are_inert() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("{}.jsonl", HOSTILE.replace(['/', '\\'], ""));
    recording(&dir.path().join(&name));
    for format in ["human", "junit", "html"] {
        let [stdout, _] = run(&dir, &["check", "--format", format, &name]);
        assert_inert(format, &stdout);
    }
    let [_, stderr] = run(&dir, &["check", &format!("missing-{HOSTILE}")]);
    assert!(!stderr.chars().any(is_hostile), "{stderr:?}");
}

#[test]
fn tap_and_conform_output_is_inert() {
    let dir = tempfile::tempdir().unwrap();
    let frame = json!({"type": "response", "command": HOSTILE, "success": true, "id": HOSTILE});
    fs::write(dir.path().join("said"), format!("{frame}\n{HOSTILE}\n")).unwrap();
    let said = dir.path().join("said").display().to_string();
    executable(dir.path(), "server", &format!("#!/bin/sh\ncat {said}; cat {said} >&2; read -r line\n"));
    run(&dir, &["tap", "--report", "tap.txt", "--", "./server"]);
    let told = fs::read_to_string(dir.path().join("tap.txt")).unwrap();
    assert!(told.contains("violations of the server") && !told.chars().any(is_hostile), "{told:?}");
    let [stdout, stderr] = run(&dir, &["conform", "--scenario", "state-start", "--", "./server"]);
    assert!(!stderr.chars().any(is_hostile), "{stderr:?}");
    assert_inert("conform", &stdout);
}

#[test]
fn configured_texts_are_printed_inertly() {
    let dir = tempfile::tempdir().unwrap();
    let model = json!({"id": HOSTILE, "name": HOSTILE});
    let provider =
        json!({"baseUrl": "http://x", "apiKey": "k", "api": "openai-completions", "models": [model]});
    write_models_file(dir.path(), Dialect::Pi, &json!({"providers": {HOSTILE: provider}}));
    write_agent_file(dir.path(), Dialect::Pi, "auth.json", &json!({HOSTILE: 1}));
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &json!({"enabledModels": [HOSTILE]}));
    let [stdout, _] = run(&dir, &["models"]);
    assert_inert("models", &stdout);
    // What has a slash is a path, and may begin a session.
    let id = HOSTILE.replace(['/', '\\'], "");
    for arguments in [
        &["serve", "--model", HOSTILE][..],
        &["serve", "--model", "scripted/demo", "--tools", HOSTILE],
        &["serve", "--dialect", HOSTILE],
        &["serve", "--model", "scripted/demo", "--session", &id],
    ] {
        let [_, stderr] = run(&dir, arguments);
        assert!(!stderr.is_empty() && !stderr.chars().any(is_hostile), "{arguments:?}: {stderr:?}");
    }
}

#[test]
fn extension_output_is_logged_inertly() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("said"), HOSTILE).unwrap();
    script(dir.path(), "extension", "cat said >&2\nsay '{\"type\":\"register\"}'");
    let [_, stderr] = run(&dir, &["serve", "--no-session", "--model", "scripted/demo", "-e", "./extension"]);
    assert_inert("the log", &stderr);
}
