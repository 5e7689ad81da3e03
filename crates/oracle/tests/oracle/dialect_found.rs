//! The dialect of a recording that names none is found by its frames, and said.

use crate::mutation_support::{dialect, names, valid};
use pi_rpc_oracle::{
    JudgeOptions,
    report::{Outcome, Subject},
};
use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};

fn judged(by: Option<Dialect>, records: &[Value]) -> Subject {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    JudgeOptions { dialect: by.map(Into::into), timeline: false }.judge("unnamed", text.as_bytes())
}

/// The records of a valid recording, which name no dialect.
fn unnamed(name: &str) -> Vec<Value> {
    let mut records = valid(name);
    for record in &mut records {
        record["frame"].as_object_mut().map(|frame| frame.remove("dialect"));
    }
    records
}

/// The dialect that is found for a recording, and the line that reports it.
fn found(records: &[Value]) -> (Dialect, String) {
    let subject = judged(None, records);
    (subject.dialect, subject.remarks.concat())
}

fn spawn() -> Value {
    json!({ "t": 0, "dir": "meta", "frame": { "event": "spawn", "argv": ["server"] } })
}

fn record(dir: &str, frame: &Value) -> Value {
    json!({ "t": 1, "dir": dir, "frame": frame })
}

#[test]
fn unnamed_recordings_are_judged_alike() {
    for name in names() {
        let records = unnamed(&name);
        let (told, found) = (judged(Some(dialect(&name)), &records), judged(None, &records));
        assert_eq!(found.findings, told.findings, "{name}");
        assert_eq!((found.outcome, found.reason), (told.outcome, told.reason), "{name}");
    }
}

#[test]
fn each_dialect_is_found_by_a_frame() {
    let said = |text: &str| text.to_owned();
    assert_eq!(
        found(&unnamed("pi/compaction")),
        (Pi, said("dialect pi, not pi-1: by line 29, a `auto_compaction_start`"))
    );
    assert_eq!(
        found(&unnamed("pi-1/plain")),
        (Pi1, said("dialect pi-1, not pi: by line 8, a `message_start`"))
    );
    assert_eq!(found(&unnamed("xcsh/plain")), (Xcsh, said("dialect xcsh, not omp: by line 3, a `ready`")));
}

#[test]
fn command_of_the_host_tells() {
    let set_todos = record("in", &json!({ "id": "t", "type": "set_todos", "phases": [] }));
    // The command of omp, too, so that the first of both is taken.
    let said = "dialect xcsh: no frame tells; name another with --dialect".to_owned();
    assert_eq!(found(std::slice::from_ref(&set_todos)), (Xcsh, said));
    // Hosts try commands that a server may not have.
    let refused = json!({ "type": "response", "command": "set_todos", "success": false, "error": "Unknown command: set_todos" });
    let said = "dialect pi: no frame tells; name another with --dialect".to_owned();
    assert_eq!(found(&[spawn(), set_todos, record("out", &refused)]), (Pi, said));
}

#[test]
fn mixed_recording_is_said_to_be_mixed() {
    let mut records = unnamed("pi-1/plain");
    let at = records.iter().position(|record| record["frame"]["type"] == "agent_start").unwrap();
    records.insert(at, record("out", &json!({ "type": "todo_auto_clear" })));
    let said = "dialect pi-1, not pi: by line 9, a `message_start`; but line 6, a `todo_auto_clear`, is of xcsh; \
                name another with --dialect";
    assert_eq!(found(&records), (Pi1, said.to_owned()));
    assert_ne!(judged(None, &records).findings, []);
}

#[test]
fn short_recording_does_not_tell() {
    let state = record("in", &json!({ "id": "s", "type": "get_state" }));
    let said = "dialect pi: no frame tells; name another with --dialect".to_owned();
    assert_eq!(found(&[spawn(), state]), (Pi, said));
    // Without any frame there is nothing to say.
    let nothing = judged(None, &[]);
    assert_eq!((nothing.outcome, nothing.remarks.len()), (Outcome::Error, 0));
}

#[test]
fn named_dialect_is_not_looked_for() {
    let subject = judged(None, &valid("xcsh/plain"));
    assert_eq!((subject.dialect, subject.remarks.len()), (Xcsh, 0));
    let subject = judged(Some(Xcsh), &unnamed("xcsh/plain"));
    assert_eq!((subject.dialect, subject.remarks.len()), (Xcsh, 0));
}

#[test]
fn pi_of_073_is_found() {
    let told = [
        json!({ "id": "1", "type": "response", "command": "set_session_name", "success": true }),
        json!({ "type": "session_info_changed", "name": "n" }),
        json!({ "id": "2", "type": "response", "command": "prompt", "success": true }),
    ];
    let records: Vec<Value> =
        [spawn()].into_iter().chain(told.iter().map(|frame| record("out", frame))).collect();
    let said = "dialect pi@0.73, not pi-1: by line 4, a `response`".to_owned();
    assert_eq!(found(&records), (Pi073, said));
}
