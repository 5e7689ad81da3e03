//! The models of a Copilot account: their list, and the acceptance of their terms.

use super::LoginAnswer;
use axum::http::{HeaderMap, Method};
use serde_json::{Value, json};

/// The header by which Copilot's own endpoints are told from those of models.
const CLIENT: &str = "copilot-integration-id";

/// Answers a request for the list, or for the terms of a model; `None`: it is for something else.
pub(crate) fn answer(method: &Method, path: &str, headers: &HeaderMap, body: &[u8]) -> Option<LoginAnswer> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    header(CLIENT)?;
    let policy = path.strip_prefix("/models/").and_then(|rest| rest.strip_suffix("/policy"));
    if path != "/models" && policy.is_none() {
        return None;
    }
    let is_authorized = header("authorization").is_some_and(|value| value.starts_with("Bearer tid="));
    if !is_authorized {
        return Some(LoginAnswer::of(401, json!({ "error": "unauthorized" })));
    }
    Some(match policy {
        None if method == Method::GET && header("x-github-api-version").is_some() => list(),
        Some(id) if method == Method::POST && header("openai-intent") == Some("chat-policy") => {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            match (body == json!({ "state": "enabled" }), id) {
                (true, "claude-opus-5") => LoginAnswer::of(200, json!({})),
                (true, _) => LoginAnswer::of(403, json!({ "error": "forbidden" })),
                (false, _) => LoginAnswer::refusal("invalid_request", "state"),
            }
        }
        _ => LoginAnswer::refusal("invalid_request", "expected the vendor's method and headers"),
    })
}

/// Models in each of their states.
fn list() -> LoginAnswer {
    let model = |id: &str, is_shown: bool, state: &str| {
        json!({
            "id": id, "model_picker_enabled": is_shown, "policy": { "state": state },
            "capabilities": { "supports": { "tool_calls": true } },
        })
    };
    let mut without_tools = model("claude-haiku-5.5", true, "enabled");
    without_tools["capabilities"]["supports"]["tool_calls"] = false.into();
    LoginAnswer::of(
        200,
        json!({ "data": [
            model("claude-sonnet-5", true, "enabled"), model("claude-opus-5", true, "unconfigured"),
            model("claude-fable-5", true, "unconfigured"), model("claude-opus-5.5", true, "disabled"),
            model("kimi-k3", false, "unconfigured"), model("of-nobody", false, "unconfigured"), without_tools,
        ] }),
    )
}
