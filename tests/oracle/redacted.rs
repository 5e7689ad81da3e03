//! `--redact` removes private text, and the judge finds the same.

use pi_rpc::{
    oracle::{Judge, TraceWriter, View, read_record},
    protocol::{BUNDLE, Dialect},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// A text that stands nowhere else, and neither do its halves.
const SECRET: &str = "QwqwZkzk";

fn redacted(recording: &str) -> String {
    let mut writer = TraceWriter::new(Vec::new()).redacting(true);
    recording.lines().for_each(|line| writer.write(&read_record(line).expect("a record")).unwrap());
    String::from_utf8(writer.into_inner()).unwrap()
}

/// The rules that are broken, each with its record, and those that were exercised.
fn judged(dialect: Dialect, recording: &str) -> (Vec<(String, u64)>, Vec<String>) {
    let mut judge = Judge::new(dialect, View::Both);
    let mut findings = Vec::new();
    recording.lines().for_each(|line| findings.extend(judge.observe(&read_record(line).expect("a record"))));
    findings.extend(judge.finish());
    let broken = findings.iter().map(|finding| (finding.violation.rule.to_string(), finding.record));
    (broken.collect(), judge.exercised().iter().map(|rule| rule.to_string()).collect())
}

/// Each recording without fault: its name, its dialect, itself.
fn recordings() -> Vec<(String, Dialect, String)> {
    let mut out = Vec::new();
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh] {
        for file in fs::read_dir(format!("tests/oracle/valid/{dialect}")).expect("a folder") {
            let path = file.expect("a file").path();
            out.push((path.display().to_string(), dialect, fs::read_to_string(&path).expect("a recording")));
        }
    }
    out
}

#[test]
fn redacted_recording_has_same_findings() {
    let mut wrong = Vec::new();
    for (name, dialect, original) in recordings() {
        let lines: Vec<&str> = original.lines().collect();
        // Not a piece of a text: whether one is missing may lie in its letters alone.
        let is_whole = |line: &&str| !line.contains("_delta") && !line.contains("partialResult");
        let without = |from: usize| {
            let at = (from..lines.len()).find(|at| is_whole(&lines[*at])).expect("a last record");
            [&lines[..at], &lines[at + 1..]].concat().join("\n")
        };
        let damaged = [without(lines.len() / 3), without(lines.len() * 2 / 3)];
        for recording in damaged.iter().chain([&original]) {
            let once = redacted(recording);
            if judged(dialect, recording) != judged(dialect, &once) {
                wrong.push((name.clone(), judged(dialect, recording), judged(dialect, &once)));
            }
            assert_eq!(redacted(&once), once, "{name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The words of a text, of four letters and more.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() >= 4);
    words.map(str::to_owned)
}

/// Every text below `value`.
fn texts<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(list) => list.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.values().for_each(|item| texts(item, into)),
        _ => {}
    }
}

/// What was said below `value`, by the names of the members that hold it.
fn said<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    const MEMBERS: [&str; 8] =
        ["text", "arguments", "args", "output", "summary", "sections", "sessionFile", "cwd"];
    for (key, inner) in value.as_object().into_iter().flatten() {
        match (key.as_str(), inner) {
            (key, inner) if MEMBERS.contains(&key) => texts(inner, into),
            ("content" | "message" | "thinking", Value::String(text)) => into.push(text),
            _ => said(inner, into),
        }
    }
    value.as_array().into_iter().flatten().for_each(|item| said(item, into));
}

