//! `action.yml`: its step runs `conform` and leaves the reports.

use serde_json::Value;
use std::{fs, path::Path, process::Command};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs the first step of the action as a runner does, in `folder`; returns its exit status.
fn run_step(folder: &Path, inputs: &[(&str, &str)]) -> Option<i32> {
    let text = fs::read_to_string(Path::new(ROOT).join("action.yml")).unwrap();
    let action: Value = serde_saphyr::from_str(&text).unwrap();
    let step = &action["runs"]["steps"][0];
    assert_eq!(step["shell"], "bash");
    let value = |expression: &str| {
        let name = expression.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}")).unwrap();
        let input = &action["inputs"][name];
        assert!(input.is_object(), "{name}: the action has no such input");
        let given = inputs.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
        given.or(input["default"].as_str()).unwrap_or_default().to_owned()
    };
    let mut bash = Command::new("bash");
    bash.args(["-e", "-o", "pipefail", "-c", step["run"].as_str().unwrap()]).current_dir(folder);
    for (name, expression) in step["env"].as_object().unwrap() {
        bash.env(name, value(expression.as_str().unwrap()));
    }
    bash.env("GITHUB_ACTION_PATH", ROOT).output().unwrap().status.code()
}

#[test]
fn action_leaves_junit_page_and_badge() {
    let folder = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_pi-rpc");
    let server = format!("{binary} serve");
    let inputs = [("server", &*server), ("scenario", "queue-all"), ("binary", binary)];
    assert_eq!(run_step(folder.path(), &inputs), Some(0));
    let report = |name: &str| fs::read_to_string(folder.path().join("pi-rpc-report").join(name)).unwrap();
    assert!(report("junit.xml").contains("<testsuite name=\"queue-all\""));
    assert!(report("report.html").contains("<html"));
    assert!(report("badge.svg").contains(">conforms<"));
}

#[test]
fn action_fails_without_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [("server", "false"), ("scenario", "queue-all"), ("binary", env!("CARGO_BIN_EXE_pi-rpc"))];
    assert_eq!(run_step(folder.path(), &inputs), Some(3));
    let badge = fs::read_to_string(folder.path().join("pi-rpc-report/badge.svg")).unwrap();
    assert!(badge.contains(">not judged<"), "{badge}");
}
