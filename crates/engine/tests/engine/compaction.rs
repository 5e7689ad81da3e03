//! Compaction by a summary of the model, requested by the host or because the context is full.
//!
//! The shapes are those of the worked sequences; `compact threshold` and `compact_end done` are the two events of an
//! automatic compaction with what came of it.

use pi_rpc_engine::{CompactionPlan, Modes};
use pi_rpc_protocol::Dialect::{self, Pi, Xcsh};
use pi_rpc_test_kit::{Playback, Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

/// Little is kept, so that short conversations can be compacted: about the last two messages.
fn briefly(modes: &mut Modes) {
    modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 };
}

/// Two turns have been had at 200 ms.
fn talk(turns: Value) -> Scenario {
    let Value::Array(mut rest) = turns else { panic!("turns are a list") };
    let mut all = vec![says("Answer number one."), says("Answer number two.")];
    all.append(&mut rest);
    scenario(Value::Array(all))
        .kept()
        .modes(briefly)
        .host(0, prompt("p1", "question number one"))
        .host(100, prompt("p2", "question number two"))
}

/// The conversation up to there.
fn talked() -> String {
    format!("ok p1 · {} · ok p2 · {}", run("user question number one"), run("user question number two"))
}

fn answered(dialect: Dialect, played: &Playback, id: &str) -> Value {
    let answers = played.answers(id);
    assert_eq!(answers.len(), 1, "{dialect}\n{}", played.log);
    answers[0].clone()
}

#[test]
fn compact_replaces_history_by_its_summary() {
    let asked = || {
        talk(json!([summary("What was said."), summary("In short."), says("Three.")]))
            .host(200, command("compact"))
            .host(500, prompt("p3", "three"))
    };
    let shape = format!("{} · ok compact · ok p3 · {}", talked(), run("user three"));
    asked().is("compact", &SEEDS, &shape);
    for (dialect, summaries) in [(Pi, 1), (Xcsh, 2)] {
        let played = asked().play(dialect);
        let asked = played.asked.iter().filter(|it| it.starts_with("summary")).count();
        assert_eq!(asked, summaries, "{dialect}: a short summary beside the long one");
        assert_eq!(played.asked.last().map(String::as_str), Some("turn play [Suau]"), "{dialect}");
        let result = &answered(dialect, &played, "compact")["data"];
        assert_eq!(result["summary"], "What was said.", "{dialect}");
    }
}

#[test]
fn overlong_turn_is_split_and_summarised() {
    let long = "a sentence that is long enough to be more than what is to be kept";
    let split = |turns: [Value; 2]| {
        let [history, prefix] = turns;
        talk(json!([
            calls("t1", "bash", &format!("echo {long}")),
            says(long),
            history,
            prefix,
            summary("In short."),
        ]))
        .host(200, prompt("p3", "three"))
        .host(500, command("compact"))
    };
    let turn = "ok p3 · agent_start · turn_start · user three · ms · toolcall · me toolUse · start t1 · update t1 · \
                end t1 · result t1 · turn_end [t1] · turn_start · ms · text · me stop · turn_end [] · agent_end [uata]";
    let both = || split([summary("The history."), summary("The beginning.")]);
    both().is("compact_split", &SEEDS, &format!("{} · {turn} · ok compact", talked()));
    let played = both().play(Pi);
    let text = answered(Pi, &played, "compact")["data"]["summary"].to_string();
    assert!(text.contains("The history.") && text.contains("The beginning."), "{text}");
    let failing = || split([summary("The history."), no_summary()]);
    failing().is("compact_prefix_failed", &[Pi], &format!("{} · {turn} · no compact", talked()));
    let played = failing().play(Pi);
    assert!(played.error("compact").starts_with("Turn prefix summarization failed: 500"), "{}", played.log);
}

#[test]
fn compact_fails_with_the_reason() {
    let failing = || talk(json!([no_summary()])).host(200, command("compact"));
    failing().is("compact_failed", &[Pi], &format!("{} · no compact", talked()));
    failing().is("compact_failed", &[Xcsh], &format!("{} · no parse", talked()));
    for dialect in SEEDS {
        let played = failing().play(dialect);
        assert!(played.error("compact").contains("Summarization failed: 500"), "{}", played.error("compact"));
    }
}

