//! Hooks of extensions.

use crate::tree::{outline, tree_with};
use pi_rpc_protocol::Dialect::Pi1;
use pi_rpc_test_kit::{Extension, PeerStep, scenario, shorthand::*};
use pi_rpc_traces::{Texts, TracerOptions};
use serde_json::json;
use std::sync::Arc;

/// An extension that answers these hooks after this many milliseconds.
fn answering(name: &'static str, hooks: &[&str], after: u64) -> Extension {
    let answer = [PeerStep::Waits(after), PeerStep::Writes(json!({ "type": "done", "id": "$" }))];
    let extension = Extension::new(name, json!({ "hooks": hooks }));
    hooks.iter().fold(extension, |extension, hook| extension.on(&format!("hook {hook}"), answer.clone()))
}

fn named() -> TracerOptions {
    TracerOptions { extensions: vec!["a.mjs".to_owned(), "b.mjs".to_owned()], ..TracerOptions::default() }
}

#[test]
fn hooks_are_below_what_they_hold() {
    let turns = json!([calls("t1", "bash", "sleep 50; echo one"), says("Done.")]);
    let hooks = ["input", "before_agent_start", "context", "tool_call", "tool_result"];
    let scenario = scenario(turns)
        .extended(answering("a", &hooks, 10))
        .extended(answering("b", &["tool_call"], 5))
        .host(20, prompt("p", "go"));
    let shown = tree_with(scenario, Pi1, named());
    let expected = "\
invoke_agent 20-135
  hook input 20-30
  hook before_agent_start 30-40
  turn 40-125
    hook context 40-50
    chat play 50-50 client
    execute_tool bash 50-125
      hook tool_call 50-60
      hook tool_call 60-65
      hook tool_result 115-125
  turn 125-135
    hook context 125-135
    chat play 135-135 client
";
    assert_eq!(outline(&shown), expected);
    let names = shown.lines().filter_map(|line| Some(line.split_once("pi_rpc.extension=")?.1));
    assert_eq!(names.collect::<String>(), "a.mjsa.mjsa.mjsa.mjsb.mjsa.mjsa.mjs");
}

#[test]
fn hook_without_run_is_alone() {
    let handled = PeerStep::Writes(json!({ "type": "done", "id": "$", "result": { "action": "handled" } }));
    let extension = Extension::new("a", json!({ "hooks": ["input"] })).on("hook input", [handled]);
    let scenario = scenario(json!([says("Done.")])).extended(extension).host(20, prompt("p", "go"));
    assert_eq!(tree_with(scenario, Pi1, named()), "hook input 20-20 pi_rpc.extension=a.mjs\n");
}

#[test]
fn failed_hook_has_its_text_when_asked() {
    let fails = PeerStep::Writes(json!({ "type": "failed", "id": "$", "error": "no such words" }));
    let extension = Extension::new("a", json!({ "hooks": ["context"] })).on("hook context", [fails]);
    let scenario = scenario(json!([says("Done.")])).extended(extension).host(20, prompt("p", "go"));
    let texts = Texts::new(Arc::new(|text: &str| text.replace("words", "***")));
    let expected = "\
invoke_agent 20-20
  turn 20-20
    hook context 20-20 failed _OTHER (no such ***)
    chat play 20-20 client
";
    assert_eq!(outline(&tree_with(scenario, Pi1, TracerOptions { texts: Some(texts), ..named() })), expected);
}

#[test]
fn hook_ends_at_its_deadline() {
    let extension = Extension::new("a", json!({ "hooks": ["context"] })).on("hook context", []);
    let scenario = scenario(json!([says("Done.")])).extended(extension).host(20, prompt("p", "go"));
    let expected = "\
invoke_agent 20-30020
  turn 20-30020
    hook context 20-30020 failed aborted
    chat play 30020-30020 client
";
    assert_eq!(outline(&tree_with(scenario, Pi1, named())), expected);
}

#[test]
fn process_that_ends_ends_its_hooks() {
    let extension =
        Extension::new("a", json!({ "hooks": ["context"] })).on("hook context", [PeerStep::Ends("gone")]);
    let scenario = scenario(json!([says("Done.")])).extended(extension).host(20, prompt("p", "go"));
    let expected = "\
invoke_agent 20-20
  turn 20-20
    hook context 20-20 failed extension_ended
    chat play 20-20 client
";
    assert_eq!(outline(&tree_with(scenario, Pi1, named())), expected);
}
