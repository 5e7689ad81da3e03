//! What is stored of closed sessions does not grow for ever.

use crate::{
    host_support::hello,
    nodes::{Nodes, command_of, open, prompt, texts},
    serve_support::eventually,
};
use serde_json::{Value, json};

/// Closed sessions that stay.
const KEPT: u64 = 10;

#[test]
fn closed_sessions_are_bounded() {
    let Some(mut nodes) = Nodes::start(0, &hello()) else { return };
    nodes.add(&["--nats-lease", "300", "--nats-keep-closed", &KEPT.to_string()]);
    let mut client = nodes.client(0);
    let first = open(&mut client);
    client.send(&prompt(&first, "p", "Hi"));
    client.until_type("agent_settled");
    client.request(&command_of(&first, "c", "close_session"));
    // As many at once as a client may open.
    for _ in 0..100 {
        for number in 0..20 {
            client.send(&json!({ "type": "open_session", "id": number }));
        }
        let opened: Vec<Value> = (0..20).map(|_| next_response(&mut client, "open_session")).collect();
        for (number, opened) in opened.iter().enumerate() {
            let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}"));
            client.send(&command_of(session, &format!("c{number}"), "close_session"));
        }
        (0..20).for_each(|_| drop(next_response(&mut client, "close_session")));
    }
    let last = open(&mut client);
    client.send(&prompt(&last, "p", "Hi"));
    client.until_type("agent_settled");
    client.request(&command_of(&last, "c", "close_session"));
    eventually("the others are removed", || nodes.stored()[3] == KEPT);
    let gauge = format!("pi_rpc_session_records{{state=\"closed\"}} {KEPT}");
    eventually("the metric says so", || nodes.metric(0, "state=\"closed\"") == gauge);
    let stored = nodes.stored();
    assert!(stored[..3].iter().all(|count| *count <= 6 * KEPT), "{stored:?}");
    assert!(nodes.record(&first).is_none());
    let mut client = nodes.client(0);
    let opened = client.request(&json!({ "type": "open_session", "id": "o", "sessionPath": last }));
    assert_eq!(opened["data"]["sessionId"], json!(last), "{opened}");
    let messages = client.request(&command_of(&last, "m", "get_messages"));
    assert_eq!(texts(&messages), ["Hi", "Hello there"]);
}

fn next_response(client: &mut crate::host_support::Client, command: &str) -> Value {
    client.until(|frame| frame["type"] == "response" && frame["command"] == command).pop().unwrap()
}