#[test]
fn empty_summary_fails_the_compaction() {
    for said in [json!([]), json!([{ "text": " \n" }]), json!([{ "thinking": "What was it?" }])] {
        let empty = json!([{ "summary": true, "say": said }]);
        for dialect in SEEDS {
            let played = talk(empty.clone()).host(200, command("compact")).host(400, command("get_messages"));
            let played = played.play(dialect);
            assert!(
                played
                    .error("compact")
                    .ends_with("Summarization failed: the model answered without any text"),
                "{dialect}\n{}",
                played.log
            );
            let kept =
                answered(dialect, &played, "get_messages")["data"]["messages"].as_array().unwrap().len();
            assert_eq!(kept, 4, "{dialect}");
        }
    }
}

#[test]
fn small_or_compacted_session_is_not_compacted() {
    for dialect in SEEDS {
        let played = scenario(json!([])).host(0, command("compact")).play(dialect);
        assert!(
            played.error("compact").ends_with("Nothing to compact (session too small)"),
            "{}",
            played.log
        );
        let played = talk(json!([])).modes(|_| {}).host(200, command("compact")).play(dialect);
        assert!(
            played.error("compact").ends_with("Nothing to compact (session too small)"),
            "{}",
            played.log
        );
        let again = json!({ "id": "again", "type": "compact" });
        let played = talk(json!([])).host(200, command("compact")).host(500, again).play(dialect);
        assert_eq!(played.answers("compact").len(), 1, "{dialect}");
        assert!(played.error("again").ends_with("Already compacted"), "{}", played.log);
    }
}

#[test]
fn compact_during_a_run_closes_it_first() {
    let slow = json!({ "say": [{ "text": "Slow.", "size": 0 }], "firstDelayMs": 300 });
    let shape = format!(
        "{} · ok p3 · agent_start · turn_start · user three · ms · me aborted · turn_end [] · agent_end [ua] · ok compact",
        talked()
    );
    talk(json!([slow, summary("So far."), summary("In short.")]))
        .host(200, prompt("p3", "three"))
        .host(300, command("compact"))
        .is("compact_streaming", &SEEDS, &shape);
}

#[test]
fn second_compact_is_refused_or_queued() {
    let twice = || {
        let again = json!({ "id": "again", "type": "compact" });
        talk(json!([])).host(200, command("compact")).host(200, again)
    };
    let slow = twice();
    let played = talk(json!([summary("So far.")]))
        .host(200, command("compact"))
        .host(210, json!({ "id": "again", "type": "compact" }))
        .play(Pi);
    assert_eq!(played.error("again"), "A compaction is already in progress. Wait until it ends.");
    assert_eq!(answered(Pi, &played, "compact")["success"], true);
    let played = slow.play(Xcsh);
    assert_eq!(answered(Xcsh, &played, "compact")["success"], true);
    assert!(played.error("again").ends_with("Already compacted"), "{}", played.log);
}

#[test]
fn a_new_session_cancels_the_compaction() {
    let shape = format!("{} · no compact · ok new_session", talked());
    let cancelled =
        || talk(json!([summary("So far.")])).host(200, command("compact")).host(210, command("new_session"));
    cancelled().is("compact_new_session", &[Pi], &shape);
    assert_eq!(cancelled().play(Pi).error("compact"), "Compaction cancelled");
    // Served one by one: it comes when the compaction is done.
    let shape = format!("{} · ok compact · ok new_session", talked());
    cancelled().is("compact_new_session", &[Xcsh], &shape);
}

#[test]
fn prompt_during_compaction_runs_afterwards() {
    let prompted = || {
        talk(json!([summary("So far."), summary("In short."), says("Three.")]))
            .host(200, command("compact"))
            .host(210, prompt("p3", "three"))
    };
    let shape = format!("{} · ok p3 · ok compact · {}", talked(), run("user three"));
    prompted().is("compact_prompt", &[Pi], &shape);
    let shape = format!("{} · ok compact · ok p3 · {}", talked(), run("user three"));
    prompted().is("compact_prompt", &[Xcsh], &shape);
    assert_eq!(prompted().play(Pi).asked.last().map(String::as_str), Some("turn play [Suau]"));
}

