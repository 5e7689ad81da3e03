//! Answers of the mock over Responses with the login of a ChatGPT account, and its refusals.

use crate::mock_support::{CODEX, Served, answered, turns};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

/// A token of this account.
fn token(account: &str) -> String {
    let claims = json!({ "https://api.openai.com/auth": { "chatgpt_account_id": account } });
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// A prompt as the server accepts it.
fn prompt() -> Value {
    json!({
        "model": "m", "instructions": "Be brief.", "input": [{ "role": "user", "content": "hi" }],
        "store": false, "stream": true,
    })
}

fn post(served: &Served, body: impl Into<reqwest::Body>) -> RequestBuilder {
    served.post(CODEX).body(body).bearer_auth(token("a")).header("chatgpt-account-id", "a")
}

#[tokio::test]
async fn answer_is_streamed_as_openai_does() {
    let served = turns(json!([{ "match": "hi", "say": [{ "text": "Hello" }] }])).await;
    let response = post(&served, prompt().to_string()).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let text = response.text().await.unwrap();
    assert!(text.starts_with("event: response.created\n") && text.contains("\"delta\":\"Hello\""), "{text}");
}

#[tokio::test]
async fn packed_body_is_read() {
    // The prompt below, packed by zstd.
    let packed = STANDARD.decode(PACKED).unwrap();
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "repeat": true }])).await;
    let response = post(&served, packed).header("content-encoding", "zstd").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(served.journal.received()[0].body, prompt());
    let (status, _) = answered(post(&served, "no zstd").header("content-encoding", "zstd")).await;
    assert_eq!(status, 400);
}

const PACKED: &str = "KLUv/SBt1QIAQsYTGJCn6X6hvfC3GT43+baB38HO6YdIkfspAUkXpo2KYtUpDrt4qS6DZGPYztRMZ1zGqrXdczgisHMdAEcNEogGtlU6k8bCVMlcRtunhUMjAQIAEzOg/ZpP";

#[tokio::test]
async fn token_must_belong_to_account() {
    let served = turns(json!([])).await;
    let post = || served.post(CODEX).body(prompt().to_string());
    for (request, detail) in [
        (post(), "Unauthorized"),
        (
            post().bearer_auth("key"),
            "Could not parse your authentication token. Please try signing in again.",
        ),
        (post().bearer_auth(token("a")), "The account of the token is not that of chatgpt-account-id"),
        (
            post().bearer_auth(token("a")).header("chatgpt-account-id", "b"),
            "The account of the token is not that of chatgpt-account-id",
        ),
    ] {
        assert_eq!(answered(request).await, (401, json!({ "detail": detail })));
    }
}

#[tokio::test]
async fn body_of_the_public_api_is_refused() {
    let served = turns(json!([])).await;
    for (change, detail) in [
        (json!({ "instructions": "" }), "Instructions are required"),
        (json!({ "store": true }), "Store must be set to false"),
        (json!({ "stream": false }), "Stream must be set to true"),
        (json!({ "truncation": "auto" }), "Unsupported parameter: truncation"),
        (json!({ "input": [{ "role": "system", "content": "hi" }] }), "System messages are not allowed"),
    ] {
        let mut body = prompt();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let refused = answered(post(&served, body.to_string())).await;
        assert_eq!(refused, (400, json!({ "detail": detail })), "{change}");
    }
}

#[tokio::test]
async fn scripted_usage_limit_is_passed_on() {
    let limit =
        json!({ "error": { "type": "usage_limit_reached", "plan_type": "plus", "resets_in_seconds": 60 } });
    let fail = json!({ "status": 429, "body": limit.to_string() });
    let served = turns(json!([{ "fail": fail }, { "fail": { "status": 503 } }])).await;
    assert_eq!(answered(post(&served, prompt().to_string())).await, (429, limit));
    let (status, error) = answered(post(&served, prompt().to_string())).await;
    assert_eq!((status, &error["error"]["type"]), (503, &json!("server_error")));
}
