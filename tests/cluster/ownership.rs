//! Sessions and limits are those of a principal on every node.

use crate::{
    host_support::hello,
    servers::Servers,
    tcp_support::{TcpHost, WsClient},
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Two nodes whose tokens have these limits; `None`: there is no NATS server.
fn start(limits: &[Value]) -> Option<(Servers, TcpHost, TcpHost)> {
    let servers = Servers::start(1)?;
    let node = |name: &str| {
        let arguments = ["--nats", &servers.urls(), "--node", name, "--nats-lease", "300"];
        TcpHost::start(&hello(), |_| limits.to_vec(), &arguments)
    };
    let (first, second) = (node("a"), node("b"));
    Some((servers, first, second))
}

/// Opens a session of the cluster. Returns its handle.
fn open(client: &mut WsClient) -> String {
    let opened = client.request(&json!({ "type": "open_session", "id": "open" }));
    opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
}

/// What a client is told of a session that it may not touch.
fn answers(node: &TcpHost, session: &str) -> Vec<String> {
    let mut client = node.client("other");
    let mut answers: Vec<String> = [
        json!({ "type": "open_session", "id": 1, "sessionPath": session }),
        json!({ "type": "attach_session", "id": 1, "sessionId": session }),
        json!({ "type": "get_messages", "id": 1, "sessionId": session }),
        json!({ "type": "close_session", "id": 1, "sessionId": session }),
        json!({ "type": "list_sessions", "id": 1 }),
    ]
    .iter()
    .map(|frame| client.request(frame).to_string())
    .collect();
    for path in [format!("/sessions/{session}"), format!("/sessions/new?session={session}")] {
        answers.push(format!("{:?}", node.connect(&path, "other").err().expect(&path)));
    }
    answers
}

#[test]
fn sessions_of_others_stay_closed() {
    let Some((_servers, first, second)) = start(&[json!({}), json!({})]) else { return };
    let mut owner = first.client("secret");
    let (running, closed) = (open(&mut owner), open(&mut owner));
    owner.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": closed }));
    owner.find(|frame| frame["type"] == "agent_settled");
    owner.request(&json!({ "type": "close_session", "id": 2, "sessionId": closed }));
    for node in [&first, &second] {
        let expected = answers(node, "no-such-session");
        for session in [&running, &closed] {
            assert_eq!(answers(node, session), expected);
        }
    }
    let mut owner = second.client("secret");
    owner.request(&json!({ "type": "open_session", "id": 1, "sessionPath": closed }));
    let messages = owner.request(&json!({ "type": "get_messages", "id": 2, "sessionId": closed }));
    assert!(messages.to_string().contains("Hello there"), "{messages}");
    assert_eq!(answers(&first, &closed), answers(&first, "no-such-session"));
}

/// What comes of a shell command in a session: `served`, or the code of the error.
fn bash(node: &TcpHost, token: &str, session: &str) -> String {
    let mut client = node.client(token);
    let response =
        client.request(&json!({ "type": "bash", "id": 1, "command": "echo", "sessionId": session }));
    response["error"].as_str().unwrap_or("served").split(':').next().unwrap().to_owned()
}

#[test]
fn limits_of_clients_hold_on_every_node() {
    let viewers = [json!({}), json!({ "sees_all": true, "tools": [] }), json!({ "sees_all": true })];
    let Some((_servers, first, second)) = start(&viewers) else { return };
    let session = open(&mut first.client("secret"));
    let tried = |node: &TcpHost| ["secret", "other", "third"].map(|token| bash(node, token, &session));
    let expected = ["served", "forbidden_tool", "served"];
    assert_eq!(tried(&first), expected);
    assert_eq!(tried(&second), expected);
    let mut viewer = second.client("other");
    let prompt = json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session });
    assert!(viewer.refused(&prompt).starts_with("forbidden_tool: prompt: "));
    // Another node takes the session over.
    first.signal(Signal::TERM);
    assert_eq!(tried(&second), expected);
}

#[test]
fn sessions_are_counted_over_all_nodes() {
    let limits = [json!({ "sessions": 2 })];
    let Some((_servers, first, second)) = start(&limits) else { return };
    let (mut one, mut other) = (first.client("secret"), second.client("secret"));
    let opened = [open(&mut one), open(&mut other)];
    for client in [&mut one, &mut other] {
        let refused = client.refused(&json!({ "type": "open_session", "id": 1 }));
        assert!(refused.starts_with("too_many_sessions"), "{refused}");
    }
    one.request(&json!({ "type": "close_session", "id": 2, "sessionId": opened[0] }));
    open(&mut other);
}
