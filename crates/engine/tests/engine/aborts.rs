//! Worked sequences with aborts, a new session during a run, and shell commands. See `sequences.rs` for the notation.

use pi_rpc_protocol::Dialect::{self, Pi, Pi058, Pi0584, Xcsh};
use pi_rpc_test_kit::{scenario, shorthand::*};
use serde_json::{Value, json};

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

/// An answer that takes its time.
fn slow() -> Value {
    json!({ "say": [{ "text": "Once upon a time there was.", "size": 10 }], "delayMs": 50 })
}

#[test]
fn abort_closes_streaming_run_before_its_response() {
    let shape = "ok p · agent_start · turn_start · user hi · ms · text · me aborted · turn_end [] ·
                 agent_end [ua] · ok abort · ok get_state · ok get_messages";
    scenario(json!([slow()]))
        .host(0, prompt("p", "hi"))
        .host(120, command("abort"))
        .host(200, command("get_state"))
        .host(210, command("get_messages"))
        .is("abort_streaming", &SEEDS, shape);
}

#[test]
fn abort_before_first_chunk_leaves_message_empty() {
    let shape = "ok p · agent_start · turn_start · user hi · ms · me aborted · turn_end [] ·
                 agent_end [ua] · ok abort";
    scenario(json!([{ "say": [{ "text": "Late." }], "firstDelayMs": 500 }]))
        .host(0, prompt("p", "hi"))
        .host(120, command("abort"))
        .is("abort_early", &SEEDS, shape);
}

#[test]
fn abort_after_streamed_call_runs_no_tool() {
    let say = json!([call("t1", "bash", "echo one"), { "text": "and then", "delayMs": 500 }]);
    let it = scenario(json!([{ "say": say }])).host(0, prompt("p", "hi")).host(100, command("abort"));
    let opening = "ok p · agent_start · turn_start · user hi · ms · toolcall · text · me aborted";
    it.is("abort_call", &[Pi], &format!("{opening} · turn_end [] · agent_end [ua] · ok abort"));
    let made_up = "start t1 · end! t1 · result! t1 · turn_end [t1] · agent_end [uat] · ok abort";
    it.is("abort_call", &[Xcsh], &format!("{opening} · {made_up}"));
    assert!(it.play(Xcsh).started.is_empty());
}

#[test]
fn abort_during_a_call_starts_no_other() {
    let calls =
        [call("t1", "bash", "sleep 100; echo one; sleep 900; echo two"), call("t2", "bash", "sleep 500")];
    let it = scenario(json!([{ "say": calls }]))
        .host(0, prompt("p", "go"))
        .host(200, command("abort"))
        .host(300, command("get_state"));
    let within = |tools: &str| {
        format!(
            "ok p · agent_start · turn_start · user go · ms · toolcall · toolcall · me toolUse · {tools} ·
             turn_start · ms · me aborted · turn_end [] · agent_end [uatta] · ok abort · ok get_state"
        )
    };
    let waiting = within(
        "start t1 · update t1 · end! t1 · result! t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2]",
    );
    let running = within(
        "start t1 · start t2 · update t1 · end! t1 · result! t1 · end! t2 · result! t2 · turn_end [t1 t2]",
    );
    it.is("abort_tools", &SEEDS, &waiting);
    it.is("abort_tools", &[Pi058, Pi0584], &running);
    for dialect in SEEDS {
        assert_eq!(it.play(dialect).started.len(), 1, "nothing is spawned after the abort");
    }
}

#[test]
fn abort_when_idle_is_answered_immediately() {
    let shape = "ok abort · ok abort_retry · ok abort_bash";
    scenario(json!([]))
        .host(0, command("abort"))
        .host(10, command("abort_retry"))
        .host(20, command("abort_bash"))
        .is("abort_idle", &SEEDS, shape);
}

