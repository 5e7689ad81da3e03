//! Tools of the host with the real binary.

use crate::serve_support::{Server, types};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::fs;

fn content(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A server whose model calls the host's tool `weather` twice.
fn server() -> Server {
    let call = |city: &str| json!({ "say": [{ "tool": "weather", "arguments": { "city": city } }] });
    let turns = json!([call("Bern"), { "say": [{ "text": "It rains." }] }, call("Basel")]);
    let mut server = Server::script_in(Dialect::Xcsh, tempfile::tempdir().unwrap(), turns, &[]);
    let city =
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let tool = json!({ "name": "weather", "description": "Tells the weather.", "parameters": city });
    let set = server.data(json!({ "type": "set_host_tools", "tools": [tool] }));
    assert_eq!(set, json!({ "toolNames": ["weather"] }));
    server
}

#[test]
fn host_runs_call_until_it_disconnects() {
    let mut server = server();
    server.send(json!({ "type": "prompt", "message": "Is it raining?" }));
    let call = server.until_type("host_tool_call").pop().unwrap();
    assert_eq!(call["arguments"], json!({ "city": "Bern" }));
    let id = &call["id"];
    server.send(json!({ "type": "host_tool_update", "id": id, "partialResult": content("Looking out") }));
    let update = server.until_type("tool_execution_update").pop().unwrap();
    assert_eq!(update["partialResult"], content("Looking out"));
    server.send(json!({ "type": "host_tool_result", "id": id, "result": content("Rain") }));
    let end = server.until_type("agent_end");
    assert_eq!(end[0]["result"]["content"], content("Rain")["content"], "{:?}", types(&end));

    let state = server.data(json!({ "type": "get_state" }));
    server.send(json!({ "type": "prompt", "message": "And there?" }));
    server.until_type("host_tool_call");
    server.close_stdin();
    let ended = server.ends();
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    let file = fs::read_to_string(state["sessionFile"].as_str().unwrap()).unwrap();
    let last: Value = serde_json::from_str(file.lines().last().unwrap()).unwrap();
    let message = &last["message"];
    assert_eq!((&message["role"], &message["isError"]), (&json!("toolResult"), &json!(true)), "{file}");
    let text = "RPC client disconnected before host tool execution completed";
    assert_eq!(message["content"], content(text)["content"]);
}

#[test]
fn null_members_of_clients_are_absent() {
    // As xcsh's own Python client writes what is not set.
    let turns = json!([{ "say": [{ "tool": "weather", "arguments": { "city": "Bern" } }] }]);
    let mut server = Server::script_in(Dialect::Xcsh, tempfile::tempdir().unwrap(), turns, &[]);
    let tool = json!({
        "name": "weather", "label": null, "description": "Tells the weather.", "hidden": null,
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } } },
    });
    let set = server.data(json!({ "type": "set_host_tools", "tools": [tool] }));
    assert_eq!(set, json!({ "toolNames": ["weather"] }));
    let phases =
        json!([{ "id": null, "name": "One", "tasks": [{ "id": null, "content": "a", "status": null }] }]);
    let todos = server.data(json!({ "type": "set_todos", "phases": phases }));
    assert_eq!(todos["todoPhases"][0]["tasks"][0]["content"], "a");
    server.send(json!({
        "type": "prompt", "message": "Is it raining?", "images": null, "streamingBehavior": null, "locale": null,
    }));
    let call = server.until_type("host_tool_call").pop().unwrap();
    let result = json!({ "content": content("Rain")["content"], "details": null, "isWarning": null });
    server.send(json!({ "type": "host_tool_result", "id": call["id"], "result": result, "isError": null }));
    let end = server.until_type("tool_execution_end").pop().unwrap();
    assert_eq!((&end["isError"], end["result"].get("details")), (&json!(false), None), "{end}");
    let required = json!({ "name": null, "description": "d", "parameters": {} });
    server.send(json!({ "type": "set_host_tools", "tools": [required] }));
    let refused = server.until(|frame| frame["success"] == false).pop().unwrap();
    let text = "set_host_tools: `tools[0].name`: invalid type: null, expected a string";
    assert!(refused["error"].as_str().unwrap().contains(text), "{refused}");
}

#[test]
fn result_that_is_no_object_names_field() {
    let mut server = server();
    for (result, reason) in [
        (json!("rain"), "`result`: invalid type: string \"rain\", expected an object (AgentToolResult)"),
        (json!({}), "`result`: missing field `content`"),
    ] {
        server.send(json!({ "type": "host_tool_result", "id": "x", "result": result }));
        let refused = server.until(|frame| frame["type"] == "response").pop().unwrap();
        let error = format!("Failed to parse command: host_tool_result: {reason}");
        assert_eq!(
            refused,
            json!({ "type": "response", "command": "parse", "success": false, "error": error })
        );
    }
    server.finishes();
}

#[test]
fn costly_schema_is_refused_by_name() {
    let mut server = server();
    let twice = |name: usize| json!({ "anyOf": [{ "$ref": format!("#/$defs/a{name}") }, { "$ref": format!("#/$defs/a{name}") }] });
    let mut defs: serde_json::Map<_, _> = (0..40).map(|at| (format!("a{at}"), twice(at + 1))).collect();
    defs.insert("a40".to_owned(), json!({ "type": "string" }));
    let bomb = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/a0" } }, "$defs": defs });
    let tool = json!({ "name": "bomb", "description": "d", "parameters": bomb });
    let reason = "one value is checked in more than 1000000 ways";
    let error = format!("Tool \"bomb\": its parameters cannot be used to check arguments: {reason}");
    server.send(json!({ "type": "set_host_tools", "tools": [tool] }));
    let refused = server.until(|frame| frame["type"] == "response").pop().unwrap();
    assert!(refused["error"].as_str().unwrap().ends_with(&error), "{refused}");
    // The tools of before are still there.
    server.send(json!({ "type": "prompt", "message": "Is it raining?" }));
    assert_eq!(server.until_type("host_tool_call").pop().unwrap()["toolName"], "weather");
    server.close_stdin();
    server.ends();
}
