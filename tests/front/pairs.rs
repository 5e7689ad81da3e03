//! Scenarios of the client's dialect pass with a server of another behind the front, and both sides are legal.

use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// The adapter of our own server, for a server that speaks `dialect` whatever is judged.
fn adapter(folder: &Path, dialect: &str) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/pi-rpc.json");
    let text = fs::read_to_string(own).expect("the adapter").replace("${dialect}", dialect);
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
    scenarios.iter().for_each(|name| drop(command.args(["--scenario", name])));
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
const COMMON: [&str; 12] = [
    "prompt-plain",
    "prompt-thinking",
    "prompt-two",
    "tools-one",
    "tools-turns",
    "abort-in-text",
    "abort-idle",
    "model-set",
    "retry-ok",
    "retry-exhausted",
    "session-new",
    "bash-ok",
];

#[test]
fn pi_1_server_serves_older_clients() {
    for client in ["pi", "pi@0.73"] {
        assert_eq!(not_passed("pi-1", client, &COMMON), Vec::<String>::new(), "{client}");
    }
}
