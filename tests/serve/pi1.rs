//! What `pi-1` does otherwise than `pi` in its tools, in commands of the host and at the end, with the real binary.

use crate::serve_support::{Server, bash_turns, of_type, types};
use pi_rpc::protocol::Dialect::{self, Pi1, Pi073};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// What the script's model says: these calls, then that it is done.
fn calls(calls: &[(&str, Value)]) -> Value {
    let say = calls.iter().enumerate().map(|(at, (tool, arguments))| {
        json!({ "tool": tool, "id": format!("t{at}"), "arguments": arguments, "size": 0 })
    });
    json!([{ "say": say.collect::<Vec<_>>() }, { "say": [{ "text": "Done." }] }])
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

/// A prompt's run, up to its end and all that follows it.
fn run(server: &mut Server) -> Vec<Value> {
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until_type(last(server.dialect))
}

/// The event that ends what a prompt has started.
fn last(dialect: Dialect) -> &'static str {
    if dialect == Pi1 { "agent_settled" } else { "agent_end" }
}

/// The frames of the tools of a run; of times only whether they are there: true.
fn tool_frames(frames: &[Value]) -> Vec<Value> {
    let is_of_tool = |frame: &&Value| {
        let kind = frame["type"].as_str().unwrap_or_default();
        kind.starts_with("tool_execution")
            || kind == "message_end" && frame["message"]["role"] == "toolResult"
    };
    let plain = |frame: &Value| {
        let mut frame = frame.clone();
        for time in ["/durationMs", "/message/durationMs", "/message/timestamp"] {
            if let Some(value) = frame.pointer_mut(time) {
                *value = value.is_u64().into();
            }
        }
        frame
    };
    frames.iter().filter(is_of_tool).map(plain).collect()
}

