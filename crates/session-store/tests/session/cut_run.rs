//! A run that its process did not live to end is closed as an abort closes one.

use crate::session_support::*;
use pi_rpc_protocol::Dialect;
use pi_rpc_session::{NewEntry, Stamp, Tree, new_header};
use serde_json::{Value, json};

/// What is appended to a session with these messages.
fn appended(messages: Vec<NewEntry>) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(1);
    let stamp = Stamp { dialect: Dialect::Pi1, wall_ms: MORNING };
    let mut tree = Tree::new(new_header("id".to_owned(), "/".to_owned(), None, MORNING));
    for entry in messages {
        tree.append(entry, stamp, &mut random);
    }
    let lines = tree.close_cut_run(stamp, &mut random);
    let messages = lines.iter().map(|line| serde_json::from_slice::<Value>(line).unwrap()["message"].take());
    messages.collect()
}

fn calling(ids: &[&str]) -> NewEntry {
    let mut answer = answered("I look.");
    let call = |id: &&str| json!({ "type": "toolCall", "id": id, "name": "read", "arguments": {} });
    answer["content"] = ids.iter().map(call).collect();
    answer["stopReason"] = "toolUse".into();
    NewEntry::Message(message(answer))
}

fn result(id: &str) -> NewEntry {
    NewEntry::Message(message(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "read", "content": [], "isError": false,
        "timestamp": MORNING,
    })))
}

fn roles(messages: &[Value]) -> Vec<Value> {
    messages
        .iter()
        .map(|message| json!([message["role"], message["toolCallId"], message["stopReason"]]))
        .collect()
}

#[test]
fn prompt_without_answer_gets_aborted_one() {
    let closed = appended(vec![NewEntry::Message(asked("Hi"))]);
    assert_eq!(roles(&closed), [json!(["assistant", null, "aborted"])]);
}

#[test]
fn calls_without_results_get_aborted_ones() {
    let closed = appended(vec![NewEntry::Message(asked("Hi")), calling(&["a", "b"]), result("a")]);
    assert_eq!(roles(&closed), [json!(["toolResult", "b", null]), json!(["assistant", null, "aborted"])]);
    assert_eq!(closed[0]["content"], json!([{ "type": "text", "text": "Operation aborted" }]));
}

#[test]
fn ended_run_stays_as_it_is() {
    let closed =
        appended(vec![NewEntry::Message(asked("Hi")), NewEntry::Message(message(answered("Hello.")))]);
    assert_eq!(closed, Vec::<Value>::new());
}
