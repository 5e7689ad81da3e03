//! Mistral's chat completions: its requests, rules, errors and streams.

pub(super) mod rules;
pub(super) mod writer;

use super::{
    handle::CREATED,
    prompt_context::{PromptContext, items, text_of},
    refusal::VendorRefusal,
};
use serde_json::{Value, json};

/// Beginning of pi's results of failed tools, for which this form has no member.
const FAILED: &str = "[tool error] ";

/// The path below which the mock plays this vendor: its paths are otherwise the same as OpenAI's.
pub(super) const FOLDER: &str = "/mistral/";

/// Reads the conversation of a request.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let mut context = PromptContext::default();
    for message in items(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") => context.add_user_text(&text),
            Some("tool") => {
                let failed = text.strip_prefix(FAILED);
                let is_error = failed.is_some();
                context.add_result(&message["tool_call_id"], failed.unwrap_or(&text).to_owned(), is_error);
            }
            _ => context.add_text(&text),
        }
        for call in items(&message["tool_calls"]) {
            context.add_call(&call["id"], &call["function"]["name"]);
        }
    }
    for tool in items(&body["tools"]) {
        context.add_tool(&tool["function"]["name"]);
    }
    context
}

/// The error object of a refusal. Those of the body's shape (422) list the fault with its place; those of the gateway
/// have no more than a text.
pub(super) fn error_body(refusal: &VendorRefusal) -> Value {
    let VendorRefusal { status, kind, message, param, code } = refusal;
    if matches!(status, 401 | 404 | 405) {
        return json!({ "detail": message });
    }
    let message = match (status, param) {
        (422, Some(place)) => {
            let step = |step: &str| step.parse::<u64>().map_or_else(|_| json!(step), |index| json!(index));
            let place: Vec<Value> = place.split('.').map(step).collect();
            json!({ "detail": [{ "type": kind, "loc": place, "msg": message }] })
        }
        _ => json!(message),
    };
    let kind = if *status == 422 { "invalid_request_error" } else { kind };
    json!({
        "object": "error", "message": message, "type": kind, "param": null, "code": code, "raw_status_code": status,
    })
}

/// The usual `type` and `code` of errors with a status.
pub(super) const fn error_kind(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        429 => ("rate_limited", Some("1300")),
        503 | 529 => ("service_unavailable", Some("1900")),
        500.. => ("internal_server_error", Some("1000")),
        _ => ("invalid_request_error", None),
    }
}

/// The description of the model `id`.
pub(super) fn model_card(id: &str, name: &str) -> Value {
    json!({
        "id": id, "object": "model", "created": CREATED, "owned_by": "mistralai", "name": name, "type": "base",
        "capabilities": { "completion_chat": true, "function_calling": true, "vision": true },
        "description": null, "max_context_length": 262_144, "aliases": [], "deprecation": null,
        "internal": false,
    })
}
