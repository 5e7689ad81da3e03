//! Worked sequences of `pi-1` and `omp`: compaction. See `sequences` for the notation.

use crate::sequences_pi1_omp::ended;
use pi_rpc_engine::CompactionPlan;
use pi_rpc_protocol::Dialect::{Omp, Pi1};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

/// Two turns have been had at 200 ms; little of them is kept by a compaction.
fn talk(turns: Value) -> Scenario {
    let Value::Array(mut rest) = turns else { panic!("turns are a list") };
    let mut all = vec![says("Answer number one."), says("Answer number two.")];
    all.append(&mut rest);
    scenario(Value::Array(all))
        .kept()
        .modes(|modes| modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 })
        .host(0, prompt("p1", "question number one"))
        .host(100, prompt("p2", "question number two"))
}

/// Two turns, and a third that leaves too little of the context free.
fn full(rest: Value) -> Scenario {
    let Value::Array(mut rest) = rest else { panic!("turns are a list") };
    let mut turns = vec![fills("Three.", 127_500)];
    turns.append(&mut rest);
    talk(Value::Array(turns)).host(200, prompt("p3", "three"))
}

#[test]
fn compact_replaces_history_by_summary() {
    let it = talk(json!([summary("So far."), summary("In short."), says("Three.")]))
        .host(200, command("compact"))
        .host(500, prompt("p3", "three"))
        .from("compact");
    let pi1 = "ok compact · ok p3 · agent_start · turn_start · user three · ms · END · agent_end [ua] ·
               agent_settled";
    let omp = "ok compact · ok p3 · agent_start · turn_start · user three · ms · END · agent_end [ua]";
    it.is("compact", &[Pi1], &ended(pi1));
    it.is("compact", &[Omp], &ended(omp));
}

#[test]
fn prompt_during_compact_waits_or_fails() {
    let it = talk(json!([summary("So far."), summary("In short."), says("Three.")]))
        .host(200, command("compact"))
        .host(210, prompt("p3", "three"))
        .from("p2");
    let pi1 = "ok p2 · agent_start · turn_start · user question number two · ms · END · agent_end [ua] ·
               agent_settled · compact manual · no p3 · compact_end done · ok compact";
    let omp = "ok p2 · agent_start · turn_start · user question number two · ms · END · agent_end [ua] ·
               ok compact · ok p3 · agent_start · turn_start · user three · ms · END · agent_end [ua]";
    it.is("compact_prompt", &[Pi1], &ended(pi1));
    it.is("compact_prompt", &[Omp], &ended(omp));
}

#[test]
fn full_context_is_compacted() {
    let it = full(json!([summary("So far."), summary("In short.")])).from("p3");
    let pi1 = "ok p3 · agent_start · turn_start · user three · ms · END · agent_end [ua] ·
               compact threshold · compact_end done · agent_settled";
    let omp = "ok p3 · agent_start · turn_start · user three · ms · END · compact threshold ·
               compact_end done · agent_end [ua]";
    it.is("threshold", &[Pi1], &ended(pi1));
    it.is("threshold", &[Omp], &ended(omp));
}

#[test]
fn steer_during_compaction_begins_run() {
    let it = full(json!([summary("So far."), summary("In short."), summary("Short."), says("Going on.")]))
        .host(220, steer("S1"))
        .from("p3");
    let pi1 = "ok p3 · agent_start · turn_start · user three · ms · END · agent_end [ua] ·
               compact threshold · queue [S1|] · ok S1 · compact_end done · agent_start · turn_start ·
               queue [|] · user S1 · ms · END · agent_end [ua] · agent_settled";
    let omp = "ok p3 · agent_start · turn_start · user three · ms · END · compact threshold · ok S1 ·
               compact_end done · agent_start · turn_start · user S1 · ms · END · agent_end [ua]";
    it.is("threshold_steer", &[Pi1], &ended(pi1));
    it.is("threshold_steer", &[Omp], &ended(omp));
}

#[test]
fn overflow_is_repeated_after_compaction() {
    let it = talk(json!([
        too_long(),
        summary("So far."),
        summary("In short."),
        summary("Short."),
        says("Three.")
    ]))
    .host(200, prompt("p3", "three"))
    .from("p3");
    let pi1 = "ok p3 · agent_start · turn_start · user three · ms · me error · turn_end [] · agent_end [ua] ·
               entry_appended · compact overflow · compact_end retry · agent_start · turn_start · ms · END ·
               agent_end [a] · agent_settled";
    let omp = "ok p3 · agent_start · turn_start · user three · ms · me error · turn_end [] ·
               compact overflow · compact_end retry · agent_start · turn_start · ms · END · agent_end [a]";
    it.is("overflow", &[Pi1], &ended(pi1));
    it.is("overflow", &[Omp], &ended(omp));
}

#[test]
fn second_overflow_is_only_reported() {
    let it =
        talk(json!([too_long(), summary("So far."), summary("In short."), summary("Short."), too_long()]))
            .host(200, prompt("p3", "three"))
            .from("p3");
    let pi1 = "ok p3 · agent_start · turn_start · user three · ms · me error · turn_end [] · agent_end [ua] ·
               entry_appended · compact overflow · compact_end retry · agent_start · turn_start · ms ·
               me error · turn_end [] · agent_end [a] · compact_end failed · agent_settled";
    let omp = "ok p3 · agent_start · turn_start · user three · ms · me error · turn_end [] ·
               compact overflow · compact_end retry · agent_start · turn_start · ms · me error ·
               turn_end [] · compact overflow · compact_end failed · agent_end [a]";
    it.is("overflow_again", &[Pi1], &ended(pi1));
    it.is("overflow_again", &[Omp], &ended(omp));
}
