//! The host is asked before a tool runs.

use crate::asking_support::{
    Extension, Playback, Scenario, answer, done, says, scenario, shorthand, waits, writes,
};
use pi_rpc::{
    engine::ExtensionSetup,
    protocol::Dialect::{self, Pi, Pi058, Xcsh},
};
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

const ALL: [Dialect; 3] = [Pi, Pi058, Xcsh];

/// The host is asked about `probe`, which the model calls in every prompt.
fn confirming(prompts: u64) -> Scenario {
    let turns: Vec<Value> = (1..=prompts)
        .flat_map(|n| [calls(&format!("t{n}"), "probe", "echo one"), model_says("Well.")])
        .collect();
    let scenario = scenario(json!(turns))
        .extension_setup(ExtensionSetup { confirm: vec!["probe".to_owned()], ..ExtensionSetup::default() });
    (1..=prompts).fold(scenario, |scenario, n| scenario.host(1000 * n, prompt(&format!("p{n}"), "go")))
}

/// The host is asked about the tools that `patterns` mean; no tool of the server is meant by those that are `unmatched`.
fn guarding(patterns: &[&str], unmatched: &[&str]) -> ExtensionSetup {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    ExtensionSetup { confirm: own(patterns), confirm_unmatched: own(unmatched), ..ExtensionSetup::default() }
}

fn texts(played: &Playback) -> Vec<&str> {
    let ends = played.frames("tool_execution_end");
    ends.map(|it| it["result"]["content"][0]["text"].as_str().unwrap_or_default()).collect()
}

const DENIED: &str = "The user did not allow this call of probe.";

#[test]
fn consent_dialog_shows_tool_and_arguments() {
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
            played.transcript(),
            "< p1 · ok p1 · agent_start · user go · start t1 · ui select · < extension_ui_response · update t1 · end t1 · \
             agent_end [uata]",
            "{dialect}"
        );
        let state = played.steps.iter().find(|step| step.frame["type"] == "extension_ui_request");
        assert_eq!(state.map(|step| step.state.as_str()), Some("streaming.tools+awaiting_ui"), "{dialect}");
    }
}

