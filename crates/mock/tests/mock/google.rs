//! Answers of the mock over Google's Gemini API.

use crate::mock_support::{GOOGLE, answered, prompt, rich, snapshots, turns};
use serde_json::{Value, json};

#[tokio::test]
async fn answer_is_streamed_in_chunks() {
    let served = turns(rich()).await;
    let response = served.send(GOOGLE, &prompt(GOOGLE, "hi", true)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let text = response.text().await.unwrap();
    assert_eq!(text.matches("\r\n\r\n").count(), text.matches("data: ").count());
    snapshots().bind(|| insta::assert_snapshot!("mock_google_stream", text.replace('\r', "")));
}

#[tokio::test]
async fn answer_without_stream_is_whole() {
    let served = turns(json!([rich()[0], rich()[0]])).await;
    let (status, answer) = served.ask_json(GOOGLE, &prompt(GOOGLE, "hi", false)).await;
    assert_eq!(status, 200);
    assert_eq!(
        answer,
        json!({
            "candidates": [{
                "content": { "role": "model", "parts": [
                    { "text": "Let me look.", "thought": true, "thoughtSignature": "c2lnbmVk" },
                    { "text": "", "thought": true, "thoughtSignature": "aGlkZGVu" },
                    { "text": "I look\ninto it." },
                    {
                        "functionCall": { "name": "read", "args": { "path": "a.txt" }, "id": "call_1_1" },
                        "thoughtSignature": "c2NyaXB0ZWQ=",
                    },
                    { "functionCall": { "name": "ls", "args": {}, "id": "call_1_2" } },
                ] },
                "finishReason": "STOP",
                "index": 0,
            }],
            "usageMetadata": {
                "promptTokenCount": 17, "candidatesTokenCount": 20, "totalTokenCount": 37, "cachedContentTokenCount": 3,
            },
            "modelVersion": "m",
            "responseId": "scripted_1",
        })
    );
    // A stream that does not ask for events is a list.
    let body = json!({ "contents": [{ "parts": [{ "text": "hi" }] }] });
    let (status, answer) = served.ask_json("/v1beta/models/m:streamGenerateContent", &body).await;
    assert_eq!((status, &answer[0]["responseId"], answer.get(1)), (200, &json!("scripted_2"), None));
}

#[tokio::test]
async fn prompt_and_last_result_choose_turn() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "match": "again", "say": [{ "text": "Once more." }] },
        { "say": [{ "tool": "read", "id": "c1" }] },
    ]))
    .await;
    let mut contents = json!([{ "role": "user", "parts": [{ "text": "look" }] }]);
    let body = |contents: &Value| json!({ "contents": contents });
    let (_, call) = served.ask_json(GOOGLE, &body(&contents)).await;
    assert_eq!(call["candidates"][0]["finishReason"], "STOP");
    let all = contents.as_array_mut().unwrap();
    all.push(call["candidates"][0]["content"].clone());
    let response = json!({ "name": "read", "id": "c1", "response": { "output": "one two three" } });
    all.push(json!({ "role": "user", "parts": [{ "functionResponse": response }] }));
    let (_, answer) = served.ask_json(GOOGLE, &body(&contents)).await;
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "I saw the result.");
    let all = contents.as_array_mut().unwrap();
    all.push(answer["candidates"][0]["content"].clone());
    all.push(json!({ "role": "user", "parts": [{ "text": "again" }] }));
    let (_, answer) = served.ask_json(GOOGLE, &body(&contents)).await;
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "Once more.");
}

#[tokio::test]
async fn key_is_taken_from_query() {
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "stop": "length" }])).await;
    let body = json!({ "contents": [{ "parts": [{ "text": "hi" }] }] }).to_string();
    let path = "/proxy/v1beta/models/gemini-9:generateContent";
    let (status, error) = answered(served.post(path).body(body.clone())).await;
    assert_eq!((status, &error["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    let (status, answer) = answered(served.post(&format!("{path}?key=k")).body(body)).await;
    assert_eq!((status, &answer["candidates"][0]["finishReason"]), (200, &json!("MAX_TOKENS")));
    assert_eq!(answer["modelVersion"], "gemini-9");
}

#[tokio::test]
async fn snake_case_members_are_accepted() {
    let served = turns(json!([{ "match": "hi", "say": [{ "tool": "read_file" }] }])).await;
    let schema = json!({ "type": "object", "properties": { "max_lines": { "type": "integer" } } });
    let body = json!({
        "contents": [{ "parts": [{ "text": "hi" }] }],
        "system_instruction": { "parts": [{ "text": "Be brief." }] },
        "tools": [{ "function_declarations": [{ "name": "read_file", "parameters_json_schema": schema }] }],
        "generation_config": { "max_output_tokens": 9, "thinking_config": { "include_thoughts": true } },
    });
    let (status, answer) = served.ask_json(GOOGLE, &body).await;
    assert_eq!((status, &answer["candidates"][0]["finishReason"]), (200, &json!("STOP")));
    assert_eq!(served.journal.received()[0].body, body);
    let unknown =
        json!({ "contents": [{ "parts": [{ "text": "hi" }] }], "generation_config": { "max_tokens": 9 } });
    let (status, error) = served.ask_json(GOOGLE, &unknown).await;
    let message = "Invalid JSON payload received. Unknown name \"maxTokens\" at 'generation_config': Cannot find field.";
    assert_eq!((status, &error["error"]["message"]), (400, &json!(message)));
}

#[tokio::test]
async fn models_are_listed() {
    let served = turns(json!([])).await;
    let get = |path| answered(served.get(path).header("x-goog-api-key", "key"));
    let model = json!({
        "name": "models/scripted", "version": "1", "displayName": "Test", "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent"],
    });
    assert_eq!(get("/v1beta/models/scripted").await, (200, model.clone()));
    assert_eq!(get("/v1beta/models").await, (200, json!({ "models": [model] })));
    let (status, error) = get("/v1beta/models/other").await;
    assert_eq!((status, &error["error"]["status"]), (404, &json!("NOT_FOUND")));
}
