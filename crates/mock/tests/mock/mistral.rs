//! Answers of the mock over Mistral's chat completions.

use crate::mock_support::{MISTRAL, answered, prompt, rich, snapshots, turns};
use serde_json::{Value, json};

#[tokio::test]
async fn answer_is_streamed_in_chunks() {
    let served = turns(rich()).await;
    let response = served.send(MISTRAL, &prompt(MISTRAL, "hi", true)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    assert!(response.headers().contains_key("mistral-correlation-id"));
    let text = response.text().await.unwrap();
    snapshots().bind(|| insta::assert_snapshot!("mock_mistral_stream", text));
}

#[tokio::test]
async fn answer_without_stream_is_whole() {
    let served = turns(rich()).await;
    let (status, answer) = served.ask_json(MISTRAL, &prompt(MISTRAL, "hi", false)).await;
    assert_eq!(status, 200);
    let call = |id: &str, name: &str, arguments: &str, index: u64| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function, "index": index })
    };
    assert_eq!(
        answer,
        json!({
            "id": "scripted_1", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": [
                        { "type": "thinking", "thinking": [{ "type": "text", "text": "Let me look." }] },
                        { "type": "text", "text": "I look\ninto it." },
                    ],
                    "tool_calls": [
                        call("0call0101", "read", "{\"path\":\"a.txt\"}", 0), call("0call0102", "ls", "{}", 1),
                    ],
                },
                "finish_reason": "tool_calls",
            }],
            "usage": {
                "prompt_tokens": 17, "completion_tokens": 20, "total_tokens": 37,
                "prompt_tokens_details": { "cached_tokens": 3 },
            },
        })
    );
}

#[tokio::test]
async fn prompt_and_last_result_choose_turn() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "match": "again", "say": [{ "text": "Once more." }] },
        { "say": [{ "tool": "read", "id": "c1" }] },
    ]))
    .await;
    let mut messages = json!([{ "role": "user", "content": [{ "type": "text", "text": "look" }] }]);
    let body = |messages: &Value| json!({ "model": "m", "messages": messages });
    let (_, call) = served.ask_json(MISTRAL, &body(&messages)).await;
    assert_eq!(call["choices"][0]["message"]["tool_calls"][0]["id"], "0000000c1");
    let all = messages.as_array_mut().unwrap();
    all.push(call["choices"][0]["message"].clone());
    let content = json!([{ "type": "text", "text": "[tool error] one two three" }]);
    all.push(json!({ "role": "tool", "tool_call_id": "0000000c1", "name": "read", "content": content }));
    let (_, answer) = served.ask_json(MISTRAL, &body(&messages)).await;
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["content"], "I saw the result.");
    let all = messages.as_array_mut().unwrap();
    all.push(message.clone());
    all.push(json!({ "role": "user", "content": "again" }));
    let (_, answer) = served.ask_json(MISTRAL, &body(&messages)).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Once more.");
}

#[tokio::test]
async fn gateway_errors_have_detail() {
    let served = turns(json!([])).await;
    let body = prompt(MISTRAL, "hi", false).to_string();
    for (request, status, detail) in [
        (served.post(MISTRAL).body(body), 401, "Unauthorized"),
        (served.get(MISTRAL), 405, "Method Not Allowed"),
        (served.get("/mistral/v1/files"), 404, "Not Found"),
    ] {
        assert_eq!(answered(request).await, (status, json!({ "detail": detail })));
    }
    let (status, error) = answered(served.post(MISTRAL).bearer_auth("k").body("[]")).await;
    assert_eq!((status, &error["message"]["detail"][0]["loc"]), (422, &json!(["body"])));
}

#[tokio::test]
async fn models_are_listed() {
    let served = turns(json!([])).await;
    let get = |path| answered(served.get(path).bearer_auth("key"));
    let (status, model) = get("/mistral/v1/models/scripted").await;
    assert_eq!((status, &model["id"], &model["owned_by"]), (200, &json!("scripted"), &json!("mistralai")));
    assert_eq!(get("/mistral/v1/models").await, (200, json!({ "object": "list", "data": [model] })));
    assert_eq!(get("/mistral/v1/models/other").await, (404, json!({ "detail": "Model other not found" })));
}