#[test]
fn abort_cancels_compaction_and_waiting_prompt() {
    let before = talk(json!([summary("So far."), says("Three.")]))
        .host(200, command("compact"))
        .host(210, prompt("p3", "three"))
        .host(220, command("abort"));
    let shape = format!("{} · ok p3 · no compact · {} · ok abort", talked(), aborts("user three"));
    before.is("compact_prompt_abort", &[Pi], &shape);
    let after = talk(json!([summary("So far."), says("Three.")]))
        .host(200, command("compact"))
        .host(210, command("abort"))
        .host(220, prompt("p3", "three"));
    let shape = format!("{} · no compact · ok abort · ok p3 · {}", talked(), run("user three"));
    after.is("compact_abort_prompt", &[Pi], &shape);
}

#[test]
fn abort_cancels_manual_compaction() {
    let aborted =
        || talk(json!([summary("So far.")])).host(200, command("compact")).host(210, command("abort"));
    let success = json!({ "id": "abort", "type": "response", "command": "abort", "success": true });
    let failure = json!({
        "id": "compact", "type": "response", "command": "compact", "success": false,
        "error": "Compaction cancelled",
    });
    let played = aborted().play(Pi);
    assert_eq!(played.said[played.said.len() - 2..], [failure, success.clone()], "{}", played.log);
    let failure = json!({
        "type": "response", "command": "parse", "success": false,
        "error": "Failed to parse command: Compaction cancelled",
    });
    let played = aborted().play(Xcsh);
    assert_eq!(played.said[played.said.len() - 2..], [failure, success], "{}", played.log);
}

#[test]
fn abort_cancels_compaction_that_waits() {
    // Behind the run that it ends.
    let closing = talk(json!([calls("t1", "bash", "sleep 300; echo one")]))
        .host(200, prompt("p3", "three"))
        .host(250, command("compact"))
        .host(251, command("abort"))
        .from("p3");
    let shape = closing.play(Pi).shape_from(Some("p3")).join(" · ");
    assert!(shape.ends_with("agent_end [uata] · no compact · ok abort"), "{shape}");
    // Behind a command that is in hand.
    let queued = talk(json!([]))
        .host(200, bash("b", "sleep 100; echo one"))
        .host(210, command("compact"))
        .host(220, command("abort"));
    let shape = queued.play(Xcsh).shape().join(" · ");
    assert_eq!(shape, format!("{} · ok abort · ok b · no parse", talked()));
}

#[test]
fn queues_survive_a_compaction() {
    let shape = format!("{} · ok S1 · ok compact · ok p3 · {}", talked(), run("user three · user S1"));
    talk(json!([summary("So far."), summary("In short."), says("Three.")]))
        .host(200, steer("S1"))
        .host(210, command("compact"))
        .host(500, prompt("p3", "three"))
        .is("compact_queued", &SEEDS, &shape);
}

/// Two turns, and a third that leaves too little of the context free.
fn filled(rest: Value) -> Scenario {
    let Value::Array(mut rest) = rest else { panic!("turns are a list") };
    let mut turns = vec![fills("Three.", 127_500)];
    turns.append(&mut rest);
    talk(Value::Array(turns)).host(200, prompt("p3", "three")).from("p3")
}

fn full() -> String {
    format!("ok p3 · {} · compact threshold", run("user three"))
}

const GOES_ON: &str = "compact threshold · compact_end skipped";

#[test]
fn full_context_is_compacted_and_xcsh_continues() {
    let turns = || json!([summary("So far."), summary("In short."), says("Going on.")]);
    filled(turns()).is("threshold", &[Pi], &format!("{} · compact_end done", full()));
    let shape = format!("{} · compact_end done · {GOES_ON} · {}", full(), run("developer"));
    filled(turns()).is("threshold", &[Xcsh], &shape);
}

#[test]
fn messages_queued_during_compaction_start_run() {
    let turns = || json!([summary("So far."), summary("In short."), says("Going on."), says("More.")]);
    let queued = |frame: Value| filled(turns()).host(230, frame);
    let shape = format!("{} · ok S1 · compact_end done · {}", full(), run("user S1"));
    queued(steer("S1")).is("threshold_steer", &[Pi], &shape);
    let shape = format!("{} · ok F1 · compact_end done · {}", full(), run("user F1"));
    queued(follow_up("F1")).is("threshold_follow_up", &[Pi], &shape);
    let going_on = run("developer · user S1");
    let shape = format!("{} · ok S1 · compact_end done · {GOES_ON} · {going_on}", full());
    queued(steer("S1")).is("threshold_steer", &[Xcsh], &shape);
}

