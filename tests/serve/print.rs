//! A run that is printed instead of served: `-p`, `--mode text`, `--mode json`.

use crate::serve_support::{Server, binary, command, of_type};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_rpc::protocol::Dialect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

const DIALECTS: [Dialect; 3] = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh];

/// A directory with a script of these turns, and settings in which no try waits.
fn place(turns: &Value) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    for agent in [".pi/agent", ".xcsh/agent"] {
        fs::create_dir_all(dir.path().join(agent)).unwrap();
        let settings = json!({ "retry": { "baseDelayMs": 1 } }).to_string();
        fs::write(dir.path().join(agent).join("settings.json"), settings).unwrap();
    }
    dir
}

fn printing(dir: &Path, dialect: Dialect, arguments: &[&str]) -> Command {
    let mut command = command(binary(), dir);
    command.args(["--dialect", dialect.as_str(), "--no-session", "--model", "scripted/script.json"]);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The status, stdout and stderr of a run with `piped` on stdin.
fn printed(mut command: Command, piped: &str) -> (Option<i32>, String, String) {
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(piped.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn frames(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts of the user in the events.
fn prompts(events: &[Value]) -> Vec<Value> {
    let ends = of_type(events, "message_end").into_iter().filter(|end| end["message"]["role"] == "user");
    ends.map(|end| end["message"]["content"][0]["text"].clone()).collect()
}

/// Without what differs from run to run.
fn timeless(mut frame: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for key in [
                    "timestamp",
                    "id",
                    "toolCallId",
                    "entryId",
                    "duration",
                    "durationMs",
                    "ttft",
                    "wall_time_seconds",
                ] {
                    members.shift_remove(key);
                }
                members.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut frame);
    frame
}

#[test]
fn image_is_attached_to_first_prompt() {
    let dir = place(&json!([{ "say": [{ "text": "A dot." }] }]));
    let picture = STANDARD.decode(DOT).unwrap();
    fs::write(dir.path().join("dot.png"), picture).unwrap();
    let arguments = ["--mode", "json", "@dot.png", "What is it?"];
    let (status, stdout, stderr) = printed(printing(dir.path(), Dialect::Pi1, &arguments), "");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let events = frames(&stdout);
    let ends = of_type(&events, "message_end");
    let asked = ends.into_iter().find(|end| end["message"]["role"] == "user").unwrap();
    let path = dir.path().join("dot.png");
    let text = format!("<file name=\"{}\"></file>\nWhat is it?", path.display());
    let content = json!([
        { "type": "text", "text": text }, { "type": "image", "data": DOT, "mimeType": "image/png" },
    ]);
    assert_eq!(asked["message"]["content"], content);
}

/// A picture of one pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn cut_answer_is_printed_and_fails() {
    let dir = place(&json!([{ "say": [{ "text": "Half of" }], "stop": "length" }]));
    let ended = printed(printing(dir.path(), Dialect::Pi1, &["-p", "go"]), "");
    let error = "Error: Response was truncated: the model reached its output token limit.\n";
    assert_eq!(ended, (Some(1), "Half of\n".to_owned(), error.to_owned()));
}

#[test]
fn run_at_its_limit_exits_with_4() {
    let dir = place(
        &json!([{ "say": [{ "tool": "bash", "arguments": { "command": "true" } }] }, { "say": [{ "text": "Done." }] }]),
    );
    for mode in ["text", "json"] {
        let run = printing(dir.path(), Dialect::Pi1, &["--mode", mode, "--max-turns", "1", "Go on"]);
        let (status, _, stderr) = printed(run, "");
        let reason = "The run has reached its budget of 1 answer.";
        assert!(status == Some(4) && stderr.contains(reason), "{mode}: {status:?}, {stderr}");
    }
}

#[test]
fn unknown_option_is_refused_in_pi_1() {
    let dir = place(&json!([{ "say": [{ "text": "Hello." }] }]));
    let run = |dialect| printed(printing(dir.path(), dialect, &["-p", "--foo=1", "go"]), "");
    assert_eq!(run(Dialect::Pi1), (Some(1), String::new(), "Error: Unknown option: --foo\n".to_owned()));
    assert_eq!(run(Dialect::Pi).0, Some(0));
}

#[test]
fn piped_text_is_a_prompt_for_pi() {
    let dir = place(&json!([{ "say": [{ "text": "Hello." }] }]));
    std::os::unix::fs::symlink(binary(), dir.path().join("pi")).unwrap();
    let mut pi = command(&dir.path().join("pi"), dir.path());
    pi.args(["--no-session", "--model", "scripted/script.json"]);
    pi.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_eq!(printed(pi, "hi"), (Some(0), "Hello.\n".to_owned(), String::new()));
}

#[test]
fn print_shows_the_last_answer() {
    let turns = json!([
        { "say": [{ "text": "Let me see." }, { "tool": "bash", "arguments": { "command": "echo hi" } }] },
        { "say": [{ "text": "First." }] },
        { "say": [{ "thinking": "Hm." }, { "text": "One." }, { "text": "Two." }] },
    ]);
    for dialect in DIALECTS {
        for flags in [&["-p", "a", "b"][..], &["a", "--print", "b"], &["--mode", "text", "a", "b"]] {
            let dir = place(&turns);
            let ended = printed(printing(dir.path(), dialect, flags), "");
            assert_eq!(ended, (Some(0), "One.\nTwo.\n".to_owned(), String::new()), "{dialect} {flags:?}");
        }
    }
}

/// The frames without times, and with `DIR` for the working directory. How many updates come depends on the machine.
fn placeless(frames: Vec<Value>, directory: &Path) -> Vec<Value> {
    let directory = directory.canonicalize().unwrap();
    let text = |frame: Value| timeless(frame).to_string().replace(directory.to_str().unwrap(), "DIR");
    let is_lasting = |frame: &Value| !frame["type"].as_str().unwrap_or_default().ends_with("_update");
    frames.into_iter().filter(is_lasting).map(|frame| serde_json::from_str(&text(frame)).unwrap()).collect()
}

#[test]
fn json_shows_the_events_of_the_server() {
    let turns = json!([
        { "say": [{ "text": "Let me see." }, { "tool": "bash", "arguments": { "command": "echo hi" } }] },
        { "say": [{ "text": "Done." }] },
    ]);
    for dialect in DIALECTS {
        let dir = place(&turns);
        let (status, stdout, stderr) = printed(printing(dir.path(), dialect, &["--mode", "json", "go"]), "");
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{dialect}");
        let mut shown = frames(&stdout);
        let header = shown.remove(0);
        let directory = dir.path().canonicalize().unwrap();
        let expected = json!({ "type": "session", "version": 3, "cwd": directory });
        assert_eq!(timeless(header.clone()), expected, "{dialect}");
        assert!(header["id"].is_string() && header["timestamp"].is_string(), "{header}");
        let mut server = Server::script(dialect, turns.clone());
        let mut served = server.run("go");
        if dialect == Dialect::Pi1 {
            served.extend(server.until_type("agent_settled"));
        }
        let place = server.finishes();
        let events: Vec<Value> = served.into_iter().filter(|frame| frame["type"] != "response").collect();
        assert_eq!(placeless(shown, dir.path()), placeless(events, place.path()), "{dialect}");
    }
}

#[test]
fn piped_text_precedes_the_prompt() {
    for dialect in DIALECTS {
        let dir = place(&json!([{ "say": [{ "text": "Yes." }], "repeat": true }]));
        fs::write(dir.path().join("notes.md"), "Buy bread.\n").unwrap();
        fs::write(dir.path().join("empty.md"), "").unwrap();
        let sent = |arguments: &[&str], piped: &str| {
            let arguments = [&["--mode", "json"], arguments].concat();
            let (status, stdout, stderr) = printed(printing(dir.path(), dialect, &arguments), piped);
            assert_eq!((status, stderr.as_str()), (Some(0), ""), "{dialect} {arguments:?}");
            prompts(&frames(&stdout))
        };
        let file = dir.path().canonicalize().unwrap().join("notes.md");
        let file = format!("<file name=\"{}\">\nBuy bread.\n\n</file>\n", file.display());
        assert_eq!(sent(&["ask", "more"], " \n piped \n"), ["pipedask", "more"]);
        assert_eq!(sent(&[], "piped"), ["piped"]);
        assert_eq!(sent(&["@empty.md", "ask", "@notes.md"], "piped"), [format!("piped{file}ask")]);
        assert_eq!(sent(&["--", "-p"], ""), ["-p"]);
        assert_eq!(sent(&["--verbose", "ask"], ""), ["ask"]);
        assert_eq!(sent(&[], ""), Vec::<Value>::new());
    }
}

#[test]
fn failed_answer_is_the_status_of_text() {
    let turns =
        json!([{ "fail": { "status": 400, "message": "no such thing" } }, { "say": [{ "text": "Yes." }] }]);
    for dialect in DIALECTS {
        let dir = place(&turns);
        let (status, stdout, stderr) = printed(printing(dir.path(), dialect, &["-p", "a"]), "");
        assert_eq!((status, stdout.as_str()), (Some(1), ""), "{dialect}: {stderr}");
        assert!(stderr.starts_with("Error: ") && stderr.contains("no such thing"), "{dialect}: {stderr}");
        // The events tell of it.
        let (status, stdout, stderr) = printed(printing(dir.path(), dialect, &["--mode", "json", "a"]), "");
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{dialect}");
        let shown = frames(&stdout);
        let end = of_type(&shown, "turn_end").pop().unwrap();
        assert_eq!(end["message"]["stopReason"], "error", "{dialect}");
        // Only the last answer counts.
        let ended = printed(printing(dir.path(), dialect, &["-p", "a", "b"]), "");
        assert_eq!(ended, (Some(0), "Yes.\n".to_owned(), String::new()), "{dialect}");
    }
}

#[test]
fn refused_prompt_ends_the_run() {
    for dialect in DIALECTS {
        for mode in ["text", "json"] {
            let dir = place(&json!([]));
            let mut command = command(binary(), dir.path());
            command.args([
                "--dialect",
                dialect.as_str(),
                "--no-session",
                "--model",
                "anthropic/claude-haiku-4-5",
            ]);
            command.args(["--mode", mode, "a", "b"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let output = command.output().unwrap();
            let [stdout, stderr] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
            assert_eq!(output.status.code(), Some(1), "{dialect} {mode}");
            assert!(stderr.starts_with("Error: No API key"), "{dialect} {mode}: {stderr}");
            assert_eq!(stderr.matches("No API key").count(), 1, "{dialect} {mode}: {stderr}");
            assert_eq!(prompts(&frames(&stdout)), Vec::<Value>::new(), "{dialect} {mode}");
        }
    }
}

#[test]
fn retry_belongs_to_the_run() {
    let turns = json!([
        { "fail": { "status": 529, "message": "Overloaded" } }, { "say": [{ "text": "First." }] },
        { "say": [{ "text": "Second." }] },
    ]);
    for dialect in DIALECTS {
        let dir = place(&turns);
        let (status, stdout, stderr) =
            printed(printing(dir.path(), dialect, &["--mode", "json", "a", "b"]), "");
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{dialect}");
        let shown = frames(&stdout);
        let at = |kind: &str, text: &str| {
            let is_it = |frame: &&Value| frame["type"] == kind && frame.to_string().contains(text);
            shown.iter().position(|frame| is_it(&frame)).unwrap_or_else(|| panic!("{dialect}: no {kind}"))
        };
        let order = [at("auto_retry_start", ""), at("message_end", "First."), at("message_start", "\"b\"")];
        assert!(order.is_sorted(), "{dialect}: {order:?}");
    }
}

#[test]
fn dialog_of_a_printed_run_is_cancelled() {
    let turns = json!([
        { "say": [{ "tool": "bash", "arguments": { "command": "touch made" } }] },
        { "say": [{ "text": "Well." }] },
    ]);
    for dialect in DIALECTS {
        let dir = place(&turns);
        let ended = printed(printing(dir.path(), dialect, &["-p", "a", "--confirm-tools", "bash"]), "");
        assert_eq!(ended, (Some(0), "Well.\n".to_owned(), String::new()), "{dialect}");
        assert!(!dir.path().join("made").exists(), "{dialect}");
    }
}

#[test]
fn printed_run_is_persisted_and_resumed() {
    let dir = place(&json!([{ "say": [{ "text": "Yes." }] }]));
    let run = |arguments: &[&str]| {
        let mut command = command(binary(), dir.path());
        command.args(["--model", "scripted/script.json"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        printed(command, "")
    };
    assert_eq!(run(&["-p", "a"]), (Some(0), "Yes.\n".to_owned(), String::new()));
    // Without a prompt the last answer is shown again.
    assert_eq!(run(&["-p", "-c"]), (Some(0), "Yes.\n".to_owned(), String::new()));
}

#[test]
fn signal_ends_a_printed_run() {
    let turns = json!([{ "say": [{ "tool": "bash", "arguments": { "command": "echo on; sleep 1000" } }] }]);
    let dir = place(&turns);
    let mut child = printing(dir.path(), Dialect::Pi, &["--mode", "json", "a"]).spawn().unwrap();
    drop(child.stdin.take());
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = String::new();
    let mut chunk = [0; 4096];
    while !seen.contains("tool_execution_update") {
        let count = stdout.read(&mut chunk).unwrap();
        assert!(count > 0, "{seen}");
        seen += &String::from_utf8_lossy(&chunk[..count]);
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn named_pipe_as_file_is_refused() {
    let dir = place(&json!([{ "say": [{ "text": "Unheard." }] }]));
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe.md")).status().unwrap().success());
    for dialect in DIALECTS {
        let refused = printed(printing(dir.path(), dialect, &["-p", "@pipe.md"]), "");
        let stderr = "Error: @pipe.md: not a regular file\n".to_owned();
        assert_eq!(refused, (Some(1), String::new(), stderr), "{dialect}");
    }
}