#[test]
fn redaction_leaves_only_words_of_protocol() {
    let bundle: Value = serde_json::from_str(BUNDLE).expect("JSON");
    let mut of_protocol = Vec::new();
    ["errors", "texts"].iter().for_each(|key| texts(&bundle[key], &mut of_protocol));
    let of_protocol: BTreeSet<String> = of_protocol.into_iter().flat_map(words).collect();
    let (mut before, mut left) = (BTreeSet::new(), BTreeSet::new());
    for (_, _, original) in recordings() {
        for (recording, found) in [(&original, &mut before), (&redacted(&original), &mut left)] {
            for line in recording.lines() {
                let record: Value = serde_json::from_str(line).unwrap();
                let mut texts = Vec::new();
                said(&record, &mut texts);
                found.extend(texts.into_iter().flat_map(words).filter(|word| !of_protocol.contains(word)));
            }
        }
    }
    left.retain(|word| !word.chars().all(|c| c == 'x'));
    assert_eq!(left, BTreeSet::new());
    assert!(before.len() > 20, "{before:?}");
}

fn frame(dir: &str, frame: &Value) -> String {
    json!({ "t": 0.0, "dir": dir, "frame": frame }).to_string()
}

#[test]
fn secret_is_redacted_everywhere() {
    let assistant = json!({
        "role": "assistant", "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 2,
        "content": [
            {"type": "thinking", "thinking": SECRET, "thinkingSignature": SECRET},
            {"type": "text", "text": SECRET},
            {"type": "toolCall", "id": "call-1", "name": "bash", "arguments": {"command": [{"deep": SECRET}]}},
            {"type": "unheard-of", "some": SECRET},
        ],
        "usage": {"input": 0}, "errorMessage": SECRET,
    });
    let path = format!("/home/{SECRET}/session.jsonl");
    let delta = |delta: &str| {
        let event =
            json!({"type": "toolcall_delta", "contentIndex": 2, "delta": delta, "partial": assistant});
        frame("out", &json!({"type": "message_update", "message": assistant, "assistantMessageEvent": event}))
    };
    let result =
        json!({"content": [{"type": "text", "text": SECRET}], "details": {"any": {"thing": SECRET}}});
    let lines = [
        frame(
            "meta",
            &json!({"event": "spawn", "argv": [path, "--key", SECRET, format!("--x={SECRET}")], "server": path}),
        ),
        frame("in", &json!({"id": "1", "type": "prompt", "message": SECRET, "unheard-of": {"a": [SECRET]}})),
        frame("in", &json!({"id": "2", "type": "bash", "command": SECRET})),
        frame("in", &json!({"id": "3", "type": "set_session_name", "name": SECRET})),
        frame("in", &json!({"id": "4", "type": "switch_session", "sessionPath": path})),
        frame("in", &json!({"id": "5", "type": SECRET, "what": SECRET})),
        frame("in", &json!([SECRET])),
        frame("in", &json!({"type": "extension_ui_response", "id": "6", "value": SECRET})),
        frame(
            "out",
            &json!({"id": "2", "type": "response", "command": "bash", "success": true, "data":
            {"output": SECRET, "cancelled": false, "truncated": false, "fullOutputPath": path}}),
        ),
        frame(
            "out",
            &json!({"id": "5", "type": "response", "command": SECRET, "success": false, "error": format!("Unknown command: {SECRET}")}),
        ),
        frame(
            "out",
            &json!({"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": SECRET}], "timestamp": 1}}),
        ),
        delta("{\"command\": [{\"deep\": \"Qw\\u0071\\u00"),
        delta("77Zk\\u007"),
        delta("azk\"}]}"),
        frame(
            "out",
            &json!({"type": "tool_execution_end", "toolCallId": "call-1", "toolName": "bash", "isError": false, "result": result}),
        ),
        frame(
            "out",
            &json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 1, "errorMessage": SECRET}),
        ),
        frame(
            "out",
            &json!({"type": "extension_error", "extensionPath": path, "event": "load", "error": SECRET}),
        ),
        frame(
            "out",
            &json!({"type": "extension_ui_request", "id": "6", "method": "select", "title": SECRET, "options": [SECRET]}),
        ),
        frame("out", &json!({"type": "unheard-of", "deep": {"er": SECRET}})),
        frame("err", &json!({"level": SECRET})),
        json!({"t": 0.0, "dir": "err", "raw": SECRET}).to_string(),
        json!({"t": 0.0, "dir": "out", "raw": format!("print {SECRET}")}).to_string(),
        // The secret and a byte that is no UTF-8.
        json!({"t": 0.0, "dir": "in", "raw64": "UXdxd1prems/f3//"}).to_string(),
        frame("meta", &json!({"event": "timeout", "what": format!("response to {SECRET}")})),
        frame(
            "meta",
            &json!({"event": "session file", "lines": [
                {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": path},
                {"type": "message", "id": "e", "parentId": null, "timestamp": "t", "message": assistant},
                {"type": "unheard-of", "data": SECRET},
                format!("no JSON {SECRET}"),
            ]}),
        ),
    ];
    let redacted = redacted(&lines.join("\n"));
    for half in ["Qw", "qw", "Zk", "zk", "0071", "home"] {
        let told = redacted.lines().filter(|line| line.contains(half)).collect::<Vec<_>>();
        assert_eq!(told, Vec::<&str>::new(), "{half}");
    }
    for kept in [
        r#"{"event":"spawn","argv":["/xxxx/xxxxxxxx/xxxxxxx.xxxxx","--key","xxxxxxxx","--x=xxxxxxxx"],"server":"/xxxx/xxxxxxxx/xxxxxxx.xxxxx"}"#,
        r#"{"id":"1","type":"prompt","message":"xxxxxxxx","unheard-of":{"a":["xxxxxxxx"]}}"#,
        r#"{"id":"5","type":"xxxxxxxx","what":"xxxxxxxx"}"#,
        r#"{"id":"5","type":"response","command":"xxxxxxxx","success":false,"error":"Unknown command: xxxxxxxx"}"#,
        r#""name":"bash","arguments":{"command":[{"deep":"xxxxxxxx"}]}"#,
        r#""delta":"{\"command\": [{\"deep\": \"xxx""#,
        r#""raw":"xxxxx xxxxxxxx""#,
        r#""raw64":"eHh4eHh4eHg/"#,
        r#"{"event":"timeout","what":"response xx xxxxxxxx"}"#,
    ] {
        assert!(redacted.contains(kept), "{kept}\n{redacted}");
    }
}