#[test]
fn prompt_during_auto_compaction_waits_or_fails() {
    let prompted = || {
        filled(json!([summary("So far."), summary("In short."), says("Four.")]))
            .host(230, prompt("p4", "four"))
    };
    let shape = format!("{} · ok p4 · compact_end done · {}", full(), run("user four"));
    prompted().is("threshold_prompt", &[Pi], &shape);
    let shape = format!("{} · ok p4 · no p4 · compact_end done · {GOES_ON} · {}", full(), run("developer"));
    prompted().is("threshold_prompt", &[Xcsh], &shape);
}

#[test]
fn abort_during_auto_compaction_prevents_continuation() {
    let turns = || json!([summary("So far."), summary("In short.")]);
    let shape = format!("{} · ok abort · compact_end done", full());
    filled(turns()).host(230, command("abort")).is("threshold_abort", &SEEDS, &shape);
}

#[test]
fn abort_and_prompt_preempts_automatic_compaction() {
    let next = json!({ "id": "next", "type": "abort_and_prompt", "message": "four" });
    let turns = json!([summary("Too late."), says("Four.")]);
    let shape = filled(turns).host(230, next).play(Xcsh).shape_from(Some("p3")).join(" · ");
    assert_eq!(shape, format!("{} · compact_end aborted · ok next · {}", full(), run("user four")));
}

#[test]
fn a_new_session_cancels_an_automatic_compaction() {
    let summary = || json!([summary("So far."), summary("In short.")]);
    let shape = format!("{} · compact_end aborted · ok new_session", full());
    filled(summary()).host(230, command("new_session")).is("threshold_new_session", &SEEDS, &shape);
}

#[test]
fn failed_compaction_reports_reason_and_changes_nothing() {
    let failing = || filled(json!([no_summary()]));
    failing().is("threshold_failed", &SEEDS, &format!("{} · compact_end failed", full()));
    for dialect in SEEDS {
        let played = failing().play(dialect);
        let text = played.last("auto_compaction_end")["errorMessage"].to_string();
        assert!(text.contains("Auto-compaction failed: Summarization failed: 500"), "{text}");
    }
}

#[test]
fn impossible_compaction_is_reported_and_prompt_runs() {
    let alone = || {
        scenario(json!([fills("One.", 127_500), says("Two.")]))
            .modes(|modes| modes.compaction.reserve = 1000)
            .host(0, prompt("p1", "one"))
            .host(100, prompt("p2", "two"))
    };
    let twice = |end: &str| {
        let pair = format!("compact threshold · compact_end {end}");
        format!("ok p1 · {} · {pair} · ok p2 · {pair} · {}", run("user one"), run("user two"))
    };
    alone().is("threshold_nothing", &[Pi], &twice("nothing"));
    alone().is("threshold_nothing", &[Xcsh], &twice("skipped"));
}

#[test]
fn switched_off_nothing_is_compacted() {
    let off = json!({ "id": "off", "type": "set_auto_compaction", "enabled": false });
    let shape = format!("ok p3 · {}", run("user three"));
    filled(json!([])).host(150, off).is("compaction_off", &SEEDS, &shape);
}

/// Two turns, and a third whose request does not fit.
fn overflowing(rest: Value) -> Scenario {
    let Value::Array(mut rest) = rest else { panic!("turns are a list") };
    let mut turns = vec![too_long()];
    turns.append(&mut rest);
    talk(Value::Array(turns)).host(200, prompt("p3", "three")).from("p3")
}

fn overflowed() -> String {
    format!("ok p3 · {} · compact overflow", fails("user three"))
}

#[test]
fn overflowing_request_is_repeated_after_compaction() {
    let again = || overflowing(json!([summary("So far."), summary("In short."), says("Three.")]));
    again().is("overflow", &SEEDS, &format!("{} · compact_end retry · {}", overflowed(), run("")));
    for dialect in SEEDS {
        let played = again().play(dialect);
        assert_eq!(played.asked.last().map(String::as_str), Some("turn play [Sau]"), "{dialect}");
    }
}

