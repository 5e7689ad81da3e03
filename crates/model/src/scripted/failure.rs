//! Failures of scripted answers, and pi's texts for them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A failure of the API (`status` or `kind` are given), or of the connection to it (`message` alone).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Failure {
    /// The HTTP status, 400 to 599; by default that of the `kind`. It is used only at the beginning of an answer: one
    /// that has begun fails with the error's body alone.
    #[schemars(range(min = 400, max = 599))]
    pub status: Option<u16>,
    /// The error's type, such as `overloaded_error`; by default that of the `status`.
    pub kind: Option<String>,
    /// The error's message. Without `status` and `kind`: how the connection broke, such as `terminated`.
    pub message: Option<String>,
    /// The error's body, instead of one made of `kind` and `message`: JSON, or a string for a body
    /// that is not JSON.
    pub body: Option<Value>,
    /// Seconds that the provider asks to wait before a retry, sent with the `status`.
    pub retry_after: Option<u32>,
}

impl Failure {
    /// The HTTP status; `None`: the connection breaks.
    pub fn status(&self) -> Option<u16> {
        let of_kind = || self.kind.as_deref().map(|kind| UsualError::of_kind(kind).status);
        self.status.or_else(of_kind)
    }

    /// The body of the HTTP answer or of the error event; `None`: the connection breaks.
    pub fn body(&self) -> Option<String> {
        match &self.body {
            Some(Value::String(text)) => Some(text.clone()),
            Some(json) => Some(json.to_string()),
            None => self.status().map(|status| self.default_body(status)),
        }
    }

    /// The error's message, or the usual one of its status.
    pub fn message_or_usual(&self) -> &str {
        let usual = || self.status().map_or("", |status| UsualError::of_status(status).message);
        self.message.as_deref().unwrap_or_else(usual)
    }

    /// The text for `errorMessage`; `begun`: the answer had begun.
    pub fn error_message(&self, begun: bool) -> String {
        match (self.status(), self.body()) {
            (Some(status), Some(body)) if !begun && body.is_empty() => {
                format!("{status} status code (no body)")
            }
            (Some(status), Some(body)) if !begun => format!("{status} {body}"),
            (_, Some(body)) => body,
            (_, None) => self.message.clone().unwrap_or_default(),
        }
    }

    fn default_body(&self, status: u16) -> String {
        let usual = UsualError::of_status(status);
        let kind = Value::from(self.kind.as_deref().unwrap_or(usual.kind));
        let message = Value::from(self.message.as_deref().unwrap_or(usual.message));
        format!(r#"{{"type":"error","error":{{"type":{kind},"message":{message}}}}}"#)
    }
}

/// A usual error of Anthropic's API.
#[derive(Clone, Copy)]
struct UsualError {
    status: u16,
    kind: &'static str,
    message: &'static str,
}

const BAD_REQUEST: UsualError = usual(400, "invalid_request_error", "Invalid request");
const SERVER_ERROR: UsualError = usual(500, "api_error", "Internal server error");

const USUAL: [UsualError; 12] = [
    BAD_REQUEST,
    usual(401, "authentication_error", "Invalid API key"),
    usual(402, "billing_error", "Payment required"),
    usual(403, "permission_error", "Permission denied"),
    usual(404, "not_found_error", "Not found"),
    usual(413, "request_too_large", "Request too large"),
    usual(429, "rate_limit_error", "Rate limit exceeded"),
    SERVER_ERROR,
    usual(502, "api_error", "Bad gateway"),
    usual(503, "api_error", "Service unavailable"),
    usual(504, "timeout_error", "Gateway timeout"),
    usual(529, "overloaded_error", "Overloaded"),
];

impl UsualError {
    /// The usual error of a status; an unlisted one counts as 400 or 500.
    fn of_status(status: u16) -> Self {
        let general = if status < SERVER_ERROR.status { BAD_REQUEST } else { SERVER_ERROR };
        USUAL.into_iter().find(|usual| usual.status == status).unwrap_or(general)
    }

    /// The usual error of a kind; an unlisted one counts as 500.
    fn of_kind(kind: &str) -> Self {
        USUAL.into_iter().find(|usual| usual.kind == kind).unwrap_or(SERVER_ERROR)
    }
}

const fn usual(status: u16, kind: &'static str, message: &'static str) -> UsualError {
    UsualError { status, kind, message }
}