#[test]
fn abort_keeps_queues_for_next_run() {
    let shape = "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · ok F1 · text ·
                 me aborted · turn_end [] · agent_end [ua] · ok abort · ok get_state ·
                 ok q · agent_start · turn_start · user again · user S1 · ms · text · me stop · turn_end [] ·
                 turn_start · user F1 · ms · text · me stop · turn_end [] · agent_end [uuaua]";
    scenario(json!([slow(), says("Yes."), says("And more.")]))
        .host(0, prompt("p", "hi"))
        .host(70, json!({ "id": "S1", "type": "steer", "message": "S1" }))
        .host(80, json!({ "id": "F1", "type": "follow_up", "message": "F1" }))
        .host(120, command("abort"))
        .host(130, command("get_state"))
        .host(140, prompt("q", "again"))
        .is("abort_queued", &SEEDS, shape);
}

#[test]
fn abort_and_prompt_waits_for_old_run() {
    let again = json!({ "id": "q", "type": "abort_and_prompt", "message": "again" });
    let shape = "ok p · agent_start · turn_start · user hi · ms · text · me aborted · turn_end [] · agent_end [ua] ·
                 ok q · agent_start · turn_start · user again · ms · text · me stop · turn_end [] · agent_end [ua]";
    scenario(json!([slow(), says("Yes.")])).host(0, prompt("p", "hi")).host(120, again).is(
        "abort_and_prompt",
        &[Xcsh],
        shape,
    );
}

#[test]
fn new_session_closes_open_run_first() {
    let shape =
        "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · text · me aborted · turn_end [] ·
                 agent_end [ua] · ok new_session · ok get_state · ok get_messages";
    scenario(json!([slow()]))
        .host(0, prompt("p", "hi"))
        .host(70, json!({ "id": "S1", "type": "steer", "message": "S1" }))
        .host(120, command("new_session"))
        .host(130, command("get_state"))
        .host(140, command("get_messages"))
        .is("new_session_streaming", &SEEDS, shape);
}

#[test]
fn new_session_waits_for_running_tools() {
    let shape = "ok p · agent_start · turn_start · user go · ms · toolcall · me toolUse · start t1 ·
                 end! t1 · result! t1 · turn_end [t1] · turn_start · ms · me aborted · turn_end [] ·
                 agent_end [uata] · ok new_session · ok get_messages";
    scenario(json!([{ "say": [call("t1", "bash", "sleep 500; echo one")] }]))
        .host(0, prompt("p", "go"))
        .host(100, command("new_session"))
        .host(110, command("get_messages"))
        .is("new_session_tools", &SEEDS, shape);
}

#[test]
fn bash_result_joins_next_model_request() {
    let shape =
        "ok b · ok c · ok get_messages · ok p · agent_start · turn_start · user hi · ms · text · me stop ·
                 turn_end [] · agent_end [ua]";
    scenario(json!([says("I have seen it.")]))
        .host(0, bash("b", "sleep 20; echo one; sleep 10; echo two"))
        .host(100, bash("c", "fail"))
        .host(150, command("get_messages"))
        .host(200, prompt("p", "hi"))
        .is("bash", &SEEDS, shape);
}

#[test]
fn abort_bash_answers_first_and_stops_all() {
    let it = scenario(json!([]))
        .host(0, bash("b", "echo one; sleep 900; echo two"))
        .host(10, bash("c", "sleep 800"))
        .host(100, command("abort_bash"))
        .host(200, command("get_messages"));
    it.is("bash_abort", &[Pi], "ok abort_bash · ok b · ok c · ok get_messages");
    // One by one: the second starts when the first is over, and is not stopped.
    it.is("bash_abort", &[Xcsh], "ok abort_bash · ok b · ok c · ok get_messages");
}

#[test]
fn bash_during_run_is_appended_after_it() {
    let shape =
        "ok p · agent_start · turn_start · user hi · ms · text · ok b · ok get_messages · text · me stop ·
                 turn_end [] · agent_end [ua] · ok after";
    scenario(json!([slow()]))
        .host(0, prompt("p", "hi"))
        .host(60, bash("b", "sleep 10; echo one"))
        .host(80, command("get_messages"))
        .host(300, json!({ "id": "after", "type": "get_messages" }))
        .is("bash_during_run", &SEEDS, shape);
}