#[test]
fn first_prompt_that_overflows_is_kept() {
    let long = "word ".repeat(4000);
    let asked = || scenario(json!([too_long()])).window(4000).modes(briefly).host(0, prompt("p1", &long));
    for dialect in SEEDS {
        let played = asked().play(dialect);
        let steps: Vec<String> =
            played.shape().into_iter().map(|step| step.replace(long.as_str(), "long")).collect();
        let end = if dialect == Xcsh { "skipped" } else { "nothing" };
        let expected = format!("ok p1 · {} · compact overflow · compact_end {end}", fails("user long"));
        assert_eq!(steps.join(" · "), expected, "{dialect}");
        assert_eq!(played.asked.len(), 1, "{dialect}");
    }
}

#[test]
fn later_prompt_gets_summary_of_overflowing_one() {
    let long = "word ".repeat(4000);
    let asked = scenario(json!([too_long(), too_long(), summary("So far."), says("Two.")]))
        .window(4000)
        .modes(briefly)
        .host(0, prompt("p1", &long))
        .host(200, prompt("p2", "two"));
    for dialect in SEEDS {
        let played = asked.play(dialect);
        assert_eq!(played.asked.last().map(String::as_str), Some("turn play [Su]"), "{dialect}");
    }
}

#[test]
fn second_overflow_ends_the_run() {
    let shape = format!(
        "{} · compact_end retry · {} · compact overflow · compact_end failed",
        overflowed(),
        fails("")
    );
    overflowing(json!([summary("So far."), summary("In short."), too_long()])).is(
        "overflow_again",
        &SEEDS,
        &shape,
    );
}

#[test]
fn another_session_may_overflow_once_more() {
    let given_up =
        || overflowing(json!([summary("So far."), too_long(), too_long(), summary("Again."), says("Four.")]));
    let played = given_up()
        .host(500, json!({ "id": "fork", "type": "fork", "entryId": "$2" }))
        .host(600, json!({ "id": "m", "type": "get_messages" }))
        .host(700, prompt("p4", "four"))
        .play(Pi);
    let ends = played.frames("auto_compaction_end");
    let retries: Vec<&Value> = ends.map(|frame| &frame["willRetry"]).collect();
    assert_eq!(retries, [true, false, true], "{}", played.log);
}

#[test]
fn overflow_with_answer_is_not_repeated() {
    let over = || {
        talk(json!([fills("Three.", 128_001), summary("So far."), summary("In short.")]))
            .host(200, prompt("p3", "three"))
            .from("p3")
    };
    let shape = format!("ok p3 · {} · compact overflow · compact_end done", run("user three"));
    over().is("overflow_success", &SEEDS, &shape);
}

#[test]
fn prompt_during_overflow_compaction_replaces_request() {
    let prompted = overflowing(json!([summary("So far."), says("Four.")])).host(230, prompt("p4", "four"));
    let shape = format!("{} · ok p4 · compact_end done · {}", overflowed(), run("user four"));
    prompted.is("overflow_prompt", &[Pi], &shape);
}

#[test]
fn abort_during_overflow_compaction_prevents_repetition() {
    let shape = format!("{} · ok abort · compact_end done", overflowed());
    let turns = json!([summary("So far."), summary("In short.")]);
    overflowing(turns).host(230, command("abort")).is("overflow_abort", &SEEDS, &shape);
}

#[test]
fn failed_overflow_compaction_is_reported() {
    let failing = || overflowing(json!([no_summary()]));
    failing().is("overflow_failed", &SEEDS, &format!("{} · compact_end failed", overflowed()));
    let played = failing().play(Pi);
    let text = played.last("auto_compaction_end")["errorMessage"].to_string();
    assert!(text.contains("Context overflow recovery failed: Summarization failed: 500"), "{text}");
}

#[test]
fn bash_during_compaction_keeps_failure_removed() {
    for dialect in SEEDS {
        let played = overflowing(json!([summary("So far."), summary("In short."), says("Three.")]))
            .host(210, bash("b", "sleep 10; echo one"))
            .play(dialect);
        assert_eq!(played.asked.last().map(String::as_str), Some("turn play [Saub]"), "{dialect}");
    }
}

