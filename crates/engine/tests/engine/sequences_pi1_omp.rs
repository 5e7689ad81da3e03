//! Worked sequences of `pi-1` and `omp`: turns, tools and queues. See `sequences` for the notation.

use pi_rpc_protocol::Dialect::{Omp, Pi1};
use pi_rpc_test_kit::{scenario, shorthand::*};
use serde_json::{Value, json};

/// The steps after `ms` of an answer that ends the run.
const END: &str = "text · me stop · turn_end []";

/// The expected steps; `END` stands for those of the constant.
pub fn ended(shape: &str) -> String {
    shape.replace("END", END)
}

/// The same in omp, which lists its slash commands first.
pub fn greeted(shape: &str) -> String {
    format!("available_commands_update · {}", ended(shape))
}

/// An answer that takes its time.
pub fn slow() -> Value {
    json!({ "say": [{ "text": "Once upon a time there was.", "size": 10 }], "delayMs": 50 })
}

/// Two calls of which the second is the faster.
fn two() -> Value {
    json!([call("t1", "probe", "sleep 200; echo one; sleep 100"), call("t2", "probe", "sleep 100; echo two")])
}

#[test]
fn plain_turn_ends_settled() {
    let it = scenario(json!([says("Hello there.")])).host(5, prompt("p", "hi"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · END · agent_end [sua] ·
               agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · END · agent_end [ua]";
    it.is("plain", &[Pi1], &ended(pi1));
    it.is("plain", &[Omp], &greeted(omp));
}

#[test]
fn calls_of_truncated_answer_fail() {
    let cut = json!({ "tool": "bash", "id": "t2", "rawArguments": "{\"command\": \"echo half", "size": 0 });
    let it = scenario(
        json!([{ "say": [call("t1", "bash", "echo one"), cut], "stop": "length" }, says("Once more.")]),
    )
    .host(5, prompt("p", "go"));
    let pi1 = "ok p · agent_start · turn_start · system · user go · ms · toolcall · toolcall · me length ·
               start t1 · end! t1 · result! t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2] ·
               turn_start · ms · END · agent_end [suatta] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user go · ms · toolcall · toolcall · me length · start t1 ·
               end! t1 · result! t1 · start t2 · end! t2 · result! t2 · turn_end [t1 t2] · turn_start · ms ·
               END · agent_end [uatta]";
    it.is("cut_off", &[Pi1], &ended(pi1));
    it.is("cut_off", &[Omp], &greeted(omp));
}

#[test]
fn tool_call_runs_between_turns() {
    let it =
        scenario(json!([calls("t1", "bash", "sleep 100; echo one; sleep 100; echo two"), says("Done.")]))
            .host(0, prompt("p", "look"));
    let pi1 = "ok p · agent_start · turn_start · system · user look · ms · toolcall · me toolUse · start t1 ·
               update t1 · update t1 · end t1 · result t1 · turn_end [t1] · turn_start · ms · END ·
               agent_end [suata] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user look · ms · toolcall · me toolUse · start t1 ·
               update t1 · update t1 · end t1 · result t1 · turn_end [t1] · turn_start · ms · END ·
               agent_end [uata]";
    it.is("tool", &[Pi1], &ended(pi1));
    it.is("tool", &[Omp], &greeted(omp));
}

#[test]
fn parallel_results_keep_or_lose_order() {
    let it = scenario(json!([{ "say": two() }, says("Done.")])).host(0, prompt("p", "both"));
    let pi1 = "ok p · agent_start · turn_start · system · user both · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · update t2 · end t2 · update t1 · end t1 · result t1 · result t2 ·
               turn_end [t1 t2] · turn_start · ms · END · agent_end [suatta] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user both · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · update t2 · end t2 · result t2 · update t1 · end t1 · result t1 ·
               turn_end [t2 t1] · turn_start · ms · END · agent_end [uatta]";
    it.is("two_tools", &[Pi1], &ended(pi1));
    it.is("two_tools", &[Omp], &greeted(omp));
}

#[test]
fn unknown_tool_gives_error_result() {
    let it = scenario(json!([{ "say": [call("t1", "nope", "echo")] }, says("It is not there.")]))
        .host(0, prompt("p", "call it"));
    let pi1 = "ok p · agent_start · turn_start · system · user call it · ms · toolcall · me toolUse ·
               start t1 · end! t1 · result! t1 · turn_end [t1] · turn_start · ms · END · agent_end [suata] ·
               agent_settled";
    let omp = "ok p · agent_start · turn_start · user call it · ms · toolcall · me toolUse · start t1 ·
               end! t1 · result! t1 · turn_end [t1] · turn_start · ms · END · agent_end [uata]";
    it.is("unknown_tool", &[Pi1], &ended(pi1));
    it.is("unknown_tool", &[Omp], &greeted(omp));
}

#[test]
fn invalid_arguments_give_error_result() {
    let bad = json!({ "tool": "bash", "id": "t2", "arguments": { "timeout": "soon" }, "size": 0 });
    let it = scenario(json!([{ "say": [call("t1", "bash", "sleep 50; echo one"), bad] }, says("I see.")]))
        .host(0, prompt("p", "call"));
    let pi1 = "ok p · agent_start · turn_start · system · user call · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · end! t2 · update t1 · end t1 · result t1 · result! t2 ·
               turn_end [t1 t2] · turn_start · ms · END · agent_end [suatta] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user call · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · end! t2 · result! t2 · update t1 · end t1 · result t1 ·
               turn_end [t2 t1] · turn_start · ms · END · agent_end [uatta]";
    it.is("invalid_arguments", &[Pi1], &ended(pi1));
    it.is("invalid_arguments", &[Omp], &greeted(omp));
}

#[test]
fn steering_during_tools_waits_for_all() {
    let it = scenario(json!([{ "say": two() }, says("to S1"), says("to F1")]))
        .host(0, prompt("p", "both"))
        .host(10, steer("S1"))
        .host(30, follow_up("F1"))
        .host(45, command("get_state"));
    let pi1 = "ok p · agent_start · turn_start · system · user both · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · queue [S1|] · ok S1 · queue [S1|F1] · ok F1 · ok get_state · update t2 ·
               end t2 · update t1 · end t1 · result t1 · result t2 · turn_end [t1 t2] · turn_start ·
               queue [|F1] · user S1 · ms · END · turn_start · queue [|] · user F1 · ms · END ·
               agent_end [suattuaua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user both · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · ok S1 · ok F1 · ok get_state · update t2 · end t2 · result t2 ·
               update t1 · end t1 · result t1 · turn_end [t2 t1] · turn_start · user S1 · ms · END ·
               turn_start · user F1 · ms · END · agent_end [uattuaua]";
    it.is("steering_during_tools", &[Pi1], &ended(pi1));
    it.is("steering_during_tools", &[Omp], &greeted(omp));
}

#[test]
fn steering_before_tools_skips_none() {
    let it = scenario(json!([{ "say": two(), "firstDelayMs": 100 }, says("to S1")]))
        .host(0, prompt("p", "both"))
        .host(50, steer("S1"));
    let pi1 = "ok p · agent_start · turn_start · system · user both · queue [S1|] · ok S1 · ms · toolcall ·
               toolcall · me toolUse · start t1 · start t2 · update t2 · end t2 · update t1 · end t1 ·
               result t1 · result t2 · turn_end [t1 t2] · turn_start · queue [|] · user S1 · ms · END ·
               agent_end [suattua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user both · ok S1 · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · update t2 · end t2 · result t2 · update t1 · end t1 · result t1 ·
               turn_end [t2 t1] · turn_start · user S1 · ms · END · agent_end [uattua]";
    it.is("steering_before_tools", &[Pi1], &ended(pi1));
    it.is("steering_before_tools", &[Omp], &greeted(omp));
}

#[test]
fn steering_while_streaming_opens_next_turn() {
    let it = scenario(json!([slow(), says("Well.")])).host(0, prompt("p", "hi")).host(75, steer("S1"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · queue [S1|] · ok S1 · END ·
               turn_start · queue [|] · user S1 · ms · END · agent_end [suaua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · END · turn_start · user S1 ·
               ms · END · agent_end [uaua]";
    it.is("steering_while_streaming", &[Pi1], &ended(pi1));
    it.is("steering_while_streaming", &[Omp], &greeted(omp));
}

#[test]
fn message_queued_while_idle_may_run() {
    let it = scenario(json!([says("Hello."), says("And more."), says("And again.")]))
        .host(0, steer("S1"))
        .host(10, follow_up("F1"))
        .host(20, prompt("p", "hi"));
    let pi1 = "queue [S1|] · ok S1 · queue [S1|F1] · ok F1 · ok p · agent_start · turn_start · system ·
               user hi · queue [|F1] · user S1 · ms · END · turn_start · queue [|] · user F1 · ms · END ·
               agent_end [suuaua] · agent_settled";
    let omp = "ok S1 · agent_start · turn_start · user S1 · ms · END · agent_end [ua] · ok F1 · agent_start ·
               turn_start · user F1 · ms · END · agent_end [ua] · ok p · agent_start · turn_start · user hi ·
               ms · END · agent_end [ua]";
    it.is("queued_while_idle", &[Pi1], &ended(pi1));
    it.is("queued_while_idle", &[Omp], &greeted(omp));
}

#[test]
fn prompt_in_open_run_needs_behavior() {
    let it = scenario(json!([slow(), says("1"), says("2")]))
        .host(0, prompt("p", "hi"))
        .host(50, prompt("x", "busy"))
        .host(60, queued("F1", "followUp"))
        .host(70, queued("S1", "steer"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · no x · text · queue [|F1] ·
               ok F1 · queue [S1|F1] · ok S1 · END · turn_start · queue [|F1] · user S1 · ms · END ·
               turn_start · queue [|] · user F1 · ms · END · agent_end [suauaua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · ok x · no x · text · ok F1 · ok S1 ·
               END · turn_start · user S1 · ms · END · turn_start · user F1 · ms · END · agent_end [uauaua]";
    it.is("prompt_while_busy", &[Pi1], &ended(pi1));
    it.is("prompt_while_busy", &[Omp], &greeted(omp));
}

#[test]
fn cleared_queue_leaves_nothing_to_deliver() {
    let it = scenario(json!([slow(), says("1"), says("2")]))
        .host(0, prompt("p", "hi"))
        .host(60, steer("S1"))
        .host(70, follow_up("F1"))
        .host(80, command("clear_queue"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · queue [S1|] · ok S1 ·
               queue [S1|F1] · ok F1 · queue [|] · ok clear_queue · END · agent_end [sua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · ok F1 · no clear_queue · END ·
               turn_start · user S1 · ms · END · turn_start · user F1 · ms · END · agent_end [uauaua]";
    it.is("clear_queue", &[Pi1], &ended(pi1));
    it.is("clear_queue", &[Omp], &greeted(omp));
}
