//! Runs with tools, and what a host may do during one.

use crate::serve_support::{BOTH, Server, bash_turns, of_type, processes_of, types};
use pi_rpc::protocol::Dialect::{Pi, Xcsh};
use serde_json::{Value, json};

const WAIT_FOR_GO: &str = "until [ -e go ]; do sleep 0.01; done; rm go";

fn let_go(server: &Server) {
    std::fs::write(server.path("go"), "").unwrap();
}

fn texts_of(frames: &[Value], role: &str) -> Vec<String> {
    let ends = frames.iter().filter(|f| f["type"] == "message_end" && f["message"]["role"] == role);
    ends.map(|frame| frame["message"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn tool_output_is_shown_as_it_grows() {
    for dialect in BOTH {
        let command = format!("echo one; {WAIT_FOR_GO}; echo two; {WAIT_FOR_GO}; echo three");
        let mut server = Server::script(dialect, bash_turns(&command));
        server.send(json!({"type": "prompt", "message": "go"}));
        let mut shown = Vec::new();
        for wanted in ["one\n", "one\ntwo\n"] {
            let is_shown = |frame: &Value| frame["partialResult"]["content"][0]["text"] == wanted;
            shown.extend(server.until(is_shown));
            let_go(&server);
        }
        shown.extend(server.until_type("agent_end"));
        let end = of_type(&shown, "tool_execution_end")[0];
        assert_eq!(
            (&end["isError"], &end["result"]["content"][0]["text"]),
            (&json!(false), &json!("one\ntwo\nthree\n"))
        );
        for update in of_type(&shown, "tool_execution_update") {
            let text = update["partialResult"]["content"][0]["text"].as_str().unwrap();
            assert!("one\ntwo\nthree\n".starts_with(text), "{text}");
            assert_eq!(update["args"], json!({"command": command}));
        }
        assert_eq!(texts_of(&shown, "assistant").last().unwrap(), "It has ended.");
        server.finishes();
    }
}

#[test]
fn abort_during_tool_ends_its_processes() {
    for dialect in BOTH {
        let mut turns = bash_turns("echo begun; (trap '' TERM; sleep 1000 & sleep 1000)");
        turns.as_array_mut().unwrap().insert(0, json!({"match": "again", "say": [{"text": "Still here."}]}));
        let mut server = Server::script(dialect, turns);
        server.send(json!({"type": "prompt", "message": "go"}));
        server.until(|frame| frame["partialResult"]["content"][0]["text"] == "begun\n");
        server.send(json!({"id": "abort", "type": "abort"}));
        let frames = server.until(|frame| frame["id"] == "abort");
        let order = [
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end",
            "turn_start",
            "message_start",
            "message_end",
            "turn_end",
            "agent_end",
            "response",
        ];
        assert_eq!(types(&frames), order);
        let text = if dialect == Pi { "begun\n\n\nCommand aborted" } else { "[Command cancelled]\nbegun\n" };
        assert_eq!(
            (&frames[0]["isError"], &frames[0]["result"]["content"][0]["text"]),
            (&json!(true), &json!(text))
        );
        assert_eq!(processes_of(server.dir.path()).len(), 1, "{:?}", processes_of(server.dir.path()));
        assert_eq!(texts_of(&server.run("again"), "assistant"), ["Still here."]);
        server.finishes();
    }
}

#[test]
fn set_model_serves_the_next_run() {
    for dialect in BOTH {
        let turns = json!([{"repeat": true, "say": [{"text": "From the script."}]}]);
        let mut server = Server::script(dialect, turns);
        let models = server.data(json!({"type": "get_available_models"}));
        let ids: Vec<&Value> =
            models["models"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
        assert_eq!(ids, ["demo", "script.json"]);
        let set = |id: &str| json!({"type": "set_model", "provider": "scripted", "modelId": id});
        assert_eq!(server.data(set("demo"))["id"], "demo");
        assert!(texts_of(&server.run("hello"), "assistant").concat().contains("scripted demo"));
        assert_eq!(server.data(set("script.json"))["id"], "script.json");
        assert_eq!(texts_of(&server.run("hello"), "assistant"), ["From the script."]);
        assert_eq!(server.data(json!({"type": "cycle_model"}))["model"]["id"], "demo");
        let refused = server.ask("1", set("gpt"));
        assert_eq!((&refused["success"], &refused["command"]), (&json!(false), &json!("set_model")));
        assert!(refused["error"].as_str().unwrap().contains("not found: scripted/gpt"), "{refused}");
        assert_eq!(server.data(json!({"type": "get_state"}))["model"]["id"], "demo");
        server.finishes();
    }
}

#[test]
fn model_without_thinking_has_no_levels() {
    for dialect in BOTH {
        let mut server = Server::script(dialect, json!([{"say": [{"text": "hm"}]}]));
        assert_eq!(server.data(json!({"type": "cycle_thinking_level"})), Value::Null);
        let state = server.data(json!({"type": "get_state"}));
        assert_eq!(state["thinkingLevel"], if dialect == Pi { json!("off") } else { Value::Null });
        server.finishes();
    }
}

#[test]
fn figures_agree_with_the_messages() {
    for dialect in BOTH {
        let script = json!({"model": {"cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}, "turns": [
            {"match": "use", "say": [{"tool": "bash", "arguments": {"command": "echo 1"}}, {"tool": "ls"}],
             "usage": {"input": 1000, "output": 50, "cacheRead": 700, "cacheWrite": 30}},
            {"repeat": true, "say": [{"text": "Well, well."}]},
        ]});
        let mut server = Server::script_with(dialect, script, &[]);
        server.run("May I use tools?");
        server.run("and now?");
        server.data(json!({"type": "bash", "command": "echo aside"}));
        let stats = server.data(json!({"type": "get_session_stats"}));
        let messages = server.data(json!({"type": "get_messages"}));
        let messages = messages["messages"].as_array().unwrap();
        let of_role = |role: &str| messages.iter().filter(|m| m["role"] == role).count();
        let counts = ["userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages"];
        let told = counts.map(|name| stats[name].as_u64().unwrap() as usize);
        assert_eq!(told, [of_role("user"), of_role("assistant"), 2, of_role("toolResult"), messages.len()]);
        assert_eq!(told, [2, 3, 2, 2, 8]);
        let usages = messages.iter().filter(|m| m["role"] == "assistant").map(|m| &m["usage"]);
        for key in ["input", "output", "cacheRead", "cacheWrite"] {
            let sum: u64 = usages.clone().map(|usage| usage[key].as_u64().unwrap()).sum();
            assert_eq!(stats["tokens"][key], sum, "{key}");
        }
        let cost: f64 = usages.map(|usage| usage["cost"]["total"].as_f64().unwrap()).sum();
        assert!((stats["cost"].as_f64().unwrap() - cost).abs() < 1e-9 && cost > 0.0);
        let state = server.data(json!({"type": "get_state"}));
        assert_eq!((&state["messageCount"], &state["sessionId"]), (&json!(8), &stats["sessionId"]));
        server.finishes();
    }
}

#[test]
fn invalid_tool_calls_give_error_results() {
    for dialect in BOTH {
        let script = std::fs::read_to_string("examples/scripts/tools.json").unwrap();
        let mut server = Server::script_with(dialect, serde_json::from_str(&script).unwrap(), &[]);
        let frames = server.run("break a tool call");
        let ends = of_type(&frames, "tool_execution_end");
        assert_eq!((ends.len(), &ends[1]["isError"]), (2, &json!(true)));
        let refusal = "Invalid arguments for tool \"bash\": Unterminated string in JSON at position 28 (line 1 column 29)\n\nReceived arguments:\n{\"command\": \"echo unfinished";
        assert_eq!(texts_of(&frames, "toolResult"), [refusal, "Tool no_such_tool not found"]);
        let frames = server.run("count");
        assert_eq!(texts_of(&frames, "assistant").last().unwrap(), "The command counted to three.");
        server.finishes();
    }
}

#[test]
fn xcsh_commands_after_abort_wait_for_it() {
    let stubborn = "trap '' TERM; touch begun; while true; do sleep 0.02; done";
    let turns = json!([
        { "say": [{ "tool": "bash", "arguments": { "command": stubborn } }] },
        { "say": [{ "text": "Done over." }] },
    ]);
    let mut server = Server::script(Xcsh, turns);
    server.send(json!({"id": "1", "type": "prompt", "message": "run"}));
    server.awaits("begun");
    server.send_bytes(
        b"{\"id\":\"a\",\"type\":\"abort\"}\n{\"id\":\"2\",\"type\":\"prompt\",\"message\":\"redo\"}\n",
    );
    let before = server.until(|frame| frame["id"] == "a");
    assert!(before.iter().all(|frame| frame["id"] != "2"), "{before:?}");
    let answer = server.response("2");
    assert_eq!(answer["success"], true);
    assert_eq!(texts_of(&server.until_type("agent_end"), "assistant"), ["Done over."]);
    server.finishes();
}

#[test]
fn xcsh_abort_stops_prompt_behind_bash() {
    let mut server = Server::demo(Xcsh);
    server.send(json!({"id": "1", "type": "bash", "command": "touch begun; sleep 1000"}));
    server.send(json!({"id": "2", "type": "prompt", "message": "wait"}));
    server.awaits("begun");
    for kind in ["abort", "abort_bash"] {
        assert_eq!(server.ask(kind, json!({"type": kind}))["success"], true);
    }
    assert_eq!(server.response("1")["data"]["cancelled"], true);
    assert_eq!(server.response("2")["success"], true);
    let run = server.until_type("agent_end");
    let messages = run.last().and_then(|end| end["messages"].as_array()).unwrap();
    assert_eq!(messages.last().unwrap()["stopReason"], "aborted");
    assert_eq!(messages.last().unwrap()["content"], json!([]));
    server.finishes();
}
