//! The whole tree of a run's spans.

use crate::{
    collector::Collector,
    serve_support::{Server, bash_turns, binary, command},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// Starts a server whose model plays these turns, and whose spans go to the address; with more variables.
pub fn traced(turns: &Value, address: &str, variables: &[(&str, &str)]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    let mut line = command(binary(), dir.path());
    line.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "scripted/script.json"]);
    line.env("OTEL_EXPORTER_OTLP_ENDPOINT", address).envs(variables.iter().copied());
    Server::start(Dialect::Pi1, dir, line)
}

/// Runs a prompt to its end.
fn run(server: &mut Server) {
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until_type("agent_settled");
}

#[test]
fn run_with_tool_is_whole_tree() {
    let collector = Collector::start();
    let mut server = traced(&bash_turns("echo secret words"), &collector.address, &[]);
    run(&mut server);
    server.finishes();
    let expected = "\
invoke_agent (internal) operation.name=invoke_agent provider.name=scripted request.model=script.json conversation.id=… response.finish_reasons=[stop] usage.input_tokens=5 usage.output_tokens=12
  turn (internal) pi_rpc.turn=1
    chat script.json (client) operation.name=chat provider.name=scripted request.model=script.json request.stream=true conversation.id=… response.id=scripted_0 response.finish_reasons=[tool_call] response.time_to_first_chunk=… usage.input_tokens=1 usage.output_tokens=8
    execute_tool bash (internal) operation.name=execute_tool tool.name=bash tool.call.id=…
  turn (internal) pi_rpc.turn=2
    chat script.json (client) operation.name=chat provider.name=scripted request.model=script.json request.stream=true conversation.id=… response.id=scripted_1 response.finish_reasons=[stop] response.time_to_first_chunk=… usage.input_tokens=4 usage.output_tokens=4
";
    assert_eq!(collector.trees(), expected);
}

#[test]
fn texts_are_sent_when_asked() {
    let collector = Collector::start();
    let asks = [("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")];
    let mut server = traced(&bash_turns("echo secret words"), &collector.address, &asks);
    run(&mut server);
    server.finishes();
    let trees = collector.trees();
    for text in [
        r#"system_instructions=[{"type":"text","content":""#,
        r#"input.messages=[{"role":"user","parts":[{"type":"text","content":"go"}]}]"#,
        r#"tool.call.arguments={"command":"echo secret words"} tool.call.result=secret words"#,
        r#"output.messages=[{"role":"assistant","parts":[{"type":"text","content":"It has ended."}],"finish_reason":"stop"}]"#,
    ] {
        assert!(trees.contains(text), "{text}\n{trees}");
    }
}

#[test]
fn aborted_run_ends_its_spans() {
    let collector = Collector::start();
    let turns = json!([{ "say": [{ "text": "Half an answer", "size": 0 }], "hang": true }]);
    let mut server = traced(&turns, &collector.address, &[]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    server.send(json!({ "id": "a", "type": "abort" }));
    server.until_type("agent_settled");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
    let expected = "\
invoke_agent (internal failed) operation.name=invoke_agent provider.name=scripted request.model=script.json conversation.id=… response.finish_reasons=[aborted] error.type=aborted
  turn (internal) pi_rpc.turn=1
    chat script.json (client failed) operation.name=chat provider.name=scripted request.model=script.json request.stream=true conversation.id=… response.id=scripted_0 response.time_to_first_chunk=… error.type=aborted
";
    // What was used when the abort came is not promised.
    let trees = collector.trees();
    let words = trees.split(' ').filter(|word| !word.starts_with("usage."));
    assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn signal_ends_spans_of_run() {
    let collector = Collector::start();
    let mut server = traced(&bash_turns("echo begun; sleep 1000"), &collector.address, &[]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until_type("tool_execution_update");
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.ends().status.code(), Some(143));
    let expected = "\
invoke_agent (internal failed) operation.name=invoke_agent provider.name=scripted request.model=script.json conversation.id=… usage.input_tokens=1 usage.output_tokens=9 error.type=aborted
  turn (internal failed) pi_rpc.turn=1 error.type=aborted
    chat script.json (client) operation.name=chat provider.name=scripted request.model=script.json request.stream=true conversation.id=… response.id=scripted_0 response.finish_reasons=[tool_call] response.time_to_first_chunk=… usage.input_tokens=1 usage.output_tokens=9
    execute_tool bash (internal failed) operation.name=execute_tool tool.name=bash tool.call.id=… error.type=aborted
";
    assert_eq!(collector.trees(), expected);
}

#[test]
fn refused_request_has_its_status() {
    let collector = Collector::start();
    let turns = json!([{ "fail": { "status": 400, "message": "no such words" } }]);
    let mut server = traced(&turns, &collector.address, &[]);
    run(&mut server);
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
    let expected = "\
invoke_agent (internal failed) operation.name=invoke_agent provider.name=scripted request.model=script.json conversation.id=… response.finish_reasons=[error] error.type=400
  turn (internal) pi_rpc.turn=1
    chat script.json (client failed) operation.name=chat provider.name=scripted request.model=script.json request.stream=true conversation.id=… response.finish_reasons=[error] error.type=400
";
    assert_eq!(collector.trees(), expected);
}
