//! Answers of the mock over Anthropic Messages.

use crate::mock_support::{MESSAGES, answered, prompt, rich, snapshots, turns};
use serde_json::json;

#[tokio::test]
async fn answer_is_streamed_in_events() {
    let served = turns(rich()).await;
    let response = served.send(MESSAGES, &prompt(MESSAGES, "hi", true)).await;
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(header("request-id"), "req_scripted_1");
    let text = response.text().await.unwrap();
    snapshots().bind(|| insta::assert_snapshot!("mock_anthropic_stream", text));
}

#[tokio::test]
async fn answer_without_stream_is_whole() {
    let served = turns(rich()).await;
    let (status, message) = served.ask_json(MESSAGES, &prompt(MESSAGES, "hi", false)).await;
    assert_eq!(status, 200);
    assert_eq!(
        message,
        json!({
            "id": "msg_scripted_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [
                { "type": "thinking", "thinking": "Let me look.", "signature": "c2lnbmVk" },
                { "type": "redacted_thinking", "data": "aGlkZGVu" },
                { "type": "text", "text": "I look\ninto it." },
                { "type": "tool_use", "id": "call_1_1", "name": "read", "input": { "path": "a.txt" } },
                { "type": "tool_use", "id": "call_1_2", "name": "ls", "input": {} },
            ],
            "stop_reason": "tool_use",
            "stop_sequence": null,
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 4,
                "cache_read_input_tokens": 3,
                "cache_creation": { "ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 0 },
                "output_tokens": 20,
                "service_tier": "standard",
            },
        })
    );
}

#[tokio::test]
async fn prompt_and_last_result_choose_turn() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "match": "again", "say": [{ "text": "Once more." }] },
        { "say": [{ "tool": "read", "id": "toolu_1" }] },
    ]))
    .await;
    let mut messages = json!([{ "role": "user", "content": "look" }]);
    let body = |messages: &serde_json::Value| json!({ "model": "m", "max_tokens": 9, "messages": messages });
    let (_, call) = served.ask_json(MESSAGES, &body(&messages)).await;
    assert_eq!(call["stop_reason"], "tool_use");
    let all = messages.as_array_mut().unwrap();
    all.push(json!({ "role": "assistant", "content": call["content"] }));
    all.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "one two three" }] },
    ]}));
    let (_, answer) = served.ask_json(MESSAGES, &body(&messages)).await;
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "I saw the result." }]));
    let all = messages.as_array_mut().unwrap();
    all.push(json!({ "role": "assistant", "content": answer["content"] }));
    all.push(json!({ "role": "user", "content": [{ "type": "text", "text": "again" }] }));
    let (_, answer) = served.ask_json(MESSAGES, &body(&messages)).await;
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "Once more." }]));
}

#[tokio::test]
async fn any_prefix_is_served_and_journaled() {
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "stop": "length" }])).await;
    let (path, body) = ("/some/proxy/v1/messages?beta=true", prompt(MESSAGES, "hi", false));
    let request = served.request(path, &body).header("anthropic-beta", "interleaved-thinking-2025-05-14");
    let text = request.send().await.unwrap().text().await.unwrap();
    assert!(text.contains(r#""stop_reason":"max_tokens""#), "{text}");
    let received = &served.journal.received()[0];
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", path));
    assert_eq!(received.header("anthropic-beta"), Some("interleaved-thinking-2025-05-14"));
    assert_eq!(received.header("x-api-key"), Some("key"));
    assert_eq!((&received.body, received.status, &received.refusal), (&body, Some(200), &None));
}

#[tokio::test]
async fn models_are_listed() {
    let served = turns(json!([])).await;
    let get = |path| answered(served.get(path).header("x-api-key", "key"));
    let model = json!({
        "type": "model", "id": "scripted", "display_name": "Test", "created_at": "2023-11-14T22:13:20Z",
    });
    assert_eq!(get("/v1/models/scripted").await, (200, model.clone()));
    let all = json!({ "data": [model], "has_more": false, "first_id": "scripted", "last_id": "scripted" });
    assert_eq!(get("/v1/models").await, (200, all));
}

#[tokio::test]
async fn effort_change_needs_its_beta() {
    let served = turns(json!([{ "say": [{ "text": "Yes." }] }])).await;
    let body = json!({
        "model": "m", "max_tokens": 9, "stream": false,
        "messages": [
            { "role": "user", "content": "hi" },
            { "role": "system", "content": [], "output_config": { "effort": "high" } },
        ],
    });
    let (status, refusal) = served.ask_json(MESSAGES, &body).await;
    assert_eq!(
        (status, &refusal["error"]["message"]),
        (400, &json!("messages.1.output_config: Extra inputs are not permitted"))
    );
    let request = served.request(MESSAGES, &body);
    let request = request.header("anthropic-beta", "other, mid-conversation-output-config-2026-07-01");
    assert_eq!(answered(request).await.0, 200);
}
