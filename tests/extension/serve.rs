//! Extensions as a host sees them: what they add, and what becomes of it when they are killed.

use crate::{
    extended_support::{answer, assert_goes_on, calling, error, extended, kill, notice, outcome},
    serve_support::{BOTH, Server, of_type},
};
use pi_rpc::protocol::Dialect::{Pi, Xcsh};
use serde_json::{Value, json};
use std::time::Duration;

/// Less than any deadline that is not meant.
const SOON: Duration = Duration::from_secs(8);

/// A tool `slow`, a command `/ask`, a say in tool calls if the script gives one.
const REGISTER: &str = r#"say '{"type":"register","commands":[{"name":"ask"}],"tools":[{"name":"slow",
"description":"Takes its time.","parameters":{"type":"object"}}]}' | tr -d '\n'; echo"#;

/// One that guards tool calls.
const GUARD: &str = r#"say '{"type":"register","hooks":["tool_call"]}'"#;

const KILLED: &str = "The extension has ended: it was killed by signal 9";

/// A script behind its registration.
fn behind(registration: &str, body: &str) -> String {
    format!("{registration}\n{body}")
}

/// Ends the input of an idle server, which ends at once and in good order.
#[track_caller]
fn finishes(mut server: Server) {
    server.close_stdin();
    let ended = server.ends_within(SOON);
    assert_eq!((ended.status.code(), ended.frames, ended.stderr.as_str()), (Some(0), vec![], ""));
}

#[test]
fn tool_reports_progress_and_result() {
    let body = r#"
        await tool_call
        say '{"type":"tool_update","id":"'$id'","partialResult":{"content":[{"type":"text","text":"half"}]}}'
        say '{"type":"tool_result","id":"'$id'","result":{"content":[{"type":"text","text":"whole"}],"details":{"n":1}}}'
        await nothing"#;
    for dialect in BOTH {
        let mut server = extended(dialect, &calling("slow", json!({})), &[("tool", &behind(REGISTER, body))]);
        let frames = server.run("go");
        let updates = of_type(&frames, "tool_execution_update");
        assert_eq!(updates.len(), 1);
        assert_eq!(updates[0]["partialResult"], json!({"content": [{"type": "text", "text": "half"}]}));
        let end = of_type(&frames, "tool_execution_end")[0];
        assert_eq!(
            end["result"],
            json!({"content": [{"type": "text", "text": "whole"}], "details": {"n": 1}})
        );
        assert_goes_on(&mut server);
        finishes(server);
    }
}

#[test]
fn command_dialog_returns_hosts_response() {
    let body = r#"
        await command
        say '{"type":"ui","origin":"'$id'","request":{"type":"extension_ui_request","id":"mine","method":"input","title":"Name?"}}'
        await ui_answer
        notify "$(printf %s "$line" | tr -d '\"')"
        await nothing"#;
    let mut server = extended(Pi, &calling("slow", json!({})), &[("tool", &behind(REGISTER, body))]);
    server.send(json!({"id": "c", "type": "prompt", "message": "/ask"}));
    let frames = server.until(|frame| frame["method"] == "input");
    let wanted = json!([
        {"id": "c", "type": "response", "command": "prompt", "success": true},
        {"type": "extension_ui_request", "id": frames[1]["id"], "method": "input", "title": "Name?"},
    ]);
    assert_eq!(Value::from(frames.clone()), wanted);
    server.send(json!({"type": "extension_ui_response", "id": frames[1]["id"], "value": "Ada"}));
    let told = server.next();
    let wanted = "{type:ui_answer,response:{type:extension_ui_response,id:mine,value:Ada}}";
    assert_eq!(notice(&told), Some(wanted));
    server.close_stdin();
}

#[test]
fn extension_killed_when_idle_is_restarted() {
    let body = "echo $$ > pid; notify ready\nawait command\nnotify asked\nawait nothing";
    for dialect in BOTH {
        let mut server = extended(dialect, &calling("slow", json!({})), &[("tool", &behind(REGISTER, body))]);
        server.until(|frame| notice(frame) == Some("ready"));
        kill(&server, "pid");
        let frames = server.until(|frame| notice(frame) == Some("ready"));
        assert_eq!(frames[0], error(&server, "tool", "end", KILLED));
        assert_eq!(frames.len(), 2);
        assert_goes_on(&mut server);
        server.send(json!({"type": "prompt", "message": "/ask"}));
        server.until(|frame| notice(frame) == Some("asked"));
    }
}

#[test]
fn extension_killed_during_call_fails_it() {
    let body = "await tool_call\nkill -9 $$";
    for dialect in BOTH {
        let mut server = extended(dialect, &calling("slow", json!({})), &[("tool", &behind(REGISTER, body))]);
        let frames = server.run("go");
        assert_eq!(outcome(&frames), (KILLED, true));
        assert_eq!(of_type(&frames, "extension_error"), [&error(&server, "tool", "end", KILLED)]);
        assert_eq!(answer(&frames), "So it was.");
        assert_goes_on(&mut server);
        finishes(server);
    }
}

#[test]
fn hung_hook_blocks_only_its_call() {
    for dialect in BOTH {
        let mut server = hung_hook(dialect);
        assert_eq!(server.data(json!({"type": "get_state"}))["isStreaming"], true);
        server.send(json!({"type": "abort"}));
        let frames = server.until_type("agent_end");
        assert!(outcome(&frames).1);
        assert_eq!(of_type(&frames, "extension_error"), Vec::<&Value>::new());
        assert_goes_on(&mut server);
    }
}

#[test]
fn hung_hook_does_not_block_signal() {
    for dialect in BOTH {
        let server = hung_hook(dialect);
        server.signal(rustix::process::Signal::TERM);
        let ended = server.ends_within(SOON);
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(143), ""));
        assert_eq!(ended.frames.last().unwrap()["type"], "agent_end");
    }
}

#[test]
fn hung_hook_does_not_block_xcsh_exit() {
    let mut server = hung_hook(Xcsh);
    server.close_stdin();
    assert_eq!(server.ends_within(SOON).status.code(), Some(0));
}

/// In a run whose call waits for the say of an extension that has none.
fn hung_hook(dialect: pi_rpc::protocol::Dialect) -> Server {
    let turns = calling("bash", json!({"command": "touch ran"}));
    let body = behind(GUARD, "await hook\n> asked\nawait nothing");
    let mut server = extended(dialect, &turns, &[("gate", &body)]);
    server.send(json!({"type": "prompt", "message": "go"}));
    server.until_type("tool_execution_start");
    server.awaits("asked");
    server
}
