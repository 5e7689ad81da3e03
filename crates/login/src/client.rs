//! Requests of a login, and what failed.

use super::request::{Names, build, entry_of, refusal_text};
use pi_rpc_config::login_kinds::{LoginKind, TokenRequest};
use pi_rpc_model_http::http::{Exchanged, Http};
use pi_rpc_protocol::JsonObject;
use std::time::{SystemTime, UNIX_EPOCH};

/// Why a login failed. The texts hold no code and no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// The vendor's server cannot be reached, or its answer is unusable.
    #[error("{0}")]
    Unavailable(String),
    /// The vendor refuses.
    #[error("{0}")]
    Refused(String),
    /// The user has refused.
    #[error("the login was refused on the page")]
    Denied,
    /// The user took too long.
    #[error("the code has expired before the login was confirmed; begin again")]
    Expired,
    /// What came back does not belong to this login.
    #[error("{0}")]
    Callback(String),
    /// No listener for the browser.
    #[error(
        "127.0.0.1:{0} cannot be used: {1}. Another login may be open; the browser comes back to this port"
    )]
    Port(u16, String),
}

/// An answer of a vendor: status and members.
pub struct Answer {
    pub(super) host: String,
    pub(super) status: u16,
    pub(super) members: JsonObject,
    /// The vendor's reason, where it refuses.
    reason: String,
}

impl Answer {
    /// The failure for a status other than 2xx.
    pub fn refusal(&self) -> FlowError {
        let reason = if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) };
        FlowError::Refused(format!("{} refuses it ({}{reason})", self.host, self.status))
    }

    /// The members of an answer with success.
    ///
    /// # Errors
    ///
    /// The vendor refuses.
    pub fn success(self) -> Result<JsonObject, FlowError> {
        match self.status {
            200..=299 => Ok(self.members),
            _ => Err(self.refusal()),
        }
    }

    /// A failure for an answer of another shape.
    pub fn unusable(&self, reason: &str) -> FlowError {
        FlowError::Unavailable(format!("the answer of {}: {reason}", self.host))
    }
}

/// Sends a request of the table.
///
/// # Errors
///
/// The vendor cannot be reached, or a name has no value.
pub async fn send(http: &Http, request: &TokenRequest, names: &Names) -> Result<Answer, FlowError> {
    let request = build(request, names).map_err(FlowError::Unavailable)?;
    let host = request.url().host_str().unwrap_or_default().to_owned();
    let Exchanged { status, body } = http.exchange(request).await.map_err(FlowError::Unavailable)?;
    let reason = names.redact(&refusal_text(&body));
    let members = serde_json::from_str(&body);
    if members.is_err() && (200..300).contains(&status) {
        return Err(FlowError::Unavailable(format!("{host} did not answer with a JSON object")));
    }
    Ok(Answer { host, status, members: members.unwrap_or_default(), reason })
}

/// Obtains a token and makes the entry of `auth.json`.
///
/// # Errors
///
/// The vendor refuses, cannot be reached, or answers with something else.
pub async fn obtain(
    http: &Http,
    kind: &LoginKind,
    request: &TokenRequest,
    names: &Names,
    previous: &JsonObject,
) -> Result<JsonObject, FlowError> {
    let answer = send(http, request, names).await?;
    let host = answer.host.clone();
    let members = answer.success()?;
    entry_of(kind, &members, previous, now_ms())
        .map_err(|reason| FlowError::Unavailable(format!("the answer of {host}: {reason}")))
}

/// Milliseconds since 1970.
pub fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
}