#[test]
fn context_is_checked_again_before_prompt() {
    let slow =
        json!({ "say": [{ "text": "Slow.", "size": 0 }], "usage": { "input": 127_500 }, "hang": true });
    let interrupted = |rest: Value| {
        let Value::Array(mut rest) = rest else { panic!("turns are a list") };
        let mut turns = vec![fills("Three.", 127_500), slow.clone()];
        turns.append(&mut rest);
        let off = json!({ "id": "off", "type": "set_auto_compaction", "enabled": false });
        let on = json!({ "id": "on", "type": "set_auto_compaction", "enabled": true });
        talk(Value::Array(turns))
            .host(150, off)
            .host(200, prompt("p3", "three"))
            .host(300, on)
            .host(400, prompt("p4", "four"))
    };
    let shape = |end: &str, then: &str| format!("ok p4 · compact threshold · compact_end {end} · {then}");
    let hangs = "agent_start · turn_start · user four · ms · text · me aborted · turn_end [] · agent_end [ua] · ok abort";
    for dialect in SEEDS {
        interrupted(json!([summary("So far."), summary("In short.")]))
            .from("p4")
            .host(900, command("abort"))
            .is("before_prompt", &[dialect], &shape("done", hangs));
    }
    // Aborted while the context is made to fit, its run asks no model.
    for dialect in SEEDS {
        interrupted(json!([summary("So far."), summary("In short.")]))
            .from("p4")
            .host(410, command("abort"))
            .is(
                "before_prompt_abort",
                &[dialect],
                &format!("ok p4 · compact threshold · compact_end done · {} · ok abort", aborts("user four")),
            );
    }
}

#[test]
fn in_a_small_window_less_is_kept() {
    let long = "words ".repeat(900);
    let small = || {
        scenario(json!([says(&long), too_long(), says("Two.")]))
            .window(4000)
            .modes(|modes| modes.compaction.reserve = 100)
            .host(0, prompt("p1", &long))
            .host(100, prompt("p2", &long))
    };
    for dialect in SEEDS {
        let played = small().play(dialect);
        assert_eq!(played.last("agent_end")["messages"][0]["stopReason"], "stop", "{}", played.log);
    }
}

#[test]
fn end_of_input_awaits_compaction_and_prompt() {
    let played = talk(json!([summary("So far."), says("Three.")]))
        .host(200, command("compact"))
        .host(210, prompt("p3", "three"))
        .ends(220)
        .play(Pi);
    assert_eq!(played.shape().last().map(String::as_str), Some("agent_end [ua]"), "{}", played.log);
    assert!(played.log.ends_with("> exit\n"), "{}", played.log);
}

#[test]
fn shutdown_cancels_compaction_without_model_request() {
    for dialect in SEEDS {
        let asked = talk(json!([summary("So far.")])).host(200, command("compact")).stops(210);
        assert!(asked.play(dialect).error("compact").ends_with("Compaction cancelled"), "{dialect}");
        let full = filled(json!([])).stops(200);
        assert!(full.play(dialect).log.ends_with("> exit\n"), "{dialect}");
    }
    // What was acknowledged is told how it ended.
    let waits =
        talk(json!([summary("So far.")])).host(200, command("compact")).host(205, prompt("p3", "three"));
    let shape = waits.stops(210).play(Pi).shape().join(" · ");
    assert!(shape.ends_with(&format!("ok p3 · no compact · {}", aborts("user three"))), "{shape}");
    // The run that the compaction waits for is being aborted when the process is told to stop.
    let tool = calls("t1", "bash", "sleep 500");
    let played = talk(json!([tool]))
        .host(200, prompt("p3", "three"))
        .host(300, command("compact"))
        .stops(301)
        .play(Pi);
    assert_eq!(played.error("compact"), "Compaction cancelled");
    assert_eq!(played.asked.iter().filter(|it| it.starts_with("summary")).count(), 0);
}

#[test]
fn commands_before_compaction_act_as_during_it() {
    let tool = || talk(json!([calls("t1", "bash", "sleep 500")])).host(200, prompt("p3", "three"));
    let ended = |played: &Playback| played.shape().into_iter().rev().take(2).collect::<Vec<_>>();
    // All three come while the run is being closed.
    let played = tool().host(300, command("compact")).host(301, command("new_session")).play(Pi);
    assert_eq!(ended(&played), ["ok new_session", "no compact"]);
    let played = tool()
        .host(300, command("compact"))
        .host(301, command("abort"))
        .host(301, command("new_session"))
        .play(Pi);
    let shape = played.shape().join(" · ");
    assert!(shape.ends_with("no compact · ok abort · ok new_session"), "{shape}");
    let again = json!({ "id": "again", "type": "compact" });
    let played = tool().host(300, command("compact")).host(301, again).play(Pi);
    assert_eq!(ended(&played), ["ok compact", "no again"]);
}
