//! The worked sequences: whole conversations, frame by frame, in virtual time.
//!
//! Each is a snapshot of every frame, and above it the order in brief: `ok p` answers the request `p`, `ms` and `me`
//! open and close the assistant's message, `user S1` is a user message, `start t1` to `result t1` are a tool call's,
//! `!` marks an error, the letters after `agent_end` are the roles of its messages.

use pi_rpc_protocol::Dialect::{self, Pi, Pi058, Pi0584, Xcsh};
use pi_rpc_test_kit::{scenario, shorthand::*};
use serde_json::{Value, json};

/// The steps after `ms` of an answer that ends the run.
const END: &str = "text · me stop · turn_end []";

fn with(shape: &str) -> String {
    shape.replace("END", END)
}

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

#[test]
fn a_plain_turn() {
    let shape = "ok p · agent_start · turn_start · user hi · ms · END · agent_end [ua]";
    scenario(json!([{ "say": [{ "text": "Hello there.", "size": 6 }], "delayMs": 10, "firstDelayMs": 50 }]))
        .host(5, prompt("p", "hi"))
        .is("plain", &SEEDS, &with(shape));
}

#[test]
fn calls_of_truncated_answer_are_not_run() {
    let shape = "ok p · agent_start · turn_start · user go · ms · toolcall · toolcall · me length · \
                 start t1 · end! t1 · result! t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2] · \
                 turn_start · ms · END · agent_end [uatta]";
    let cut = json!({ "tool": "bash", "id": "t2", "rawArguments": "{\"command\": \"echo half", "size": 0 });
    scenario(json!([{ "say": [call("t1", "bash", "echo one"), cut], "stop": "length" }, says("Once more.")]))
        .host(5, prompt("p", "go"))
        .is("cut_off", &[Pi, Pi0584, Xcsh], &with(shape));
}

#[test]
fn thinking_signature_comes_with_block_end() {
    let thinking = json!({ "thinking": "Let me see.", "signature": "proof", "size": 6 });
    let shape = "ok p · agent_start · turn_start · user hi · ms · thinking · END · agent_end [ua]";
    scenario(json!([{ "say": [thinking, { "text": "Well." }], "delayMs": 10 }]))
        .host(0, prompt("p", "hi"))
        .is("thinking", &SEEDS, &with(shape));
}

#[test]
fn a_tool_call_runs_between_two_turns() {
    let tool = json!({
        "tool": "bash", "id": "t1", "arguments": { "command": "sleep 100; echo one; sleep 100; echo two" },
        "size": 30,
    });
    scenario(json!([{ "say": [{ "text": "Looking.", "size": 0 }, tool], "delayMs": 10 }, says("Done.")]))
        .host(0, prompt("p", "look"))
        .is(
            "tool",
            &SEEDS,
            &with(
                "ok p · agent_start · turn_start · user look · ms · text · toolcall · me toolUse ·
                 start t1 · update t1 · update t1 · end t1 · result t1 · turn_end [t1] ·
                 turn_start · ms · END · agent_end [uata]",
            ),
        );
}

/// Two calls of which the second is the faster.
fn two_calls(tool: &str) -> Value {
    let calls = [call("t1", tool, "sleep 200; echo one; sleep 100"), call("t2", tool, "sleep 100; echo two")];
    json!([{ "say": calls }, says("Done.")])
}

#[test]
fn two_calls_run_in_order_or_parallel() {
    let within = |tools: &str| {
        with(&format!(
            "ok p · agent_start · turn_start · user both · ms · toolcall · toolcall · me toolUse · {tools} ·
             turn_start · ms · END · agent_end [uatta]"
        ))
    };
    let one_by_one = within(
        "start t1 · update t1 · end t1 · result t1 · start t2 · update t2 · end t2 · result t2 · turn_end [t1 t2]",
    );
    let in_call_order = within(
        "start t1 · start t2 · update t2 · update t1 · end t1 · result t1 · end t2 · result t2 · turn_end [t1 t2]",
    );
    let as_they_end = within(
        "start t1 · start t2 · update t2 · end t2 · result t2 · update t1 · end t1 · result t1 · turn_end [t2 t1]",
    );
    let shared = scenario(two_calls("probe")).host(0, prompt("p", "both"));
    shared.is("two_tools", &[Pi], &one_by_one);
    shared.is("two_tools", &[Pi058, Pi0584], &in_call_order);
    shared.is("two_tools", &[Xcsh], &as_they_end);
    let exclusive = scenario(two_calls("bash")).host(0, prompt("p", "both"));
    exclusive.is("two_exclusive_tools", &[Xcsh], &one_by_one);
}

