//! Details of thinking over Chat Completions go back whole and in order.

use crate::model_support::*;
use pi_rpc_model::openai_completions::{reader, request};
use serde_json::{Value, json};

fn chunk(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn details(list: Value) -> Value {
    chunk(json!({"reasoning_details": list}))
}

fn called(reason: &str) -> [Value; 2] {
    let call = json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}});
    [
        chunk(json!({"tool_calls": [call]})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
    ]
}

fn said(chunks: &[Value]) -> Vec<String> {
    let events = read(reader(), &[chunks, &called("tool_calls")].concat());
    check_contract(&events).unwrap();
    shown(&events)
}

#[test]
fn pieces_of_details_are_joined_in_order() {
    let encrypted = json!({"type": "reasoning.encrypted", "data": "E", "id": "a", "index": 2});
    let chunks = [
        chunk(
            json!({"reasoning": "th", "reasoning_details": [{"type": "reasoning.text", "text": "th", "index": 0}]}),
        ),
        details(json!([{"type": "reasoning.text", "text": "ink", "index": 0, "format": "f"}])),
        details(json!([{"type": "reasoning.text", "text": null, "signature": "S", "index": 0}])),
        details(json!([{"type": "reasoning.text", "text": "more", "index": 1}])),
        details(
            json!([{"type": "reasoning.summary", "summary": "su"}, {"type": "reasoning.summary", "summary": "m"}]),
        ),
        details(json!([encrypted, encrypted, {"type": "odd"}, "odd"])),
    ];
    let expected = json!([
        {"type": "reasoning.text", "text": "think", "index": 0, "format": "f", "signature": "S"},
        {"type": "reasoning.text", "text": "more", "index": 1},
        {"type": "reasoning.summary", "summary": "sum"},
        encrypted, encrypted,
    ]);
    let said = said(&chunks);
    let signature = said[0].rsplit_once('~');
    assert_eq!(said[0].split('[').next(), Some("0 thinking ~reasoning |th| end ~reasoning"), "{said:?}");
    let last = said.iter().find_map(|line| line.strip_prefix("0 ~")).or(signature.map(|(_, it)| it));
    assert_eq!(serde_json::from_str::<Value>(last.unwrap()).unwrap(), expected);
}

#[test]
fn details_without_text_have_a_block() {
    let hidden = json!([{"type": "reasoning.encrypted", "data": "E"}]);
    let text = || chunk(json!({"content": "Hi"}));
    let first = [details(hidden.clone()), text()];
    let list = hidden.to_string();
    let expected = [
        "0 thinking end",
        "1 text |Hi| end",
        "2 call a ls |{}| end",
        &format!("0 ~{list}"),
        "finish ToolUse",
    ];
    assert_eq!(said(&first), expected);
    let amid = [text(), details(hidden), text()];
    let expected = [
        "0 text |Hi|Hi| end",
        "1 thinking end",
        "2 call a ls |{}| end",
        &format!("1 ~{list}"),
        "finish ToolUse",
    ];
    assert_eq!(said(&amid), expected);
}

#[test]
fn thinking_precedes_text_of_same_chunk() {
    let both = |thought: &str, text: &str| chunk(json!({"content": text, "reasoning_content": thought}));
    let chunks = [both("a", "b"), both("c", "d"), chunk(json!({"content": "e"}))];
    let expected = [
        "0 thinking ~reasoning_content |a|c| end ~reasoning_content",
        "1 text |b|d|e| end",
        "2 call a ls |{}| end",
        "finish ToolUse",
    ];
    assert_eq!(said(&chunks), expected);
}

#[test]
fn details_replace_thinking_in_requests() {
    let list = json!([
        {"type": "reasoning.text", "text": "Hm", "signature": "S", "index": 0},
        {"type": "reasoning.encrypted", "data": "E", "id": "a", "index": 1},
    ]);
    let answer = |model: &str| {
        let by = format!("openai/openai-completions/{model}");
        assistant(&by, json!([thinking("Hm", &list.to_string()), call("a", "x"), text("Hi")]))
    };
    let sent = |model: &str| {
        let history = json!([answer(model), result("a", json!([text("ok")]))]);
        Asked::openai("openai-completions", json!({}), history).body(request)["messages"][1].clone()
    };
    let arguments = json!({"path": "x"}).to_string();
    let mut expected = json!({
        "role": "assistant", "content": "Hi",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": arguments}}],
        "reasoning_details": list,
    });
    assert_eq!(sent("gpt-5.4").to_string(), expected.to_string());
    expected.as_object_mut().unwrap().remove("reasoning_details");
    assert_eq!(sent("another")["reasoning_details"], Value::Null);
}
