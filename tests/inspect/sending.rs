//! Lines are sent to a server that the inspector has started, unless the schema refuses them.

use crate::inspect_support::{BINARY, Page, without_times};
use serde_json::{Value, json};

fn page() -> Page {
    let words = [BINARY, "serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"];
    Page::of_command(&words, Some("pi-1"))
}

fn rows(page: &Page) -> Vec<Value> {
    let rows = page.get("api/records?count=1000&dir=in,out&hide=message_update");
    rows["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!([row["dir"], row["kind"], row["id"], row["cause"]]))
        .collect()
}

#[test]
fn command_and_response_are_recorded() {
    let page = page();
    page.send(&json!({ "id": "a", "type": "set_session_name", "name": "Greeting" }));
    page.until_records(3);
    let expected = json!([
        ["in", "command(set_session_name)", "a", null],
        ["out", "session_info_changed", null, null],
        ["out", "response(set_session_name ok)", "a", 2]
    ]);
    page.until_records(4);
    assert_eq!(json!(rows(&page)), expected);
    let requests = without_times(page.get("api/requests"));
    let request = json!({ "record": 2, "response": 4, "type": "set_session_name", "id": "a", "t": 0, "ms": 0, "success": true });
    assert_eq!(requests, json!({ "requests": [request], "total": 1 }));
}

#[test]
fn invalid_line_is_refused_at_its_member() {
    let page = page();
    let send = |line: &str, force: bool| page.post("api/send", &json!({ "line": line, "force": force }));
    let refused = send(r#"{"type":"prompt","message":5}"#, false);
    assert_eq!(refused.status, 422);
    let problem = json!({ "pointer": "/message", "text": "5 is not of type \"string\"" });
    let expected = json!({ "error": "the line is no frame of the dialect", "problems": [problem] });
    assert_eq!(refused.json(), expected);
    assert_eq!(send("{", false).status, 422);
    assert_eq!(send("{}\n{}", true).status, 400);
    assert_eq!(send(r#"{"id":"1","type":"nothing"}"#, true).status, 200);
    page.until_records(3);
    let kinds = json!([["in", "command(nothing)", "1", null], ["out", "response(nothing error)", "1", 2]]);
    assert_eq!(json!(rows(&page)), kinds);
}

#[test]
fn disposition_comes_with_the_problems() {
    let page = page();
    let line = json!({ "type": "prompt", "message": "Hello" }).to_string();
    let checked = page.post("api/validate", &json!({ "line": line })).json();
    assert_eq!(checked["problems"], json!([]));
    assert_eq!(checked["command"]["disposition"], "run");
    let steered = json!({ "type": "prompt", "message": "Hello", "streamingBehavior": "steer" }).to_string();
    let steered = page.post("api/validate", &json!({ "line": steered })).json();
    assert_eq!(steered["command"]["allowed"], true);
    let unknown = page.post("api/validate", &json!({ "line": r#"{"type":"nothing"}"# })).json();
    let text = "`type`: expected a command of the dialect, got `nothing`";
    assert_eq!(unknown, json!({ "problems": [{ "pointer": "", "text": text }] }));
}

#[test]
fn script_sends_each_line_after_the_response() {
    let page = page();
    let lines = [json!({ "id": "1", "type": "get_state" }), json!({ "id": "2", "type": "get_commands" })];
    let body = json!({ "lines": lines.each_ref().map(Value::to_string) });
    assert_eq!(page.request("PUT", "api/scripts/two%20lines", &body.to_string()).status, 200);
    assert_eq!(page.post("api/scripts/two%20lines/run", &json!({})).status, 200);
    page.until_records(5);
    let expected = json!([
        ["in", "command(get_state)", "1", null],
        ["out", "response(get_state ok)", "1", 2],
        ["in", "command(get_commands)", "2", null],
        ["out", "response(get_commands ok)", "2", 4]
    ]);
    assert_eq!(json!(rows(&page)), expected);
    assert_eq!(page.request("DELETE", "api/scripts/two%20lines", "").json()["scripts"], json!([]));
    assert_eq!(page.post("api/scripts/two%20lines/run", &json!({})).status, 409);
    assert!(page.folder().join("scripts").exists());
}

#[test]
fn server_ends_and_starts_again() {
    let page = page();
    page.until_records(1);
    assert_eq!(page.post("api/process", &json!({ "action": "close_input" })).status, 200);
    let ended = page.until(|session| session["source"]["exit"].is_number());
    assert_eq!(
        json!([ended["live"], ended["sends"], ended["sendsNot"]]),
        json!([false, false, "the server has exited with status 0"])
    );
    let refused = page.post("api/send", &json!({ "line": r#"{"type":"get_state"}"# }));
    assert_eq!(
        (refused.status, refused.json()),
        (409, json!({ "error": "the server has exited with status 0" }))
    );
    assert_eq!(page.post("api/process", &json!({ "action": "restart" })).status, 200);
    page.until(|session| session["sends"] == true);
    page.send(&json!({ "id": "b", "type": "get_state" }));
    page.until(|session| session["totals"]["in"] == 1 && session["totals"]["out"] == 1);
    let kinds = page.get("api/records?dir=meta");
    let kinds: Vec<&Value> = kinds["rows"].as_array().unwrap().iter().map(|row| &row["kind"]).collect();
    assert_eq!(json!(kinds), json!(["spawn", "stdin closed", "exit", "spawn"]));
}

#[test]
fn recording_takes_no_commands() {
    let page = Page::of_file(&crate::inspect_support::recording("pi-1/plain.jsonl"));
    let refused = page.post("api/send", &json!({ "line": r#"{"type":"get_state"}"# }));
    assert_eq!((refused.status, refused.json()), (409, json!({ "error": "A recording takes no commands." })));
    assert_eq!(page.post("api/process", &json!({ "action": "kill" })).status, 409);
    assert_eq!(page.request("GET", "api/sessions", "").status, 404);
}

#[test]
fn members_decide_what_becomes_of_prompts() {
    let script = json!({ "turns": [{ "say": [{ "text": "On and on" }], "hang": true }] });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    std::fs::write(&file, script.to_string()).unwrap();
    let model = format!("scripted/{}", file.display());
    let words = [BINARY, "serve", "--dialect", "pi-1", "--no-session", "--model", &model];
    let page = Page::of_command(&words, Some("pi-1"));
    page.send(&json!({ "id": "1", "type": "prompt", "message": "Go" }));
    page.until(|session| session["state"]["flow"] == "streaming.message");
    let check = |line: Value| {
        let checked = page.post("api/validate", &json!({ "line": line.to_string() })).json();
        json!([checked["command"]["disposition"], checked["command"]["allowed"], checked["command"]["error"]])
    };
    let refused = check(json!({ "type": "prompt", "message": "Hello" }));
    let error = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";
    assert_eq!(refused, json!(["reject", false, error]));
    let steered = check(json!({ "type": "prompt", "message": "Hello", "streamingBehavior": "steer" }));
    assert_eq!(steered, json!(["queue", true, null]));
}
