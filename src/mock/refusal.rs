//! Refusals of requests, in the vendor's form.

use super::vendor::Vendor;
use crate::model::scripted::Failure;
use serde_json::{Value, json};

/// The refusal of a request: status and error object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VendorRefusal {
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

impl VendorRefusal {
    /// A refusal of an invalid request: 400 `invalid_request_error`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::of(400, "invalid_request_error", message)
    }

    /// A refusal that names no field.
    pub fn of(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.to_owned(), message: message.into(), param: None, code: None }
    }

    /// Adds the name of the field at fault.
    pub fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// Adds a `code`.
    pub fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// The body of the response. Only Anthropic repeats the request's id in it.
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

/// The body of a scripted failure in the vendor's form; `None`: the connection breaks. A `body` of the script is used
/// unchanged.
pub(super) fn failure_body(failure: &Failure, vendor: Vendor) -> Option<String> {
    let status = failure.status()?;
    if vendor == Vendor::Anthropic || failure.body.is_some() {
        return failure.body();
    }
    let (kind, code) = openai_kind(status);
    let refusal =
        VendorRefusal::of(status, failure.kind.as_deref().unwrap_or(kind), failure.message_or_usual());
    Some(VendorRefusal { code, ..refusal }.body(vendor, "").to_string())
}

/// The usual `type` and `code` of OpenAI's errors with a status.
pub(super) const fn openai_kind(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        429 => ("requests", Some("rate_limit_exceeded")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}
