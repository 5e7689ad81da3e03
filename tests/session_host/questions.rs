//! An open question about a tool call outlives its host, is answered once, and nothing that it is about runs twice.

use crate::{
    extended_support::script,
    host_support::{Client, Host},
    serve_support::eventually,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    sync::Arc,
};

/// The model makes these shell calls in one answer, then says so.
fn shell_turns(commands: &[&str]) -> Value {
    let call = |command: &&str| json!({ "tool": "bash", "arguments": { "command": command } });
    let calls: Vec<Value> = commands.iter().map(call).collect();
    // A host that is started again plays the turns from the start.
    json!([{ "onResult": "", "repeat": true, "say": [{ "text": "Done." }] }, { "repeat": true, "say": calls }])
}

const STATE: [&str; 4] = ["--state", "state", "--confirm-tools", "bash"];

/// Opens a session, and prompts until a question is open. Returns the session and the question's id.
fn ask(client: &mut Client) -> (String, String) {
    let opened = client.request(&json!({ "type": "open_session", "id": "open" }));
    let session = opened["data"]["sessionId"].as_str().unwrap().to_owned();
    client.send(&json!({ "type": "prompt", "id": 1, "message": "go", "sessionId": session }));
    (session, question(client))
}

fn question(client: &mut Client) -> String {
    let asked = client.until_type("extension_ui_request");
    asked.last().unwrap()["id"].as_str().unwrap().to_owned()
}

