//! Hooks that are thought about while everything ends, and the one that says so.

use crate::asking_support::{
    Extension, PeerStep, done, fails, hooks, prompted, says, scenario, shorthand, waits, writes,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi058, Xcsh};
use serde_json::json;
use shorthand::{calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

#[test]
fn abort_cancels_hook_and_calls_no_other() {
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
                assert_eq!(played.transcript(), talk, "{hook} in {dialect}");
                let last = played.steps.last().map(|step| step.at);
                assert_eq!(last, Some(if told.is_empty() { 2050 } else { 55 }), "{hook} in {dialect}");
            }
        }
    }
}

#[test]
fn abort_during_input_hook_skips_later_hooks() {
    for dialect in DIALECTS {
        let both =
            Extension::new("a", json!({ "hooks": ["input", "before_agent_start"] })).on("cancel", [done()]);
        let played = prompted(json!([])).extended(both).host(50, command("abort")).play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · >a hook input · < abort · >a cancel · <a done · ok p · agent_start · user go · agent_end [ua] · ok abort",
            "{dialect}"
        );
    }
}

#[test]
fn new_session_cancels_outstanding_hook() {
    for dialect in DIALECTS {
        let played = prompted(json!([calls("t1", "bash", "echo one")]))
            .extended(hooks("a", "tool_call", []).on("cancel", [fails("gave up")]))
            .host(50, command("new_session"))
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · ok p · agent_start · user go · start t1 · >a hook tool_call · < new_session · >a cancel · <a failed · \
             end! t1 · agent_end [uata] · ok new_session",
            "{dialect}"
        );
    }
}

#[test]
fn end_of_input_awaits_hook_or_exits() {
    let answers = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
    let start = "< p · ok p · agent_start · user go · start t1 · >a hook tool_call · < end of input · ";
    for (dialect, end) in [(Pi, "<a done · update t1 · end t1 · agent_end [uata] · exit"), (Xcsh, "exit")]
    {
        let played = prompted(answers.clone())
            .extended(hooks("a", "tool_call", [waits(1000), done()]))
            .ends(50)
            .finish(dialect);
        assert_eq!(played.transcript(), format!("{start}{end}"), "{dialect}");
    }
}

#[test]
fn outcome_after_end_of_input_starts_nothing() {
    let answers = json!([calls("t1", "bash", "echo one"), model_says("Well.")]);
    for hook in ["input", "before_agent_start", "tool_call"] {
        let played = prompted(answers.clone())
            .extended(hooks("a", hook, [waits(100), done()]))
            .extended(hooks("b", hook, [done()]))
            .extended(hooks("c", "session_shutdown", []))
            .ends(50)
            .finish(Xcsh);
        let talk = played.timed_transcript();
        let end = format!(
            "10 >a hook {hook} · 50 < end of input · 50 >c hook session_shutdown · 110 <a done · 110 >b hook {hook} · \
             110 <b done · 1050 >c cancel · 1050 exit"
        );
        assert!(talk.ends_with(&end), "{hook}: {talk}");
        assert_eq!(played.started, Vec::<String>::new(), "{hook}");
    }
}

#[test]
fn tool_call_hook_runs_after_shutdown_hook() {
    let played = scenario(json!([calls("t1", "bash", "echo one"), model_says("Well.")]))
        .extended(
            Extension::new("a", json!({ "hooks": ["tool_call", "session_shutdown"] }))
                .on("start", [waits(50), writes(json!({ "type": "shutdown" }))])
                .on("hook session_shutdown", [waits(500), done()])
                .on("hook tool_call", [says(json!({ "block": true }))]),
        )
        .host(100, prompt("p", "go"))
        .finish(Pi);
    assert_eq!(
        played.transcript(),
        "<a shutdown · >a hook session_shutdown · < p · ok p · agent_start · user go · start t1 · >a hook tool_call · \
         <a done · end! t1 · agent_end [uata] · <a done · exit"
    );
}

#[test]
fn stopping_process_awaits_no_hook() {
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
            assert_eq!(last, Some((50, "exit")), "{hook} in {dialect}: {}", played.transcript());
        }
    }
}

#[test]
fn session_shutdown_hook_has_one_second() {
    let quick = hooks("a", "session_shutdown", [waits(100), done()]);
    let slow = hooks("b", "session_shutdown", []);
    for dialect in DIALECTS {
        for (how, scenario) in
            [("end of input", scenario(json!([])).ends(50)), ("shutdown", scenario(json!([])).stops(50))]
        {
            let played = scenario.extended(quick.clone()).extended(slow.clone()).play(dialect);
            assert_eq!(
                played.timed_transcript(),
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
                .on("hook session_shutdown", [PeerStep::Ends("finished")]);
        let played = scenario(json!([])).extended(asked).host(10, prompt("p", "/bye")).finish(dialect);
        assert_eq!(
            played.timed_transcript(),
            "10 < p · 10 >a command bye · 10 <a shutdown · 20 <a done · 20 ok p · 20 >a hook session_shutdown · \
             20 <a ends · 20 exit",
            "{dialect}"
        );
    }
}
