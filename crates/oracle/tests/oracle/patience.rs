//! Deadlines of the judge for events that have to follow, and what excuses a delay; also for turns and queues.

use crate::legal::{Talk, answer, user};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};

/// Longer than anything may take.
const LONG: u64 = 60_000;

fn spawned(dialect: Dialect) -> Talk {
    let spawn = json!({ "event": "spawn", "argv": ["server"] });
    let talk = Talk::default().record(0, "meta", &spawn);
    if dialect == Xcsh { talk.out(json!({ "type": "ready" })) } else { talk }
}

fn reads(talk: Talk, after: u64) -> Talk {
    talk.record(after, "in", &json!({ "id": "r", "type": "get_last_assistant_text" }))
}

fn read(talk: Talk) -> Talk {
    talk.out(json!({
        "id": "r", "type": "response", "command": "get_last_assistant_text", "success": true, "data": {},
    }))
}

fn runs(talk: Talk, text: &str) -> Talk {
    talk.start().begin(&[text]).finish(&answer("stop")).end()
}

fn sets(talk: Talk, command: Value) -> Talk {
    let kind = command["type"].as_str().unwrap().to_owned();
    let id = command["id"].as_str().unwrap().to_owned();
    talk.record(1, "in", &command).done(&id, &kind)
}

#[test]
fn late_answer_shows_missing_run() {
    for dialect in [Pi, Xcsh] {
        let acked = || spawned(dialect).ask("1", "prompt", "go");
        assert_eq!(read(reads(acked(), LONG)).broken(dialect), [Rule::RunAfterAck]);
        assert_eq!(read(reads(acked(), 1000)).broken(dialect), []);
        assert_eq!(runs(read(reads(acked(), 1000)), "go").broken(dialect), []);
    }
}

#[test]
fn slow_reader_excuses_earlier_frames() {
    let asked = || reads(spawned(Pi).ask("1", "prompt", "go"), LONG);
    assert_eq!(read(runs(asked(), "go")).broken(Pi), []);
    assert_eq!(runs(read(asked()), "go").broken(Pi), [Rule::RunAfterAck]);
}

#[test]
fn dialog_gives_prompt_more_time() {
    let dialog = json!({
        "type": "extension_ui_request", "id": "u", "method": "confirm", "title": "t", "message": "m",
    });
    let answered = json!({ "type": "extension_ui_response", "id": "u", "confirmed": true });
    let talk = spawned(Pi).ask("1", "prompt", "go").out(dialog).record(LONG, "in", &answered);
    assert_eq!(runs(read(reads(talk, 1)), "go").broken(Pi), []);
}

#[test]
fn abort_excuses_outstanding_run() {
    let stopped = spawned(Pi).ask("1", "prompt", "go").ask("2", "abort", "");
    assert_eq!(read(reads(stopped, LONG)).broken(Pi), []);
    let late =
        spawned(Pi).ask("1", "prompt", "go").record(LONG, "in", &json!({ "id": "2", "type": "abort" }));
    assert_eq!(late.done("2", "abort").broken(Pi), [Rule::RunAfterAck]);
}

#[test]
fn slash_command_promises_no_run() {
    assert_eq!(read(reads(spawned(Pi).ask("1", "prompt", "/do"), LONG)).broken(Pi), []);
}

#[test]
fn shell_may_last_and_read_may_not() {
    let bash = json!({ "id": "b", "type": "bash", "command": "make" });
    let asked = || spawned(Pi).record(1, "in", &bash);
    assert_eq!(read(reads(asked(), LONG)).broken(Pi), []);
    let silent = asked().record(1, "in", &json!({ "id": "s", "type": "get_messages" }));
    assert_eq!(read(reads(silent, LONG)).broken(Pi), [Rule::RespOnce]);
}

#[test]
fn retry_delay_lasts_as_announced() {
    let waits = || spawned(Xcsh).ask("1", "prompt", "go").fails(&["go"], "overloaded");
    let told = || waits().retries(1, 30_000, "overloaded");
    assert_eq!(read(reads(told(), 35_000)).broken(Xcsh), []);
    assert_eq!(read(reads(told(), LONG)).broken(Xcsh), [Rule::RetryPairs]);
}

#[test]
fn two_prompts_have_two_runs() {
    let started = |id: &str| json!({ "id": id, "type": "response", "command": "prompt", "success": true, "data": { "disposition": "started" } });
    let both = || {
        let asked = spawned(Pi1).asks("1", "prompt", "a").asks("2", "prompt", "b");
        asked.out(started("1")).out(started("2"))
    };
    let run = |talk: Talk, text: &str| {
        let run = talk.start().begin(&[text]).finish(&answer("stop"));
        run.out(json!({ "type": "agent_end", "messages": [user(text), answer("stop")], "willRetry": false }))
            .out(json!({ "type": "agent_settled", "aborted": false }))
    };
    let broken = |talk: Talk| {
        let mut broken = read(reads(talk, LONG)).broken(Pi1);
        broken.retain(|rule| *rule == Rule::RunAfterAck);
        broken
    };
    assert_eq!(broken(run(run(both(), "a"), "b")), []);
    assert_eq!(broken(run(both(), "a")), [Rule::RunAfterAck]);
    assert_eq!(broken(run(both(), "b")), [Rule::RunAfterAck]);
}

