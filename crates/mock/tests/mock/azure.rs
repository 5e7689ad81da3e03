//! Answers of the mock over Responses at Azure, and its refusals.

use crate::mock_support::{AZURE, COMPLETIONS, RESPONSES, answered, prompt, turns};
use serde_json::{Value, json};

#[tokio::test]
async fn both_kinds_of_credentials_are_accepted() {
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "repeat": true }])).await;
    let body = prompt(AZURE, "hi", false).to_string();
    let post = |path: &str| served.post(path).body(body.clone());
    for request in [
        post(AZURE).header("api-key", "key"),
        post(AZURE).bearer_auth("token"),
        post("/openai/v1/responses").header("api-key", "key"),
        post("/openai/responses?api-version=2025-04-01-preview").header("api-key", "key"),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.headers().contains_key("apim-request-id"));
        let answer: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(answer["output"][0]["content"][0]["text"], "Hello");
    }
    let chat = prompt(COMPLETIONS, "hi", false).to_string();
    let path = "/openai/deployments/m/chat/completions?api-version=2024-10-21";
    let (status, answer) = answered(served.post(path).header("api-key", "key").body(chat)).await;
    assert_eq!((status, &answer["choices"][0]["message"]["content"]), (200, &json!("Hello")));
}

#[tokio::test]
async fn missing_key_and_version_are_refused() {
    let served = turns(json!([])).await;
    let body = prompt(AZURE, "hi", false).to_string();
    let post = |path: &str| served.post(path).body(body.clone());
    let unsupported = ("BadRequest", "API version not supported");
    for (request, status, (code, message)) in [
        (post(AZURE), 401, ("401", "Access denied due to invalid subscription key or wrong API endpoint.")),
        (post(RESPONSES).header("api-key", ""), 401, ("401", "Access denied")),
        (post("/openai/responses").header("api-key", "k"), 404, ("404", "Resource not found")),
        (post("/openai/responses?api-version=v1").header("api-key", "k"), 400, unsupported),
        (post("/openai/v1/responses?api-version=2025-04-01").header("api-key", "k"), 400, unsupported),
    ] {
        let (refused, error) = answered(request).await;
        assert_eq!((refused, &error["error"]["code"]), (status, &json!(code)), "{error}");
        assert!(error["error"]["message"].as_str().unwrap().starts_with(message), "{error}");
    }
}

#[tokio::test]
async fn body_is_checked_as_openai_does() {
    let served = turns(json!([])).await;
    let mut body = prompt(AZURE, "hi", false);
    body["max_output_tokens"] = json!(9);
    let (status, error) = served.ask_json(AZURE, &body).await;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("max_output_tokens")), "{error}");
}
