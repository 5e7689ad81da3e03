//! Calls of other tools by a tool of an extension (`call_tool`).

use crate::asking_support::{Extension, PeerStep, Playback, scenario, shorthand, tool_result, waits};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, prompt, says as model_says};

/// Calls of `bash` by a tool `mine`, under these ids, with these commands; then this happens.
fn calling(
    dialect: Dialect,
    commands: &[(&str, &str)],
    then: impl IntoIterator<Item = PeerStep>,
    abort: Option<u64>,
) -> Playback {
    let call = |(id, command): &(&str, &str)| {
        PeerStep::Writes(json!({
            "type": "call_tool", "id": id, "origin": "$", "toolName": "bash", "arguments": { "command": command },
        }))
    };
    let steps: Vec<PeerStep> = commands.iter().map(call).chain(then).collect();
    let tool = json!({ "name": "mine", "description": "Mine.", "parameters": { "type": "object" } });
    let extension = Extension::new("a", json!({ "tools": [tool] })).on("tool_call mine", steps);
    let played = scenario(json!([calls("t1", "mine", "now"), model_says("Well.")]))
        .extended(extension)
        .host(10, prompt("p", "go"));
    match abort {
        Some(at) => played.host(at, json!({ "type": "abort", "id": "x" })),
        None => played,
    }
    .play(dialect)
}

/// The events of calls: what begins and ends, in order.
fn order(played: &Playback) -> Vec<String> {
    let events = played.said.iter().filter_map(|frame| {
        let kind = frame["type"].as_str()?.strip_prefix("tool_execution_")?;
        (kind != "update").then(|| format!("{kind} {}", frame["toolCallId"].as_str().unwrap_or_default()))
    });
    events.collect()
}

fn responses(played: &Playback) -> Vec<Value> {
    let steps = played.steps.iter().filter(|step| step.who == ">a" && step.frame["type"] == "response");
    steps.map(|step| step.frame.clone()).collect()
}

#[test]
fn nested_calls_run_beside_each_other() {
    let played =
        calling(Pi1, &[("one", "sleep 200"), ("two", "sleep 100")], [waits(500), tool_result("whole")], None);
    let expected = ["start t1", "start t1/1", "start t1/2", "end t1/2", "end t1/1", "end t1"];
    assert_eq!(order(&played), expected);
    let got: Vec<_> = responses(&played)
        .iter()
        .map(|it| (it["id"].clone(), it["data"]["toolCallId"].clone(), it["data"]["isError"].clone()))
        .collect();
    let response = |id: &str, call: &str| (json!(id), json!(call), json!(false));
    assert_eq!(got, [response("two", "t1/2"), response("one", "t1/1")]);
    let result = &played.said.iter().find(|it| it["type"] == "turn_end").unwrap()["toolResults"][0];
    let recorded: Vec<_> =
        result["nestedCalls"]["calls"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(recorded, ["t1/1", "t1/2"]);
}

#[test]
fn outer_call_ends_behind_nested_calls() {
    let played = calling(Pi1, &[("one", "sleep 60000")], [waits(50), tool_result("whole")], None);
    assert_eq!(order(&played), ["start t1", "start t1/1", "end t1/1", "end t1"]);
    assert_eq!(responses(&played)[0]["data"]["isError"], true);
}

#[test]
fn withdrawn_nested_call_ends_at_once() {
    let withdraw = PeerStep::Writes(json!({ "type": "withdraw", "id": "one" }));
    let played = calling(
        Pi1,
        &[("one", "sleep 60000")],
        [waits(50), withdraw, waits(3000), tool_result("whole")],
        None,
    );
    assert_eq!(order(&played), ["start t1", "start t1/1", "end t1/1", "end t1"]);
    assert!(played.steps.last().is_some_and(|step| step.at < 10_000));
}

#[test]
fn abort_ends_nested_calls() {
    let played = calling(Pi1, &[("one", "sleep 60000")], [], Some(200));
    assert_eq!(order(&played), ["start t1", "start t1/1", "end t1/1", "end t1"]);
    assert_eq!(played.last("tool_execution_end")["isError"], true);
}

#[test]
fn call_tool_without_outer_call_fails() {
    for (dialect, error) in [
        (Pi, "This dialect has no calls of tools by tools"),
        (Xcsh, "This dialect has no calls of tools by tools"),
    ] {
        let played = calling(dialect, &[("one", "sleep 1")], [waits(50), tool_result("whole")], None);
        assert_eq!(responses(&played)[0]["error"], error, "{dialect}");
        assert_eq!(order(&played), ["start t1", "end t1"], "{dialect}");
    }
    let late = PeerStep::Writes(
        json!({ "type": "call_tool", "id": "late", "origin": "$", "toolName": "bash", "arguments": {} }),
    );
    let played = calling(Pi1, &[], [tool_result("whole"), waits(5), late], None);
    let error = "origin: expected the id of a tool call of this extension that runs";
    assert_eq!(responses(&played)[0]["error"], error);
}
