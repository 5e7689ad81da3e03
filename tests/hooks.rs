//! Hooks: what extensions have a say in, in which order, and what becomes of it when they have none.

mod asking_support;

use asking_support::{
    Does, Extension, Scenario, answer, done, fails, say, says, scenario, ui, waits, writes,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi058, Xcsh};
use say::{calls, command, prompt, says as model_says};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// An extension that wants a say in `hook`, and does this when it is asked.
fn hooks(name: &'static str, hook: &str, does: impl IntoIterator<Item = Does>) -> Extension {
    Extension::new(name, json!({ "hooks": [hook] })).on(&format!("hook {hook}"), does)
}

/// A conversation of one prompt `go` after 10 ms, and the answers of the model.
fn prompted(turns: Value) -> Scenario {
    scenario(turns).host(10, prompt("p", "go"))
}

fn request(request: Value) -> Value {
    let mut frame = json!({ "id": "r" });
    for (key, value) in request.as_object().into_iter().flatten() {
        frame[key] = value.clone();
    }
    frame
}

/// The host's questions that a hook may cancel, with the hook, and what the answer then says.
fn leaving() -> [(&'static str, Value, Value); 4] {
    let cancelled = json!({ "cancelled": true });
    let fork = json!({ "text": "go", "cancelled": true });
    [
        ("session_before_switch", json!({ "type": "new_session" }), cancelled.clone()),
        (
            "session_before_switch",
            json!({ "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }),
            cancelled,
        ),
        ("session_before_fork", json!({ "type": "fork", "entryId": "$0" }), fork.clone()),
        ("session_before_fork", json!({ "type": "branch", "entryId": "$0" }), fork),
    ]
}

#[test]
fn a_session_is_not_left_when_an_extension_objects() {
    for (hook, question, data) in leaving() {
        let name = question["type"].as_str().expect("a type");
        for dialect in DIALECTS {
            if (name == "fork") == (dialect == Xcsh) && hook == "session_before_fork" {
                continue;
            }
            let played = prompted(json!([model_says("Well.")]))
                .kept()
                .extended(hooks("a", hook, [says(json!({ "cancel": true }))]))
                .extended(hooks("b", hook, [says(json!({ "cancel": false }))]))
                .host(50, request(question.clone()))
                .play(dialect);
            let end = format!("< r · >a hook {hook} · <a done · ok r");
            assert!(played.talk().ends_with(&end), "{name} in {dialect}: {}", played.talk());
            assert_eq!(played.answers("r")[0]["data"], data, "{name} in {dialect}");
        }
    }
}

#[test]
fn extensions_are_told_which_session_it_is_about() {
    let played = prompted(json!([model_says("Well.")]))
        .kept()
        .extended(hooks("a", "session_before_switch", [done()]))
        .host(50, json!({ "id": "n", "type": "new_session" }))
        .host(60, json!({ "id": "s", "type": "switch_session", "sessionPath": "/sessions/x.jsonl" }))
        .play(Pi);
    let told: Vec<&Value> =
        played.wrote(">a", "hook session_before_switch").iter().map(|it| &it["hook"]).collect();
    let kind = "session_before_switch";
    assert_eq!(
        told,
        [
            &json!({ "type": kind, "reason": "new" }),
            &json!({ "type": kind, "reason": "resume", "targetSessionFile": "/sessions/x.jsonl" }),
        ]
    );
    assert_eq!(played.answers("n")[0]["data"], json!({ "cancelled": false }));
}

#[test]
fn a_question_about_a_session_asks_every_extension_until_one_objects() {
    let ask = json!({ "method": "confirm", "title": "Sure?", "message": "Really?" });
    let played = scenario(json!([]))
        .extended(hooks("a", "session_before_switch", [done()]))
        .extended(
            hooks("b", "session_before_switch", [ui("mine", ask)])
                .on("ui_answer mine", [says(json!({ "cancel": true }))]),
        )
        .extended(hooks("c", "session_before_switch", [done()]))
        .host(10, command("new_session"))
        .host(60_000, answer(0, "confirmed", false))
        .play(Pi);
    assert_eq!(
        played.talk(),
        "< new_session · >a hook session_before_switch · <a done · >b hook session_before_switch · <b ui confirm · \
         ui confirm · < extension_ui_response · >b ui_answer mine · <b done · ok new_session"
    );
}

#[test]
fn a_run_goes_on_while_extensions_think_about_leaving_it() {
    for dialect in DIALECTS {
        for (cancel, end) in
            [(true, "ok new_session · agent_end [ua]"), (false, "agent_end [ua] · ok new_session")]
        {
            let played = scenario(json!([{ "say": [{ "text": "Well." }], "firstDelayMs": 300 }]))
                .extended(hooks(
                    "a",
                    "session_before_switch",
                    [waits(100), says(json!({ "cancel": cancel }))],
                ))
                .host(10, prompt("p", "go"))
                .host(20, command("new_session"))
                .play(dialect);
            let talk = format!(
                "< p · ok p · agent_start · user go · < new_session · >a hook session_before_switch · <a done · {end}"
            );
            assert_eq!(played.talk(), talk, "{dialect}");
        }
    }
}

#[test]
fn what_the_user_says_is_transformed_by_one_extension_after_another() {
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("Well.")]))
            .extended(hooks("a", "input", [says(json!({ "action": "transform", "text": "go on" }))]))
            .extended(hooks(
                "b",
                "input",
                [says(json!({ "action": "transform", "text": "go on and on", "images": [image] }))],
            ))
            .extended(hooks("c", "input", [says(json!({ "action": "continue", "text": "not looked at" }))]))
            .play(dialect);
        assert_eq!(
            played.talk(),
            "< p · >a hook input · <a done · >b hook input · <b done · >c hook input · <c done · ok p · agent_start · \
             user go on and on · agent_end [ua]",
            "{dialect}"
        );
        let told = |who: &str| played.wrote(who, "hook input")[0]["hook"].clone();
        assert_eq!(told(">a"), json!({ "type": "input", "text": "go", "source": "rpc" }), "{dialect}");
        assert_eq!(told(">b"), json!({ "type": "input", "text": "go on", "source": "rpc" }), "{dialect}");
        assert_eq!(
            told(">c"),
            json!({ "type": "input", "text": "go on and on", "images": [image], "source": "rpc" }),
            "{dialect}"
        );
        assert_eq!(played.last("agent_end")["messages"][0]["content"][1], image, "{dialect}");
    }
}

