//! Worked sequences of `pi-1` and `omp`: aborts, retries, and a new session. See `sequences` for the notation.

use crate::sequences_pi1_omp::{ended, greeted, slow};
use pi_rpc_protocol::Dialect::{Omp, Pi1};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

/// One failure, then an answer.
fn once() -> Scenario {
    scenario(json!([overloaded(), says("Done.")])).host(0, prompt("p", "hi"))
}

#[test]
fn permanent_error_ends_run() {
    let it = scenario(json!([refused(), says("Better.")]))
        .host(0, prompt("p", "hi"))
        .host(300, prompt("q", "again"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] ·
               agent_end [sua] · agent_settled · ok q · agent_start · turn_start · user again · ms · END ·
               agent_end [ua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · agent_end [ua] ·
               ok q · agent_start · turn_start · user again · ms · END · agent_end [ua]";
    it.is("permanent_error", &[Pi1], &ended(pi1));
    it.is("permanent_error", &[Omp], &greeted(omp));
}

#[test]
fn transient_failure_is_tried_again() {
    let it = once();
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] ·
               agent_end [sua] · retry 1 · entry_appended · agent_start · turn_start · ms · text · me stop ·
               retry_end 1 · turn_end [] · agent_end [a] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · retry 1 ·
               agent_start · turn_start · ms · END · agent_end [a] · retry_end 1";
    it.is("retry", &[Pi1], &ended(pi1));
    it.is("retry", &[Omp], &greeted(omp));
}

#[test]
fn failures_use_up_all_tries() {
    let it = scenario(Value::Array(vec![overloaded(); 11])).host(0, prompt("p", "hi"));
    let again = "agent_start · turn_start · ms · me error · turn_end []";
    let further = |last: u32, between: &str| -> String {
        (2..=last).map(|attempt| format!(" · {again}{between} · retry {attempt}")).collect()
    };
    let pi1 = format!(
        "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] · agent_end [sua] ·
         retry 1{} · entry_appended · {again} · agent_end [a] · retry_end! 3 · agent_settled",
        further(3, " · agent_end [a]").replace(" · agent_start", " · entry_appended · agent_start"),
    );
    let omp = format!(
        "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] ·
         retry 1{} · {again} · retry_end! 10 · agent_end [a]",
        further(10, ""),
    );
    it.is("retry_exhausted", &[Pi1], &ended(&pi1));
    it.is("retry_exhausted", &[Omp], &greeted(&omp));
}

#[test]
fn abort_retry_ends_wait() {
    let it = once().host(400, command("abort_retry"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] ·
               agent_end [sua] · retry 1 · entry_appended · retry_end! 1 · ok abort_retry · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · retry 1 ·
               retry_end! 1 · ok abort_retry · agent_end [ua]";
    it.is("retry_abort_retry", &[Pi1], &ended(pi1));
    it.is("retry_abort_retry", &[Omp], &greeted(omp));
}

#[test]
fn abort_ends_wait() {
    let it = once().host(400, command("abort"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] ·
               agent_end [sua] · retry 1 · entry_appended · retry_end! 1 · agent_settled · ok abort";
    let omp = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · retry 1 ·
               retry_end! 1 · agent_end [ua] · ok abort";
    it.is("retry_abort", &[Pi1], &ended(pi1));
    it.is("retry_abort", &[Omp], &greeted(omp));
}

#[test]
fn prompt_before_retry_is_refused() {
    let it = once().host(400, prompt("q", "now"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] ·
               agent_end [sua] · retry 1 · entry_appended · no q · agent_start · turn_start · ms · text ·
               me stop · retry_end 1 · turn_end [] · agent_end [a] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · retry 1 · ok q ·
               no q · agent_start · turn_start · ms · END · agent_end [a] · retry_end 1";
    it.is("retry_prompt", &[Pi1], &ended(pi1));
    it.is("retry_prompt", &[Omp], &greeted(omp));
}

#[test]
fn messages_queued_before_retry_join_it() {
    let it = once().host(300, steer("S1")).host(400, follow_up("F1"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · me error · turn_end [] ·
               agent_end [sua] · retry 1 · entry_appended · queue [S1|] · ok S1 · queue [S1|F1] · ok F1 ·
               agent_start · turn_start · queue [|F1] · user S1 · ms · text · me stop · retry_end 1 ·
               turn_end [] · turn_start · queue [|] · user F1 · ms · END · agent_end [uaua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · me error · turn_end [] · retry 1 · ok S1 ·
               ok F1 · agent_start · turn_start · user S1 · ms · END · turn_start · user F1 · ms · END ·
               agent_end [uaua] · retry_end 1";
    it.is("retry_queued", &[Pi1], &ended(pi1));
    it.is("retry_queued", &[Omp], &greeted(omp));
}

#[test]
fn abort_closes_run_before_its_response() {
    let it = scenario(json!([slow()]))
        .host(0, prompt("p", "hi"))
        .host(120, command("abort"))
        .host(200, command("get_state"))
        .host(210, command("get_messages"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · me aborted · turn_end [] ·
               agent_end [sua] · agent_settled · ok abort · ok get_state · ok get_messages";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · me aborted · turn_end [] ·
               agent_end [ua] · ok abort · ok get_state · ok get_messages";
    it.is("abort_streaming", &[Pi1], &ended(pi1));
    it.is("abort_streaming", &[Omp], &greeted(omp));
}

#[test]
fn abort_during_calls_ends_all() {
    let long =
        [call("t1", "bash", "sleep 100; echo one; sleep 900; echo two"), call("t2", "bash", "sleep 500")];
    let it = scenario(json!([{ "say": long }]))
        .host(0, prompt("p", "go"))
        .host(200, command("abort"))
        .host(300, command("get_state"));
    let pi1 = "ok p · agent_start · turn_start · system · user go · ms · toolcall · toolcall · me toolUse ·
               start t1 · start t2 · update t1 · end! t1 · end! t2 · result! t1 · result! t2 ·
               turn_end [t1 t2] · turn_start · ms · me aborted · turn_end [] · agent_end [suatta] ·
               agent_settled · ok abort · ok get_state";
    let omp = "ok p · agent_start · turn_start · user go · ms · toolcall · toolcall · me toolUse · start t1 ·
               start t2 · update t1 · end! t1 · result! t1 · end! t2 · result! t2 · turn_end [t1 t2] ·
               turn_start · ms · me aborted · turn_end [] · agent_end [uatta] · ok abort · ok get_state";
    it.is("abort_tools", &[Pi1], &ended(pi1));
    it.is("abort_tools", &[Omp], &greeted(omp));
}

#[test]
fn abort_keeps_queued_messages() {
    let it = scenario(json!([slow(), says("Yes."), says("And more."), says("And again.")]))
        .host(0, prompt("p", "hi"))
        .host(70, steer("S1"))
        .host(80, follow_up("F1"))
        .host(120, command("abort"))
        .host(140, prompt("q", "again"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · queue [S1|] · ok S1 ·
               queue [S1|F1] · ok F1 · text · me aborted · turn_end [] · agent_end [sua] · agent_settled ·
               ok abort · ok q · agent_start · turn_start · user again · queue [|F1] · user S1 · ms · END ·
               turn_start · queue [|] · user F1 · ms · END · agent_end [uuaua] · agent_settled";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · ok F1 · text · me aborted ·
               turn_end [] · agent_end [ua] · ok abort · agent_start · turn_start · user S1 · ms · END ·
               turn_start · user F1 · ms · END · agent_end [uaua] · ok q · agent_start · turn_start ·
               user again · ms · END · agent_end [ua]";
    it.is("abort_queued", &[Pi1], &ended(pi1));
    it.is("abort_queued", &[Omp], &greeted(omp));
}

#[test]
fn bash_during_run_is_appended_later() {
    let it = scenario(json!([slow()]))
        .host(0, prompt("p", "hi"))
        .host(60, bash("b", "sleep 10; echo one"))
        .host(80, command("get_messages"))
        .host(300, json!({ "id": "after", "type": "get_messages" }));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · ok b · ok get_messages ·
               END · agent_end [sua] · agent_settled · ok after";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · ok b · ok get_messages · END ·
               agent_end [ua] · ok after";
    it.is("bash_during_run", &[Pi1], &ended(pi1));
    it.is("bash_during_run", &[Omp], &greeted(omp));
}

#[test]
fn new_session_closes_run_first() {
    let it = scenario(json!([slow()]))
        .host(0, prompt("p", "hi"))
        .host(70, steer("S1"))
        .host(120, command("new_session"))
        .host(130, command("get_state"));
    let pi1 = "ok p · agent_start · turn_start · system · user hi · ms · text · queue [S1|] · ok S1 · text ·
               me aborted · turn_end [] · agent_end [sua] · agent_settled · queue [|] · ok new_session ·
               ok get_state";
    let omp = "ok p · agent_start · turn_start · user hi · ms · text · ok S1 · text · me aborted ·
               turn_end [] · agent_end [ua] · available_commands_update · ok new_session · ok get_state";
    it.is("new_session_streaming", &[Pi1], &ended(pi1));
    it.is("new_session_streaming", &[Omp], &greeted(omp));
}
