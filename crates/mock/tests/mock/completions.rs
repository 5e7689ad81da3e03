//! Answers of the mock over Chat Completions.

use crate::mock_support::{COMPLETIONS, answered, prompt, rich, snapshots, turns};
use serde_json::json;

#[tokio::test]
async fn answer_is_streamed_in_chunks() {
    let served = turns(rich()).await;
    let mut body = prompt(COMPLETIONS, "hi", true);
    body["stream_options"] = json!({ "include_usage": true });
    let response = served.send(COMPLETIONS, &body).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(response.headers()["x-request-id"], "req_scripted_1");
    let text = response.text().await.unwrap();
    snapshots().bind(|| insta::assert_snapshot!("mock_completions_stream", text));
}

#[tokio::test]
async fn usage_is_sent_on_request() {
    let served = turns(json!([{ "say": [{ "text": "Hi" }] }])).await;
    let (_, text) = served.ask(COMPLETIONS, &prompt(COMPLETIONS, "hi", true)).await;
    assert!(!text.contains("usage"), "{text}");
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
}

#[tokio::test]
async fn answer_without_reason_ends_with_done() {
    let served = turns(json!([{ "say": [{ "text": "Hi" }], "noReason": true }])).await;
    let (_, text) = served.ask(COMPLETIONS, &prompt(COMPLETIONS, "hi", true)).await;
    assert!(!text.contains("\"finish_reason\":\""), "{text}");
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
}

#[tokio::test]
async fn answer_without_stream_is_whole() {
    let served = turns(rich()).await;
    let (status, completion) = served.ask_json(COMPLETIONS, &prompt(COMPLETIONS, "hi", false)).await;
    assert_eq!(status, 200);
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    assert_eq!(
        completion,
        json!({
            "id": "chatcmpl-scripted_1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "m",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "I look\ninto it.",
                    "refusal": null,
                    "annotations": [],
                    "reasoning_content": "Let me look.",
                    "tool_calls": [call("call_1_1", "read", r#"{"path":"a.txt"}"#), call("call_1_2", "ls", "{}")],
                },
                "logprobs": null,
                "finish_reason": "tool_calls",
            }],
            "usage": {
                "prompt_tokens": 17,
                "completion_tokens": 20,
                "total_tokens": 37,
                "prompt_tokens_details": { "cached_tokens": 3, "audio_tokens": 0 },
                "completion_tokens_details": {
                    "reasoning_tokens": 0,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            "service_tier": "default",
            "system_fingerprint": null,
        })
    );
}

#[tokio::test]
async fn last_result_chooses_turn() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "say": [{ "tool": "read" }] },
    ]))
    .await;
    let mut body = prompt(COMPLETIONS, "look", false);
    let (_, call) = served.ask_json(COMPLETIONS, &body).await;
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(call["choices"][0]["message"].clone());
    messages.push(json!({ "role": "tool", "tool_call_id": "call_1_1", "content": "one two three" }));
    let (_, answer) = served.ask_json(COMPLETIONS, &body).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "I saw the result.");
}

#[tokio::test]
async fn models_are_listed() {
    let served = turns(json!([])).await;
    let models = answered(served.get("/v1/models").bearer_auth("key")).await;
    let model =
        json!({ "id": "scripted", "object": "model", "created": 1_700_000_000, "owned_by": "pi-rpc" });
    assert_eq!(models, (200, json!({ "object": "list", "data": [model] })));
}
