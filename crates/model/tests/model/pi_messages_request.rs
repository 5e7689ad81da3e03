//! Requests to pi's gateway, whole.

use crate::model_support::*;
use pi_rpc_model::api::Api;
use pi_rpc_protocol::{InputKind, ThinkingLevel};
use serde_json::{Value, json};

const API: &str = "pi-messages";

fn asked(history: Value) -> Asked {
    Asked::new(API, json!({ "baseUrl": "https://radius.pi.dev/v1/" }), history)
}

/// The body for it, which the schema allows.
fn body(asked: &Asked) -> Value {
    let body = Api::parse(API).unwrap().request(&asked.request()).body;
    check_schema(include_str!("../../../../schema/vendors/pi-messages.json"), &body);
    body
}

fn messages(history: Value) -> Value {
    body(&asked(history))["context"]["messages"].take()
}

fn signed(mut block: Value, name: &str) -> Value {
    block[name] = "c2ln".into();
    block
}

#[test]
fn request_with_tool_is_complete() {
    let call = signed(call("c1", "a"), "thoughtSignature");
    let blocks = json!([thinking("hm", "s"), signed(text("I look."), "textSignature"), call]);
    let mut answer = stopped("other/anthropic-messages/claude", "toolUse", blocks);
    extend(&mut answer, json!({ "responseId": "r", "thinkingLevel": "low", "durationMs": 5 }));
    let image = image("AAAA");
    let history = json!([
        user(json!([text("look"), image])),
        answer,
        returned("c1", "read", json!([text("no"), image]), true),
        user(json!("more")),
    ]);
    let mut asked = asked(history.clone());
    asked.level = ThinkingLevel::High;
    asked.system_prompt = "Be brief.";
    asked.tools = vec![tool("read")];
    asked.options.caches_long = true;
    let request = Api::parse(API).unwrap().request(&asked.request());
    assert_eq!(request.url, "https://radius.pi.dev/v1/messages");
    let expected = [
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
        ("authorization", "Bearer key"),
    ];
    assert_eq!(request.headers, headers(expected));
    let parameters = json!({ "type": "object", "properties": {} });
    let declared = json!({ "name": "read", "description": "Does read.", "parameters": parameters });
    let mut messages =
        vec![json!({ "role": "system", "content": "Be brief.", "toolsAdded": [declared], "timestamp": 0 })];
    messages.extend(history.as_array().unwrap()[..3].iter().cloned());
    messages.push(user(json!([text("more")])));
    let expected = json!({
        "model": "m",
        "context": { "messages": messages },
        "options": { "reasoning": "high", "cacheRetention": "long", "sessionId": "session" },
    });
    assert_eq!(body(&asked), expected);
}

#[test]
fn request_without_anything_has_session_alone() {
    let body = body(&asked(json!([user(json!("hi"))])));
    let expected = json!({
        "model": "m",
        "context": { "messages": [user(json!([text("hi")]))] },
        "options": { "sessionId": "session" },
    });
    assert_eq!(body, expected);
}

#[test]
fn summary_has_limit_of_tokens() {
    for (limit, sent) in [(500, 500), (70_000, 64_000)] {
        let asked = asked(json!([user(json!("hi"))]));
        let mut request = asked.request();
        request.max_answer_tokens = Some(limit);
        let body = Api::parse(API).unwrap().request(&request).body;
        assert_eq!(body["options"]["maxTokens"], sent);
    }
}

#[test]
fn calls_and_results_are_paired() {
    let calls =
        |ids: [&str; 2]| stopped("p/a/m", "toolUse", ids.map(|id| call(id, "a")).into_iter().collect());
    let sent = messages(json!([
        calls(["c1", "c2"]),
        result("c2", json!([text("two")])),
        result("lost", json!([text("lost")])),
        user(json!("on")),
        calls(["c1", "c1"]),
        stopped("p/a/m", "error", json!([text("broken")])),
    ]));
    let shown = |message: &Value| match message["role"].as_str() {
        Some("toolResult") => format!("{}: {}", message["toolCallId"], message["content"][0]["text"]),
        Some("assistant") => {
            message["content"].as_array().unwrap().iter().map(|it| it["id"].to_string()).collect()
        }
        _ => message["content"][0]["text"].to_string(),
    };
    let shown: Vec<String> = sent.as_array().unwrap().iter().map(shown).collect();
    let expected = [
        r#""c1""c2""#,
        r#""c2": "two""#,
        r#""c1": "No result provided""#,
        r#""on""#,
        r#""c1_2""c1_3""#,
        r#""c1_2": "No result provided""#,
        r#""c1_3": "No result provided""#,
    ];
    assert_eq!(shown, expected);
}

#[test]
fn hidden_thinking_has_form_of_pi() {
    let hidden = json!({
        "type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "data", "redacted": true,
    });
    for block in [json!({ "type": "redactedThinking", "data": "data" }), hidden.clone()] {
        let sent = messages(json!([assistant("x/anthropic-messages/claude", json!([block, text("hi")]))]));
        assert_eq!(sent[0]["content"], json!([hidden, text("hi")]));
    }
}

#[test]
fn members_of_other_dialects_are_left_out() {
    let mut answer = assistant("p/a/m", json!([text("hi")]));
    extend(&mut answer, json!({ "duration": 5, "ttft": 2, "providerPayload": {} }));
    assert_eq!(messages(json!([answer])), json!([assistant("p/a/m", json!([text("hi")]))]));
}

#[test]
fn blind_model_gets_text_for_images() {
    let mut asked = asked(json!([user(json!([image("AAAA"), image("BBBB")]))]));
    asked.endpoint.model.input = vec![InputKind::Text];
    let omitted = json!([text("(image omitted: model does not support images)")]);
    assert_eq!(body(&asked)["context"]["messages"][0]["content"], omitted);
}
