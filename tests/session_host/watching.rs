//! Clients that come back, and clients that watch the same session.

use crate::host_support::{Host, hello, refusal, waiting};
use serde_json::{Value, json};

/// The frames without their tags.
fn untagged(frames: &[Value]) -> Vec<Value> {
    let mut frames = frames.to_vec();
    for frame in &mut frames {
        let frame = frame.as_object_mut().unwrap();
        frame.remove("sessionId");
        frame.remove("sequence");
    }
    frames
}

#[test]
fn returning_client_gets_the_rest() {
    let host = Host::start(&waiting(), &[]);
    let mut first = host.client();
    let session = first.open();
    first.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    let seen = first.until_type("tool_execution_start");
    let sequence = seen[seen.len() - 1]["sequence"].clone();
    drop(first);
    host.put("go");
    let mut second = host.client();
    let attach = json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": sequence });
    second.send(&attach);
    let attached = second.next();
    let data = json!({ "sessionId": session, "dialect": "pi-1", "sequence": sequence });
    assert_eq!(attached["data"], data);
    let rest = second.until_type("agent_settled");
    let numbers: Vec<u64> = rest.iter().map(|frame| frame["sequence"].as_u64().unwrap()).collect();
    let from = sequence.as_u64().unwrap() + 1;
    assert_eq!(numbers, (from..from + numbers.len() as u64).collect::<Vec<_>>());
    let mut third = host.client();
    third.request(&json!({ "type": "attach_session", "id": 3, "sessionId": session, "after": 0 }));
    let all = untagged(&third.until_type("agent_settled"));
    // The response to the prompt is the first client's own.
    assert_eq!(all, untagged(&[&seen[1..], &rest[..]].concat()));
}

#[test]
fn forgotten_frames_come_as_snapshot() {
    let host = Host::start(&waiting(), &["--kept-output", "1"]);
    let mut first = host.client();
    let session = first.open();
    first.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    first.until_type("tool_execution_start");
    let mut second = host.client();
    second.request(&json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": 1 }));
    let mut snapshot = second.next();
    let mut state = second.request(&json!({ "type": "get_state", "id": 3, "sessionId": session }));
    let mut messages = second.request(&json!({ "type": "get_messages", "id": 4, "sessionId": session }));
    let sequence = snapshot["sequence"].take();
    assert!(sequence.as_u64().is_some_and(|number| number > 1));
    let whole = json!({
        "type": "session_snapshot", "sessionId": session, "sequence": null, "partial": null, "dialogs": [],
        "state": state["data"].take(), "messages": messages["data"]["messages"].take(),
    });
    assert_eq!(snapshot, whole);
    host.put("go");
    second.until_type("agent_settled");
}

#[test]
fn responses_reach_only_their_client() {
    let host = Host::start(&hello(), &[]);
    let (mut first, mut second) = (host.client(), host.client());
    let session = first.open();
    second.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    // Both use the same id.
    first.send(&json!({ "type": "set_session_name", "id": 7, "name": "Mine", "sessionId": session }));
    let renamed = first.until(|frame| frame["id"] == 7).pop().unwrap();
    assert_eq!(renamed["command"], "set_session_name");
    let state = second.request(&json!({ "type": "get_state", "id": 7, "sessionId": session }));
    assert_eq!((&state["command"], &state["data"]["sessionName"]), (&json!("get_state"), &json!("Mine")));
}

#[test]
fn run_goes_on_without_clients() {
    let host = Host::start(&waiting(), &[]);
    let mut first = host.client();
    let session = first.open();
    first.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    first.until_type("tool_execution_start");
    drop(first);
    host.put("go");
    let mut second = host.client();
    second.request(&json!({ "type": "attach_session", "id": 2, "sessionId": session, "after": 0 }));
    second.until_type("agent_settled");
    let text = second.request(&json!({ "type": "get_last_assistant_text", "id": 3, "sessionId": session }));
    assert_eq!(text["data"]["text"], "It has ended.");
}

#[test]
fn first_dialog_response_wins() {
    let host = Host::start(&waiting(), &["--confirm-tools", "bash"]);
    let (mut first, mut second) = (host.client(), host.client());
    let session = first.open();
    second.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    first.send(&json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session }));
    let asked =
        [&mut first, &mut second].map(|client| client.until_type("extension_ui_request").pop().unwrap());
    assert_eq!(asked[0], asked[1]);
    let mut late = host.client();
    late.request(&json!({ "type": "attach_session", "id": 3, "sessionId": session, "after": 1_000_000 }));
    let snapshot = late.next();
    assert_eq!(untagged(&[snapshot["dialogs"][0].clone()]), untagged(&asked[..1]));
    let id = &asked[0]["id"];
    let choice = asked[0]["options"].as_array().map_or(json!(true), |options| options[0].clone());
    let member = if choice.is_boolean() { "confirmed" } else { "value" };
    second.send(&json!({ "type": "extension_ui_response", "id": id, member: choice, "sessionId": session }));
    let resolved = json!({ "type": "dialog_resolved", "sessionId": session, "id": id });
    for client in [&mut first, &mut second, &mut late] {
        assert_eq!(client.until_type("dialog_resolved").pop().unwrap(), resolved);
    }
    host.put("go");
    first.until_type("agent_settled");
}

#[test]
fn slow_watcher_gets_snapshot_instead() {
    let long = "x".repeat(200_000);
    let turns = json!([{ "say": [{ "text": long }], "repeat": true }]);
    let host = Host::start(&turns, &["--max-unread", "100000"]);
    let (mut first, mut slow) = (host.client(), host.client());
    let session = first.open();
    slow.request(&json!({ "type": "attach_session", "id": 1, "sessionId": session }));
    for id in 2..12 {
        first.send(&json!({ "type": "prompt", "id": id, "message": "Hi", "sessionId": session }));
        first.until(|frame| frame["type"] == "agent_settled" || frame["type"] == "session_snapshot");
        while first.request(&json!({ "type": "get_state", "id": "s", "sessionId": session }))["data"]["isStreaming"]
            == true
        {}
    }
    let snapshot = slow.until_type("session_snapshot").pop().unwrap();
    assert!(snapshot["messages"].as_array().is_some_and(|messages| !messages.is_empty()));
}

#[test]
fn detached_client_gets_nothing_more() {
    let host = Host::start(&hello(), &[]);
    let mut client = host.client();
    let session = client.open();
    let detached = client.request(&json!({ "type": "detach_session", "id": 1, "sessionId": session }));
    assert_eq!(detached["success"], true);
    let again = client.request(&json!({ "type": "detach_session", "id": 2, "sessionId": session }));
    assert_eq!(again, refusal(&json!(2), "detach_session", "unknown_session"));
}
