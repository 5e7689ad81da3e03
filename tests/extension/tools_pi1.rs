//! What `pi-1` makes of the results of extensions' tools and hooks.

use crate::{
    asking_support::shorthand,
    asking_support::{Extension, PeerStep, Playback, scenario, writes},
};
use pi_rpc::protocol::Dialect::{Pi, Pi1};
use serde_json::{Value, json};
use shorthand::{calls, prompt, says, steer};

/// Has the tools `mine` and `yours`, which want the model not to be asked again as they are told here.
fn ending(mine: bool, yours: bool) -> Extension {
    let tool =
        |name: &str| json!({ "name": name, "description": "A tool.", "parameters": { "type": "object" } });
    let result = |terminate: bool| {
        PeerStep::Writes(json!({
            "type": "tool_result", "id": "$",
            "result": { "content": [{ "type": "text", "text": "Enough." }], "terminate": terminate },
        }))
    };
    Extension::new("a", json!({ "tools": [tool("mine"), tool("yours")] }))
        .on("tool_call mine", [result(mine)])
        .on("tool_call yours", [result(yours)])
}

fn both() -> Value {
    let call = |id: &str, tool: &str| json!({ "tool": tool, "id": id, "arguments": {}, "size": 0 });
    json!({ "say": [call("t1", "mine"), call("t2", "yours")] })
}

fn asked(played: &Playback) -> usize {
    played.asked.len()
}

#[test]
fn run_ends_when_every_result_terminates() {
    let played = |mine, yours, turns: Value| {
        scenario(turns).extended(ending(mine, yours)).host(10, prompt("p", "go")).play(Pi1)
    };
    assert_eq!(asked(&played(true, true, json!([both()]))), 1);
    assert_eq!(asked(&played(true, false, json!([both(), says("On.")]))), 2);
    assert_eq!(asked(&played(false, true, json!([both(), says("On.")]))), 2);
}

#[test]
fn queued_messages_are_delivered_despite_termination() {
    let played = scenario(json!([both(), says("Left.")]))
        .extended(ending(true, true))
        .host(0, steer("first"))
        .host(10, prompt("p", "go"))
        .host(10, steer("second"))
        .play(Pi1);
    assert_eq!(asked(&played), 2, "{}", played.log);
}

#[test]
fn changed_content_drops_the_structured_content() {
    let result = json!({
        "content": [{ "type": "text", "text": "One." }], "structuredContent": { "n": 1 }, "terminate": true,
    });
    let tool = json!({ "name": "mine", "description": "A tool.", "parameters": { "type": "object" } });
    let heard = |changes: Value| {
        let answer = writes(json!({ "type": "done", "id": "$", "result": changes }));
        let extension = Extension::new("a", json!({ "tools": [tool], "hooks": ["tool_result"] }))
            .on(
                "tool_call mine",
                [PeerStep::Writes(json!({ "type": "tool_result", "id": "$", "result": result }))],
            )
            .on("hook tool_result", [answer]);
        let turns = json!([calls("t1", "mine", "now")]);
        let played = scenario(turns).extended(extension).host(10, prompt("p", "go")).play(Pi1);
        played.last("tool_execution_end")["result"].clone()
    };
    assert_eq!(heard(json!({})), result);
    let other = json!([{ "type": "text", "text": "Two." }]);
    assert_eq!(heard(json!({ "content": other })), json!({ "content": other, "terminate": true }));
}

#[test]
fn older_dialects_ignore_terminating_results() {
    let played =
        scenario(json!([both(), says("On.")])).extended(ending(true, true)).host(10, prompt("p", "go"));
    assert_eq!(asked(&played.play(Pi)), 2);
}