#[test]
fn an_unknown_tool_is_an_error_result() {
    let shape = "ok p · agent_start · turn_start · user call it · ms · toolcall · me toolUse ·
                 start t1 · end! t1 · result! t1 · turn_end [t1] · turn_start · ms · END · agent_end [uata]";
    scenario(json!([{ "say": [call("t1", "nope", "echo")] }, says("It is not there.")]))
        .host(0, prompt("p", "call it"))
        .is("unknown_tool", &SEEDS, &with(shape));
}

#[test]
fn invalid_arguments_give_error_result() {
    let bad = json!({ "tool": "bash", "id": "t2", "arguments": { "timeout": "soon" }, "size": 0 });
    let it = scenario(json!([{ "say": [call("t1", "bash", "sleep 50; echo one"), bad] }, says("I see.")]))
        .host(0, prompt("p", "call"));
    let shape = |tools: &str| {
        with(&format!(
            "ok p · agent_start · turn_start · user call · ms · toolcall · toolcall · me toolUse · {tools} ·
             turn_start · ms · END · agent_end [uatta]"
        ))
    };
    let in_turn =
        "start t1 · update t1 · end t1 · result t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2]";
    let at_once =
        "start t1 · start t2 · end! t2 · result! t2 · update t1 · end t1 · result t1 · turn_end [t2 t1]";
    it.is("invalid_arguments", &SEEDS, &shape(in_turn));
    it.is("invalid_arguments", &[Pi058, Pi0584], &shape(at_once));
}

/// What the queued messages lead to, one by one.
const QUEUED: &str = "turn_start · user S1 · ms · END · turn_start · user S2 · ms · END ·
                      turn_start · user F1 · ms · END · turn_start · user F2 · ms · END ·
                      agent_end [uattuauauaua]";

#[test]
fn steering_during_tool_skips_or_awaits_rest() {
    let turns = json!([
        { "say": [call("t1", "bash", "sleep 100; echo one"), call("t2", "bash", "sleep 50; echo two")] },
        says("to S1"), says("to S2"), says("to F1"), says("to F2"),
    ]);
    let it = scenario(turns)
        .host(0, prompt("p", "both"))
        .host(10, steer("S1"))
        .host(20, steer("S2"))
        .host(30, follow_up("F1"))
        .host(40, follow_up("F2"))
        .host(45, command("get_state"));
    let queue = "ok S1 · ok S2 · ok F1 · ok F2 · ok get_state";
    let shape = |tools: &str| {
        with(&format!(
            "ok p · agent_start · turn_start · user both · ms · toolcall · toolcall · me toolUse · {tools} · {QUEUED}",
        ))
    };
    let skipped = format!(
        "start t1 · {queue} · update t1 · end t1 · result t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2]"
    );
    let waited = format!(
        "start t1 · {queue} · update t1 · end t1 · result t1 ·
         start t2 · update t2 · end t2 · result t2 · turn_end [t1 t2]"
    );
    let started = format!(
        "start t1 · start t2 · {queue} · update t2 · update t1 ·
         end t1 · result t1 · end t2 · result t2 · turn_end [t1 t2]"
    );
    it.is("steering_during_tools", &[Pi], &shape(&skipped));
    it.is("steering_during_tools", &[Pi058, Pi0584], &shape(&started));
    it.is("steering_during_tools", &[Xcsh], &shape(&waited));
    assert_eq!(it.play(Pi).started, ["sleep 100; echo one"], "what is skipped does not run");
}

#[test]
fn steering_before_tools_skips_unstarted_calls() {
    let say = [call("t1", "bash", "echo one"), call("t2", "bash", "echo two")];
    let it = scenario(json!([{ "say": say, "firstDelayMs": 100 }, says("to S1")]))
        .host(0, prompt("p", "both"))
        .host(50, steer("S1"));
    let shape = |tools: &str| {
        with(&format!(
            "ok p · agent_start · turn_start · user both · ms · ok S1 · toolcall · toolcall · me toolUse · {tools} ·
             turn_start · user S1 · ms · END · agent_end [uattua]"
        ))
    };
    let none_run = "start t1 · end! t1 · result! t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2]";
    let all_run = "start t1 · start t2 · update t1 · update t2 ·
                   end t1 · result t1 · end t2 · result t2 · turn_end [t1 t2]";
    let first_runs =
        "start t1 · update t1 · end t1 · result t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2]";
    it.is("steering_before_tools", &[Pi], &shape(first_runs));
    it.is("steering_before_tools", &[Pi058], &shape(none_run));
    it.is("steering_before_tools", &[Pi0584], &shape(all_run));
    assert!(it.play(Pi058).started.is_empty(), "what is skipped does not run");
}

