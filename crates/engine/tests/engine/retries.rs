//! Retries of runs that failed for a transient reason: the wait, the retries, and commands in between.
//!
//! The shapes are those of the worked sequences; `retry 1` and `retry_end 1` are the events of the first further try,
//! `!` marks that it came to nothing.

use pi_rpc_protocol::Dialect::{self, Pi, Xcsh};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

/// One failure, then an answer.
fn once() -> Scenario {
    scenario(json!([overloaded(), says("Done.")])).host(0, prompt("p", "hi"))
}

/// The steps up to the first wait.
fn waiting() -> String {
    format!("ok p · {} · retry 1", fails("user hi"))
}

#[test]
fn a_failure_that_passes_is_tried_again() {
    once().is("retry", &SEEDS, &format!("{} · {}", waiting(), retried(1)));
}

#[test]
fn failed_answer_is_persisted_but_not_resent() {
    for dialect in SEEDS {
        let played = once().kept().play(dialect);
        assert_eq!(played.asked, ["turn play [u]", "turn play [u]"], "{dialect}");
        let stop = |line: &Value| line["message"]["stopReason"].as_str().map(str::to_owned);
        let stops: Vec<String> = played.disk.lines().iter().filter_map(stop).collect();
        assert_eq!(stops, ["error", "stop"], "{dialect}");
    }
}

#[test]
fn four_failures_use_up_all_tries() {
    let shape = format!(
        "{} · {failed} · retry 2 · {failed} · retry 3 · {failed} · retry_end! 3",
        waiting(),
        failed = fails("")
    );
    let four = json!([overloaded(), overloaded(), overloaded(), overloaded()]);
    scenario(four).host(0, prompt("p", "hi")).is("retry_exhausted", &SEEDS, &shape);
}

#[test]
fn the_waits_double() {
    let played =
        scenario(json!([overloaded(), overloaded(), overloaded(), overloaded()])).host(0, prompt("p", "hi"));
    let played = played.play(Pi);
    let waits = played.frames("auto_retry_start");
    let waits: Vec<&Value> = waits.map(|frame| &frame["delayMs"]).collect();
    assert_eq!(waits, [2000, 4000, 8000]);
}

#[test]
fn permanent_failure_ends_retrying() {
    let shape = format!("{} · {} · retry_end! 1", waiting(), fails(""));
    scenario(json!([overloaded(), refused()])).host(0, prompt("p", "hi")).is("retry_refused", &SEEDS, &shape);
}

#[test]
fn abort_retry_ends_the_wait() {
    let shape = format!("{} · retry_end! 1 · ok abort_retry", waiting());
    once().host(500, command("abort_retry")).is("retry_abort_retry", &SEEDS, &shape);
}

#[test]
fn abort_ends_the_wait() {
    let shape = format!("{} · retry_end! 1 · ok abort", waiting());
    once().host(500, command("abort")).is("retry_abort", &SEEDS, &shape);
}

#[test]
fn abort_retry_does_not_stop_started_retry() {
    let slow = json!({ "say": [{ "text": "Done.", "size": 0 }], "firstDelayMs": 300 });
    let shape = format!(
        "{} · agent_start · turn_start · ms · ok abort_retry · text · me stop · retry_end 1 · turn_end [] · agent_end [a]",
        waiting()
    );
    scenario(json!([overloaded(), slow])).host(0, prompt("p", "hi")).host(2100, command("abort_retry")).is(
        "retry_late_abort_retry",
        &SEEDS,
        &shape,
    );
}

#[test]
fn aborted_retry_ends_retrying() {
    let slow = json!({ "say": [{ "text": "Done.", "size": 0 }], "firstDelayMs": 300 });
    let shape = format!(
        "{} · agent_start · turn_start · ms · me aborted · turn_end [] · agent_end [a] · retry_end! 1 · ok abort",
        waiting()
    );
    scenario(json!([overloaded(), slow])).host(0, prompt("p", "hi")).host(2100, command("abort")).is(
        "retry_aborted",
        &SEEDS,
        &shape,
    );
}

#[test]
fn prompt_before_retry_replaces_it_or_fails() {
    let prompted = || once().host(500, prompt("q", "now"));
    let shape = format!("{} · ok q · retry_end! 1 · {}", waiting(), run("user now"));
    prompted().is("retry_prompt", &[Pi], &shape);
    let shape = format!("{} · ok q · no q · {}", waiting(), retried(1));
    prompted().is("retry_prompt", &[Xcsh], &shape);
}