#[test]
fn what_an_extension_has_dealt_with_leads_to_no_run() {
    for dialect in DIALECTS {
        let played = prompted(json!([]))
            .extended(hooks("a", "input", [says(json!({ "action": "handled" }))]))
            .extended(hooks("b", "input", [done()]))
            .play(dialect);
        assert_eq!(played.talk(), "< p · >a hook input · <a done · ok p", "{dialect}");
    }
}

#[test]
fn prompts_line_up_behind_the_one_that_extensions_think_about() {
    for dialect in DIALECTS {
        let played = scenario(json!([{ "say": [{ "text": "Well." }], "firstDelayMs": 300 }]))
            .extended(hooks("a", "input", [waits(50), done()]))
            .host(10, prompt("p", "one"))
            .host(20, say::queued("q", "steer"))
            .host(30, prompt("r", "three"))
            .play(dialect);
        let refused = if dialect == Pi { "no r" } else { "ok r · no r" };
        let talk = format!(
            "< p · >a hook input · < q · < r · <a done · ok p · agent_start · user one · >a hook input · <a done · ok q · \
             >a hook input · <a done · {refused} · user q · agent_end [uaua]"
        );
        assert_eq!(played.talk(), talk, "{dialect}");
    }
}

#[test]
fn messages_and_instructions_of_extensions_hold_for_one_run() {
    let message = |text: &str| json!({ "customType": text, "content": text, "display": true });
    for dialect in DIALECTS {
        let played = prompted(json!([model_says("One."), model_says("Two.")]))
            .extended(
                hooks(
                    "a",
                    "before_agent_start",
                    [says(json!({ "message": message("first"), "systemPrompt": "Be rude." }))],
                )
                .on("hook before_agent_start", [done()]),
            )
            .extended(
                hooks("b", "before_agent_start", [says(json!({ "message": message("second") }))])
                    .on("hook before_agent_start", [done()]),
            )
            .host(100, prompt("q", "on"))
            .play(dialect);
        assert_eq!(
            played.talk(),
            "< p · ok p · >a hook before_agent_start · <a done · >b hook before_agent_start · <b done · agent_start · \
             user go · custom first · custom second · agent_end [ucca] · < q · ok q · >a hook before_agent_start · \
             <a done · >b hook before_agent_start · <b done · agent_start · user on · agent_end [ua]",
            "{dialect}"
        );
        let instructions: Vec<&str> = played.called.iter().map(|it| it.instructions.as_str()).collect();
        assert_eq!(instructions, ["Be rude.", "Be brief."], "{dialect}");
        let told: Vec<Value> =
            played.wrote(">b", "hook before_agent_start").iter().map(|it| it["hook"].clone()).collect();
        let kind = "before_agent_start";
        assert_eq!(
            told,
            [
                json!({ "type": kind, "prompt": "go", "systemPrompt": "Be rude." }),
                json!({ "type": kind, "prompt": "on", "systemPrompt": "Be brief." }),
            ],
            "{dialect}"
        );
    }
}

