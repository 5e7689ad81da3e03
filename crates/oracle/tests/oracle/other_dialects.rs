//! A recording of another dialect than the judged one is reported as such, once, without findings.

use crate::mutation_support::{dialect, names, valid};
use pi_rpc_oracle::{
    JudgeOptions,
    report::{Outcome, Subject},
};
use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};

fn judged(by: Dialect, records: &[Value]) -> Subject {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    JudgeOptions { dialect: Some(by.into()), timeline: false }.judge("foreign", text.as_bytes())
}

/// Whether it is told, and nothing else, that the recording is one of `of`.
fn is_known_as(of: Dialect, subject: &Subject) -> bool {
    let wish = format!("use `--dialect {of}`");
    let told = subject.reason.as_ref().is_some_and(|reason| reason.ends_with(&wish));
    told && subject.outcome == Outcome::Error && subject.findings.is_empty()
}

#[test]
fn recordings_match_their_dialect() {
    for name in names() {
        assert_eq!(judged(dialect(&name), &valid(&name)).reason, None, "{name}");
    }
}

#[test]
fn foreign_recording_is_reported_once() {
    for (of, by) in [(Pi1, Pi), (Xcsh, Pi), (Xcsh, Pi1), (Pi1, Xcsh)] {
        for recording in ["plain", "tools"] {
            let subject = judged(by, &valid(&format!("{of}/{recording}")));
            assert!(is_known_as(of, &subject), "{of} {recording} by {by}: {:?}", subject.reason);
        }
    }
    let plain = judged(Pi, &valid("pi-1/plain"));
    let reason = "not a recording of pi: line 8, a `message_start`, is invalid in pi \
                  (`message`: `system` does not exist in this dialect); use `--dialect pi-1`";
    assert_eq!(plain.reason.as_deref(), Some(reason));
}

#[test]
fn single_foreign_frame_is_violation() {
    let foreign = |of: Dialect, frame: Value| {
        let mut trace = valid(&format!("{of}/plain"));
        let at = trace.iter().position(|record| record["frame"]["type"] == "agent_start").unwrap();
        trace.insert(at, json!({ "t": trace[at]["t"], "dir": "out", "frame": frame }));
        judged(of, &trace)
    };
    for subject in [
        foreign(Pi, json!({ "type": "todo_auto_clear" })),
        foreign(Pi, json!({ "type": "agent_settled", "aborted": false })),
        foreign(Pi1, json!({ "type": "todo_auto_clear" })),
        foreign(Xcsh, json!({ "type": "queue_update", "steering": [], "followUp": [] })),
    ] {
        assert_eq!(subject.reason, None);
        assert_ne!(subject.findings.len(), 0);
    }
}