#[test]
fn messages_queued_before_retry_join_it() {
    let steered = once().host(500, steer("S1")).host(600, follow_up("F1"));
    let joined = format!("ok S1 · ok F1 · {}", retried(1).replace("ms", "user S1 · ms"));
    let shape = format!(
        "{} · {} · turn_start · user F1 · ms · text · me stop · turn_end [] · agent_end [uaua]",
        waiting(),
        joined.replace(" · agent_end [a]", "")
    );
    steered.is("retry_queued", &SEEDS, &shape);
    let shape = format!(
        "{} · ok S1 · {}",
        waiting(),
        retried(1).replace("ms", "user S1 · ms").replace("[a]", "[ua]")
    );
    once().host(500, queued("S1", "steer")).is("retry_prompt_queued", &[Xcsh], &shape);
}

#[test]
fn leaving_the_session_ends_retry_first() {
    let fork = json!({ "id": "fork", "type": "fork", "entryId": "$0" });
    let branch = json!({ "id": "fork", "type": "branch", "entryId": "$0" });
    let switch = json!({ "id": "switch", "type": "switch_session", "sessionPath": "/sessions/none.jsonl" });
    let cases = [
        ("new_session", command("new_session"), &SEEDS[..], "ok new_session"),
        ("switch", switch, &SEEDS, "ok switch"),
        ("fork", fork, &[Pi], "ok fork"),
        ("fork", branch, &[Xcsh], "ok fork"),
        ("compact", command("compact"), &[Pi], "no compact"),
        ("compact", command("compact"), &[Xcsh], "no parse"),
    ];
    for (name, frame, dialects, answer) in cases {
        let shape = format!("{} · retry_end! 1 · {answer}", waiting());
        once().kept().host(500, frame).is(&format!("retry_{name}"), dialects, &shape);
    }
}

#[test]
fn without_retrying_the_failure_ends_the_run() {
    let off = json!({ "id": "off", "type": "set_auto_retry", "enabled": false });
    let shape = format!("ok off · ok p · {}", fails("user hi"));
    scenario(json!([overloaded()])).host(0, off).host(1, prompt("p", "hi")).is("retry_off", &SEEDS, &shape);
}

#[test]
fn disabling_retry_ends_it_after_next_one() {
    let off = json!({ "id": "off", "type": "set_auto_retry", "enabled": false });
    let shape = format!("{} · ok off · {} · retry_end! 1", waiting(), fails(""));
    scenario(json!([overloaded(), overloaded()])).host(0, prompt("p", "hi")).host(500, off).is(
        "retry_off_meanwhile",
        &SEEDS,
        &shape,
    );
}

#[test]
fn retry_after_counts_up_to_limit() {
    let limited = |seconds: u32| {
        let turn = json!({ "fail": { "status": 429, "retryAfter": seconds } });
        scenario(json!([turn, says("Done.")])).host(0, prompt("p", "hi"))
    };
    for (dialect, delay) in [(Pi, 2000), (Xcsh, 5000)] {
        let played = limited(5).play(dialect);
        assert_eq!(played.last("auto_retry_start")["delayMs"], delay, "{dialect}");
    }
    for dialect in SEEDS {
        let played = limited(61).play(dialect);
        assert_eq!(played.last("auto_retry_start"), &Value::Null, "{dialect}");
    }
}

#[test]
fn end_of_input_awaits_retry_or_exits() {
    let ending = || once().ends(500);
    assert_eq!(ending().play(Pi).shape().last().map(String::as_str), Some("agent_end [a]"));
    let played = ending().finish(Xcsh);
    assert_eq!(played.shape().last().map(String::as_str), Some("retry 1"));
    assert!(played.log.ends_with("500 > exit\n"), "{}", played.log);
}

#[test]
fn a_shutdown_ends_the_wait() {
    for dialect in SEEDS {
        let played = once().stops(500).play(dialect);
        assert_eq!(played.shape().last().map(String::as_str), Some("retry_end! 1"), "{dialect}");
        assert!(played.log.ends_with("500 > exit\n"), "{}", played.log);
    }
}

#[test]
fn retry_drops_failure_and_keeps_bash_result() {
    let slow = json!({ "fail": { "status": 529 }, "firstDelayMs": 100 });
    for dialect in SEEDS {
        let played = scenario(json!([slow, says("Done.")]))
            .kept()
            .host(0, prompt("p", "hi"))
            .host(10, bash("b", "sleep 20; echo one"))
            .play(dialect);
        assert_eq!(played.asked, ["turn play [u]", "turn play [ub]"], "{dialect}");
    }
}

#[test]
fn failed_answer_is_dropped_with_tool_results() {
    let broken = json!({
        "say": [{ "tool": "bash", "id": "t1", "arguments": { "command": "echo one" }, "size": 0 }],
        "fail": { "message": "terminated" },
    });
    let played = scenario(json!([broken, says("Done.")])).kept().host(0, prompt("p", "hi")).play(Xcsh);
    assert_eq!(played.asked, ["turn play [u]", "turn play [u]"]);
}
