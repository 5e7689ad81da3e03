//! A question about a tool call outlives its owner: what it is about is executed once, and no client is left without a word.

use crate::{
    host_support::Client,
    nodes::{Nodes, open, prompt},
    serve_support::eventually,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The model makes this shell call, then says so. A host that takes over plays the turns from the start.
fn shell_turns(command: &str) -> Value {
    json!([
        { "onResult": "", "repeat": true, "say": [{ "text": "Done." }] },
        { "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": command } }] },
    ])
}

/// Two nodes that ask before `bash`, and a client of the second one with a question of a session of the first one.
fn asked(command: &str) -> Option<(Nodes, Client, String, Value)> {
    let mut nodes = Nodes::start(0, &shell_turns(command))?;
    for _ in 0..2 {
        nodes.add(&["--nats-lease", "5", "--confirm-tools", "bash"]);
    }
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    client.send(&prompt(&session, "p", "Go"));
    let question = client.until_type("extension_ui_request").pop().unwrap();
    Some((nodes, client, session, question["id"].clone()))
}

fn allow(client: &mut Client, session: &str, question: &Value) {
    let answer = json!({ "type": "extension_ui_response", "id": question, "value": "Allow once", "sessionId": session });
    client.send(&answer);
}

#[test]
fn question_of_lost_owner_is_answered_once() {
    for signal in [Signal::KILL, Signal::TERM] {
        let Some((mut nodes, mut client, session, question)) = asked("echo run >> ran") else { return };
        // The record is written beside the question: a node that is killed before has left nothing to go on with.
        eventually("the record has the question", || nodes.record(&session).unwrap().waiting.is_some());
        // Another client asks for the state, which is input, too.
        let attach = json!({ "type": "attach_session", "id": "a", "sessionId": session });
        assert_eq!(nodes.client(1).request(&attach)["success"], true);
        eventually("the record still has it", || nodes.record(&session).unwrap().waiting.is_some());
        nodes.end(0, signal);
        let snapshot = client.until_type("session_snapshot").pop().unwrap();
        assert_eq!(snapshot["state"]["isStreaming"], true, "{snapshot}");
        assert_eq!(snapshot["dialogs"][0]["id"], question);
        assert_eq!(nodes.text("ran"), "");
        allow(&mut client, &session, &question);
        // A second answer is to no question.
        allow(&mut client, &session, &question);
        let frames = client.until_type("agent_settled");
        let last = frames.iter().rfind(|frame| frame["type"] == "message_end").unwrap();
        assert_eq!(last["message"]["content"][0]["text"], "Done.", "{last}");
        assert_eq!(nodes.text("ran"), "run\n");
        eventually("the record has no question", || nodes.record(&session).unwrap().waiting.is_none());
    }
}

#[test]
fn permitted_call_of_lost_owner_ends() {
    let command = "echo run >> ran; until [ -e go ] || [ ! -d \"$PWD\" ]; do sleep 0.01; done";
    let Some((mut nodes, mut client, session, question)) = asked(command) else { return };
    allow(&mut client, &session, &question);
    eventually("the call runs", || nodes.text("ran") == "run\n");
    assert_eq!(nodes.record(&session).unwrap().waiting, None, "forgotten before it begins");
    nodes.end(0, Signal::KILL);
    let frames = client.until_type("session_snapshot");
    let snapshot = frames.last().unwrap();
    assert_eq!((&snapshot["state"]["isStreaming"], &snapshot["dialogs"]), (&json!(false), &json!([])));
    let told =
        frames.iter().filter(|frame| frame["type"] == "extension_error" && frame["event"] == "session");
    assert_eq!(told.count(), 1, "{frames:?}");
    assert_eq!(nodes.text("ran"), "run\n");
}
