//! Scenarios of the client's dialect pass with a server of another behind the front, and both sides are legal.

use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// The adapter of our own server, for a server that speaks `dialect` whatever is judged.
fn adapter(folder: &Path, dialect: &str) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/pi-rpc.json");
    let text = fs::read_to_string(own).expect("the adapter").replace("${dialect}", dialect);
    let mut adapter: Value = serde_json::from_str(&text).expect("JSON");
    // The session file is the server's: it is not judged by the client's dialect.
    adapter["sessions"] = false.into();
    adapter["args"].as_array_mut().expect("arguments").push("--no-session".into());
    let text = adapter.to_string();
    let path = folder.join("adapter.json");
    fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// Plays scenarios of the client's dialect; the outcomes that are not `passed`.
fn not_passed(server: &str, client: &str, scenarios: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let adapter = adapter(folder.path(), server);
    let mut command = Command::new(BINARY);
    command.env_remove("PI_RPC_DIALECT");
    command.args(["conform", "--format", "json", "--jobs", "4", "--dialect", client, "--adapter", &adapter]);
    for name in scenarios {
        command.args(["--scenario", name]);
    }
    command.args(["--", BINARY, "front", "--speak", client, "--server-dialect", server, "--", BINARY]);
    let output = command.output().expect("conform");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let subjects = report["subjects"].as_array().expect("subjects");
    assert_eq!(subjects.iter().map(|it| it["name"].as_str()).collect::<BTreeSet<_>>().len(), scenarios.len());
    let shown = |subject: &Value| {
        let findings = subject["findings"].as_array().into_iter().flatten();
        let rules: Vec<_> = findings.map(|found| found["rule"].to_string()).collect();
        format!("{} {}: {} {rules:?}", subject["name"], subject["outcome"], subject["reason"])
    };
    subjects.iter().filter(|subject| subject["outcome"] != "passed").map(shown).collect()
}

/// What every dialect knows.
const COMMON: [&str; 9] = [
    "prompt-plain",
    "prompt-thinking",
    "prompt-two",
    "tools-one",
    "tools-turns",
    "abort-in-text",
    "abort-idle",
    "session-new",
    "bash-ok",
];

/// What follows by itself, and what waits.
const CHAINS: [&str; 8] = [
    "tools-two",
    "retry-ok",
    "retry-exhausted",
    "retry-prompt",
    "steer-in-text",
    "follow-up-in-tool",
    "queue-one-at-a-time",
    "ui-dialogs",
];

#[test]
fn pi_1_server_serves_older_clients() {
    for client in ["pi", "pi@0.73"] {
        let scenarios = [&COMMON[..], &CHAINS[..]].concat();
        assert_eq!(not_passed("pi-1", client, &scenarios), Vec::<String>::new(), "{client}");
    }
}

#[test]
fn older_server_serves_pi_1_client() {
    let scenarios = [&COMMON[..], &["retry-ok", "steer-in-text", "queue-told", "compact-threshold"]].concat();
    assert_eq!(not_passed("pi", "pi-1", &scenarios), Vec::<String>::new());
}

#[test]
fn pi_1_server_serves_omp_client() {
    assert_eq!(not_passed("pi-1", "omp", &COMMON), Vec::<String>::new());
}

/// Recordings of both sides of one conversation are legal, each in its own dialect.
#[test]
fn both_sides_are_legal() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (client, server) = (path("client.jsonl"), path("server.jsonl"));
    let front = [BINARY, "front", "--speak", "pi", "--server-dialect", "pi-1", "--"];
    let tapped = [BINARY, "tap", "--dialect", "pi-1", "--record", server.as_str(), "--"];
    let model = [BINARY, "serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"];
    let mut command = Command::new(BINARY);
    command.env_remove("PI_RPC_DIALECT").args(["tap", "--dialect", "pi", "--record", client.as_str(), "--"]);
    command.args(front).args(tapped).args(model).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().expect("the taps");
    let mut input = process.stdin.take().expect("its input");
    writeln!(input, r#"{{"id":"1","type":"prompt","message":"Hello"}}"#).expect("it reads");
    // The dialect of the client finishes the run at the end of the input, so that of the server must not see it before.
    drop(input);
    let output = process.wait_with_output().expect("its end");
    assert!(String::from_utf8_lossy(&output.stdout).contains("agent_end"));
    for (file, dialect) in [(&client, "pi"), (&server, "pi-1")] {
        let checked =
            Command::new(BINARY).args(["check", "--dialect", dialect, file]).output().expect("check");
        assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}
