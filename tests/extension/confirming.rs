//! The host is asked before a tool runs.

use crate::asking_support::{Extension, Played, Scenario, answer, done, say, says, scenario};
use pi_rpc::{
    engine::Extending,
    protocol::Dialect::{self, Pi, Pi058, Xcsh},
};
use say::{calls, command, prompt, says as model_says};
use serde_json::{Value, json};

const ALL: [Dialect; 3] = [Pi, Pi058, Xcsh];

/// The host is asked about `probe`, which the model calls in every prompt.
fn confirming(prompts: u64) -> Scenario {
    let turns: Vec<Value> = (1..=prompts)
        .flat_map(|n| [calls(&format!("t{n}"), "probe", "echo one"), model_says("Well.")])
        .collect();
    let scenario = scenario(json!(turns))
        .extending(Extending { confirm: vec!["probe".to_owned()], ..Extending::default() });
    (1..=prompts).fold(scenario, |scenario, n| scenario.host(1000 * n, prompt(&format!("p{n}"), "go")))
}

fn texts(played: &Played) -> Vec<&str> {
    let ends = played.said.iter().filter(|it| it["type"] == "tool_execution_end");
    ends.map(|it| it["result"]["content"][0]["text"].as_str().unwrap_or_default()).collect()
}

const DENIED: &str = "The user did not allow this call of probe.";

#[test]
fn the_host_is_asked_which_tool_runs_with_which_arguments() {
    for dialect in ALL {
        let played = confirming(1).host(1500, answer(0, "value", "Allow once")).play(dialect);
        let mut asked = played.last("extension_ui_request").clone();
        asked["id"].take();
        assert_eq!(
            asked,
            json!({
                "type": "extension_ui_request", "id": null, "method": "select",
                "title": r#"Allow probe? {"command":"echo one"}"#,
                "options": ["Allow once", "Allow for this session", "Deny"],
            }),
            "{dialect}"
        );
        assert_eq!(
            played.talk(),
            "< p1 · ok p1 · agent_start · user go · start t1 · ui select · < extension_ui_response · update t1 · end t1 · \
             agent_end [uata]",
            "{dialect}"
        );
        let state = played.steps.iter().find(|step| step.frame["type"] == "extension_ui_request");
        assert_eq!(state.map(|step| step.state.as_str()), Some("streaming.tools+awaiting_ui"), "{dialect}");
    }
}

#[test]
fn anything_but_a_yes_is_a_no_that_the_model_is_told() {
    for (key, value) in [
        ("value", json!("Deny")),
        ("value", json!("allow once")),
        ("value", json!("")),
        ("value", json!(1)),
        ("confirmed", json!(true)),
        ("cancelled", json!(true)),
    ] {
        for dialect in ALL {
            let played = confirming(1).host(1500, answer(0, key, value.clone())).play(dialect);
            assert_eq!(texts(&played), [DENIED], "{key} {value} in {dialect}");
            assert_eq!(played.asked[1], "turn play [uat]", "{key} {value} in {dialect}");
            assert_eq!(played.started, Vec::<String>::new(), "{key} {value} in {dialect}");
        }
    }
}

#[test]
fn once_is_once() {
    let played = confirming(2)
        .host(1500, answer(0, "value", "Allow once"))
        .host(2500, answer(1, "value", "Deny"))
        .play(Pi);
    assert_eq!(texts(&played), ["one\n", DENIED]);
}

#[test]
fn the_session_is_the_session_and_no_other() {
    for (dialect, leave) in [
        (Pi, json!({ "id": "r", "type": "new_session" })),
        (Pi, json!({ "id": "r", "type": "switch_session", "sessionPath": "/sessions/x.jsonl" })),
        (Pi, json!({ "id": "r", "type": "fork", "entryId": "$0" })),
        (Xcsh, json!({ "id": "r", "type": "branch", "entryId": "$0" })),
    ] {
        let played = confirming(3)
            .kept()
            .host(1500, answer(0, "value", "Allow for this session"))
            .host(2500, leave.clone())
            .host(3500, answer(1, "value", "Deny"))
            .play(dialect);
        assert_eq!(played.answers("r")[0]["success"], true, "{leave}");
        assert_eq!(texts(&played), ["one\n", "one\n", DENIED], "{leave}");
    }
}

#[test]
fn a_session_that_is_not_left_keeps_what_was_allowed() {
    let played = confirming(2)
        .extended(
            Extension::new("a", json!({ "hooks": ["session_before_switch"] }))
                .on("hook session_before_switch", [says(json!({ "cancel": true }))]),
        )
        .host(1500, answer(0, "value", "Allow for this session"))
        .host(1800, command("new_session"))
        .play(Pi);
    assert_eq!(texts(&played), ["one\n", "one\n"]);
}

