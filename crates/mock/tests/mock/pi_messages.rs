//! Answers of the mock as pi's gateway gives them.

use crate::mock_support::{PI, answered, prompt, rich, snapshots, turns};
use serde_json::json;

#[tokio::test]
async fn answer_is_streamed_in_events_of_pi() {
    let served = turns(rich()).await;
    let response = served.send(PI, &prompt(PI, "hi", true)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let text = response.text().await.unwrap();
    snapshots().bind(|| insta::assert_snapshot!("mock_pi_stream", text));
}

#[tokio::test]
async fn prompt_and_last_result_choose_turn() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "say": [{ "tool": "read", "id": "c1" }] },
    ]))
    .await;
    let mut body = prompt(PI, "look", true);
    let (_, text) = served.ask(PI, &body).await;
    assert!(
        text.contains(r#""toolCall":{"type":"toolCall","id":"c1","name":"read","arguments":{}}"#),
        "{text}"
    );
    let zero = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    let usage =
        json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": zero });
    let all = body["context"]["messages"].as_array_mut().unwrap();
    all.push(json!({
        "role": "assistant", "content": [{ "type": "toolCall", "id": "c1", "name": "read", "arguments": {} }],
        "api": "pi-messages", "provider": "radius", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": 2,
    }));
    all.push(json!({
        "role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false, "timestamp": 3,
        "content": [{ "type": "text", "text": "one two three" }],
    }));
    let (status, text) = served.ask(PI, &body).await;
    assert!(status == 200 && text.contains("I saw the result."), "{text}");
}

#[tokio::test]
async fn gateway_errors_have_code() {
    let served = turns(json!([])).await;
    let body = prompt(PI, "hi", true).to_string();
    for (request, status, message, code) in [
        (served.post(PI).body(body), 401, "Missing bearer token", "unauthorized"),
        (served.get(PI), 405, "Method Not Allowed", "invalid_request"),
        (served.get("/radius/v1/models"), 404, "Not Found", "not_found"),
    ] {
        let error = json!({ "error": { "message": message, "code": code } });
        assert_eq!(answered(request).await, (status, error));
    }
    let (status, error) = answered(served.post(PI).bearer_auth("k").body("[]")).await;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_request")));
}
