//! Requests to models.

use crate::tree::{outline, tree, tree_with};
use pi_rpc_protocol::Dialect::{Omp, Pi1};
use pi_rpc_test_kit::{Extension, PeerStep, scenario, shorthand::*};
use pi_rpc_traces::{Texts, TracerOptions};
use serde_json::{Value, json};
use std::sync::Arc;

/// The attributes of this name in a tree.
fn values<'a>(tree: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=");
    tree.match_indices(&start)
        .map(|(at, _)| tree[at + start.len()..].split_whitespace().next().unwrap_or_default())
        .collect()
}

#[test]
fn failed_request_is_retried_in_next_run() {
    let expected = "\
invoke_agent 0-0 failed 529
  turn 0-0
    chat play 0-0 client failed 529
invoke_agent 2000-2000
  turn 2000-2000
    chat play 2000-2000 client
";
    let retried = || scenario(json!([overloaded(), says("Done.")])).host(0, prompt("p", "go"));
    let shown = tree(retried(), Pi1);
    assert_eq!(values(&shown, "response.finish_reasons"), ["error", "error", "stop", "stop"]);
    assert_eq!(outline(&shown), expected);
    // Tells one end of both runs, after the pause.
    let expected = expected.replace("2000", "500").replace("agent 0-0", "agent 0-500");
    assert_eq!(outline(&tree(retried(), Omp)), expected);
}

#[test]
fn summary_has_its_purpose() {
    let turns = json!([fills("One.", 50_000), fills("Two.", 60_000), summary("All was done.")]);
    let scenario = scenario(turns)
        .modes(|modes| modes.compaction.keep_recent = 10)
        .host(0, prompt("p", "go"))
        .host(10, prompt("q", &"again ".repeat(40)))
        .host(20, command("compact"));
    let shown = tree(scenario, Pi1);
    let expected = "\
invoke_agent 0-0
  turn 0-0
    chat play 0-0 client
invoke_agent 10-10
  turn 10-10
    chat play 10-10 client
chat play 20-70 client
";
    assert_eq!(outline(&shown), expected);
    assert_eq!(values(&shown, "pi_rpc.purpose"), ["summary"]);
}

