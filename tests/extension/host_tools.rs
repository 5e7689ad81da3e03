//! Tools that the host carries out.

use crate::asking_support::{self, Extension, Scenario, done, result, says, scenario, shorthand, waits};
use pi_rpc::protocol::Dialect::Xcsh;
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

fn tool(name: &str) -> Value {
    let parameters = json!({
        "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"]
    });
    json!({ "name": name, "description": format!("Does {name}."), "parameters": parameters })
}

fn set(id: &str, tools: Value) -> Value {
    json!({ "id": id, "type": "set_host_tools", "tools": tools })
}

/// The host offers `ask` and `tell`, and the model's first turn is the calls of these tools, named t1, t2, ….
fn calling(tools: &[&str]) -> Scenario {
    let calls: Vec<Value> = tools
        .iter()
        .enumerate()
        .map(|(at, tool)| {
            json!({ "tool": tool, "id": format!("t{}", at + 1), "arguments": { "command": "now" }, "size": 0 })
        })
        .collect();
    scenario(json!([{ "say": calls }, model_says("Well.")]))
        .host(5, set("set", json!([tool("ask"), tool("tell")])))
        .host(10, prompt("p", "go"))
}

/// The host carries out the call of that number.
fn carried_out(number: usize, text: &str) -> Value {
    json!({ "type": "host_tool_result", "id": format!("call {number}"), "result": result(text) })
}

fn failed(number: usize, result: Value) -> Value {
    json!({ "type": "host_tool_result", "id": format!("call {number}"), "result": result, "isError": true })
}

fn progress(number: usize, text: &str) -> Value {
    json!({ "type": "host_tool_update", "id": format!("call {number}"), "partialResult": result(text) })
}

const START: &str = "< set · ok set · < p · ok p · agent_start · user go · ";

#[test]
fn invalid_host_tools_are_refused_without_effect() {
    let without = |key: &str| {
        let mut tool = tool("other");
        tool[key] = " ".into();
        tool
    };
    let schemaless = json!({ "name": "other", "description": "Does.", "parameters": { "type": 7 } });
    for (tools, error) in [
        (json!([tool("ask"), without("name")]), "Host tool at index 1 must provide a non-empty name"),
        (json!([without("description")]), "Host tool \"other\" must provide a non-empty description"),
        (json!([schemaless]), "Host tool \"other\" must provide a JSON Schema object"),
        (json!([tool("other"), tool(" other ")]), "RPC host tool names must be unique"),
        (json!([tool("bash")]), "RPC host tool \"bash\" conflicts with an existing tool"),
        (json!([tool("mine")]), "RPC host tool \"mine\" conflicts with an existing tool"),
    ] {
        let played = scenario(json!([model_says("Well.")]))
            .extended(Extension::new("a", json!({ "tools": [tool("mine")] })))
            .host(5, set("first", json!([tool("ask")])))
            .host(6, set("second", tools))
            .host(10, prompt("p", "go"))
            .play(Xcsh);
        assert_eq!(played.answers("first")[0]["data"], json!({ "toolNames": ["ask"] }));
        assert_eq!(played.error("second"), format!("Failed to parse command: {error}"));
        assert_eq!(played.called[0].tools, ["bash", "probe", "mine", "ask"], "{error}");
    }
}

