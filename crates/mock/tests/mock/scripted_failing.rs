//! The ways in which a scripted answer fails or hangs.

use crate::scripted_common::{answer, ask, deltas, events, failure, player, text, usages};
use pi_rpc_model::{
    scripted::{Step, StepAction},
    types::StreamEvent,
};
use serde_json::{Value, json};

/// The `errorMessage` of a call that fails before anything is said.
fn refused(fail: Value) -> String {
    let steps = answer(json!({ "fail": fail }));
    assert_eq!(steps.len(), 1, "{steps:?}");
    failure(&steps).to_owned()
}

/// The `errorMessage` of an answer that fails after it began.
fn broken_off(fail: Value) -> String {
    let steps = answer(json!({ "say": [{ "text": "half" }], "fail": fail }));
    assert_eq!(text(&steps, 0), "half");
    failure(&steps).to_owned()
}

fn open_blocks(steps: &[Step]) -> usize {
    let starts = events(steps).iter().filter(|event| matches!(event, StreamEvent::Start { .. })).count();
    starts - events(steps).iter().filter(|event| matches!(event, StreamEvent::End { .. })).count()
}

#[test]
fn failures_read_as_the_originals_show_them() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let coded = format!("529 {overloaded}");
    for (fail, expected) in [
        (json!({"status": 529}), &*coded),
        (json!({"kind": "overloaded_error"}), &coded),
        (
            json!({"status": 400, "message": "say \"please\""}),
            r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"say \"please\""}}"#,
        ),
        (
            json!({"status": 418, "kind": "teapot_error", "message": "I am a teapot"}),
            r#"418 {"type":"error","error":{"type":"teapot_error","message":"I am a teapot"}}"#,
        ),
        (
            json!({"status": 599}),
            r#"599 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
        ),
        (json!({"status": 500, "body": {"z": 1, "a": [null]}}), r#"500 {"z":1,"a":[null]}"#),
        (json!({"status": 502, "body": "<html>"}), "502 <html>"),
        (json!({"status": 503, "body": ""}), "503 status code (no body)"),
        (json!({"message": "connect ECONNREFUSED"}), "connect ECONNREFUSED"),
    ] {
        assert_eq!(refused(fail), expected);
    }
    for (fail, expected) in [
        (json!({"status": 529}), overloaded),
        (json!({"status": 500, "body": {"own": 1}}), r#"{"own":1}"#),
        (json!({"message": "terminated"}), "terminated"),
    ] {
        assert_eq!(broken_off(fail), expected, "an answer that began has no status");
    }
    assert_eq!(answer(json!({"firstDelayMs": 30, "fail": {"status": 529}}))[0].delay_ms, 30);
}

#[test]
fn mock_reads_status_and_body() {
    let mut player =
        player(json!([{"fail": {"status": 529}}, {"say": [{"text": "a"}], "fail": {"status": 529}}]));
    let refused = player.take(&ask("a")).into_owned();
    let failure = refused.refusal().expect("a refusal");
    assert_eq!(failure.status(), Some(529));
    assert!(failure.body().is_some_and(|body| body.contains("overloaded_error")));
    assert_eq!(player.take(&ask("a")).refusal(), None);
}

#[test]
fn answer_is_cut_after_deltas() {
    let cut = |after: u32| {
        let say = json!([{"text": "abcd"}, {"thinking": "efgh"}]);
        answer(json!({"say": say, "size": 2, "afterDeltas": after, "fail": {"message": "reset"}}))
    };
    let said = |steps: &[Step]| (deltas(steps, 0).len(), deltas(steps, 1).len(), open_blocks(steps));
    assert_eq!(said(&cut(0)), (0, 0, 0));
    assert_eq!(said(&cut(1)), (1, 0, 1));
    assert_eq!(said(&cut(2)), (2, 0, 1));
    assert_eq!(said(&cut(3)), (2, 1, 1));
    assert_eq!(said(&cut(9)), (2, 2, 1));
    for after in 0..9 {
        assert_eq!(failure(&cut(after)), "reset");
        assert_eq!(usages(&cut(after)).len(), 1, "only the usage that was known at the start");
    }
}

#[test]
fn hang_is_the_last_step() {
    let silent = answer(json!({"hang": true, "firstDelayMs": 5}));
    assert_eq!(silent, [Step { delay_ms: 5, action: StepAction::Hang }]);

    let steps = answer(json!({"say": [{"tool": "bash", "arguments": {"command": "ls"}}], "hang": true}));
    assert_eq!(steps.last().map(|step| &step.action), Some(&StepAction::Hang));
    assert_eq!(text(&steps, 0), r#"{"command":"ls"}"#);
    assert_eq!(open_blocks(&steps), 1);
    assert!(!events(&steps).iter().any(|event| matches!(event, StreamEvent::Finish(_))));

    let cut = answer(json!({"say": [{"text": "abcd", "size": 1}], "afterDeltas": 2, "hang": true}));
    assert_eq!(text(&cut, 0), "ab");
}
