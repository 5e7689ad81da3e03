//! Message threads of Anthropic: what a request goes on behind, and what is sent instead of a refused one.

use crate::model_support::*;
use pi_rpc_model::{
    anthropic::Threads,
    api::Api,
    request::{HttpRequest, Reader},
    types::StreamEvent,
};
use serde_json::{Value, json};
use std::sync::Arc;

const API: Api = Api::AnthropicMessages;

fn asked(history: Value) -> Asked {
    let model = json!({"provider": "anthropic", "baseUrl": "https://api.anthropic.com"});
    let mut asked = Asked::new(API.as_str(), model, history);
    asked.system_prompt = "Be brief.";
    asked.tools = vec![tool("ls")];
    asked
}

fn said(answer: &str) -> Value {
    assistant("anthropic/anthropic-messages/m", json!([text(answer)]))
}

/// The request of the conversation in a thread, and the reader of its answer.
fn joined(threads: &Arc<Threads>, history: Value) -> (HttpRequest, Box<dyn Reader>) {
    let asked = asked(history);
    threads.join("session", &asked.endpoint.model, API.request(&asked.request()), API.reader())
}

/// Answers with a text.
fn answer(mut reader: Box<dyn Reader>, id: &str, answer: &str, model: &str) -> Vec<StreamEvent> {
    let events = [
        json!({"type": "message_start", "message": {"id": id, "model": model, "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": answer}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let read = |event: &Value| reader.event(event["type"].as_str().unwrap(), &event.to_string());
    events.iter().flat_map(read).collect()
}

fn create() -> Value {
    json!({"type": "create"})
}

#[test]
fn next_request_sends_new_messages_alone() {
    let threads = Arc::default();
    let (first, reader) = joined(&threads, json!([user(json!("one"))]));
    assert_eq!(first.body["thread"], create());
    assert!(
        first
            .headers
            .iter()
            .any(|(name, betas)| name == "anthropic-beta" && betas.contains("message-threads"))
    );
    answer(reader, "msg_1", "Yes.", "m");
    let history = json!([user(json!("one")), said("Yes."), user(json!("two"))]);
    let (next, reader) = joined(&threads, history.clone());
    let mark = json!({"type": "ephemeral"});
    let expected =
        json!([{"role": "user", "content": [{"type": "text", "text": "two", "cache_control": mark}]}]);
    assert_eq!(next.body["messages"], expected);
    assert_eq!(next.body["thread"], json!({"type": "continue", "previous_message_id": "msg_1"}));
    assert_eq!((&next.body["system"], &next.body["tools"]), (&Value::Null, &Value::Null));
    // While its answer is not there, nothing goes on behind the one before.
    let (other, _) = joined(&threads, history.clone());
    assert_eq!((&other.body["thread"], other.body["messages"].as_array().unwrap().len()), (&create(), 3));
    answer(reader, "msg_2", "So.", "m");
    let mut longer = history.as_array().unwrap().clone();
    longer.extend([said("So."), user(json!("three"))]);
    let (third, _) = joined(&threads, longer.into());
    assert_eq!(third.body["thread"]["previous_message_id"], "msg_2");
    assert_eq!(third.body["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn changed_conversation_begins_new_thread() {
    let changed: [(&str, &str, Value); 3] = [
        ("m", "Yes.", json!([user(json!("one")), said("No."), user(json!("two"))])),
        ("m", "Yes.", json!([user(json!("other")), said("Yes."), user(json!("two"))])),
        ("fallback", "Yes.", json!([user(json!("one")), said("Yes."), user(json!("two"))])),
    ];
    for (model, text, history) in changed {
        let threads = Arc::default();
        let (_, reader) = joined(&threads, json!([user(json!("one"))]));
        answer(reader, "msg_1", text, model);
        let (next, _) = joined(&threads, history);
        assert_eq!((&next.body["thread"], next.body["messages"].as_array().unwrap().len()), (&create(), 3));
    }
    let threads: Arc<Threads> = Arc::default();
    let (_, reader) = joined(&threads, json!([user(json!("one"))]));
    answer(reader, "msg_1", "Yes.", "m");
    let mut asked = asked(json!([user(json!("one")), said("Yes."), user(json!("two"))]));
    asked.tools.push(tool("read"));
    let request = API.request(&asked.request());
    let (next, _) = threads.join("session", &asked.endpoint.model, request, API.reader());
    assert_eq!(next.body["thread"], create());
}

#[test]
fn refused_thread_is_sent_again_whole() {
    let refusal = |details: Value, message: &str| json!({"type": "error", "error": {"type": "invalid_request_error", "message": message, "details": details}});
    let expired = refusal(json!({"error_code": "thread_not_found"}), "No");
    let unsupported = refusal(json!({"error_code": "thread_unsupported_request"}), "No");
    let unknown = refusal(Value::Null, "thread: Extra inputs are not permitted");
    let history = json!([user(json!("one")), said("Yes."), user(json!("two"))]);
    for (refusal, instead) in [(expired, create()), (unsupported, Value::Null), (unknown, Value::Null)] {
        let threads = Arc::default();
        let (_, reader) = joined(&threads, json!([user(json!("one"))]));
        answer(reader, "msg_1", "Yes.", "m");
        let (_, mut reader) = joined(&threads, history.clone());
        let body = reader.body_instead(400, &refusal).unwrap();
        assert_eq!((&body["thread"], body["messages"].as_array().unwrap().len()), (&instead, 3));
        assert!(body["system"].is_array() && body["tools"].is_array());
        assert_eq!(reader.body_instead(400, &refusal), None);
        let code = refusal["error"]["details"]["error_code"].as_str().unwrap_or("400").to_owned();
        let told = answer(reader, "msg_2", "So.", "m").into_iter().next();
        let Some(StreamEvent::Diagnostic(told)) = told else { panic!("no diagnostic of {refusal}") };
        assert_eq!((told.kind, &told.details["reason"]), ("anthropic_thread_fallback", &json!(code)));
        assert_eq!(told.error, Some(format!("400 {refusal}")));
        let mut longer = history.as_array().unwrap().clone();
        longer.extend([said("So."), user(json!("three"))]);
        let (next, _) = joined(&threads, longer.into());
        let expected = if instead.is_null() { Value::Null } else { "msg_2".into() };
        assert_eq!(next.body["thread"]["previous_message_id"], expected);
    }
}

#[test]
fn other_refusals_stay() {
    let (_, mut reader) = joined(&Arc::default(), json!([user(json!("one"))]));
    let too_long = json!({"error": {"type": "invalid_request_error", "message": "prompt is too long"}});
    assert_eq!(reader.body_instead(400, &too_long), None);
    let overloaded = json!({"error": {"type": "overloaded_error", "message": "no thread is free"}});
    assert_eq!(reader.body_instead(529, &overloaded), None);
}

#[test]
fn other_servers_get_no_threads() {
    let asked = Asked::new(API.as_str(), json!({}), json!([user(json!("one"))]));
    let request = API.request(&asked.request());
    let threads: Arc<Threads> = Arc::default();
    let (sent, _) = threads.join("session", &asked.endpoint.model, request.clone(), API.reader());
    assert_eq!(sent, request);
    assert!(request.headers.iter().all(|(_, value)| !value.contains("message-threads")));
}
