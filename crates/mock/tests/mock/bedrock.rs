//! Answers of the mock over Amazon Bedrock's Converse API, and its signatures.

use crate::mock_support::{BEDROCK, Served, answered, prompt, rich, turns};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use pi_rpc_mock::{AWS_KEY_ID, AWS_SECRET};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// The frames of a body: the kind of each, its name and its JSON, without the padding.
fn frames(mut body: &[u8]) -> Vec<(String, String, Value)> {
    let mut decoder = MessageFrameDecoder::new();
    let mut frames = Vec::new();
    while let DecodedFrame::Complete(frame) = decoder.decode_frame(&mut body).expect("right checksums") {
        let header = |name: &str| {
            let found = frame.headers().iter().find(|header| header.name().as_str().ends_with(name));
            found.map(|header| header.value().as_string().unwrap().as_str().to_owned())
        };
        assert_eq!(header(":content-type").as_deref(), Some("application/json"));
        let kind = header(":message-type").unwrap();
        let name = header(":event-type").or_else(|| header(":exception-type")).unwrap();
        let mut event: Value = serde_json::from_slice(frame.payload()).unwrap();
        event.as_object_mut().unwrap().remove("p");
        frames.push((kind, name, event));
    }
    assert_eq!(body, b"");
    frames
}

async fn streamed(request: RequestBuilder) -> Vec<(String, String, Value)> {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/vnd.amazon.eventstream");
    frames(&response.bytes().await.unwrap())
}

#[tokio::test]
async fn answer_is_streamed_in_frames() {
    let served = turns(rich()).await;
    let delta =
        |at: usize, delta: Value| ("contentBlockDelta", json!({ "contentBlockIndex": at, "delta": delta }));
    let stop = |at: usize| ("contentBlockStop", json!({ "contentBlockIndex": at }));
    let start = |at: usize, id: &str, name: &str| {
        let start = json!({ "toolUse": { "toolUseId": id, "name": name } });
        ("contentBlockStart", json!({ "contentBlockIndex": at, "start": start }))
    };
    let thought = |thought: Value| json!({ "reasoningContent": thought });
    let input = |more: &str| json!({ "toolUse": { "input": more } });
    let usage = json!({
        "inputTokens": 10, "outputTokens": 20, "totalTokens": 37, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 4,
    });
    let expected = [
        ("messageStart", json!({ "role": "assistant" })),
        delta(0, thought(json!({ "text": "Let me" }))),
        delta(0, thought(json!({ "text": " look." }))),
        delta(0, thought(json!({ "signature": "c2lnbmVk" }))),
        stop(0),
        delta(1, thought(json!({ "redactedContent": "aGlkZGVu" }))),
        stop(1),
        delta(2, json!({ "text": "I look\ni" })),
        delta(2, json!({ "text": "nto it." })),
        stop(2),
        start(3, "call_1_1", "read"),
        delta(3, input("{\"path\":\"")),
        delta(3, input("a.txt\"}")),
        stop(3),
        start(4, "call_1_2", "ls"),
        delta(4, input("{}")),
        stop(4),
        ("messageStop", json!({ "stopReason": "tool_use" })),
        ("metadata", json!({ "metrics": { "latencyMs": 1 }, "usage": usage })),
    ];
    let expected = expected.map(|(name, event)| ("event".to_owned(), name.to_owned(), event));
    assert_eq!(streamed(served.request(BEDROCK, &prompt(BEDROCK, "hi", true))).await, expected);
}

#[tokio::test]
async fn answer_without_stream_is_whole() {
    let served = turns(rich()).await;
    let (status, answer) = served.ask_json(BEDROCK, &prompt(BEDROCK, "hi", false)).await;
    let content = json!([
        { "reasoningContent": { "reasoningText": { "text": "Let me look.", "signature": "c2lnbmVk" } } },
        { "reasoningContent": { "redactedContent": "aGlkZGVu" } },
        { "text": "I look\ninto it." },
        { "toolUse": { "toolUseId": "call_1_1", "name": "read", "input": { "path": "a.txt" } } },
        { "toolUse": { "toolUseId": "call_1_2", "name": "ls", "input": {} } },
    ]);
    assert_eq!((status, &answer["stopReason"]), (200, &json!("tool_use")));
    assert_eq!(answer["output"], json!({ "message": { "role": "assistant", "content": content } }));
    assert_eq!(answer["usage"]["totalTokens"], 37);
}

