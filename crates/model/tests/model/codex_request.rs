//! Requests with the login of a ChatGPT account, whole.

use crate::model_support::*;
use pi_rpc_model::{
    api::Api,
    openai_codex::request,
    request::{HttpRequest, Reader},
};
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

fn reader() -> Box<dyn Reader> {
    Api::OpenaiCodexResponses.reader()
}

fn asked(model: Value) -> Asked {
    let mut codex = json!({ "provider": "openai-codex", "baseUrl": "https://chatgpt.com/backend-api" });
    extend(&mut codex, model);
    let mut asked = Asked::openai("openai-codex-responses", codex, json!([user(json!("Hi"))]));
    asked.credentials.account = Some("account".to_owned());
    asked
}

#[test]
fn request_names_account_and_instructions() {
    let mut asked = asked(json!({}));
    asked.level = ThinkingLevel::Medium;
    asked.tools = vec![tool("ls")];
    asked.options.caches_long = true;
    let sent = request(&asked.request());
    let body = json!({
        "model": "gpt-5.4",
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        ],
        "stream": true,
        "prompt_cache_key": "session",
        "store": false,
        "max_output_tokens": 64_000,
        "tools": [{
            "type": "function", "name": "ls", "description": "Does ls.",
            "parameters": {"type": "object", "properties": {}}, "strict": null,
        }],
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "text": {"verbosity": "low"},
        "tool_choice": "auto",
        "parallel_tool_calls": true,
    });
    check_schema(include_str!("../../../../schema/vendors/openai-responses.json"), &body);
    check_schema(include_str!("../../../../schema/vendors/openai-codex-responses.json"), &body);
    let headers = headers([
        ("originator", "pi"),
        ("authorization", "Bearer key"),
        ("chatgpt-account-id", "account"),
        ("openai-beta", "responses=experimental"),
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
        ("content-encoding", "zstd"),
        ("session-id", "session"),
        ("x-client-request-id", "session"),
    ]);
    let url = "https://chatgpt.com/backend-api/codex/responses".to_owned();
    assert_eq!(sent, HttpRequest { url, headers, body, signing: None });
}

#[test]
fn configured_headers_leave_account_alone() {
    let mut asked = asked(json!({}));
    asked.credentials.headers = headers([
        ("Originator", "mine"),
        ("ChatGPT-Account-Id", "other"),
        ("Authorization", "no"),
        ("X-Own", "own"),
    ]);
    let sent = request(&asked.request()).headers;
    let value = |name: &str| {
        let mut values = sent.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        (values.next(), values.next())
    };
    assert_eq!(value("originator"), (Some("mine"), None));
    assert_eq!(value("chatgpt-account-id"), (Some("account"), None));
    assert_eq!(value("authorization"), (Some("Bearer key"), None));
    assert_eq!(value("x-own"), (Some("own"), None));
}

#[test]
fn address_may_have_the_path() {
    for base in ["http://x/api", "http://x/api/", "http://x/api/codex", "http://x/api/codex/responses/"] {
        assert_eq!(request(&asked(json!({ "baseUrl": base })).request()).url, "http://x/api/codex/responses");
    }
}

#[test]
fn effort_is_item_where_models_take_it() {
    let effort = |effort: &str| json!({"type": "configuration_update", "reasoning": {"effort": effort}});
    let sent = |level| {
        let mut asked =
            asked(json!({"compat": {"supportsMidConvoEffort": true, "supportsMaxOutputTokens": false}}));
        asked.level = level;
        let request = asked.request();
        let kept = Api::OpenaiCodexResponses.kept_effort(&request).map(str::to_owned);
        (asked.body(pi_rpc_model::openai_codex::request), kept)
    };
    let (body, kept) = sent(ThinkingLevel::High);
    assert_eq!((body["input"][2].clone(), kept.as_deref()), (effort("high"), Some("high")));
    assert_eq!(body["reasoning"], json!({"effort": "medium", "summary": "auto"}));
    assert_eq!(body.get("max_output_tokens"), None);
    let (body, kept) = sent(ThinkingLevel::Off);
    assert_eq!((body["input"][2].clone(), kept.as_deref()), (effort("none"), Some("none")));
}

#[test]
fn developer_instructs_models_without_thinking() {
    let body = asked(json!({ "reasoning": false })).body(request);
    assert_eq!(body["input"][0], json!({ "role": "developer", "content": "Be brief." }));
}

#[test]
fn off_is_effort_none() {
    let mut asked = asked(json!({}));
    asked.tools = vec![tool("ls")];
    asked.forced_tool = Some("ls");
    let body = asked.body(request);
    assert_eq!(body["tool_choice"], json!({ "type": "function", "name": "ls" }));
    assert_eq!(body["reasoning"], json!({ "effort": "none", "summary": "auto" }));
}

#[test]
fn usage_limit_names_plan_and_wait() {
    let now = UNIX_EPOCH + Duration::from_secs(1000);
    let limit = |error: Value| reader().usage_limit(&json!({ "error": error }), now);
    let reached = "The usage limit of the ChatGPT account is reached";
    for (error, expected) in [
        (json!({ "type": "usage_limit_reached" }), Some(format!("{reached}."))),
        (
            json!({ "type": "usage_limit_reached", "plan_type": "Plus", "resets_at": 1090 }),
            Some(format!("{reached} (plan: plus); it resets in about 2 min.")),
        ),
        (
            json!({ "code": "usage_limit_reached", "resets_in_seconds": 60, "resets_at": 9999 }),
            Some(format!("{reached}; it resets in about 1 min.")),
        ),
        (
            json!({ "code": "usage_not_included", "resets_at": 1 }),
            Some(
                "The plan of the ChatGPT account does not include this use; it resets in about 0 min."
                    .to_owned(),
            ),
        ),
        (json!({ "code": "subscription_sharing_usage_limit_exceeded" }), Some(format!("{reached}."))),
        (
            json!({ "code": "subscription_sharing_workplace_individual_usage_limit_exceeded" }),
            Some("The usage limit of the ChatGPT workspace is reached.".to_owned()),
        ),
        (json!({ "code": "rate_limit_exceeded" }), None),
        (json!("usage_limit_reached"), None),
    ] {
        assert_eq!(limit(error.clone()), expected, "{error}");
    }
    let detail = json!({ "detail": "Stream must be set to true" });
    assert_eq!(reader().refusal(&detail).as_deref(), Some("Stream must be set to true"));
}