#[test]
fn mode_all_delivers_all_steering_at_once() {
    let mode = json!({ "id": "mode", "type": "set_steering_mode", "mode": "all" });
    let shape = "ok mode · ok p · agent_start · turn_start · user go · ms · toolcall · me toolUse ·
                 start t1 · ok S1 · ok S2 · update t1 · end t1 · result t1 · turn_end [t1] ·
                 turn_start · user S1 · user S2 · ms · END · agent_end [uatuua]";
    scenario(json!([{ "say": [call("t1", "bash", "sleep 100; echo one")] }, says("to both")]))
        .host(0, mode)
        .host(1, prompt("p", "go"))
        .host(10, steer("S1"))
        .host(20, steer("S2"))
        .is("steering_all", &SEEDS, &with(shape));
}

#[test]
fn immediate_mode_stops_tools_and_skips_rest() {
    let mode = json!({ "id": "mode", "type": "set_interrupt_mode", "mode": "immediate" });
    let calls = [
        call("t1", "probe", "sleep 100; echo one"),
        call("t2", "probe", "sleep 900; echo two"),
        call("t3", "bash", "echo three"),
    ];
    let it = scenario(json!([{ "say": calls }, says("to S1")]))
        .host(0, mode)
        .host(1, prompt("p", "go"))
        .host(50, steer("S1"));
    let shape = "ok mode · ok p · agent_start · turn_start · user go ·
                 ms · toolcall · toolcall · toolcall · me toolUse ·
                 start t1 · start t2 · ok S1 · update t1 · end t1 · result t1 · end! t2 · result! t2 ·
                 start t3 · end! t3 · result! t3 · turn_end [t1 t2 t3] ·
                 turn_start · user S1 · ms · END · agent_end [uatttua]";
    it.is("steering_immediate", &[Xcsh], &with(shape));
    assert_eq!(it.play(Xcsh).started.len(), 2, "what is skipped does not run");
}

#[test]
fn steering_while_streaming_opens_next_turn() {
    let shape =
        "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · text · me stop · turn_end [] ·
                 turn_start · user S1 · ms · END · agent_end [uaua]";
    scenario(json!([{ "say": [{ "text": "Once upon a time.", "size": 9 }], "delayMs": 50 }, says("Well.")]))
        .host(0, prompt("p", "hi"))
        .host(75, steer("S1"))
        .is("steering_while_streaming", &SEEDS, &with(shape));
}

#[test]
fn messages_queued_while_idle_join_next_run() {
    let shape = "ok S1 · ok F1 · ok p · agent_start · turn_start · user hi · user S1 · ms · END ·
                 turn_start · user F1 · ms · END · agent_end [uuaua]";
    scenario(json!([says("Hello."), says("And more.")]))
        .host(0, steer("S1"))
        .host(10, follow_up("F1"))
        .host(20, prompt("p", "hi"))
        .is("queued_while_idle", &SEEDS, &with(shape));
}

#[test]
fn a_permanent_error_ends_the_run() {
    let shape = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · agent_end [ua] ·
                 ok get_last_assistant_text · ok q · agent_start · turn_start · user again · ms · END · agent_end [ua]";
    scenario(
        json!([{ "fail": { "status": 400, "message": "Bad field" }, "firstDelayMs": 100 }, says("Better.")]),
    )
    .host(0, prompt("p", "hi"))
    .host(200, command("get_last_assistant_text"))
    .host(300, prompt("q", "again"))
    .is("permanent_error", &SEEDS, &with(shape));
}

#[test]
fn prompt_in_open_run_needs_streaming_behavior() {
    let queued = json!({ "id": "q", "type": "prompt", "message": "S1", "streamingBehavior": "steer" });
    let later = json!({ "id": "r", "type": "prompt", "message": "F1", "streamingBehavior": "followUp" });
    let it =
        scenario(json!([{ "say": [{ "text": "Hello.", "size": 0 }], "delayMs": 100 }, says("1"), says("2")]))
            .host(0, prompt("p", "hi"))
            .host(50, prompt("x", "busy"))
            .host(60, later)
            .host(70, queued);
    let rest = with(
        "text · me stop · turn_end [] · turn_start · user S1 · ms · END ·
                     turn_start · user F1 · ms · END · agent_end [uauaua]",
    );
    // The block opens at once, its text comes later.
    let opening = "ok p · agent_start · turn_start · user hi · ms · text";
    it.is("prompt_while_busy", &[Pi], &format!("{opening} · no x · ok r · ok q · {rest}"));
    it.is("prompt_while_busy", &[Xcsh], &format!("{opening} · ok x · no x · ok r · ok q · {rest}"));
}
