//! Tools of the host with the real binary.

use crate::serve_support::{Server, types};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{fs, time::Duration};

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
fn the_host_carries_a_call_out_and_its_end_ends_the_call() {
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
    let ended = server.ends_within(Duration::from_secs(5));
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    let file = fs::read_to_string(state["sessionFile"].as_str().unwrap()).unwrap();
    let last: Value = serde_json::from_str(file.lines().last().unwrap()).unwrap();
    let message = &last["message"];
    assert_eq!((&message["role"], &message["isError"]), (&json!("toolResult"), &json!(true)), "{file}");
    let text = "RPC client disconnected before host tool execution completed";
    assert_eq!(message["content"], content(text)["content"]);
}
