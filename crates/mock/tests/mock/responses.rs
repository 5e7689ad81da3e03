//! Answers of the mock over Responses.

use crate::mock_support::{RESPONSES, prompt, rich, snapshots, turns};
use serde_json::{Value, json};

fn asking(stream: bool) -> Value {
    let mut body = prompt(RESPONSES, "hi", stream);
    body["store"] = false.into();
    body["include"] = json!(["reasoning.encrypted_content"]);
    body["reasoning"] = json!({ "effort": "low", "summary": "auto" });
    body
}

#[tokio::test]
async fn answer_is_streamed_in_events() {
    let served = turns(rich()).await;
    let (status, text) = served.ask(RESPONSES, &asking(true)).await;
    assert_eq!(status, 200);
    snapshots().bind(|| insta::assert_snapshot!("mock_responses_stream", text));
}

#[tokio::test]
async fn answer_without_stream_is_whole() {
    let served = turns(rich()).await;
    let (status, response) = served.ask_json(RESPONSES, &asking(false)).await;
    assert_eq!(status, 200);
    snapshots().bind(|| insta::assert_json_snapshot!("mock_responses_whole", response));
}

#[tokio::test]
async fn answer_over_limit_is_incomplete() {
    let served = turns(json!([{ "say": [{ "text": "Half a" }], "stop": "length" }])).await;
    let (_, text) = served.ask(RESPONSES, &asking(true)).await;
    assert!(text.contains("event: response.incomplete\n"), "{text}");
    assert!(text.contains(r#""incomplete_details":{"reason":"max_output_tokens"}"#), "{text}");
}

#[tokio::test]
async fn encrypted_thinking_is_sent_on_request() {
    let served = turns(json!([{ "say": [{ "thinking": "Hm", "signature": "c2ln" }] }])).await;
    let (_, response) = served.ask_json(RESPONSES, &prompt(RESPONSES, "hi", false)).await;
    let summary = json!([{ "type": "summary_text", "text": "Hm" }]);
    assert_eq!(
        response["output"],
        json!([{ "id": "rs_scripted_1_0", "type": "reasoning", "summary": summary }])
    );
}

#[tokio::test]
async fn output_is_accepted_as_input() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "say": [{ "thinking": "Hm" }, { "tool": "read" }] },
    ]))
    .await;
    let mut body = asking(false);
    let (_, call) = served.ask_json(RESPONSES, &body).await;
    let input = body["input"].as_array_mut().unwrap();
    input.extend(call["output"].as_array().unwrap().iter().cloned());
    input.push(json!({ "type": "function_call_output", "call_id": "call_1_1", "output": "one two three" }));
    let (status, answer) = served.ask_json(RESPONSES, &body).await;
    assert_eq!((status, &answer["output"][0]["content"][0]["text"]), (200, &json!("I saw the result.")));
}