#[test]
fn extension_may_change_prompt() {
    let notice = json!({
        "type": "extension_ui_request", "id": "n", "method": "notify", "message": "hello",
    });
    let changed = |talk: Talk| runs(talk.ask("1", "prompt", "go"), "gone").broken(Pi);
    assert_eq!(changed(spawned(Pi).out(notice)), []);
    assert_eq!(changed(spawned(Pi)), [Rule::PromptDelivered]);
    assert_eq!(runs(spawned(Pi).ask("1", "prompt", "/go"), "gone").broken(Pi), []);
}

#[test]
fn steering_after_last_turn_waits() {
    let turn = || spawned(Pi).ask("1", "prompt", "go").start().begin(&["go"]);
    let before = turn().ask("2", "steer", "left").finish(&answer("stop")).end();
    let behind = turn().finish(&answer("stop")).ask("2", "steer", "left").end();
    assert_eq!(before.broken(Pi), [Rule::RunGoesOn]);
    assert_eq!(behind.broken(Pi), []);
    let next = |texts: &[&str]| {
        let asked = behind.clone().ask("3", "prompt", "on").start().begin(texts);
        asked.finish(&answer("stop"))
    };
    assert_eq!(next(&["on", "left"]).broken(Pi), []);
    assert_eq!(next(&["on"]).broken(Pi), [Rule::DeliverInTime]);
}

#[test]
fn mode_applies_from_next_delivery() {
    let all = |talk| sets(talk, json!({ "id": "m", "type": "set_steering_mode", "mode": "all" }));
    let steered = |talk: Talk| {
        let run = talk.ask("1", "prompt", "go").start().begin(&["go"]);
        run.ask("2", "steer", "a").ask("3", "steer", "b").finish(&answer("stop"))
    };
    let early = steered(all(spawned(Pi))).begin(&["a"]).finish(&answer("stop"));
    let late = all(steered(spawned(Pi)).begin(&["a"])).finish(&answer("stop"));
    assert_eq!(early.broken(Pi), [Rule::AllAtOnce]);
    assert_eq!(late.begin(&["b"]).finish(&answer("stop")).end().broken(Pi), []);
}

#[test]
fn run_behind_compaction_needs_no_message() {
    let ended = || runs(spawned(Xcsh).ask("1", "prompt", "go"), "go");
    let compacted = |talk: Talk| {
        let start =
            json!({ "type": "auto_compaction_start", "reason": "threshold", "action": "context-full" });
        let end = json!({
            "type": "auto_compaction_end", "skipped": true, "aborted": false, "willRetry": false,
            "action": "context-full",
        });
        talk.out(start).out(end)
    };
    let goes_on = |talk: Talk| talk.start().begin(&[]).finish(&answer("stop")).end().broken(Xcsh);
    assert_eq!(goes_on(compacted(ended())), []);
    assert_eq!(goes_on(ended()), [Rule::RunCause]);
}

#[test]
fn same_text_may_be_sent_twice() {
    let twice = |talk: Talk| {
        let run = talk.ask("1", "prompt", "go").start().begin(&["go"]).ask("2", "steer", "go");
        run.finish(&answer("stop")).begin(&["go"]).finish(&answer("stop"))
    };
    assert_eq!(twice(spawned(Pi)).end().broken(Pi), []);
    let thrice = twice(spawned(Pi)).begin(&["go"]).finish(&answer("stop")).end();
    assert_eq!(thrice.broken(Pi), [Rule::DeliverOnce]);
}

#[test]
fn switch_counts_from_next_answer() {
    let off = |talk| sets(talk, json!({ "id": "s", "type": "set_auto_retry", "enabled": false }));
    let fails = |talk: Talk| talk.ask("1", "prompt", "go").fails(&["go"], "overloaded");
    assert_eq!(fails(off(spawned(Pi))).retries(1, 2000, "overloaded").broken(Pi), [Rule::RetryOff]);
    assert_eq!(off(fails(spawned(Pi))).retries(1, 2000, "overloaded").broken(Pi), []);
}

/// A run whose answer is open, and which the host aborts.
fn aborted(dialect: Dialect) -> Talk {
    let run = spawned(dialect).ask("1", "prompt", "go").start().begin(&["go"]);
    let open = run.out(json!({ "type": "message_start", "message": answer("stop") }));
    open.asks("2", "abort", "")
}