#[test]
fn tokens_of_cache_are_input() {
    let usage = json!({ "input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 20 });
    let turns = json!([{ "say": [{ "text": "Done." }], "usage": usage }]);
    let shown = tree(scenario(turns).host(0, prompt("p", "go")), Pi1);
    assert_eq!(values(&shown, "usage.input_tokens"), ["130", "130"]);
    assert_eq!(values(&shown, "usage.cache_read.input_tokens"), ["100", "100"]);
    assert_eq!(values(&shown, "usage.cache_write.input_tokens"), ["20", "20"]);
    assert_eq!(values(&shown, "usage.output_tokens"), ["5", "5"]);
}

#[test]
fn texts_are_redacted() {
    let redact = |text: &str| text.replace("hunter2", "***");
    let options = TracerOptions { texts: Some(Texts::new(Arc::new(redact))), ..TracerOptions::default() };
    let turns = json!([calls("t1", "bash", "echo hunter2"), says("hunter2 it is")]);
    let shown = tree_with(scenario(turns).host(0, prompt("p", "use hunter2")), Pi1, options);
    assert!(!shown.contains("hunter2"), "{shown}");
    for text in [
        r#" input.messages=[{"role":"user","parts":[{"type":"text","content":"use ***"}]}] "#,
        r#" output.messages=[{"role":"assistant","parts":[{"type":"tool_call","id":"t1","name":"bash","arguments":"{\"command\":\"echo ***\"}"}],"finish_reason":"tool_call"}]"#,
        r#" tool.call.arguments={"command":"echo ***"} tool.call.result=***"#,
        r#"{"role":"tool","parts":[{"type":"tool_call_response","id":"t1","result":"***\n"}]}]"#,
        r#" output.messages=[{"role":"assistant","parts":[{"type":"text","content":"*** it is"}],"finish_reason":"stop"}]"#,
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
}

#[test]
fn long_texts_are_cut_off() {
    let texts = Texts::new(Arc::new(|text: &str| text.to_owned()));
    let options = TracerOptions { texts: Some(texts), ..TracerOptions::default() };
    let long = "é".repeat(20_000);
    let shown = tree_with(scenario(json!([says(&long)])).host(0, prompt("p", &long)), Pi1, options);
    let cut = format!("\"content\":\"{}…\"", "é".repeat(8 * 1024));
    assert_eq!(shown.matches(&cut).count(), 2);
}

/// An extension that streams the answers of a model, and does this for each call.
fn lab(steps: &[PeerStep]) -> Extension {
    let config =
        json!({ "baseUrl": "http://lab", "apiKey": "k", "api": "lab-api", "models": [{ "id": "mine" }] });
    let register = json!({ "type": "register_provider", "name": "lab", "streams": true, "config": config });
    let hello = [register, json!({ "type": "register" })].map(PeerStep::Writes);
    Extension::silent("a").on("hello", hello).on("model_call", steps.to_vec())
}

fn event(event: &Value) -> PeerStep {
    PeerStep::Writes(json!({ "type": "model_event", "id": "$", "event": event }))
}

#[test]
fn model_of_extension_is_like_any_other() {
    let message = json!({
        "role": "assistant", "content": [{ "type": "text", "text": "Hi." }], "api": "lab-api", "provider": "lab",
        "model": "mine", "stopReason": "stop", "timestamp": 1,
        "usage": {
            "input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        },
    });
    let steps = [
        PeerStep::Waits(5),
        event(&json!({ "type": "text_start", "contentIndex": 0 })),
        PeerStep::Waits(20),
        event(&json!({ "type": "done", "message": message })),
    ];
    let scenario = || scenario(json!([])).extended(lab(&steps)).host(10, prompt("p", "go"));
    let expected = "\
invoke_agent 10-35 operation.name=invoke_agent provider.name=lab request.model=mine conversation.id=… response.finish_reasons=stop usage.input_tokens=7 usage.output_tokens=3
  turn 10-35 pi_rpc.turn=1
    chat mine 10-35 client operation.name=chat provider.name=lab request.model=mine request.stream=true conversation.id=… request.reasoning.level=medium response.finish_reasons=stop response.time_to_first_chunk=0.005s usage.input_tokens=7 usage.output_tokens=3
";
    assert_eq!(tree(scenario(), Pi1), expected);
    let texts = Texts::new(Arc::new(|text: &str| text.to_owned()));
    let shown = tree_with(scenario(), Pi1, TracerOptions { texts: Some(texts), ..TracerOptions::default() });
    let answer = r#"[{"role":"assistant","parts":[{"type":"text","content":"Hi."}],"finish_reason":"stop"}]"#;
    assert!(shown.contains(&format!(" output.messages={answer}")), "{shown}");
    let prompt = r#"[{"role":"user","parts":[{"type":"text","content":"go"}]}]"#;
    assert!(shown.contains(&format!(" input.messages={prompt}")), "{shown}");
}

#[test]
fn model_of_extension_may_fail() {
    let fails = PeerStep::Writes(json!({ "type": "failed", "id": "$", "error": "400 no idea" }));
    let scenario =
        scenario(json!([])).extended(lab(&[PeerStep::Waits(5), fails])).host(10, prompt("p", "go"));
    let expected = "\
invoke_agent 10-15 failed 400
  turn 10-15
    chat mine 10-15 client failed 400
";
    assert_eq!(outline(&tree(scenario, Pi1)), expected);
}

#[test]
fn abort_cuts_model_of_extension() {
    let steps = [event(&json!({ "type": "text_start", "contentIndex": 0 }))];
    let abort = json!({ "type": "abort" });
    let scenario = scenario(json!([])).extended(lab(&steps)).host(10, prompt("p", "go")).host(50, abort);
    let expected = "\
invoke_agent 10-50 failed aborted
  turn 10-50
    chat mine 10-50 client failed aborted
";
    assert_eq!(outline(&tree(scenario, Pi1)), expected);
}
