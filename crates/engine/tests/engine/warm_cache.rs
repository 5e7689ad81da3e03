//! The vendor's cache is kept warm where that is worth it: when, how often, and what the session notes.

use pi_rpc_model::http_options::CacheWarming;
use pi_rpc_protocol::{
    Dialect::{Pi, Pi1},
    PromptCache,
};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

/// A prompt whose answer is charged so many tokens, and answers for what follows. The cache lasts five minutes.
fn charged(tokens: u64) -> Scenario {
    let mut answer = says("Yes.");
    answer["usage"] = json!({ "input": tokens, "output": 1 });
    let mut turns = vec![answer; 1];
    turns.extend(vec![says("."); 12]);
    let cached = |setup: &mut pi_rpc_engine::Setup| {
        for choice in &mut setup.models {
            choice.model.prompt_cache = Some(PromptCache { short: Some(300.into()), long: None });
            (choice.model.cost.input, choice.model.cost.cache_write) = (5.into(), 6.into());
        }
    };
    scenario(turns.into()).set_up(cached).host(0, prompt("p", "go"))
}

fn idle(modes: &mut pi_rpc_engine::Modes) {
    modes.cache_warming.mode = CacheWarming::Idle;
}

fn streaming(modes: &mut pi_rpc_engine::Modes) {
    modes.cache_warming.mode = CacheWarming::Streaming;
}

/// The purposes of the requests of models.
fn purposes(asked: &[String]) -> Vec<&str> {
    asked.iter().filter_map(|line| line.split(' ').next()).collect()
}

/// The entries that tell what a warm cache has cost.
fn told(said: &[Value]) -> usize {
    said.iter().filter(|frame| frame["entry"]["kind"] == "cache_warm").count()
}

#[test]
fn idle_cache_is_warmed_for_half_hour() {
    let played = charged(1_000_000).modes(idle).ends(7_200_000).finish(Pi1);
    // Every 270 s.
    assert_eq!(purposes(&played.asked), [&["turn"][..], &["warming"; 6]].concat(), "{}", played.log);
    assert_eq!(told(&played.said), 6, "{}", played.log);
}

#[test]
fn small_conversation_is_not_warmed() {
    let played = charged(10_000).modes(idle).ends(7_200_000).finish(Pi1);
    assert_eq!(purposes(&played.asked), ["turn"], "{}", played.log);
}

#[test]
fn streaming_ends_with_run() {
    let played = charged(1_000_000).modes(streaming).ends(7_200_000).finish(Pi1);
    assert_eq!(purposes(&played.asked), ["turn"], "{}", played.log);
}

#[test]
fn next_prompt_begins_anew() {
    let again = charged(1_000_000).modes(idle).host(200_000, prompt("q", "on"));
    let played = again.ends(600_000).finish(Pi1);
    // 200 s + 270 s: the second answer says of fewer tokens.
    assert_eq!(purposes(&played.asked), ["turn", "turn"], "{}", played.log);
}

#[test]
fn another_model_ends_warming() {
    let other = json!({ "type": "set_model", "id": "m", "provider": "scripted", "modelId": "work" });
    let played = charged(1_000_000).modes(idle).host(100_000, other).ends(7_200_000).finish(Pi1);
    assert_eq!(purposes(&played.asked), ["turn"], "{}", played.log);
}

#[test]
fn dialect_without_entries_warms_nothing() {
    let played = charged(1_000_000).modes(idle).ends(7_200_000).finish(Pi);
    assert_eq!(purposes(&played.asked), ["turn"], "{}", played.log);
}
