//! Servers that misbehave on purpose, as shell scripts: what the driver makes of them.

use pi_rpc::{
    oracle::{
        live::{Adapter, PlayOptions, Server, play_all},
        report::{Outcome, Subject},
        scenario::Scenario,
    },
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{fs, num::NonZeroU32, path::Path};
use tempfile::TempDir;

/// Plays these steps with a server that is this shell script; gives what came out, and the conversation.
fn play(script: &str, steps: Value) -> (Subject, Vec<Value>) {
    play_by(&adapter(), script, steps, PlayOptions::default())
}

fn adapter() -> Adapter {
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conform/stand-in.json");
    Adapter::find(adapter.to_str().unwrap()).unwrap()
}

/// The same by another adapter, or played otherwise.
fn play_by(adapter: &Adapter, script: &str, steps: Value, options: PlayOptions<'_>) -> (Subject, Vec<Value>) {
    let args = vec!["-c".into(), script.into()];
    let server = Server {
        program: "/bin/sh".into(),
        args,
        adapter: adapter.clone(),
        dialect: Dialect::Pi,
        version: None,
    };
    let scenario = json!({"name": "stand-in", "title": "A test.", "steps": steps});
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let keep = TempDir::new().unwrap();
    let options = PlayOptions { keep: Some(keep.path()), ..options };
    let played = play_all(&server, &[scenario], options, |_| {}).unwrap();
    let kept = fs::read_to_string(keep.path().join("stand-in.jsonl")).unwrap();
    let records = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (played.into_iter().next().unwrap(), records)
}

/// What came out, and why.
fn outcome(script: &str, steps: Value) -> (Outcome, String) {
    let (subject, _) = play(script, steps);
    (subject.outcome, subject.reason.unwrap_or_default())
}

fn failed(reason: &str) -> (Outcome, String) {
    (Outcome::Failed, reason.to_owned())
}

/// One that says these lines, then reads until its input ends.
fn says(lines: &[Value]) -> String {
    let lines = lines.iter().map(|line| format!("echo '{line}'; ")).collect::<String>();
    format!("{lines}cat >/dev/null")
}

#[test]
fn early_exit_is_reported_with_status() {
    let steps = json!([{ "expect": { "type": "agent_start" } }]);
    assert_eq!(
        outcome("echo no model >&2; exit 3", steps),
        failed(
            "steps[0]: the server ended with status 3; expected a frame like {\"type\":\"agent_start\"}\nstderr: no model"
        )
    );
}

#[test]
fn server_that_never_writes_cannot_be_judged() {
    let steps = json!([{ "ask": { "type": "get_state" }, "withinMs": 50 }]);
    let reason = "the server never wrote anything, and ended with status 0";
    let (subject, records) = play("cat >/dev/null", steps);
    assert_eq!((subject.outcome, subject.reason.as_deref()), (Outcome::Error, Some(reason)));
    let events: Vec<&str> = records.iter().filter_map(|record| record["frame"]["event"].as_str()).collect();
    assert_eq!(events, ["spawn", "timeout", "stdin closed", "exit", "processes left"]);
}

#[test]
fn late_server_with_patience_is_not_judged() {
    let steps = json!([{ "ask": { "type": "get_state" }, "withinMs": 20 }]);
    let patient = PlayOptions { patience: NonZeroU32::new(3), ..PlayOptions::default() };
    let (subject, _) = play_by(&adapter(), "cat >/dev/null", steps.clone(), patient);
    let reason = "not judged, too slow: steps[0]: timed out waiting for the response to {\"type\":\"get_state\",\"id\":\"ask-1\"}";
    assert_eq!((subject.outcome, subject.reason.as_deref()), (Outcome::Error, Some(reason)));
    assert!(subject.duration_ms >= 60.0, "{}", subject.duration_ms);
    let strict = PlayOptions { strict: true, ..patient };
    let (subject, _) = play_by(&adapter(), "cat >/dev/null", steps, strict);
    assert_eq!(
        (subject.outcome, subject.reason.as_deref()),
        (Outcome::Failed, reason.strip_prefix("not judged, "))
    );
}

#[test]
fn garbage_is_skipped_and_recorded() {
    let script = r"printf 'garbage\n\377\n42\n'; echo '{\x22type\x22:\x22agent_start\x22}' | sed 's/\\x22/\x22/g'; cat >/dev/null";
    let (subject, records) = play(script, json!([{ "expect": { "type": "agent_start" } }]));
    let raw: Vec<&Value> = records.iter().filter(|record| record["dir"] == "out").collect();
    let said = |key: &str| raw.iter().filter_map(|record| record.get(key)).cloned().collect::<Vec<_>>();
    assert_eq!(said("raw"), [json!("garbage")]);
    assert_eq!(said("raw64"), [json!("/w==")]);
    assert_eq!(said("frame").len(), 2);
    assert_eq!(subject.reason, None);
}

#[test]
fn server_that_outlives_input_is_killed() {
    let script = r#"trap '' TERM; sh -c 'trap "" TERM; while :; do sleep 0.01; done' & echo "{\"type\":\"pids\",\"own\":$$,\"child\":$!}"; while :; do sleep 0.01; done"#;
    let mut impatient = adapter();
    impatient.end_within_ms = 300;
    let (subject, records) =
        play_by(&impatient, script, json!([{ "expect": { "type": "pids" } }]), PlayOptions::default());
    assert_eq!(subject.reason.as_deref(), Some("the server did not end within 300 ms of its input"));
    let pids = &records.iter().find(|record| record["dir"] == "out").unwrap()["frame"];
    for pid in [&pids["own"], &pids["child"]] {
        assert!(!runs(pid), "{pid} runs");
    }
    let ends: Vec<&Value> = records[records.len() - 2..].iter().map(|record| &record["frame"]).collect();
    assert_eq!(
        ends,
        [&json!({"event": "exit", "code": 137}), &json!({"event": "processes left", "commands": []})]
    );
}

/// Whether a process is there and has not ended.
fn runs(pid: &Value) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

#[test]
fn unknown_command_means_not_supported() {
    let error = "Unknown command: compact";
    let script = says(&[json!({"type": "response", "command": "compact", "success": false, "error": error})]);
    let steps = json!([{ "ask": { "type": "compact" } }]);
    let reason = "steps[0]: the server does not know the command `compact`".to_owned();
    assert_eq!(outcome(&script, steps), (Outcome::NotSupported, reason));
}

#[test]
fn lost_race_is_not_exercised() {
    let script = says(&[json!({"type": "agent_end"}), json!({"type": "turn_end"})]);
    let steps = json!([{ "expect": { "type": "turn_end" }, "unless": { "type": "agent_end" } }]);
    let reason = "steps[0]: {\"type\":\"agent_end\"} came before {\"type\":\"turn_end\"}".to_owned();
    assert_eq!(outcome(&script, steps), (Outcome::NotExercised, reason));
}

#[test]
fn forbidden_frame_before_expected_fails() {
    let script = says(&[json!({"type": "a"}), json!({"type": "b"})]);
    let steps = json!([{ "expect": { "type": "b" }, "without": {} }]);
    assert_eq!(
        outcome(&script, steps),
        failed("steps[0]: expected {\"type\":\"b\"} without {\"type\":\"a\"}")
    );
}

#[test]
fn several_frames_match_in_any_order() {
    let script =
        says(&[json!({"type": "b", "n": 2}), json!({"type": "a", "n": 1}), json!({"type": "b", "n": 3})]);
    let all = json!([{ "type": "a" }, { "type": "b" }, { "type": "b" }]);
    let steps = json!([{ "expect": all, "capture": { "first": "/1/n", "second": "/2/n" } }, { "expect": "${first} ${second}", "withinMs": 1 }]);
    assert_eq!(outcome(&script, steps), failed("steps[1]: timed out waiting for a frame like \"2 3\""));
}

#[test]
fn response_is_found_behind_events() {
    let script = r#"read line; echo '{"type":"agent_start"}'; echo '{"id":"ask-1","type":"response","success":true}'; cat >/dev/null"#;
    let steps = json!([{ "ask": { "type": "get_state" } }, { "expect": { "type": "agent_start" } }]);
    assert_eq!(outcome(script, steps).1, "");
}

#[test]
fn unexpected_response_is_a_failure() {
    let script = r#"read line; echo '{"id":"ask-1","type":"response","success":false}'; cat >/dev/null"#;
    let reason = "steps[0]: expected a response like {\"success\":true}, got {\"id\":\"ask-1\",\"type\":\"response\",\"success\":false}";
    assert_eq!(outcome(script, json!([{ "ask": { "type": "get_state" } }])), failed(reason));
}

#[test]
fn long_lines_both_ways_do_not_block() {
    let line = json!([{ "sendRaw": ["{\"type\":\"much\",\"text\":\"", { "repeat": "x", "times": 5_000_000 }, "\"}\n"] },
        { "expect": { "type": "much" } }]);
    assert_eq!(outcome("cat", line).1, "");
}

#[test]
fn unread_input_fails_after_time_limit() {
    // The time of a write is that of a step, so the one that is not read is ended first. A process that another test
    // starts may hold the pipe for a moment: only more than a pipe takes has to wait until nobody does.
    let steps = json!([{ "signal": "KILL" }, { "expectExit": 137 }, { "sendRaw": [{ "repeat": "x", "times": 5_000_000 }] }]);
    assert_eq!(
        outcome("sleep 1000", steps),
        failed("steps[2]: the server does not read its input any more: Broken pipe (os error 32)")
    );
}

#[test]
fn restarted_process_keeps_its_home() {
    let script = r#"if [ -e seen ]; then echo "{\"type\":\"again\",\"option\":\"$0\"}"; else touch seen; echo '{"type":"first"}'; fi; cat >/dev/null"#;
    let steps = json!([{ "expect": { "type": "first" } }, { "restart": ["--more"] }, { "expect": { "type": "again", "option": "--more" } }]);
    let (subject, records) = play(script, steps);
    assert_eq!((subject.reason, subject.processes), (None, 2));
    let events: Vec<&str> = records.iter().filter_map(|record| record["frame"]["event"].as_str()).collect();
    assert_eq!(
        events,
        [
            "spawn",
            "stdin closed",
            "exit",
            "processes left",
            "spawn",
            "stdin closed",
            "exit",
            "processes left"
        ]
    );
}

#[test]
fn files_are_put_into_working_folder() {
    let script = r#"until [ -e deep/go ]; do sleep 0.01; done; cp deep/go copy; echo '{"n":1}' >>copy; cat >/dev/null"#;
    let found = json!([{ "put": "deep/go", "text": "{\"n\":0}\n" }, { "expectFile": "copy", "contains": "n", "lines": [{ "n": 0 }, { "n": 1 }] }]);
    assert_eq!(outcome(script, found).1, "");
    let (_, reason) = outcome("cat >/dev/null", json!([{ "expectFile": "none", "withinMs": 20 }]));
    assert!(reason.ends_with("/work/none: No such file or directory (os error 2)"), "{reason}");
}

#[test]
fn unset_name_is_a_scenario_error() {
    let steps = json!([{ "send": { "type": "${none}" } }]);
    assert_eq!(outcome("cat", steps), (Outcome::Error, "steps[0]: `${none}` has no value here".to_owned()));
}

#[test]
fn steps_for_another_dialect_are_left_out() {
    let steps = json!([{ "only": ["xcsh"], "steps": [{ "expect": { "type": "never" } }] }, { "only": ["pi"], "steps": [{ "closeInput": true }] }]);
    assert_eq!(outcome("cat", steps).1, "");
}