#[test]
fn tools_that_are_not_named_are_not_asked_about() {
    let played = scenario(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
        .extending(Extending { confirm: vec!["probe".to_owned()], ..Extending::default() })
        .host(10, prompt("p", "go"))
        .play(Pi);
    assert_eq!(texts(&played), ["one\n"]);
}

#[test]
fn of_long_arguments_the_beginning_and_the_end_are_shown() {
    let long = format!("echo {}", "ä".repeat(1000));
    let played = scenario(json!([calls("t1", "probe", &long), model_says("Well.")]))
        .extending(Extending { confirm: vec!["probe".to_owned()], ..Extending::default() })
        .host(10, prompt("p", "go"))
        .host(20, answer(0, "value", "Deny"))
        .play(Pi);
    let title = played.last("extension_ui_request")["title"].as_str().expect("a title").to_owned();
    let (beginning, end) = ("ä".repeat(583), "ä".repeat(198));
    assert_eq!(title, format!(r#"Allow probe? {{"command":"echo {beginning} […219 characters…] {end}"}}"#));
}

#[test]
fn an_abort_ends_the_question_and_the_call_does_not_run() {
    for dialect in ALL {
        let played = confirming(1)
            .host(1500, command("abort"))
            .host(1600, answer(0, "value", "Allow once"))
            .play(dialect);
        assert_eq!(
            played.talk(),
            "< p1 · ok p1 · agent_start · user go · start t1 · ui select · < abort · end! t1 · agent_end [uata] · \
             ok abort · < extension_ui_response",
            "{dialect}"
        );
        assert_eq!(texts(&played), ["Operation aborted"], "{dialect}");
    }
}

#[test]
fn without_a_host_nothing_is_allowed() {
    for dialect in [Pi, Pi058] {
        let asked = confirming(1).ends(1500).play(dialect);
        assert_eq!(texts(&asked), [DENIED], "{dialect}");
        // The input ends first.
        let unasked = confirming(1).ends(1000).play(dialect);
        assert_eq!(
            unasked.said.iter().filter(|it| it["type"] == "extension_ui_request").count(),
            0,
            "{dialect}"
        );
        assert_eq!(texts(&unasked), [DENIED], "{dialect}");
    }
}

/// Two calls of `probe` at once.
fn two() -> Scenario {
    let call = |id: &str| json!({ "tool": "probe", "id": id, "arguments": { "command": "sleep 10; echo one" }, "size": 0 });
    scenario(json!([{ "say": [call("t1"), call("t2")] }, model_says("Well.")]))
        .extending(Extending { confirm: vec!["probe".to_owned()], ..Extending::default() })
        .host(10, prompt("p", "go"))
}

#[test]
fn two_calls_are_asked_about_as_the_dialect_runs_them() {
    let start = "< p · ok p · agent_start · user go · ";
    let (yes, no) = ("Allow once", "Deny");
    for (dialect, talk) in [
        (
            Pi,
            "start t1 · ui select · < extension_ui_response · update t1 · end t1 · start t2 · ui select · \
             < extension_ui_response · end! t2",
        ),
        (
            Pi058,
            "start t1 · ui select · < extension_ui_response · start t2 · ui select · < extension_ui_response · end! t2 · \
             update t1 · end t1",
        ),
        (
            Xcsh,
            "start t1 · ui select · start t2 · ui select · < extension_ui_response · update t1 · end t1 · \
             < extension_ui_response · end! t2",
        ),
    ] {
        let played = two().host(50, answer(0, "value", yes)).host(100, answer(1, "value", no)).play(dialect);
        assert_eq!(played.talk(), format!("{start}{talk} · agent_end [uatta]"), "{dialect}");
    }
}

#[test]
fn an_abort_ends_both_of_two_questions() {
    let played = two().host(50, command("abort")).play(Xcsh);
    assert_eq!(
        played.talk(),
        "< p · ok p · agent_start · user go · start t1 · ui select · start t2 · ui select · < abort · end! t1 · end! t2 · \
         agent_end [uatta] · ok abort"
    );
}

#[test]
fn an_extension_is_asked_first_and_what_it_prevents_is_not_asked_about() {
    for dialect in ALL {
        let gate = |say: Value| {
            Extension::new("a", json!({ "hooks": ["tool_call"] })).on("hook tool_call", [says(say)])
        };
        let prevented = confirming(1).extended(gate(json!({ "block": true, "reason": "No." }))).play(dialect);
        assert_eq!(texts(&prevented), ["No."], "{dialect}");
        assert_eq!(
            prevented.said.iter().filter(|it| it["type"] == "extension_ui_request").count(),
            0,
            "{dialect}"
        );
        let passed = confirming(1)
            .extended(Extension::new("a", json!({ "hooks": ["tool_call"] })).on("hook tool_call", [done()]))
            .host(1500, answer(0, "value", "Allow once"))
            .play(dialect);
        assert!(
            passed
                .talk()
                .contains("start t1 · >a hook tool_call · <a done · ui select · < extension_ui_response"),
            "{dialect}: {}",
            passed.talk()
        );
        assert_eq!(texts(&passed), ["one\n"], "{dialect}");
    }
}
