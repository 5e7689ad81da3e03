//! A request that is not answered, in the vendor's words.

use super::vendor::Vendor;
use crate::model::scripted::Failure;
use serde_json::{Value, json};

/// Why a request is refused: status, and what the vendor's error object says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The error's `type`.
    pub kind: String,
    /// The error's `message`.
    pub message: String,
    /// OpenAI: the field at fault.
    pub param: Option<String>,
    /// OpenAI: the error's `code`.
    pub code: Option<&'static str>,
}

impl Refusal {
    /// A request that is wrong in itself: 400 `invalid_request_error`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::of(400, "invalid_request_error", message)
    }

    /// A refusal that names no field.
    pub fn of(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.to_owned(), message: message.into(), param: None, code: None }
    }

    /// The same, naming the field at fault.
    pub fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// The same with a `code`.
    pub fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// The body of the answer. Only Anthropic repeats the request's id in it.
    pub fn body(&self, vendor: Vendor, request_id: &str) -> Value {
        let Self { kind, message, param, code, .. } = self;
        match vendor {
            Vendor::Anthropic => json!({
                "type": "error",
                "error": { "type": kind, "message": message },
                "request_id": request_id,
            }),
            Vendor::Completions | Vendor::Responses => json!({
                "error": { "message": message, "type": kind, "param": param, "code": code },
            }),
        }
    }
}

/// The body of a scripted failure as `vendor` words it; nothing when the connection breaks. What the script gives as
/// `body` is kept to the letter.
pub(super) fn failure_body(failure: &Failure, vendor: Vendor) -> Option<String> {
    let status = failure.status()?;
    if vendor == Vendor::Anthropic || failure.body.is_some() {
        return failure.body();
    }
    let (kind, code) = openai_kind(status);
    let refusal = Refusal::of(status, failure.kind.as_deref().unwrap_or(kind), failure.message_or_usual());
    Some(Refusal { code, ..refusal }.body(vendor, "").to_string())
}

/// The `type` and `code` that OpenAI's errors of a status usually have.
pub(super) const fn openai_kind(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        429 => ("requests", Some("rate_limit_exceeded")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}