/// The text of the result of that call, and whether it is an error.
fn result_of(played: &asking_support::Played, id: &str) -> (String, bool) {
    let end = played.said.iter().find(|it| it["type"] == "tool_execution_end" && it["toolCallId"] == id);
    let end = end.unwrap_or_else(|| panic!("no end of {id}\n{}", played.log));
    (end["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(), end["isError"] == true)
}

#[test]
fn an_extension_prevents_a_call_and_the_model_is_told_why() {
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
                played.talk(),
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
fn an_extension_that_fails_over_a_call_prevents_it() {
    for (how, does, told) in [
        ("fails", vec![fails("no idea")], "error tool_call: no idea"),
        (
            "ends",
            vec![Does::Ends("killed")],
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
            assert_eq!(played.talk(), talk, "{how} in {dialect}");
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
fn an_extension_that_fails_over_anything_else_has_had_its_say() {
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
                let talk = played.talk();
                let end = format!(">a hook {hook} · {told} · >b hook {hook} · {rest}");
                assert!(talk.ends_with(&end), "{dialect}: {talk}\nshould end with {end}");
            }
        }
    }
}

#[test]
fn the_result_of_a_call_is_changed_by_one_extension_after_another() {
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
fn calls_side_by_side_are_asked_about_as_the_dialect_runs_them() {
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
        assert_eq!(played.talk(), format!("{start}{talk} · agent_end [uatta]"), "{dialect}");
    }
}

#[test]
fn the_time_for_a_say_stands_still_while_its_dialog_is_open() {
    let ask = json!({ "method": "input", "title": "Why?" });
    for dialect in DIALECTS {
        // 20 s, then a dialog of 100 s, then 10 s more: that is all.
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(hooks("a", "tool_call", [waits(20_000), ui("mine", ask.clone())]))
            .host(120_010, answer(0, "value", "so"))
            .play(dialect);
        let talk = played.timed();
        let end = "120010 < extension_ui_response · 120010 >a ui_answer mine · 130010 >a cancel · \
                   130010 error tool_call: No answer within 30 s · 130010 end! t1 · 130010 agent_end [uata]";
        assert!(talk.ends_with(end), "{dialect}: {talk}");
    }
}

#[test]
fn two_dialogs_of_a_say_stop_its_time_until_both_are_over() {
    let ask = json!({ "method": "input", "title": "Why?" });
    let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
        .extended(hooks("a", "tool_call", [waits(10_000), ui("one", ask.clone()), ui("two", ask)]))
        .host(50_010, answer(0, "value", "so"))
        .host(90_010, answer(1, "value", "so"))
        .play(Pi);
    let end = "90010 >a ui_answer two · 110010 >a cancel · 110010 error tool_call: No answer within 30 s · \
               110010 end! t1 · 110010 agent_end [uata]";
    assert!(played.timed().ends_with(end), "{}", played.timed());
}

#[test]
fn nobody_is_asked_when_nobody_wants_a_say() {
    for dialect in DIALECTS {
        let played = prompted(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
            .extended(Extension::new("a", json!({})))
            .host(100, command("new_session"))
            .ends(200)
            .play(dialect);
        assert_eq!(
            played.talk(),
            "< p · ok p · agent_start · user go · start t1 · update t1 · end t1 · agent_end [uata] · < new_session · \
             ok new_session · < end of input · exit",
            "{dialect}"
        );
    }
}

#[test]
fn an_abort_ends_what_extensions_think_about_and_asks_nobody_else() {
    let answers = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
    for (hook, before, after) in [
        ("input", "", "ok p · agent_start · user go · agent_end [ua] · ok abort"),
        ("before_agent_start", "ok p · ", "agent_start · user go · agent_end [ua] · ok abort"),
        ("tool_call", "ok p · agent_start · user go · start t1 · ", "end! t1 · agent_end [uata] · ok abort"),
        (
            "tool_result",
            "ok p · agent_start · user go · start t1 · update t1 · ",
            "end t1 · agent_end [uata] · ok abort",
        ),
    ] {
        for (does, told) in [(vec![waits(5), done()], "<a done · "), (vec![], "")] {
            for dialect in [Pi, Pi058, Xcsh] {
                let played = prompted(answers.clone())
                    .extended(Extension::new("a", json!({ "hooks": [hook] })).on("cancel", does.clone()))
                    .extended(hooks("b", hook, [done()]))
                    .host(50, command("abort"))
                    .play(dialect);
                let talk = format!("< p · {before}>a hook {hook} · < abort · >a cancel · {told}{after}");
                assert_eq!(played.talk(), talk, "{hook} in {dialect}");
                let last = played.steps.last().map(|step| step.at);
                assert_eq!(last, Some(if told.is_empty() { 2050 } else { 55 }), "{hook} in {dialect}");
            }
        }
    }
}

#[test]
fn an_abort_between_the_says_of_a_prompt_asks_for_no_further_say() {
    for dialect in DIALECTS {
        let both =
            Extension::new("a", json!({ "hooks": ["input", "before_agent_start"] })).on("cancel", [done()]);
        let played = prompted(json!([])).extended(both).host(50, command("abort")).play(dialect);
        assert_eq!(
            played.talk(),
            "< p · >a hook input · < abort · >a cancel · <a done · ok p · agent_start · user go · agent_end [ua] · ok abort",
            "{dialect}"
        );
    }
}

#[test]
fn a_new_session_ends_what_extensions_think_about() {
    for dialect in DIALECTS {
        let played = prompted(json!([calls("t1", "bash", "echo one")]))
            .extended(hooks("a", "tool_call", []).on("cancel", [fails("gave up")]))
            .host(50, command("new_session"))
            .play(dialect);
        assert_eq!(
            played.talk(),
            "< p · ok p · agent_start · user go · start t1 · >a hook tool_call · < new_session · >a cancel · <a failed · \
             end! t1 · agent_end [uata] · ok new_session",
            "{dialect}"
        );
    }
}

#[test]
fn what_extensions_think_about_is_waited_for_at_the_end_of_input_or_not() {
    let answers = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
    let start = "< p · ok p · agent_start · user go · start t1 · >a hook tool_call · < end of input · ";
    for (dialect, end) in [(Pi, "<a done · update t1 · end t1 · agent_end [uata] · exit"), (Xcsh, "exit")]
    {
        let played = prompted(answers.clone())
            .extended(hooks("a", "tool_call", [waits(1000), done()]))
            .ends(50)
            .finish(dialect);
        assert_eq!(played.talk(), format!("{start}{end}"), "{dialect}");
    }
}

#[test]
fn a_process_that_is_told_to_stop_waits_for_nobodys_say() {
    let answers = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
    for (hook, question) in [
        ("input", prompt("q", "on")),
        ("before_agent_start", prompt("q", "on")),
        ("tool_call", prompt("q", "on")),
        ("session_before_switch", command("new_session")),
    ] {
        for dialect in DIALECTS {
            let played = scenario(answers.clone())
                .extended(hooks("a", hook, []))
                .extended(hooks("b", hook, []))
                .host(10, question.clone())
                .stops(50)
                .finish(dialect);
            let last =
                played.steps.last().map(|step| (step.at, step.frame["type"].as_str().unwrap_or_default()));
            assert_eq!(last, Some((50, "exit")), "{hook} in {dialect}: {}", played.talk());
        }
    }
}

#[test]
fn every_end_of_the_process_is_told_and_a_second_given() {
    let quick = hooks("a", "session_shutdown", [waits(100), done()]);
    let slow = hooks("b", "session_shutdown", []);
    for dialect in DIALECTS {
        for (how, scenario) in
            [("end of input", scenario(json!([])).ends(50)), ("shutdown", scenario(json!([])).stops(50))]
        {
            let played = scenario.extended(quick.clone()).extended(slow.clone()).play(dialect);
            assert_eq!(
                played.timed(),
                format!(
                    "50 < {how} · 50 >a hook session_shutdown · 50 >b hook session_shutdown · 150 <a done · \
                         1050 >b cancel · 1050 exit"
                ),
                "{dialect}"
            );
        }
        let asked =
            Extension::new("a", json!({ "commands": [{ "name": "bye" }], "hooks": ["session_shutdown"] }))
                .on("command bye", [writes(json!({ "type": "shutdown" })), waits(10), done()])
                .on("hook session_shutdown", [Does::Ends("finished")]);
        let played = scenario(json!([])).extended(asked).host(10, prompt("p", "/bye")).finish(dialect);
        assert_eq!(
            played.timed(),
            "10 < p · 10 >a command bye · 10 <a shutdown · 20 <a done · 20 ok p · 20 >a hook session_shutdown · \
             20 <a ends · 20 exit",
            "{dialect}"
        );
    }
}

#[test]
fn extensions_see_the_events_that_they_want_to_see_without_snapshots() {
    let answer = json!([{ "say": [{ "text": "Hello there.", "size": 6 }, { "tool": "probe", "id": "t1", "arguments": { "command": "" }, "size": 0 }] }, model_says("Well.")]);
    let played = prompted(answer)
        .extended(Extension::new("a", json!({ "events": ["message_update", "agent_end"] })))
        .extended(Extension::new("b", json!({ "events": ["*"] })))
        .extended(Extension::new("c", json!({})))
        .play(Pi);
    let seen = |who: &str| -> Vec<Value> {
        played
            .steps
            .iter()
            .filter(|it| it.who == who && it.frame["type"] == "event")
            .map(|it| it.frame["event"].clone())
            .collect()
    };
    let events = |kind: &[&str]| -> Vec<String> {
        let said = played.said.iter().map(|it| it["type"].as_str().unwrap_or_default().to_owned());
        said.filter(|it| kind.contains(&it.as_str()) || kind.contains(&"*") && it != "response").collect()
    };
    let kinds = |seen: Vec<Value>| -> Vec<String> {
        seen.iter().map(|it| it["type"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kinds(seen(">a")), events(&["message_update", "agent_end"]));
    assert_eq!(kinds(seen(">b")), events(&["*"]));
    assert_eq!(kinds(seen(">c")), Vec::<String>::new());
    let updates: Vec<Value> = seen(">a").into_iter().filter(|it| it["type"] == "message_update").collect();
    let mut bare: Vec<Value> =
        played.said.iter().filter(|it| it["type"] == "message_update").cloned().collect();
    for update in &mut bare {
        update.as_object_mut().map(|it| it.remove("message"));
        update["assistantMessageEvent"].as_object_mut().map(|it| it.remove("partial"));
    }
    assert_eq!(updates, bare);
}
