//! Requests of an extension to the host, and tools of the host.

use super::{command, say};
use crate::trace_support::Host;
use serde_json::{Value, json};

pub fn dialogs_answered(host: &mut Host) {
    host.call(command("get_state"));
    host.call(command("get_commands"));
    for (kind, answer) in [
        ("select", json!({"value": "beta"})),
        ("confirm", json!({"confirmed": true})),
        ("input", json!({"value": "typed"})),
        ("editor", json!({"value": "edited\ntext"})),
    ] {
        dialog(host, kind, &answer);
    }
    host.call(command("get_state"));
    host.finish();
}

pub fn dialogs_cancelled(host: &mut Host) {
    host.call(command("get_state"));
    for kind in ["select", "confirm", "input", "editor"] {
        dialog(host, kind, &json!({"cancelled": true}));
    }
    host.finish();
}

pub fn dialogs_timeout(host: &mut Host) {
    host.call(command("get_state"));
    for kind in ["select", "confirm", "input"] {
        let mark = host.mark();
        let request = host.begin(say(&format!("/dlg {kind} 100")));
        let asked = asked(host, mark, kind);
        host.await_since(mark, is_ui("notify"));
        host.response(&request);
        host.command_ended(mark);
        answer(host, &asked, &json!({"value": "too late"}));
        host.barrier();
    }
    host.finish();
}

pub fn fire_and_forget(host: &mut Host) {
    host.call(command("get_state"));
    host.call(say("/fire"));
    host.await_since(0, is_ui("set_editor_text"));
    let mark = host.mark();
    host.call(say("/boom"));
    host.event(mark, "extension_error");
    host.prompt("/nosuchcommand");
    host.call(command("get_state"));
    host.prompt("/usermsg");
    host.call(json!({"type": "steer", "message": "/fire"}));
    host.call(json!({"type": "follow_up", "message": "/fire"}));
    host.finish();
}

pub fn tool(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Ask me"));
    let question = asked(host, mark, "confirm");
    answer(host, &question, &json!({"confirmed": true}));
    host.over(mark);
    host.prompt("Do what is blocked");
    let mark = host.mark();
    host.call(say("Ask me"));
    asked(host, mark, "confirm");
    host.call(command("abort"));
    host.finish();
}

pub fn host_tools(host: &mut Host) {
    host.call(command("get_state"));
    let text = json!({"text": {"type": "string"}});
    let echo = json!({
        "name": "host_echo",
        "label": "Echo",
        "description": "Says it again",
        "parameters": {"type": "object", "properties": text, "required": ["text"]},
    });
    let set = |tools: Value| json!({"type": "set_host_tools", "tools": tools});
    if host.call(set(json!([echo])))["success"] != true {
        return host.finish();
    }
    let content = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let update =
        |call: &Value| json!({"type": "host_tool_update", "id": call, "partialResult": content("half")});
    let result =
        |call: &Value, result: Value| json!({"type": "host_tool_result", "id": call, "result": result});

    let (mark, call) = host_call(host);
    host.send(update(&call));
    host.event(mark, "tool_execution_update");
    host.send(result(&call, content("all")));
    host.over(mark);

    let (mark, call) = host_call(host);
    let mut failed = result(&call, content("It broke"));
    failed["isError"] = json!(true);
    host.send(failed);
    host.over(mark);

    let (mark, call) = host_call(host);
    host.send(result(&json!("unknown"), json!({"content": []})));
    host.send(result(&call, json!("not an object")));
    host.await_since(mark, |frame| frame["type"] == "response" && frame["success"] == false);
    host.send(result(&call, json!({"content": []})));
    host.over(mark);

    let (_, call) = host_call(host);
    host.call(command("abort"));
    host.send(result(&call, content("Late")));

    let any = json!({"type": "object"});
    for wrong in [
        json!([{"name": "", "description": "None", "parameters": {}}]),
        json!([{"name": "a", "description": "", "parameters": {}}]),
        json!([{"name": "a", "description": "No parameters"}]),
        json!("no list"),
        json!([{"name": "bash", "description": "Another", "parameters": any}]),
        json!([]),
    ] {
        host.call(set(wrong));
    }
    host.finish();
}

/// Opens a dialog and answers it; a notice shows the outcome.
fn dialog(host: &mut Host, kind: &str, with: &Value) {
    let mark = host.mark();
    let request = host.begin(say(&format!("/dlg {kind}")));
    let asked = asked(host, mark, kind);
    answer(host, &asked, with);
    host.await_since(mark, is_ui("notify"));
    host.response(&request);
    host.command_ended(mark);
}

fn is_ui(method: &str) -> impl Fn(&Value) -> bool {
    move |frame| frame["type"] == "extension_ui_request" && frame["method"] == method
}

/// The id of the dialog that opens.
fn asked(host: &mut Host, mark: usize, method: &str) -> Value {
    host.await_since(mark, is_ui(method))["id"].clone()
}

fn answer(host: &mut Host, dialog: &Value, with: &Value) {
    let mut answer = with.clone();
    answer["type"] = json!("extension_ui_response");
    answer["id"] = dialog.clone();
    host.send(answer);
}

/// Starts a run with a host tool call; returns the beginning of the run and the id of the call.
fn host_call(host: &mut Host) -> (usize, Value) {
    let mark = host.mark();
    host.call(say("Call the host"));
    let call = host.await_since(mark, |frame| frame["type"] == "host_tool_call");
    host.event(mark, "tool_execution_start");
    (mark, call["id"].clone())
}