/// The last end of a call in these frames.
fn end(frames: &[Value]) -> Value {
    let is_end = |frame: &&Value| frame["type"] == "tool_execution_end";
    tool_frames(frames).iter().rfind(is_end).expect("an end").clone()
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

#[test]
fn bash_tool_finds_session_in_environment() {
    let command = "echo $PI_SESSION_ID $PI_PROVIDER/$PI_MODEL $PI_REASONING_LEVEL $AI_AGENT $PI_CODING_AGENT";
    let mut server = Server::script(Pi1, calls(&[bash(command)]));
    let frames = run(&mut server);
    let state = server.data(json!({ "type": "get_state" }));
    let of = |pointer: &str| state.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let [id, level] = ["/sessionId", "/thinkingLevel"].map(of);
    let [provider, model] = ["/model/provider", "/model/id"].map(of);
    let wanted = format!("{id} {provider}/{model} {level} pi true\n");
    assert_eq!(end(&frames)["result"]["content"], text(&wanted));
    // Commands of the host belong to no session.
    let data = server.data(json!({ "type": "bash", "command": command }));
    assert_eq!(data["output"], "/ pi true\n");
}

#[test]
fn bash_call_has_empty_update_and_details() {
    let arguments = json!({ "command": "echo out" });
    let mut server = Server::script(Pi1, calls(&[("bash", arguments.clone())]));
    let frames = tool_frames(&run(&mut server));
    let head = |kind: &str| json!({ "type": kind, "toolCallId": "t0", "toolName": "bash" });
    let with = |mut frame: Value, more: Value| {
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        frame
    };
    let structured =
        json!({ "output": "out\n", "truncated": false, "exit_code": 0, "wall_time_seconds": 0.0 });
    let expected = [
        with(head("tool_execution_start"), json!({ "args": arguments })),
        with(head("tool_execution_update"), json!({ "args": arguments, "partialResult": { "content": [] } })),
        with(
            head("tool_execution_update"),
            json!({ "args": arguments, "partialResult": { "content": text("out\n"), "details": {} } }),
        ),
        with(
            head("tool_execution_end"),
            json!({
                "result": { "content": text("out\n"), "structuredContent": structured },
                "isError": false,
                "durationMs": true,
            }),
        ),
        json!({ "type": "message_end", "message": {
            "role": "toolResult", "toolCallId": "t0", "toolName": "bash", "content": text("out\n"),
            "isError": false, "durationMs": true, "timestamp": true,
        } }),
    ];
    let mut seen = frames.clone();
    // How long it took is a matter of the machine.
    let wall = seen[3].pointer_mut("/result/structuredContent/wall_time_seconds").unwrap();
    assert!(wall.take().is_number());
    *wall = json!(0.0);
    assert_eq!(seen, expected);
    server.finishes();
}

#[test]
fn nonzero_status_is_result() {
    for (command, output, status) in
        [("echo a; exit 3", "a\n", 3), ("false", "", 1), ("echo a; kill -9 $$", "a\n", 137)]
    {
        let mut server = Server::script(Pi1, calls(&[bash(command)]));
        let end = end(&run(&mut server));
        let shown = if output.is_empty() { "(no output)" } else { output };
        let result = &end["result"];
        assert_eq!(result["content"], text(&format!("{shown}\n\nCommand exited with code {status}")));
        assert_eq!((&result["isError"], &end["isError"]), (&json!(true), &json!(true)));
        assert_eq!(result.get("details"), None);
        assert_eq!(result["structuredContent"]["output"], output);
        assert_eq!(result["structuredContent"]["exit_code"], status);
        server.finishes();
    }
}

#[test]
fn concurrent_calls_keep_order_of_results() {
    for dialect in [Pi1, Pi073] {
        let both = [bash("until [ -e told ]; do sleep 0.01; done"), bash("true"), ("nothing", json!({}))];
        let mut server = Server::script(dialect, calls(&both));
        server.send(json!({ "type": "prompt", "message": "go" }));
        let ended = |frame: &Value| frame["type"] == "tool_execution_end" && frame["toolCallId"] == "t1";
        let mut frames = server.until(ended);
        fs::write(server.path("told"), "").unwrap();
        frames.extend(server.until_type(last(dialect)));
        let frames = tool_frames(&frames);
        let is_update = |frame: &&Value| frame["type"] != "tool_execution_update";
        let order: Vec<String> = frames
            .iter()
            .filter(is_update)
            .map(|frame| {
                let kind = frame["type"].as_str().unwrap().trim_start_matches("tool_execution_");
                let id = frame.get("toolCallId").unwrap_or(&frame["message"]["toolCallId"]);
                format!("{kind} {}", id.as_str().unwrap())
            })
            .collect();
        let expected = "start t0 · start t1 · start t2 · end t2 · end t1 · end t0 · message_end t0 · message_end t1 · \
                        message_end t2";
        assert_eq!(order.join(" · "), expected, "{dialect}");
        let unknown =
            frames.iter().find(|frame| frame["toolCallId"] == "t2" && frame.get("result").is_some());
        assert_eq!(unknown.unwrap().get("durationMs"), None, "a tool that never ran");
        server.finishes();
    }
}

#[test]
fn files_are_written_read_and_multiply_edited() {
    let edits = json!([{ "oldText": "one", "newText": "1" }, { "oldText": "three", "newText": "3" }]);
    for (dialect, wrote) in
        [(Pi1, "Successfully wrote to a.txt"), (Pi073, "Successfully wrote 14 bytes to a.txt")]
    {
        let turn =
            |tool: &str, arguments: Value| json!({ "say": [{ "tool": tool, "arguments": arguments }] });
        let turns = json!([
            turn("write", json!({ "path": "a.txt", "content": "one\ntwo\nthree\n" })),
            turn("edit", json!({ "path": "a.txt", "edits": edits })),
            turn("read", json!({ "path": "a.txt" })),
            turn("edit", json!({ "path": "b.txt", "edits": edits })),
            turn("read", json!({})),
            { "say": [{ "text": "Done." }] },
        ]);
        let mut server = Server::script(dialect, turns);
        let frames = run(&mut server);
        let ends = of_type(&frames, "tool_execution_end");
        let results: Vec<&Value> = ends.iter().map(|end| &end["result"]).collect();
        assert_eq!(*results[0], json!({ "content": text(wrote) }));
        let details = json!({
            "diff": "-1 one\n+1 1\n 2 two\n-3 three\n+3 3",
            "patch": "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3\n",
            "firstChangedLine": 1,
        });
        let replaced = text("Successfully replaced 2 block(s) in a.txt.");
        assert_eq!(*results[1], json!({ "content": replaced, "details": details }));
        let mut read = json!({ "content": text("1\ntwo\n3\n") });
        if dialect == Pi1 {
            read["structuredContent"] = json!("1\ntwo\n3\n");
        }
        assert_eq!(*results[2], read);
        let missing = text("Could not edit file: b.txt. Error code: ENOENT.");
        assert_eq!(*results[3], json!({ "content": missing, "details": {} }));
        let invalid = results[4]["content"][0]["text"].as_str().unwrap();
        let problem =
            if dialect == Pi1 { "path: missing" } else { "path: must have required property 'path'" };
        assert!(
            invalid.starts_with(&format!("Validation failed for tool \"read\":\n  - {problem}\n\n")),
            "{invalid}"
        );
        server.finishes();
    }
}

#[test]
fn bash_output_is_streamed_before_response() {
    let mut server = Server::demo(Pi1);
    server.send(json!({ "id": "b", "type": "bash", "command": "seq 1 20000; printf '\\033[1mend\\r\\n'" }));
    let frames = server.until(|frame| frame["type"] == "response");
    let (response, updates) = frames.split_last().unwrap();
    let all: String = (1..=20000).map(|n| format!("{n}\n")).collect::<String>() + "end\n";
    let told = updates.iter().map(|update| {
        assert_eq!((&update["type"], &update["id"]), (&json!("bash_execution_update"), &json!("b")));
        update["delta"].as_str().unwrap()
    });
    assert_eq!(told.collect::<String>(), all);
    assert!(all.trim_end().ends_with(response["data"]["output"].as_str().unwrap()));
    // A silent one has none, and one without an id has updates without.
    assert_eq!(server.data(json!({ "type": "bash", "command": "true" }))["output"], "");
    server.send(json!({ "type": "bash", "command": "echo x" }));
    assert_eq!(server.next(), json!({ "type": "bash_execution_update", "delta": "x\n" }));
    server.until_type("response");
    server.finishes();
}

#[test]
fn excluded_bash_result_is_marked_in_messages() {
    let mut server = Server::demo(Pi1);
    server.data(json!({ "type": "bash", "command": "echo a", "excludeFromContext": true }));
    server.data(json!({ "type": "bash", "command": "echo b", "excludeFromContext": false }));
    let messages = server.data(json!({ "type": "get_messages" }));
    let excluded =
        messages["messages"].as_array().unwrap().iter().map(|it| it.get("excludeFromContext").cloned());
    assert_eq!(excluded.collect::<Vec<_>>(), [Some(json!(true)), None]);
    server.finishes();
}

#[test]
fn abort_bash_ends_all_commands() {
    let mut server = Server::demo(Pi1);
    for id in ["b1", "b2"] {
        server.send(json!({ "id": id, "type": "bash", "command": "echo begun; sleep 1000" }));
        server.until_type("bash_execution_update");
    }
    server.send(json!({ "id": "a", "type": "abort_bash" }));
    for id in ["b1", "b2"] {
        // They may end in any order.
        let frame = server.until(|frame| frame["command"] == "bash").pop().unwrap();
        let result = json!({ "output": "begun\n", "cancelled": true, "truncated": false });
        assert_eq!(frame["data"], result, "{id}");
    }
    server.finishes();
}

#[test]
fn ended_input_stops_run_and_answers_bash() {
    let mut server = Server::script(Pi1, bash_turns("sleep 1000"));
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until_type("tool_execution_update");
    let wait = "echo first; until [ -e go ]; do sleep 0.01; done; echo done";
    server.send(json!({ "id": "bash", "type": "bash", "command": wait }));
    let told = server.until_type("bash_execution_update").pop();
    assert_eq!(told, Some(json!({ "type": "bash_execution_update", "id": "bash", "delta": "first\n" })));
    server.close_stdin();
    std::fs::write(server.path("go"), "").unwrap();
    let ended = server.ends();
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    let data = json!({ "output": "first\ndone\n", "exitCode": 0, "cancelled": false, "truncated": false });
    let response =
        json!({ "id": "bash", "type": "response", "command": "bash", "success": true, "data": data });
    assert_eq!(ended.frames, [response]);
}

#[test]
fn line_without_type_is_answered_with_id() {
    let mut server = Server::demo(Pi1);
    let lines = [
        (json!({ "id": "n" }), json!("n")),
        (json!({ "id": "t", "type": 5 }), json!("t")),
        (json!({ "id": 7 }), json!(7)),
    ];
    for (line, id) in lines {
        server.send(line);
        let error = "Failed to parse command: `type`: expected a string that names a command";
        let expected =
            json!({ "id": id, "type": "response", "command": "parse", "success": false, "error": error });
        assert_eq!(server.next(), expected);
    }
    server.finishes();
}

#[test]
fn switch_to_invalid_file_is_refused() {
    let mut server = Server::demo(Pi1);
    let path = server.path("script.json");
    std::fs::write(&path, "no session\n").unwrap();
    let response = server.ask("s", json!({ "type": "switch_session", "sessionPath": path }));
    let expected = format!("Session file is not a valid pi session: {}", path.display());
    assert_eq!((&response["success"], &response["error"]), (&json!(false), &json!(expected)));
    server.finishes();
}

#[test]
fn scripted_model_maps_levels_above_high() {
    let mut server = Server::demo(Pi1);
    let levels = server.data(json!({ "type": "get_available_thinking_levels" }))["levels"].take();
    assert_eq!(levels, json!(["off", "minimal", "low", "medium", "high", "xhigh"]));
    let model = server.data(json!({ "type": "get_state" }))["model"].take();
    assert_eq!(model["thinkingLevelMap"], json!({ "xhigh": "xhigh" }));
    server.finishes();
}

#[test]
fn signal_ends_run_and_commands_without_event() {
    let mut server = Server::script(Pi1, bash_turns("sleep 1000"));
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until_type("tool_execution_update");
    server.send(json!({ "id": "b", "type": "bash", "command": "echo begun; sleep 1000" }));
    server.until_type("bash_execution_update");
    server.signal(Signal::TERM);
    let ended = server.ends();
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(143), ""));
    assert_eq!(types(&ended.frames), ["response"]);
}