/// Attaches to the session of a host that has started again. Returns the snapshot.
fn attach(client: &mut Client, session: &str) -> Value {
    let attached =
        client.request(&json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": 1 }));
    assert_eq!(attached["success"], true, "{attached}");
    client.until_type("session_snapshot").pop().unwrap()
}

fn answer(client: &mut Client, session: &str, id: &str, value: &str) {
    let response = json!({ "type": "extension_ui_response", "id": id, "value": value, "sessionId": session });
    client.send(&response);
}

/// How the run goes on behind an answer: the results of its calls, and the last text.
fn end(client: &mut Client) -> (Vec<String>, Value) {
    let frames = client.until_type("agent_settled");
    let text = |frame: &Value| frame["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let results = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").map(text).collect();
    let last = frames.iter().rfind(|frame| frame["type"] == "message_end").unwrap();
    (results, last["message"]["content"][0]["text"].clone())
}

const DENIED: &str = "The user did not allow this call of bash.";

/// The ways in which a host ends.
const ENDS: [fn(Host); 2] = [Host::kill, |host| drop(host.stop())];

#[test]
fn question_outlives_its_host() {
    for end_host in ENDS {
        let host = Host::start(&shell_turns(&["echo run >> ran"]), &STATE);
        let dir = host.dir.clone();
        let (session, id) = ask(&mut host.client());
        end_host(host);
        let host = Host::start_in(dir.clone(), &STATE);
        let mut client = host.client();
        let listed = client.request(&json!({ "type": "list_sessions", "id": 9 }));
        assert_eq!(listed["data"]["sessions"][0]["status"], "running");
        let snapshot = attach(&mut client, &session);
        assert_eq!(
            (&snapshot["state"]["isStreaming"], &snapshot["dialogs"][0]["id"]),
            (&json!(true), &json!(id))
        );
        assert!(!dir.path().join("ran").exists());
        answer(&mut client, &session, &id, "Allow once");
        assert_eq!(end(&mut client), (vec!["(no output)".to_owned()], json!("Done.")));
        assert_eq!(fs::read_to_string(dir.path().join("ran")).unwrap(), "run\n");
        let messages = client.request(&json!({ "type": "get_messages", "id": 3, "sessionId": session }));
        let roles = messages["data"]["messages"].as_array().unwrap().iter().map(|it| it["role"].clone());
        assert_eq!(roles.collect::<Vec<_>>(), ["system", "user", "assistant", "toolResult", "assistant"]);
    }
}

#[test]
fn denied_question_stays_denied() {
    let host = Host::start(&shell_turns(&["echo run >> ran"]), &STATE);
    let dir = host.dir.clone();
    let (session, id) = ask(&mut host.client());
    host.kill();
    let host = Host::start_in(dir.clone(), &STATE);
    let mut client = host.client();
    attach(&mut client, &session);
    answer(&mut client, &session, &id, "Deny");
    assert_eq!(end(&mut client), (vec![DENIED.to_owned()], json!("Done.")));
    // A second answer is to no question.
    answer(&mut client, &session, &id, "Allow once");
    client.request(&json!({ "type": "get_state", "id": 4, "sessionId": session }));
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn permitted_call_is_not_asked_again() {
    let host = Host::start(&shell_turns(&["echo one >> ran", "echo two >> ran"]), &STATE);
    let dir = host.dir.clone();
    let mut client = host.client();
    let (session, first) = ask(&mut client);
    answer(&mut client, &session, &first, "Allow once");
    let second = question(&mut client);
    drop(client);
    host.kill();
    let host = Host::start_in(dir.clone(), &STATE);
    let mut client = host.client();
    let snapshot = attach(&mut client, &session);
    let dialogs: Vec<&Value> = snapshot["dialogs"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(dialogs, [&json!(second)]);
    answer(&mut client, &session, &second, "Deny");
    let (mut results, _) = end(&mut client);
    results.sort();
    assert_eq!(results, ["(no output)", DENIED]);
    assert_eq!(fs::read_to_string(dir.path().join("ran")).unwrap(), "one\n");
}

#[test]
fn killed_call_does_not_run_twice() {
    let command = "echo run >> ran; sleep 1000";
    let host = Host::start(&shell_turns(&[command]), &STATE);
    let dir = host.dir.clone();
    let mut client = host.client();
    let (session, id) = ask(&mut client);
    answer(&mut client, &session, &id, "Allow once");
    eventually("the call runs", || dir.path().join("ran").exists());
    drop(client);
    host.kill();
    let host = Host::start_in(dir.clone(), &STATE);
    let mut client = host.client();
    let snapshot = attach(&mut client, &session);
    assert_eq!((&snapshot["state"]["isStreaming"], &snapshot["dialogs"]), (&json!(false), &json!([])));
    assert_eq!(fs::read_to_string(dir.path().join("ran")).unwrap(), "run\n");
}

/// An extension that has its say about each call, once the file `go` is there.
const DECIDING: &str = r#"
say '{"type":"register","hooks":["tool_call"]}'
while await hook; do
  until [ -e go ] || [ ! -d "$PWD" ]; do sleep 0.01; done
  say '{"type":"done","id":"'"$id"'","result":{}}'
done"#;

#[test]
fn answer_before_its_question_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let turns = shell_turns(&["echo run >> ran"]);
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    let extension = script(dir.path(), "deciding", DECIDING);
    let arguments = [&STATE[..], &["-e", &extension]].concat();
    let dir = Arc::new(dir);
    let host = Host::start_in(dir.clone(), &arguments);
    host.put("go");
    let (session, id) = ask(&mut host.client());
    fs::remove_file(dir.path().join("go")).unwrap();
    host.kill();
    let host = Host::start_in(dir.clone(), &arguments);
    let mut client = host.client();
    assert_eq!(attach(&mut client, &session)["state"]["isStreaming"], true);
    answer(&mut client, &session, &id, "Allow once");
    answer(&mut client, &session, &id, "Allow once");
    host.put("go");
    assert_eq!(end(&mut client), (vec!["(no output)".to_owned()], json!("Done.")));
    assert_eq!(fs::read_to_string(dir.path().join("ran")).unwrap(), "run\n");
}

#[test]
fn pipe_keeps_its_question_over_restarts() {
    let host = Host::start(&shell_turns(&["echo run >> ran"]), &STATE);
    let mut pipe = host.attach("", &[]).spawn().unwrap();
    let mut input = pipe.stdin.take().unwrap();
    let mut output = BufReader::new(pipe.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    input.write_all(b"{\"type\":\"prompt\",\"id\":1,\"message\":\"go\"}\n").unwrap();
    let asked = output.find(|frame| frame["type"] == "extension_ui_request").unwrap();
    let dir = host.dir.clone();
    host.kill();
    let _host = Host::start_in(dir.clone(), &STATE);
    let response =
        json!({ "type": "extension_ui_response", "id": asked["id"], "value": "Allow once" }).to_string();
    input.write_all((response + "\n").as_bytes()).unwrap();
    let kinds: Vec<Value> = output
        .by_ref()
        .map(|frame| frame["type"].clone())
        .filter(|kind| kind != "message_update" && kind != "tool_execution_update")
        .take_while(|kind| kind != "agent_settled")
        .collect();
    assert_eq!(kinds[..2], ["tool_execution_end", "message_start"]);
    assert_eq!(kinds.iter().filter(|kind| *kind == "extension_ui_request").count(), 0);
    drop(input);
    assert!(pipe.wait().unwrap().success());
    assert_eq!(fs::read_to_string(dir.path().join("ran")).unwrap(), "run\n");
}

/// The results of the run whose client has left at its question, and what came of the call.
fn unattended(action: &str) -> (Vec<Value>, bool) {
    let arguments = [&STATE[..], &["--unattended", action, "--unattended-after", "0"]].concat();
    let host = Host::start(&shell_turns(&["echo run >> ran"]), &arguments);
    let (session, _) = ask(&mut host.client());
    let mut client = host.client();
    let status = || {
        let listed = host.client().request(&json!({ "type": "list_sessions", "id": 9 }));
        listed["data"]["sessions"][0]["status"].clone()
    };
    if action != "park" {
        eventually("the run is over", || status() == "idle");
    }
    let messages = client.request(&json!({ "type": "attach_session", "id": 2, "sessionId": session }));
    assert_eq!(messages["success"], true);
    let messages = client.request(&json!({ "type": "get_messages", "id": 3, "sessionId": session }));
    let ends = messages["data"]["messages"].as_array().unwrap()[3..].iter();
    let texts = ends.map(|message| message["content"][0]["text"].clone()).collect();
    (texts, host.dir.path().join("ran").exists())
}

#[test]
fn unattended_question_is_denied_if_set() {
    assert_eq!(unattended("deny"), (vec![json!(DENIED), json!("Done.")], false));
}

#[test]
fn unattended_run_is_stopped_if_set() {
    assert_eq!(unattended("stop"), (vec![json!("Operation aborted"), Value::Null], false));
}

#[test]
fn parked_question_waits_for_a_client() {
    assert_eq!(unattended("park"), (vec![], false));
}
