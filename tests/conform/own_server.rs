//! Scenarios with our own server: it passes them all, as `conform` reports it.

use crate::serve_support::{eventually, thorough};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Output, Stdio},
};

fn conform(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command.env_remove("PI_RPC_DIALECT").arg("conform").args(arguments).output().unwrap()
}

/// The report on our own server.
fn report(arguments: &[&str]) -> Value {
    report_on(&[env!("CARGO_BIN_EXE_pi-rpc")], arguments)
}

/// The report on the server that this command line starts.
pub fn report_on(server: &[&str], arguments: &[&str]) -> Value {
    let output = conform(&[arguments, &["--format", "json", "--jobs", "4", "--"], server].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// The names of the scenarios for a dialect.
pub fn listed(dialect: &str) -> BTreeSet<String> {
    let output = conform(&["--list", "--dialect", dialect]);
    assert_eq!(output.status.code(), Some(0));
    let listed = String::from_utf8(output.stdout).unwrap();
    listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The outcomes that are not `passed`, with what made them so.
pub fn not_passed(report: &Value) -> Vec<String> {
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    let rest = subjects.filter(|subject| subject["outcome"] != "passed");
    let broken = |subject: &Value| {
        let findings = subject["findings"].as_array().into_iter().flatten();
        findings.map(|found| format!("{} {}", found["tier"], found["rule"])).collect::<Vec<_>>().join(", ")
    };
    rest.map(|one| format!("{} {}: {} [{}]", one["name"], one["outcome"], one["reason"], broken(one)))
        .collect()
}

#[test]
fn own_server_passes_every_scenario() {
    let [pi, xcsh] = ["pi", "xcsh"].map(listed);
    assert!(pi.contains("prompt-plain"), "{pi:?}");
    // A sample plays each scenario in one dialect.
    let both: BTreeSet<_> = pi.intersection(&xcsh).cloned().collect();
    let in_pi: BTreeSet<_> = both.iter().step_by(2).cloned().collect();
    for (dialect, all) in [("pi", &pi - &(&both - &in_pi)), ("xcsh", &xcsh - &in_pi)] {
        let names = all.iter().flat_map(|name| ["--scenario", name]);
        let names: Vec<&str> = if thorough() { Vec::new() } else { names.collect() };
        let report = report(&[&["--dialect", dialect], &names[..]].concat());
        assert_eq!(not_passed(&report), Vec::<String>::new(), "{dialect}");
        assert!(report["subjects"].as_array().is_some_and(|subjects| subjects.len() >= all.len()));
    }
}

#[test]
fn older_version_passes_what_tells_it() {
    let dialect = "pi-1@1.5";
    let file = |name: &&String| format!("{}/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let tells = |name: &&String| std::fs::read_to_string(file(name)).is_ok_and(|text| text.contains(dialect));
    let all = listed(dialect);
    let names: Vec<&str> = all.iter().filter(tells).flat_map(|name| ["--scenario", name]).collect();
    assert!(names.contains(&"read-image-unseen"), "{names:?}");
    let report = report(&[&["--dialect", dialect], &names[..]].concat());
    assert_eq!(not_passed(&report), Vec::<String>::new());
}

#[test]
fn kept_conversation_is_judged_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let keep = dir.path().join("kept");
    let played = report(&["--scenario", "prompt-plain", "--keep", keep.to_str().unwrap()]);
    let kept = keep.join("prompt-plain.jsonl");
    let checked = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["check", "--format", "json", kept.to_str().unwrap()])
        .output()
        .unwrap();
    let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let said = |report: &Value| {
        let subject = &report["subjects"][0];
        ["framesIn", "framesOut", "processes", "exercised", "findings", "outcome"]
            .map(|key| subject[key].clone())
    };
    assert_eq!(said(&played), said(&checked));
}

#[test]
fn server_gets_no_user_environment() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("environment.json");
    let text = r#"{ "name": "environment", "title": "What it sees.", "steps": [
        { "ask": { "type": "bash", "command": "env | cut -d= -f1 | sort | tr '\\n' ' '; ls -A ~ ." },
          "response": { "data": { "output": { "$not": { "$contains": "CARGO" } }, "exitCode": 0 } } }
    ] }"#;
    std::fs::write(&scenario, text).unwrap();
    assert_eq!(not_passed(&report(&["--scenario", scenario.to_str().unwrap()])), Vec::<String>::new());
}