#[tokio::test]
async fn failures_are_exceptions() {
    let served = turns(json!([
        { "match": "late", "say": [{ "text": "Half" }], "fail": { "status": 429, "message": "Slow" }, "repeat": true },
        { "match": "early", "fail": { "status": 429, "message": "Slow", "retryAfter": 7 }, "repeat": true },
        { "match": "odd", "fail": { "status": 500, "kind": "OddException" }, "repeat": true },
    ]))
    .await;
    let late = streamed(served.request(BEDROCK, &prompt(BEDROCK, "late", true))).await;
    let slow = ("exception".to_owned(), "throttlingException".to_owned(), json!({ "message": "Slow" }));
    assert_eq!(late.last(), Some(&slow));
    for (text, status, kind) in [("early", 429, "ThrottlingException"), ("odd", 500, "OddException")] {
        let response = served.send(BEDROCK, &prompt(BEDROCK, text, true)).await;
        assert_eq!(
            (response.status().as_u16(), response.headers()["x-amzn-errortype"].to_str().unwrap()),
            (status, kind),
            "{text}"
        );
    }
}

#[tokio::test]
async fn prompt_and_last_result_choose_turn() {
    let served = turns(json!([
        { "onResult": "three", "say": [{ "text": "I saw the result." }] },
        { "say": [{ "tool": "read", "id": "c1" }] },
    ]))
    .await;
    let mut body = prompt(BEDROCK, "look", false);
    body["toolConfig"] = json!({ "tools": [{ "toolSpec": { "name": "read", "inputSchema": { "json": { "type": "object" } } } }] });
    let (_, call) = served.ask_json(BEDROCK, &body).await;
    let result = json!({ "toolResult": { "toolUseId": "c1", "content": [{ "text": "one two three" }] } });
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend([call["output"]["message"].clone(), json!({ "role": "user", "content": [result] })]);
    let (_, answer) = served.ask_json(BEDROCK, &body).await;
    assert_eq!(answer["output"]["message"]["content"][0]["text"], "I saw the result.");
}

/// A request signed with this secret for this service, `age` seconds ago.
fn signed(served: &Served, (id, secret): (&str, &str), service: &str, age: u64) -> RequestBuilder {
    let body = prompt(BEDROCK, "hi", false);
    let body = json!({ "messages": body["messages"] }).to_string();
    let url = format!("{}/model/us.anthropic.claude%3A0/converse", served.url);
    let identity =
        aws_credential_types::Credentials::new(id, secret, Some("token".to_owned()), None, "test").into();
    let params = v4::SigningParams::builder().identity(&identity).region("eu-west-1").name(service);
    let time = SystemTime::now() - Duration::from_secs(age);
    let params = params.time(time).settings(SigningSettings::default()).build().unwrap().into();
    let headers = [("content-type", "application/json")];
    let request =
        SignableRequest::new("POST", &url, headers.into_iter(), SignableBody::Bytes(body.as_bytes()))
            .unwrap();
    let (instructions, _) = sign(request, &params).unwrap().into_parts();
    let request = served.client.post(url).header("content-type", "application/json").body(body);
    instructions.headers().fold(request, |request, (name, value)| request.header(name, value))
}

#[tokio::test]
async fn signature_of_known_key_is_accepted() {
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "repeat": true }])).await;
    let (status, answer) = answered(signed(&served, (AWS_KEY_ID, AWS_SECRET), "bedrock", 0)).await;
    assert_eq!((status, &answer["stopReason"]), (200, &json!("end_turn")), "{answer}");
}

#[tokio::test]
async fn wrong_signatures_are_refused() {
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "repeat": true }])).await;
    let good = (AWS_KEY_ID, AWS_SECRET);
    let sign = |key: (&str, &str), service: &str, age: u64| signed(&served, key, service, age);
    let plain = served.post("/model/m/converse").body("{}");
    let scheme = |value: &str| served.post("/model/m/converse").body("{}").header("authorization", value);
    let cases = [
        (plain, "MissingAuthenticationTokenException"),
        (scheme("Bearer "), "MissingAuthenticationTokenException"),
        (scheme("AWS4-HMAC-SHA256 Credential=a"), "IncompleteSignatureException"),
        (
            scheme("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=b"),
            "IncompleteSignatureException",
        ),
        (sign((AWS_KEY_ID, "another"), "bedrock", 0), "InvalidSignatureException"),
        (sign(("AKIDANOTHER", AWS_SECRET), "bedrock", 0), "UnrecognizedClientException"),
        (sign(good, "s3", 0), "InvalidSignatureException"),
        (sign(good, "bedrock", 600), "InvalidSignatureException"),
        (sign(good, "bedrock", 0).body("{}"), "InvalidSignatureException"),
        (sign(good, "bedrock", 0).header("x-amz-more", "unsigned"), "InvalidSignatureException"),
    ];
    for (number, (request, kind)) in cases.into_iter().enumerate() {
        let response = request.send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.headers()["x-amzn-errortype"].to_str().unwrap()),
            (403, kind),
            "case {number}"
        );
    }
}
