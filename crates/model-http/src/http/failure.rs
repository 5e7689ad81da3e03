//! Why a request or its answer failed, and the texts for it.

use super::{
    extra_authorities,
    redactor::Redactor,
    response::{NoEventStream, read_error_body, shorten},
};
use pi_rpc_model::{
    failure::{is_overflow, overflow_code},
    request::Reader,
    retry::{is_transient_status, retry_after},
    types::StreamEvent,
};
use reqwest::{Response, header::LOCATION};
use serde_json::Value;
use std::{
    error::Error,
    time::{Duration, SystemTime},
};

/// What the library's text about a refused certificate has before the reason.
const REFUSED_CERTIFICATE: &str = "invalid peer certificate: ";

/// Why an answer failed.
pub struct RequestFailure {
    pub message: String,
    pub retry_after: Option<Duration>,
    /// Whether a retry may succeed, and nothing of an answer has come.
    pub is_transient: bool,
    /// Whether a connection broke on which nothing had come.
    pub is_broken: bool,
    /// The body to send instead of the one that was refused.
    pub instead: Option<Value>,
    /// Whether the credential was refused.
    pub is_unauthorized: bool,
}

impl RequestFailure {
    pub fn new(message: String) -> Self {
        Self {
            message,
            retry_after: None,
            is_transient: false,
            is_broken: false,
            instead: None,
            is_unauthorized: false,
        }
    }

    pub fn of_connection(message: String) -> Self {
        Self { is_transient: true, ..Self::new(format!("Connection error: {message}")) }
    }

    pub fn into_event(self, redactor: &Redactor) -> StreamEvent {
        StreamEvent::Fail { message: redactor.redact(self.message), retry_after: self.retry_after }
    }

    /// The failure of a provider that asks for a longer wait than allowed.
    pub fn too_long(self, delay: Duration, longest: Duration) -> Self {
        let [delay, longest] = [delay, longest].map(|time| time.as_millis().div_ceil(1000));
        let message = format!("Server requested {delay}s retry delay (max: {longest}s). {}", self.message);
        Self { message, ..self }
    }
}

/// Builds the failure for an answer that is no event stream. A page or a refusal stays what it is, anything else may be
/// an event stream at the next attempt.
pub fn no_event_stream(host: &str, answer: NoEventStream, redactor: &Redactor) -> RequestFailure {
    let NoEventStream { kind, body } = answer;
    let is_refusal = || serde_json::from_str::<Value>(&body).is_ok_and(|body| !body["error"].is_null());
    let passes = if kind.contains("html") || is_refusal() { "" } else { "terminated: " };
    let start = shorten(&redactor.redact(body));
    RequestFailure::new(format!("{passes}{host} did not answer with an event stream but {kind}: {start}"))
}

/// Builds the failure for a status other than 2xx.
pub async fn refusal(
    response: Response,
    reader: &mut dyn Reader,
    patience: Duration,
    redactor: &Redactor,
) -> RequestFailure {
    let status = response.status();
    let number = status.as_u16();
    let mut instead = None;
    let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::trim);
    let mut retry_after = retry_after(header, SystemTime::now());
    let mut is_transient = is_transient_status(number, header);
    let location = header(LOCATION.as_str()).map(str::to_owned);
    // Some services add an address behind a colon.
    let kind = reader.error_kind_header().and_then(header).and_then(|kind| kind.split(':').next());
    let kind = kind.filter(|kind| !kind.is_empty()).map(|kind| redactor.redact(shorten(kind)));
    let message = match location.filter(|_| status.is_redirection()) {
        Some(to) => format!(
            "{number} redirected to {}, which is not followed: change the model's baseUrl",
            shorten(&redactor.redact(to))
        ),
        None => {
            let body = redactor.redact(read_error_body(response, patience).await);
            match serde_json::from_str::<Value>(&body) {
                Ok(body) => match reader.usage_limit(&body, SystemTime::now()) {
                    Some(limit) => {
                        (retry_after, is_transient) = (None, false);
                        limit
                    }
                    None => {
                        instead = reader.body_instead(number, &body);
                        retry_after = retry_after.or_else(|| reader.retry_after(&body));
                        let reason = reader.refusal(&body).unwrap_or_else(|| body.to_string());
                        let code = overflow_code(&body).filter(|_| !is_overflow(&reason));
                        let reason = code.map_or(reason.clone(), |code| format!("{code}: {reason}"));
                        match kind {
                            Some(kind) => format!("{number} {kind}: {reason}"),
                            None => format!("{number} {reason}"),
                        }
                    }
                },
                Err(_) if body.trim().is_empty() => format!("{number} status code (no body)"),
                Err(_) => format!("{number} {}", shorten(&body)),
            }
        }
    };
    RequestFailure {
        retry_after,
        is_transient,
        instead,
        is_unauthorized: number == 401,
        ..RequestFailure::new(message)
    }
}

pub fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Whether a connection was not made because of the other side's certificate.
pub fn is_refused_certificate(error: &reqwest::Error) -> bool {
    let mut reason = error.source();
    while let Some(found) = reason {
        if found.to_string().contains(REFUSED_CERTIFICATE) {
            return true;
        }
        reason = found.source();
    }
    false
}

/// Joins the causes of an error, the outermost first, without repetitions.
pub fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut texts: Vec<String> = Vec::new();
    let mut reason: Option<&dyn Error> = error.source();
    while let Some(found) = reason {
        let text = found.to_string();
        let known = texts.last().is_some_and(|last| last.contains(&text));
        if !known && !text.starts_with("client error (") {
            texts.push(text);
        }
        reason = found.source();
    }
    let text = if texts.is_empty() { error.to_string() } else { texts.join(": ") };
    // The library's text ends with the debug output of its types.
    match text.split_once(REFUSED_CERTIFICATE) {
        Some((before, reason)) => {
            let reason = reason.trim_start_matches("Other(OtherError(").trim_end_matches("))");
            format!(
                "{before}its certificate is not trusted ({reason}); {} may name a file of further authorities",
                extra_authorities::EXTRA_CA_VARIABLE
            )
        }
        None => text,
    }
}