fn ends(talk: Talk, after: u64, reason: &str) -> Talk {
    let mut message = answer(reason);
    if reason == "aborted" {
        message["errorMessage"] = json!("Request was aborted");
    }
    let ended = talk.record(after, "out", &json!({ "type": "message_end", "message": message }));
    ended.out(json!({ "type": "turn_end", "message": message, "toolResults": [] })).end().done("2", "abort")
}

#[test]
fn read_is_answered_in_time() {
    let response = json!({
        "id": "r", "type": "response", "command": "get_last_assistant_text", "success": true, "data": {},
    });
    let steered = || reads(spawned(Pi).ask("1", "steer", "later"), 1);
    assert_eq!(steered().record(LONG, "out", &response).broken(Pi), [Rule::InTime]);
    assert_eq!(steered().record(20_000, "out", &response).broken(Pi), []);
    // A server that has not written anything yet may be slow to start.
    assert_eq!(reads(spawned(Pi), 1).record(LONG, "out", &response).broken(Pi), []);
    let stalled = steered().record(LONG, "meta", &json!({ "event": "stalled", "ms": LONG }));
    assert_eq!(stalled.out(response).broken(Pi), [Rule::HostDrains]);
}

#[test]
fn aborted_answer_ends_in_time() {
    for dialect in [Pi, Xcsh] {
        assert_eq!(ends(aborted(dialect), 1, "aborted").broken(dialect), [], "{dialect}");
        assert_eq!(ends(aborted(dialect), LONG, "aborted").broken(dialect), [Rule::InTime], "{dialect}");
        assert_eq!(ends(aborted(dialect), 1, "stop").broken(dialect), [], "{dialect}");
        assert_eq!(ends(aborted(dialect), LONG, "stop").broken(dialect), [Rule::AbortEffect], "{dialect}");
    }
}

#[test]
fn step_of_run_comes_in_time() {
    let turn = || spawned(Pi).ask("1", "prompt", "go").start().begin(&["go"]).finish(&answer("stop"));
    let silent = |talk: Talk| talk.record(600_000, "meta", &json!({ "event": "stdin closed" })).broken(Pi);
    assert_eq!(silent(turn()), [Rule::InTime]);
    assert_eq!(silent(turn().end()), []);
    // A model may take as long as it likes.
    assert_eq!(silent(spawned(Pi).ask("1", "prompt", "go").start().begin(&["go"])), []);
}

#[test]
fn retry_waits_as_announced() {
    let waits =
        || spawned(Pi).ask("1", "prompt", "go").fails(&["go"], "overloaded").retries(1, 2000, "overloaded");
    let tries = |after: u64| waits().record(after, "out", &json!({ "type": "agent_start" })).broken(Pi);
    assert_eq!(tries(1), [Rule::RetryDelay]);
    assert_eq!(tries(2000), []);
    assert_eq!(tries(2000 + LONG), [Rule::InTime]);
    assert_eq!(waits().ask("2", "abort_retry", "").broken(Pi), [Rule::AbortAfterEnd]);
}

#[test]
fn invalid_request_is_not_retried() {
    let retried = |error: &str| {
        spawned(Pi).ask("1", "prompt", "go").fails(&["go"], error).retries(1, 2000, error).broken(Pi)
    };
    assert_eq!(retried("invalid_request_error: no such field"), [Rule::RetryAfterError]);
    assert_eq!(retried("529 invalid_request_error: no such field"), []);
    assert_eq!(retried("invalid_request_error: overloaded"), []);
}

#[test]
fn queues_do_not_outlive_session() {
    let left = || {
        let queued = spawned(Pi).ask("1", "steer", "old").asks("2", "new_session", "");
        queued.out(json!({
            "id": "2", "type": "response", "command": "new_session", "success": true,
            "data": { "cancelled": false },
        }))
    };
    let run = |talk: Talk, texts: &[&str]| talk.ask("3", "prompt", "go").start().begin(texts).broken(Pi);
    assert_eq!(run(left(), &["go"]), []);
    assert_eq!(run(left(), &["go", "old"]), [Rule::DeliverOnce]);
    assert_eq!(run(left().ask("4", "steer", "old"), &["go", "old"]), []);
}

#[test]
fn refused_message_is_not_delivered() {
    let busy = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";
    let refused =
        json!({ "id": "2", "type": "response", "command": "prompt", "success": false, "error": busy });
    let run = || {
        let open = spawned(Pi).ask("1", "prompt", "go").start().begin(&["go"]).asks("2", "prompt", "no");
        open.out(refused.clone())
    };
    let turn = |talk: Talk| talk.finish(&answer("stop")).begin(&["no"]).broken(Pi);
    assert_eq!(turn(run()), [Rule::HostPromptBusy, Rule::DeliverOnce]);
    assert_eq!(turn(run().ask("3", "steer", "no")), [Rule::HostPromptBusy]);
}