fn binary(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command.args(arguments).current_dir(dir).env("HOME", dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn redacting_tap_passes_everything_on() {
    let dir = tempfile::tempdir().unwrap();
    let server = [env!("CARGO_BIN_EXE_pi-rpc"), "serve", "--no-session", "--model", "scripted/demo"];
    let options = ["tap", "--record", "talk.jsonl", "--redact", "--"];
    let mut tap = binary(dir.path(), &[&options[..], &server].concat()).spawn().unwrap();
    let prompt = json!({"id": "1", "type": "bash", "command": format!("echo {SECRET}")});
    let state = json!({"id": "2", "type": "set_session_name", "name": SECRET});
    tap.stdin.take().unwrap().write_all(format!("{prompt}\n{state}\n").as_bytes()).unwrap();
    let output = tap.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains(SECRET));
    let recording = fs::read_to_string(dir.path().join("talk.jsonl")).unwrap();
    assert!(recording.contains(r#""command":"xxxx xxxxxxxx""#), "{recording}");
    assert!(!recording.contains(SECRET), "{recording}");
    let checked = binary(dir.path(), &["check", "talk.jsonl"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn conform_keeps_redacted_recordings() {
    let dir = tempfile::tempdir().unwrap();
    let options = ["conform", "--scenario", "tools-one", "--keep", "kept", "--redact", "--"];
    let server = [env!("CARGO_BIN_EXE_pi-rpc"), "serve"];
    let played = binary(dir.path(), &[&options[..], &server].concat()).output().unwrap();
    assert_eq!(played.status.code(), Some(0), "{}", String::from_utf8_lossy(&played.stdout));
    let kept = fs::read_to_string(dir.path().join("kept/tools-one.jsonl")).unwrap();
    assert_eq!(redacted(&kept), kept);
    let checked = binary(dir.path(), &["check", "kept/tools-one.jsonl"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}