#[test]
fn only_explicit_consent_runs_the_tool() {
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
fn consent_for_session_ends_with_it() {
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
fn vetoed_switch_keeps_session_consent() {
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
fn unnamed_tools_need_no_consent() {
    let played = scenario(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
        .extension_setup(ExtensionSetup { confirm: vec!["probe".to_owned()], ..ExtensionSetup::default() })
        .host(10, prompt("p", "go"))
        .play(Pi);
    assert_eq!(texts(&played), ["one\n"]);
}

/// What the host is asked about a call with these arguments.
fn title(arguments: &Value) -> String {
    let call = json!({ "tool": "probe", "id": "t1", "arguments": arguments, "size": 0 });
    let played = scenario(json!([{ "say": [call] }, model_says("Well.")]))
        .extension_setup(guarding(&["probe"], &[]))
        .host(10, prompt("p", "go"))
        .host(500, answer(0, "value", "Deny"))
        .play(Pi);
    played.last("extension_ui_request")["title"].as_str().expect("a title").to_owned()
}

#[test]
fn long_command_is_shown_whole() {
    let arguments = json!({ "command": format!("echo {}; rm -r /", "ä".repeat(15_000)), "timeout": 5 });
    assert_eq!(title(&arguments), format!("Allow probe? {arguments}"));
}

#[test]
fn endless_command_shows_both_ends() {
    let asked = title(&json!({ "command": format!("echo {}; rm -r /", "ä".repeat(100_000)), "timeout": 5 }));
    let note = "[… 88014 of 100014 characters are not shown here, from character 6001 to 94014 …]";
    let command = format!("echo {} {note} {}; rm -r /", "ä".repeat(5995), "ä".repeat(5991));
    assert_eq!(asked, format!("Allow probe? {}", json!({ "command": command, "timeout": 5 })));
}

#[test]
fn padding_behind_a_command_hides_nothing() {
    let command = format!("echo {}; rm -r /", "ä".repeat(20_000));
    let asked = title(&json!({ "command": command, "padding": "x".repeat(50_000) }));
    let note = "[… 14014 of 20014 characters are not shown here, from character 3001 to 17014 …]";
    let command = format!("echo {} {note} {}; rm -r /", "ä".repeat(2995), "ä".repeat(2991));
    let note = "[… 44000 of 50000 characters are not shown here, from character 3001 to 47000 …]";
    let padding = format!("{x} {note} {x}", x = "x".repeat(3000));
    assert_eq!(asked, format!("Allow probe? {}", json!({ "command": command, "padding": padding })));
}

#[test]
fn arguments_of_many_members_show_both_ends() {
    let mut arguments = json!({ "command": "echo one" });
    (0..2000).for_each(|number| arguments[format!("member{number}")] = "x".into());
    let whole = arguments.to_string();
    let note = format!(
        "[… {} of {} characters are not shown here, from character 8001 to {} …]",
        whole.len() - 16_000,
        whole.len(),
        whole.len() - 8000
    );
    let shown = format!("{} {note} {}", &whole[..8000], &whole[whole.len() - 8000..]);
    assert_eq!(title(&arguments), format!("Allow probe? {shown}"));
}

#[test]
fn abort_ends_consent_dialog_and_its_call() {
    for dialect in ALL {
        let played = confirming(1)
            .host(1500, command("abort"))
            .host(1600, answer(0, "value", "Allow once"))
            .play(dialect);
        assert_eq!(
            played.transcript(),
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
        assert_eq!(unasked.frames("extension_ui_request").count(), 0, "{dialect}");
        assert_eq!(texts(&unasked), [DENIED], "{dialect}");
    }
}

/// Two calls of `probe` at once.
fn two() -> Scenario {
    let call = |id: &str| json!({ "tool": "probe", "id": id, "arguments": { "command": "sleep 10; echo one" }, "size": 0 });
    scenario(json!([{ "say": [call("t1"), call("t2")] }, model_says("Well.")]))
        .extension_setup(ExtensionSetup { confirm: vec!["probe".to_owned()], ..ExtensionSetup::default() })
        .host(10, prompt("p", "go"))
}

#[test]
fn consent_dialogs_follow_tool_order_of_dialect() {
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
        assert_eq!(played.transcript(), format!("{start}{talk} · agent_end [uatta]"), "{dialect}");
    }
}

#[test]
fn an_abort_ends_both_of_two_questions() {
    let played = two().host(50, command("abort")).play(Xcsh);
    assert_eq!(
        played.transcript(),
        "< p · ok p · agent_start · user go · start t1 · ui select · start t2 · ui select · < abort · end! t1 · end! t2 · \
         agent_end [uatta] · ok abort"
    );
}

#[test]
fn hook_veto_precedes_the_consent_dialog() {
    for dialect in ALL {
        let gate = |say: Value| {
            Extension::new("a", json!({ "hooks": ["tool_call"] })).on("hook tool_call", [says(say)])
        };
        let prevented = confirming(1).extended(gate(json!({ "block": true, "reason": "No." }))).play(dialect);
        assert_eq!(texts(&prevented), ["No."], "{dialect}");
        assert_eq!(prevented.frames("extension_ui_request").count(), 0, "{dialect}");
        let passed = confirming(1)
            .extended(Extension::new("a", json!({ "hooks": ["tool_call"] })).on("hook tool_call", [done()]))
            .host(1500, answer(0, "value", "Allow once"))
            .play(dialect);
        assert!(
            passed
                .transcript()
                .contains("start t1 · >a hook tool_call · <a done · ui select · < extension_ui_response"),
            "{dialect}: {}",
            passed.transcript()
        );
        assert_eq!(texts(&passed), ["one\n"], "{dialect}");
    }
}

/// The questions about tools, and what the host is told of the option.
fn asked_and_told(played: &Playback) -> Vec<String> {
    let frames = played.said.iter().filter_map(|it| match it["type"].as_str()? {
        "extension_ui_request" => {
            it["title"].as_str().map(|title| title.split('?').next().unwrap_or("").to_owned())
        }
        "extension_error" => it["error"].as_str().map(str::to_owned),
        _ => None,
    });
    frames.collect()
}

#[test]
fn star_guards_every_tool() {
    for dialect in ALL {
        let played = scenario(json!([
            calls("t1", "bash", "echo one"),
            calls("t2", "probe", "x"),
            model_says("Well.")
        ]))
        .extension_setup(guarding(&["*"], &[]))
        .host(10, prompt("p", "go"))
        .host(500, answer(0, "value", "Deny"))
        .host(1000, answer(1, "value", "Deny"))
        .play(dialect);
        assert_eq!(asked_and_told(&played), ["Allow bash", "Allow probe"], "{dialect}");
        assert_eq!(played.started, Vec::<String>::new(), "{dialect}");
    }
}

#[test]
fn pattern_guards_tools_that_come_later() {
    let tool = json!({ "name": "mine_one", "description": "Mine.", "parameters": { "type": "object" } });
    for dialect in ALL {
        let played = scenario(json!([
            calls("t1", "mine_one", "x"),
            calls("t2", "bash", "echo one"),
            model_says("Well.")
        ]))
        .extension_setup(guarding(&["mine_*"], &["mine_*"]))
        .extended(Extension::new("a", json!({ "tools": [tool] })))
        .host(10, prompt("p", "go"))
        .host(500, answer(0, "value", "Deny"))
        .play(dialect);
        assert_eq!(asked_and_told(&played), ["Allow mine_one"], "{dialect}");
        assert_eq!(texts(&played), ["The user did not allow this call of mine_one.", "one\n"], "{dialect}");
    }
}

#[test]
fn unknown_name_guards_every_call_with_warning() {
    for dialect in [Pi, Pi058] {
        let played = scenario(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extension_setup(guarding(&["bahs", "mine_*"], &["bahs", "mine_*"]))
            .extended(Extension::new("a", json!({})))
            .host(10, prompt("p", "go"))
            .host(500, answer(0, "value", "Deny"))
            .play(dialect);
        let error = |text: &str| {
            json!({
                "type": "extension_error", "extensionPath": "--confirm-tools", "event": "confirm_tools",
                "error": format!("--confirm-tools: no tool matches {text}Until one does, every tool call needs consent"),
            })
        };
        let errors: Vec<&Value> = played.frames("extension_error").collect();
        let expected = [error("\"bahs\"; did you mean \"bash\"? "), error("\"mine_*\". ")];
        assert_eq!(errors, expected.iter().collect::<Vec<_>>(), "{dialect}");
        assert_eq!(asked_and_told(&played).last().map(String::as_str), Some("Allow bash"), "{dialect}");
        assert_eq!(texts(&played), ["The user did not allow this call of bash."], "{dialect}");
    }
}

#[test]
fn unknown_confirm_name_guards_every_call() {
    let tool = json!({ "name": "ask", "description": "Asks.", "parameters": { "type": "object" } });
    let played = scenario(json!([
        calls("t1", "bash", "echo one"),
        model_says("Well."),
        calls("t2", "bash", "echo two"),
        calls("t3", "ask", "x"),
        model_says("Well."),
    ]))
    .extension_setup(guarding(&["ask"], &["ask"]))
    .host(10, prompt("p", "go"))
    .host(500, answer(0, "value", "Deny"))
    .host(1000, json!({ "id": "s", "type": "set_host_tools", "tools": [tool] }))
    .host(1500, prompt("q", "go"))
    .host(2500, answer(1, "value", "Deny"))
    .play(Xcsh);
    let told = "--confirm-tools: no tool matches \"ask\". Until one does, every tool call needs consent";
    assert_eq!(asked_and_told(&played), [told, "Allow bash", "Allow ask"]);
}

/// An extension `a` that has bash run outside of the conversation; the host is asked about it.
fn outside(more: &[Value]) -> Scenario {
    let run =
        json!({ "type": "run_tool", "id": "r", "toolName": "bash", "arguments": { "command": "echo one" } });
    let does = std::iter::once(&run).chain(more).flat_map(|frame| [writes(frame.clone()), waits(50)]);
    scenario(json!([]))
        .extension_setup(guarding(&["bash"], &[]))
        .extended(Extension::new("a", json!({})).on("start", [waits(300)].into_iter().chain(does)))
}

#[test]
fn run_tool_of_extension_needs_consent() {
    for dialect in ALL {
        let allowed = outside(&[]).host(1000, answer(0, "value", "Allow once")).play(dialect);
        let mut asked = allowed.last("extension_ui_request").clone();
        asked["id"].take();
        let path = "/x/a";
        assert_eq!(
            asked,
            json!({
                "type": "extension_ui_request", "id": null, "method": "select",
                "title": format!("Allow bash for the extension {path}? {{\"command\":\"echo one\"}}"),
                "options": ["Allow once", "Allow for this session", "Deny"],
            }),
            "{dialect}"
        );
        let response = allowed.wrote(">a", "response r");
        assert_eq!(response.len(), 1, "{dialect}");
        assert_eq!(response[0]["data"]["isError"], false, "{dialect}");

        let denied = json!({
            "type": "response", "id": "r", "success": false, "error": "The user did not allow this call of bash.",
        });
        for refused in [
            outside(&[]).host(1000, answer(0, "value", "Deny")),
            outside(&[]).host(1000, answer(0, "cancelled", true)),
            outside(&[json!({ "type": "withdraw", "id": "r" })]),
            outside(&[]).ends(1000),
        ] {
            let played = refused.play(dialect);
            assert_eq!(played.wrote(">a", "response r"), [&denied], "{dialect}");
            assert_eq!(played.started, Vec::<String>::new(), "{dialect}");
        }
    }
}

#[test]
fn abort_ends_question_about_run_tool() {
    let run = json!({
        "type": "run_tool", "id": "r", "origin": "$", "toolName": "bash", "arguments": { "command": "echo one" },
    });
    for dialect in ALL {
        let played = scenario(json!([calls("t1", "probe", "x"), model_says("Well.")]))
            .extension_setup(guarding(&["bash"], &[]))
            .extended(
                Extension::new("a", json!({ "hooks": ["tool_call"] }))
                    .on("hook tool_call", [writes(run.clone())]),
            )
            .host(10, prompt("p", "go"))
            .host(1000, command("abort"))
            .host(1500, answer(0, "value", "Allow once"))
            .play(dialect);
        assert_eq!(played.wrote(">a", "response r")[0]["success"], false, "{dialect}");
        assert_eq!(played.started, Vec::<String>::new(), "{dialect}");
    }
}
