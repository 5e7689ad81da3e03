//! Hooks around a call: who may prevent it, and who may change what came of it.

use crate::asking_support::{
    self, Extension, PeerStep, answer, done, fails, hooks, prompted, says, scenario, shorthand, ui, waits,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi058, Xcsh};
use serde_json::json;
use shorthand::{bash, calls, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// The text of the result of that call, and whether it is an error.
fn result_of(played: &asking_support::Playback, id: &str) -> (String, bool) {
    let end = played.said.iter().find(|it| it["type"] == "tool_execution_end" && it["toolCallId"] == id);
    let end = end.unwrap_or_else(|| panic!("no end of {id}\n{}", played.log));
    (end["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(), end["isError"] == true)
}

#[test]
fn blocked_call_gives_reason_to_model() {
    for (say, text) in [
        (json!({ "block": true, "reason": "Not today." }), "Not today."),
        (json!({ "block": true }), "Tool execution was blocked by an extension"),
    ] {
        for dialect in [Pi, Pi058, Xcsh] {
            let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
                .extended(hooks("a", "tool_call", [says(say.clone())]))
                .extended(hooks("b", "tool_call", [done()]))
                .play(dialect);
            assert_eq!(
                played.transcript(),
                "< p · ok p · agent_start · user go · start t1 · >a hook tool_call · <a done · end! t1 · agent_end [uata]",
                "{dialect}"
            );
            assert_eq!(result_of(&played, "t1"), (text.to_owned(), true), "{dialect}");
            assert_eq!(played.started, Vec::<String>::new(), "{dialect}");
            assert_eq!(
                played.wrote(">a", "hook tool_call")[0]["hook"],
                json!({ "type": "tool_call", "toolCallId": "t1", "toolName": "bash", "input": { "command": "echo one" } }),
                "{dialect}"
            );
        }
    }
}

#[test]
fn failing_tool_call_hook_blocks_the_call() {
    for (how, does, told) in [
        ("fails", vec![fails("no idea")], "error tool_call: no idea"),
        (
            "ends",
            vec![PeerStep::Ends("killed")],
            "error end: The extension has ended: killed · error tool_call: The extension has ended: killed",
        ),
        ("never answers", vec![], ">a cancel · error tool_call: No answer within 30 s"),
    ] {
        for dialect in [Pi, Pi058, Xcsh] {
            let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
                .extended(hooks("a", "tool_call", does.clone()))
                .extended(hooks("b", "tool_call", [done()]))
                .play(dialect);
            let does = match how {
                "fails" => "<a failed · ",
                "ends" => "<a ends · ",
                _ => "",
            };
            let talk = format!(
                "< p · ok p · agent_start · user go · start t1 · >a hook tool_call · {does}{told} · end! t1 · agent_end [uata]"
            );
            assert_eq!(played.transcript(), talk, "{how} in {dialect}");
            let reason = told.rsplit("tool_call: ").next().unwrap_or_default();
            assert_eq!(
                result_of(&played, "t1"),
                (format!("Extension failed, blocking execution: {reason}"), true),
                "{how} in {dialect}"
            );
        }
    }
}

#[test]
fn gone_guard_blocks_tools_and_commands() {
    let registered = json!({ "commands": [{ "name": "do" }], "hooks": ["tool_call", "user_bash"] });
    let guard = Extension::new("a", registered).on("command do", [PeerStep::Ends("killed")]);
    let turns = json!([calls("t1", "bash", "echo two"), model_says("Well.")]);
    let ended = (0..4).fold(scenario(turns).extended(guard), |scenario, n| {
        scenario.host(100 * n, prompt(&format!("p{n}"), "/do"))
    });
    let played = ended.host(500, bash("b", "echo one")).host(600, prompt("p", "go")).play(Pi1);
    assert_eq!(played.answers("b")[0]["error"], "The extension is not running");
    let blocked = "Extension failed, blocking execution: The extension is not running";
    assert_eq!(result_of(&played, "t1"), (blocked.to_owned(), true));
}

#[test]
fn failing_other_hook_is_skipped() {
    let bash = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
    for (hook, rest) in [
        (
            "input",
            "<b done · ok p · agent_start · user go · start t1 · update t1 · end t1 · agent_end [uata]",
        ),
        (
            "before_agent_start",
            "<b done · agent_start · user go · start t1 · update t1 · end t1 · agent_end [uata]",
        ),
        ("tool_result", "<b done · end t1 · agent_end [uata]"),
    ] {
        for (does, told) in [
            (vec![waits(5), fails("no idea")], format!("<a failed · error {hook}: no idea")),
            (vec![], format!(">a cancel · error {hook}: No answer within 30 s")),
        ] {
            for dialect in [Pi, Pi058, Xcsh] {
                let played = prompted(bash.clone())
                    .extended(hooks("a", hook, does.clone()))
                    .extended(hooks("b", hook, [done()]))
                    .play(dialect);
                let talk = played.transcript();
                let end = format!(">a hook {hook} · {told} · >b hook {hook} · {rest}");
                assert!(talk.ends_with(&end), "{dialect}: {talk}\nshould end with {end}");
            }
        }
    }
}

#[test]
fn tool_result_hooks_apply_in_order() {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    for dialect in [Pi, Pi058, Xcsh] {
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(hooks("a", "tool_result", [says(json!({ "content": text("two") }))]))
            .extended(hooks("b", "tool_result", [says(json!({ "details": { "by": "b" }, "isError": true }))]))
            .extended(hooks("c", "tool_result", [done()]))
            .play(dialect);
        let told = &played.wrote(">c", "hook tool_result")[0]["hook"];
        assert_eq!(
            *told,
            json!({
                "type": "tool_result", "toolCallId": "t1", "toolName": "bash", "input": { "command": "echo one" },
                "content": text("two"), "details": { "by": "b" }, "isError": true,
            }),
            "{dialect}"
        );
        let end = played.last("tool_execution_end");
        assert_eq!(end["result"], json!({ "content": text("two"), "details": { "by": "b" } }), "{dialect}");
        assert_eq!(end["isError"], true, "{dialect}");
        let message = &played.last("agent_end")["messages"][2];
        assert_eq!((&message["content"], &message["isError"]), (&text("two"), &json!(true)), "{dialect}");
    }
}

#[test]
fn tool_call_hooks_follow_dialect_order() {
    let two = json!([
        { "say": [
            { "tool": "probe", "id": "t1", "arguments": { "command": "sleep 20" }, "size": 0 },
            { "tool": "probe", "id": "t2", "arguments": { "command": "sleep 10" }, "size": 0 },
        ] },
        model_says("Well."),
    ]);
    let start = "< p · ok p · agent_start · user go · ";
    for (dialect, talk) in [
        (
            Pi,
            "start t1 · >a hook tool_call · <a done · end t1 · start t2 · >a hook tool_call · <a done · end t2",
        ),
        (
            Pi058,
            "start t1 · >a hook tool_call · <a done · start t2 · >a hook tool_call · <a done · end t1 · end t2",
        ),
        (
            Xcsh,
            "start t1 · >a hook tool_call · start t2 · >a hook tool_call · <a done · <a done · end t2 · end t1",
        ),
    ] {
        let played =
            prompted(two.clone()).extended(hooks("a", "tool_call", [waits(5), done()])).play(dialect);
        assert_eq!(played.transcript(), format!("{start}{talk} · agent_end [uatta]"), "{dialect}");
    }
}

#[test]
fn hook_deadline_pauses_during_its_dialog() {
    let ask = json!({ "method": "input", "title": "Why?" });
    for dialect in DIALECTS {
        // 20 s, then a dialog of 100 s, then 10 s more: that is all.
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(hooks("a", "tool_call", [waits(20_000), ui("mine", ask.clone())]))
            .host(120_010, answer(0, "value", "so"))
            .play(dialect);
        let talk = played.timed_transcript();
        let end = "120010 < extension_ui_response · 120010 >a ui_answer mine · 130010 >a cancel · \
                   130010 error tool_call: No answer within 30 s · 130010 end! t1 · 130010 agent_end [uata]";
        assert!(talk.ends_with(end), "{dialect}: {talk}");
    }
}

#[test]
fn hook_deadline_pauses_until_both_dialogs_end() {
    let ask = json!({ "method": "input", "title": "Why?" });
    let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
        .extended(hooks("a", "tool_call", [waits(10_000), ui("one", ask.clone()), ui("two", ask)]))
        .host(50_010, answer(0, "value", "so"))
        .host(90_010, answer(1, "value", "so"))
        .play(Pi);
    let end = "90010 >a ui_answer two · 110010 >a cancel · 110010 error tool_call: No answer within 30 s · \
               110010 end! t1 · 110010 agent_end [uata]";
    assert!(played.timed_transcript().ends_with(end), "{}", played.timed_transcript());
}
