//! Refusals of requests, in the vendor's form.

use super::{bedrock, mistral, pi_messages, vendor::Vendor};
use pi_rpc_model::scripted::Failure;
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
    /// OpenAI and Mistral: the field at fault.
    pub param: Option<String>,
    /// OpenAI, Mistral and pi's gateway: the error's `code`.
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
            Vendor::Azure if kind.is_empty() => json!({ "error": { "code": code, "message": message } }),
            Vendor::Codex => json!({ "detail": message }),
            Vendor::Completions | Vendor::Responses | Vendor::Azure => json!({
                "error": { "message": message, "type": kind, "param": param, "code": code },
            }),
            Vendor::Google => google_body(self.status, message, google_status(self.status)),
            Vendor::Mistral => mistral::error_body(self),
            Vendor::PiMessages => pi_messages::error_body(self),
            Vendor::Bedrock => json!({ "message": message }),
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
    if vendor == Vendor::Google {
        return Some(google_failure(status, failure).to_string());
    }
    if vendor == Vendor::Bedrock {
        return Some(json!({ "message": failure.message_or_usual() }).to_string());
    }
    let (kind, code) = match vendor {
        Vendor::Mistral => mistral::error_kind(status),
        Vendor::PiMessages => ("", Some(pi_messages::error_code(status))),
        _ => openai_kind(status),
    };
    let refusal =
        VendorRefusal::of(status, failure.kind.as_deref().unwrap_or(kind), failure.message_or_usual());
    // ChatGPT passes on what the service behind it fails with.
    let vendor = if vendor == Vendor::Codex { Vendor::Responses } else { vendor };
    Some(VendorRefusal { code, ..refusal }.body(vendor, "").to_string())
}

/// The exception of a scripted failure, which Amazon Bedrock names in a header.
pub(super) fn exception_of(failure: &Failure, status: u16) -> &str {
    failure.kind.as_deref().unwrap_or(bedrock::exception(status))
}

/// A scripted failure as Google words it: the wait is in the body, not in a header.
fn google_failure(status: u16, failure: &Failure) -> Value {
    let kind = failure.kind.as_deref().unwrap_or(google_status(status));
    let mut body = google_body(status, failure.message_or_usual(), kind);
    if let Some(seconds) = failure.retry_after {
        body["error"]["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s"),
        }]);
    }
    body
}

fn google_body(status: u16, message: &str, kind: &str) -> Value {
    json!({ "error": { "code": status, "message": message, "status": kind } })
}

/// The `status` of Google's errors with an HTTP status.
const fn google_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
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
