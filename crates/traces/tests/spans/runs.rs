//! Runs, turns and tools.

use crate::tree::{BEGAN, PARENT, outline, parent, show, tree, tree_with};
use pi_rpc_engine::{Input, Now, Output, WaitingRun};
use pi_rpc_protocol::{
    Dialect::{self, Pi, Pi1},
    Emission, Outbound,
};
use pi_rpc_test_kit::{Extension, PeerStep, scenario, shorthand::*};
use pi_rpc_traces::{SessionTracer, TracerOptions};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn run_has_turns_with_their_parts() {
    let turns = json!([calls("t1", "bash", "sleep 50; echo one"), says("Done.")]);
    let expected = "\
invoke_agent 0-50 operation.name=invoke_agent provider.name=scripted request.model=play conversation.id=… response.finish_reasons=stop usage.input_tokens=200 usage.output_tokens=10
  turn 0-50 pi_rpc.turn=1
    chat play 0-0 client operation.name=chat provider.name=scripted request.model=play request.stream=true conversation.id=… request.reasoning.level=medium response.id=scripted_0 response.finish_reasons=tool_call response.time_to_first_chunk=0s usage.input_tokens=100 usage.output_tokens=8
    execute_tool bash 0-50 operation.name=execute_tool tool.name=bash tool.call.id=t1
  turn 50-50 pi_rpc.turn=2
    chat play 50-50 client operation.name=chat provider.name=scripted request.model=play request.stream=true conversation.id=… request.reasoning.level=medium response.id=scripted_1 response.finish_reasons=stop response.time_to_first_chunk=0s usage.input_tokens=100 usage.output_tokens=2
";
    assert_eq!(tree(scenario(turns).host(0, prompt("p", "go")), Pi1), expected);
}

#[test]
fn every_dialect_has_the_same_tree() {
    let expected = "\
invoke_agent 0-50
  turn 0-50
    chat play 0-0 client
    execute_tool bash 0-50
  turn 50-50
    chat play 50-50 client
";
    for dialect in Dialect::ALL {
        let turns = json!([calls("t1", "bash", "sleep 50; echo one"), says("Done.")]);
        let shown = tree(scenario(turns).host(0, prompt("p", "go")), dialect);
        assert_eq!(outline(&shown), expected, "{dialect}");
    }
}

#[test]
fn nested_calls_are_below_their_tool() {
    let call = |id: &str, command: &str| {
        let arguments = json!({ "command": command });
        PeerStep::Writes(
            json!({ "type": "call_tool", "id": id, "origin": "$", "toolName": "bash", "arguments": arguments }),
        )
    };
    let result = json!({ "content": [{ "type": "text", "text": "whole" }] });
    let end = PeerStep::Writes(json!({ "type": "tool_result", "id": "$", "result": result }));
    let tool = json!({ "name": "mine", "description": "Mine.", "parameters": { "type": "object" } });
    let steps = [call("one", "sleep 200"), call("two", "sleep 100"), PeerStep::Waits(500), end];
    let extension = Extension::new("a", json!({ "tools": [tool] })).on("tool_call mine", steps);
    let turns = json!([calls("t1", "mine", "now"), says("Well.")]);
    let scenario = scenario(turns).extended(extension).host(10, prompt("p", "go"));
    let expected = "\
invoke_agent 10-510
  turn 10-510
    chat play 10-10 client
    execute_tool mine 10-510
      execute_tool bash 10-210
      execute_tool bash 10-110
  turn 510-510
    chat play 510-510 client
";
    assert_eq!(outline(&tree(scenario, Pi1)), expected);
}

#[test]
fn abort_ends_tool_and_run() {
    let turns = json!([calls("t1", "bash", "sleep 5000")]);
    let expected = "\
invoke_agent 0-103 failed aborted
  turn 0-103
    chat play 0-0 client
    execute_tool bash 0-103 failed tool_error
  turn 103-103
";
    let scenario = scenario(turns).host(0, prompt("p", "go")).host(100, json!({"type": "abort"}));
    assert_eq!(outline(&tree(scenario, Pi1)), expected);
}

#[test]
fn abort_cuts_model_request() {
    let turns = json!([{ "say": [{ "text": "Half" }], "hang": true }]);
    let expected = "\
invoke_agent 0-100 failed aborted
  turn 0-100
    chat play 0-100 client failed aborted
";
    for dialect in [Pi, Pi1] {
        let turns = turns.clone();
        let scenario = scenario(turns).host(0, prompt("p", "go")).host(100, json!({"type": "abort"}));
        assert_eq!(outline(&tree(scenario, dialect)), expected, "{dialect}");
    }
}

#[test]
fn end_of_session_ends_all_spans() {
    let turns = json!([{ "say": [{ "text": "Half" }], "hang": true }]);
    let expected = "\
invoke_agent 0-0 failed aborted
  turn 0-0 failed aborted
    chat play 0-0 client failed aborted
";
    assert_eq!(outline(&tree(scenario(turns).host(0, prompt("p", "go")), Pi1)), expected);
}

#[test]
fn runs_are_below_their_client() {
    let options = TracerOptions { parent: Some(parent()), ..TracerOptions::default() };
    let turns = json!([says("One."), says("Two.")]);
    let scenario = scenario(turns).host(0, prompt("p", "go")).host(50, prompt("q", "on"));
    let expected = format!(
        "\
invoke_agent 0-0 below {PARENT}
  turn 0-0
    chat play 0-0 client
invoke_agent 50-50 below {PARENT}
  turn 50-50
    chat play 50-50 client
"
    );
    assert_eq!(outline(&tree_with(scenario, Pi1, options)), expected);
}

#[test]
fn run_of_process_before_is_taken_up() {
    let now = |millis: u64| Now {
        monotonic: Duration::from_millis(millis),
        wall: u64::try_from(BEGAN.as_millis()).unwrap() + millis,
    };
    let mut tracer = SessionTracer::new(TracerOptions::default());
    tracer.on_input(&Input::Resume(Box::<WaitingRun>::default()), now(10));
    let result = json!({ "content": [], "details": {} });
    let frames: [(u64, Value); 6] = [
        // Its start is of the process before.
        (
            20,
            json!({ "type": "tool_execution_end", "toolCallId": "t0", "toolName": "read", "result": result, "isError": false }),
        ),
        (30, json!({ "type": "tool_execution_start", "toolCallId": "t1", "toolName": "bash", "args": {} })),
        (
            40,
            json!({ "type": "tool_execution_end", "toolCallId": "t1", "toolName": "bash", "result": result, "isError": false }),
        ),
        (50, json!({ "type": "turn_start" })),
        (60, json!({ "type": "agent_end", "messages": [], "willRetry": false })),
        (70, json!({ "type": "agent_start" })),
    ];
    for (at, frame) in frames {
        let frame: Outbound = serde_json::from_value(frame).unwrap();
        tracer.on_output(&Output::Emit(Emission::Frame(frame)), now(at));
    }
    tracer.on_end(now(80));
    let expected = "\
invoke_agent 10-60
  execute_tool bash 30-40
  turn 50-60 failed aborted
invoke_agent 70-80 failed aborted
";
    assert_eq!(outline(&show(&tracer.take_events())), expected);
}