#[test]
fn host_tool_names_are_trimmed_in_order() {
    let mut hidden = tool(" tell ");
    hidden["hidden"] = true.into();
    let played = scenario(json!([model_says("Well.")]))
        .host(5, set("set", json!([hidden, tool("\task")])))
        .host(10, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(played.answers("set")[0]["data"], json!({ "toolNames": ["tell", "ask"] }));
    assert_eq!(played.called[0].tools, ["bash", "probe", "ask"], "hidden tools are not offered");
}

#[test]
fn hidden_tool_cannot_be_called() {
    let mut hidden = tool("ask");
    hidden["hidden"] = true.into();
    let played = scenario(json!([calls("t1", "ask", "now"), model_says("Well.")]))
        .host(5, set("set", json!([hidden])))
        .host(10, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(played.transcript(), format!("{START}start t1 · end! t1 · agent_end [uata]"));
    assert_eq!(played.last("tool_execution_end")["result"]["content"][0]["text"], "Tool ask not found");
}

#[test]
fn host_runs_tool_call_with_progress() {
    let played = calling(&["ask"]).host(20, progress(0, "half")).host(30, carried_out(0, "whole")).play(Xcsh);
    assert_eq!(
        played.transcript(),
        format!(
            "{START}start t1 · host_tool_call t1 · < host_tool_update · update t1 · < host_tool_result · end t1 · \
             agent_end [uata]"
        )
        .replace("< host_tool_update", "< call 0").replace("< host_tool_result", "< call 0")
        .replace("< call 0", &format!("< {}", played.last("host_tool_call")["id"].as_str().unwrap_or_default()))
    );
    let mut call = played.last("host_tool_call").clone();
    let id = call["id"].take();
    assert_eq!(id.as_str().map(str::len), Some(16));
    assert_eq!(
        call,
        json!({
            "type": "host_tool_call", "id": null, "toolCallId": "t1", "toolName": "ask",
            "arguments": { "command": "now" },
        })
    );
    assert_eq!(played.last("tool_execution_update")["partialResult"], result("half"));
    assert_eq!(played.last("tool_execution_end")["result"], result("whole"));
}

#[test]
fn failed_host_call_gives_an_error_text() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (content, said) in [
        (json!([text(" one"), text("two ")]), "one\ntwo"),
        (json!([]), "Host tool execution failed"),
        (json!([text("  ")]), "Host tool execution failed"),
    ] {
        let played =
            calling(&["ask"]).host(20, failed(0, json!({ "content": content, "details": 7 }))).play(Xcsh);
        let end = played.last("tool_execution_end");
        assert_eq!(end["result"], json!({ "content": [text(said)], "details": {} }));
        assert_eq!(end["isError"], true);
    }
}

#[test]
fn invalid_arguments_never_reach_host() {
    let wrong = json!({ "say": [{ "tool": "ask", "id": "t1", "arguments": {}, "size": 0 }] });
    let played = scenario(json!([wrong, model_says("Well.")]))
        .host(5, set("set", json!([tool("ask")])))
        .host(10, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(played.transcript(), format!("{START}start t1 · end! t1 · agent_end [uata]"));
}

#[test]
fn late_or_unknown_host_results_change_nothing() {
    let mut unknown = carried_out(0, "never");
    unknown["id"] = "nobody".into();
    let played = calling(&["ask"])
        .host(15, unknown)
        .host(20, carried_out(0, "whole"))
        .host(30, progress(0, "more"))
        .host(31, carried_out(0, "again"))
        .play(Xcsh);
    let told: Vec<&Value> = played.frames("tool_execution_end").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["result"], result("whole"));
    assert_eq!(played.frames("tool_execution_update").count(), 0);
}

/// The steps without what the host wrote by itself.
fn told(played: &asking_support::Playback) -> String {
    let talk = played.transcript();
    let steps: Vec<&str> = talk.split(" · ").filter(|step| !step.starts_with("< ")).collect();
    steps.join(" · ")
}

#[test]
fn host_calls_of_one_message_run_concurrently() {
    let played =
        calling(&["ask", "tell"]).host(20, carried_out(1, "two")).host(30, carried_out(0, "one")).play(Xcsh);
    assert_eq!(
        told(&played),
        "ok set · ok p · agent_start · user go · start t1 · host_tool_call t1 · start t2 · host_tool_call t2 · end t2 · \
         end t1 · agent_end [uatta]"
    );
}

#[test]
fn abort_cancels_every_host_call() {
    let played =
        calling(&["ask", "tell"]).host(20, command("abort")).host(30, carried_out(0, "late")).play(Xcsh);
    let cancelled: Vec<&Value> = played.frames("host_tool_cancel").map(|it| &it["targetId"]).collect();
    let called: Vec<&Value> = played.frames("host_tool_call").map(|it| &it["id"]).collect();
    assert_eq!(cancelled, called);
    assert_eq!(
        told(&played),
        "ok set · ok p · agent_start · user go · start t1 · host_tool_call t1 · start t2 · host_tool_call t2 · \
         host_tool_cancel · host_tool_cancel · end! t1 · end! t2 · agent_end [uatta] · ok abort"
    );
    let texts: Vec<&Value> = played
        .said
        .iter()
        .filter(|it| it["isError"] == true && it["type"] == "tool_execution_end")
        .map(|it| &it["result"]["content"][0]["text"])
        .collect();
    assert_eq!(texts, ["Host tool \"ask\" was aborted", "Host tool \"tell\" was aborted"]);
}

#[test]
fn immediate_steering_cancels_every_host_call() {
    let immediate = json!({ "id": "i", "type": "set_interrupt_mode", "mode": "immediate" });
    // Steering is looked for when a call ends: that of the server does.
    let played = scenario(json!([
        { "say": [
            { "tool": "ask", "id": "t1", "arguments": { "command": "now" }, "size": 0 },
            { "tool": "tell", "id": "t2", "arguments": { "command": "now" }, "size": 0 },
            { "tool": "probe", "id": "t3", "arguments": { "command": "sleep 50" }, "size": 0 },
        ] },
        model_says("Well."),
    ]))
    .host(1, immediate)
    .host(5, set("set", json!([tool("ask"), tool("tell")])))
    .host(10, prompt("p", "go"))
    .host(20, shorthand::steer("s"))
    .play(Xcsh);
    assert_eq!(
        told(&played),
        "ok i · ok set · ok p · agent_start · user go · start t1 · host_tool_call t1 · start t2 · host_tool_call t2 · \
         start t3 · ok s · end t3 · host_tool_cancel · host_tool_cancel · end! t1 · end! t2 · user s · agent_end [uatttua]"
    );
    let texts: Vec<&Value> = played
        .said
        .iter()
        .filter(|it| it["isError"] == true && it["type"] == "tool_execution_end")
        .map(|it| &it["result"]["content"][0]["text"])
        .collect();
    assert_eq!(texts, ["Skipped due to queued user message."; 2]);
}

#[test]
fn end_of_input_fails_calls_and_exits() {
    let played = calling(&["ask", "tell"]).ends(20).finish(Xcsh);
    let last = played.steps.last().map(|step| (step.at, step.frame["type"].as_str().unwrap_or_default()));
    assert_eq!(last, Some((20, "exit")));
    assert_eq!(
        played.last("tool_execution_end")["result"]["content"][0]["text"],
        "RPC client disconnected before host tool execution completed"
    );
}

#[test]
fn replaced_host_tools_apply_from_next_request() {
    let played = calling(&["ask"])
        .host(20, set("again", json!([tool("other")])))
        .host(30, carried_out(0, "whole"))
        .play(Xcsh);
    assert_eq!(played.last("tool_execution_end")["result"], result("whole"));
    let tools: Vec<Vec<&str>> =
        played.called.iter().map(|it| it.tools.iter().map(String::as_str).collect()).collect();
    assert_eq!(tools, [vec!["bash", "probe", "ask", "tell"], vec!["bash", "probe", "other"]]);
}

#[test]
fn abort_cancels_call_of_removed_tool() {
    let played = calling(&["ask"]).host(20, set("again", json!([]))).host(30, command("abort")).play(Xcsh);
    assert_eq!(
        told(&played),
        "ok set · ok p · agent_start · user go · start t1 · host_tool_call t1 · ok again · host_tool_cancel · end! t1 · \
         agent_end [uata] · ok abort"
    );
}

#[test]
fn hooks_apply_to_host_tool_calls() {
    let played = calling(&["ask", "tell"])
        .extended(
            Extension::new("a", json!({ "hooks": ["tool_call", "tool_result"] }))
                .on("hook tool_call", [waits(5), says(json!({ "block": true, "reason": "No." }))])
                .on("hook tool_call", [done()])
                .on("hook tool_result", [says(json!({ "isError": true }))]),
        )
        .host(50, carried_out(0, "whole"))
        .play(Xcsh);
    assert_eq!(
        told(&played),
        "ok set · ok p · agent_start · user go · start t1 · >a hook tool_call · start t2 · >a hook tool_call · <a done · \
         host_tool_call t2 · <a done · end! t1 · >a hook tool_result · <a done · end! t2 · agent_end [uatta]"
    );
}