#[test]
fn scenario_file_is_named_like_its_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(path.file_stem().and_then(|name| name.to_str()), scenario["name"].as_str());
    }
}

#[test]
fn unknown_scenario_or_option_is_refused() {
    let rows: [(&[&str], &str); 6] = [
        (
            &["--scenario", "nothing-*", "--", "pi-rpc"],
            "--scenario nothing-*: expected the name of a scenario of pi-1; see --list",
        ),
        (
            &["--scenario", "missing.json", "--", "pi-rpc"],
            "missing.json: No such file or directory (os error 2)",
        ),
        (
            &["--adapter", "none", "--", "pi-rpc"],
            "there is no adapter \"none\"; known: omp, pi, pi-rpc, xcsh",
        ),
        (&["--adapter", "none.json", "--", "pi-rpc"], "none.json: No such file or directory (os error 2)"),
        (&["--dialect", "none", "--", "pi-rpc"], "unknown dialect \"none\"; known: DIALECTS"),
        (&["--keep", "/proc/none", "--", "pi-rpc"], "--keep: No such file or directory (os error 2)"),
    ];
    let known = pi_rpc::protocol::Dialect::ALL.map(|it| it.as_str()).join(", ");
    for (arguments, text) in rows {
        let text = text.replace("DIALECTS", &known);
        let output = conform(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told), (Some(2), format!("Error: {text}\n")), "{arguments:?}");
    }
}

#[test]
fn program_that_cannot_start_is_harness_error() {
    let output = conform(&["--scenario", "prompt-plain", "--", "no-such-program"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(told.contains("no-such-program cannot be started: No such file or directory"), "{told}");
}

#[test]
fn terminated_conform_ends_its_servers() {
    let dir = tempfile::tempdir().unwrap();
    let (scenario, pids) = (dir.path().join("forever.json"), dir.path().join("pid"));
    let steps = r#"[{ "expect": { "type": "never" }, "withinMs": 1000000 }]"#;
    let text = format!(r#"{{ "name": "forever", "title": "Never ends.", "steps": {steps} }}"#);
    std::fs::write(&scenario, text).unwrap();
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conform/stand-in.json");
    let script = format!(
        "trap '' TERM; echo $$ >{0}.new; mv {0}.new {0}; while :; do sleep 0.01; done",
        pids.display()
    );
    let mut running = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    running.arg("conform").arg("--scenario").arg(&scenario).arg("--adapter").arg(adapter);
    let mut running = running.args(["--", "sh", "-c", &script]).stdout(Stdio::null()).spawn().unwrap();
    eventually("the server runs", || pids.exists());
    let pid = std::fs::read_to_string(&pids).unwrap();
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    eventually("the server has ended", || has_ended(pid.trim()));
}

/// Whether a process is not there, or only waits for somebody to hear how it ended.
fn has_ended(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn fail_fast_begins_no_further_scenario() {
    let names = ["--scenario", "prompt-plain", "--scenario", "steer-*", "--format", "json"];
    let played = |options: &[&str]| {
        let output =
            conform(&[&names, options, &["--", "sh", "-c", r#"echo '{"type":"turn_end"}'"#]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let outcomes: Vec<Value> =
            report["subjects"].as_array().unwrap().iter().map(|it| it["outcome"].clone()).collect();
        (output.status.code(), outcomes, String::from_utf8(output.stderr).unwrap())
    };
    let (status, all, stderr) = played(&[]);
    assert_eq!((status, stderr.as_str()), (Some(1), ""));
    let left = all.len() - 1;
    assert!(left > 0, "{all:?}");
    let line = format!("--fail-fast: {left} of {} scenarios were not played\n", all.len());
    assert_eq!(played(&["--fail-fast"]), (Some(1), all[..1].to_vec(), line));
}
