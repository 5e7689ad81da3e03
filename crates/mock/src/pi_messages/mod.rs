//! The messages of pi itself, as its gateway takes them: requests, errors and streams.
//!
//! The gateway has no public reference: refused is what pi's client never writes, and the codes of errors are the mock's own.

pub(super) mod writer;

use super::{
    fault::{Fault, PathStep},
    prompt_context::{PromptContext, items, text_of},
    refusal::VendorRefusal,
    wording,
};
use serde_json::{Value, json};

/// The path below which the mock plays the gateway: its path is otherwise one of Anthropic's.
pub(super) const FOLDER: &str = "/radius/";

/// Reads the conversation of a request.
pub(super) fn prompt_context(body: &Value) -> PromptContext {
    let mut context = PromptContext::default();
    for message in items(&body["context"]["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") => context.add_user_text(&text),
            Some("toolResult") => {
                context.add_result(&message["toolCallId"], text, message["isError"] == true);
            }
            _ => context.add_text(&text),
        }
        for part in items(&message["content"]).iter().filter(|part| part["type"] == "toolCall") {
            context.add_call(&part["id"], &part["name"]);
        }
        for tool in items(&message["toolsAdded"]) {
            context.add_tool(&tool["name"]);
        }
    }
    context
}

/// The refusal for a fault of the body's shape.
pub(super) fn invalid(fault: &Fault) -> VendorRefusal {
    let path = fault.path.iter().filter(|step| !matches!(step, PathStep::Branch(_))).cloned().collect();
    let fault = Fault { path, ..fault.clone() };
    VendorRefusal::of(400, "", wording::anthropic(&fault).message).code("invalid_request")
}

/// The refusal of a request without a token.
pub(super) fn unauthorized() -> VendorRefusal {
    VendorRefusal::of(401, "", "Missing bearer token").code("unauthorized")
}

/// The error object of a refusal.
pub(super) fn error_body(refusal: &VendorRefusal) -> Value {
    json!({ "error": { "message": refusal.message, "code": refusal.code } })
}

/// The usual `code` of errors with a status.
pub(super) const fn error_code(status: u16) -> &'static str {
    match status {
        401 => "unauthorized",
        404 => "not_found",
        413 => "too_large",
        429 => "rate_limited",
        529 => "overloaded",
        500.. => "upstream_error",
        _ => "invalid_request",
    }
}
