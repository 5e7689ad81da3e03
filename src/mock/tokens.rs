//! The token endpoints of the vendors' logins: each refresh token is good for one exchange.

use super::handle::CREATED;
use crate::protocol::JsonObject;
use axum::http::{HeaderMap, Method};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Url;
use serde_json::{Value, json};
use std::collections::HashSet;

/// An endpoint, by the form of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenEndpoint {
    /// A form, as RFC 6749 has it.
    Form,
    /// The same as JSON, of Anthropic.
    Json,
    /// The exchange of a GitHub token for one of Copilot.
    Copilot,
    /// The exchange of an identity for a key, of Meta.
    Key,
}

/// Validity of a new token in seconds.
const VALIDITY: u64 = 3600;

/// The account of ChatGPT that new tokens belong to.
pub(super) const ACCOUNT: &str = "account_scripted";

/// Refresh tokens that were exchanged.
#[derive(Debug, Default)]
pub(super) struct UsedTokens(HashSet<String>);

impl TokenEndpoint {
    /// The endpoint at `path`.
    pub fn at(path: &str) -> Option<Self> {
        let endpoints = [
            ("/v1/oauth/token", Self::Json),
            ("/oauth/token", Self::Form),
            ("/oauth2/token", Self::Form),
            ("/copilot_internal/v2/token", Self::Copilot),
            ("/muse-code/key", Self::Key),
        ];
        endpoints.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, endpoint)| endpoint)
    }

    /// Answers a request: status and body. Its tokens are replaced in `body`, which goes into the journal.
    pub fn answer(
        self,
        method: &Method,
        headers: &HeaderMap,
        body: &mut Value,
        used: &mut UsedTokens,
    ) -> (u16, Value) {
        let wanted = if self == Self::Copilot { Method::GET } else { Method::POST };
        if *method != wanted {
            return (
                405,
                json!({ "error": "invalid_request", "error_description": format!("expected {wanted}") }),
            );
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let invalid = |text: String| (400, json!({ "error": "invalid_request", "error_description": text }));
        let refresh = match self {
            Self::Form | Self::Json => {
                let kind = header("content-type");
                let (expected, members) = match self {
                    Self::Form => ("application/x-www-form-urlencoded", of_form(body)),
                    _ => ("application/json", body.as_object().cloned().unwrap_or_default()),
                };
                if !kind.starts_with(expected) {
                    return invalid(format!("content-type: expected {expected}"));
                }
                let text =
                    |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let refresh = text("refresh_token");
                let mut shown = members.clone();
                if let Some(token) = shown.get_mut("refresh_token") {
                    *token = "***".into();
                }
                *body = shown.into();
                if text("grant_type") != "refresh_token" {
                    return (400, json!({ "error": "unsupported_grant_type" }));
                }
                if let Some(name) =
                    ["refresh_token", "client_id"].into_iter().find(|name| text(name).is_empty())
                {
                    return invalid(format!("{name}: is required"));
                }
                refresh
            }
            Self::Copilot | Self::Key => {
                let token = header("authorization").strip_prefix("Bearer ").unwrap_or_default().to_owned();
                if token.is_empty() {
                    return (401, json!({ "message": "Bad credentials" }));
                }
                token
            }
        };
        // Those of Copilot and Meta stay valid.
        let replaces = matches!(self, Self::Form | Self::Json);
        let is_new = !replaces || used.0.insert(refresh);
        if !is_new {
            let text = "The refresh token was used already";
            return (400, json!({ "error": "invalid_grant", "error_description": text }));
        }
        (200, self.tokens(used.0.len()))
    }

    /// The tokens of exchange `number`.
    fn tokens(self, number: usize) -> Value {
        match self {
            Self::Form | Self::Json => json!({
                "token_type": "Bearer",
                "access_token": chatgpt_token(number),
                "refresh_token": format!("refresh_scripted_{number}"),
                "expires_in": VALIDITY,
                "scope": "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
            }),
            // The time of scripts is long over.
            Self::Copilot => {
                json!({ "token": format!("tid=scripted;n={number}"), "expires_at": CREATED * 3 })
            }
            Self::Key => json!({ "api_key": format!("key_scripted_{number}") }),
        }
    }
}

/// A token with the claims that ChatGPT's server reads; it is signed by nobody.
fn chatgpt_token(number: usize) -> String {
    let claims = json!({ "https://api.openai.com/auth": { "chatgpt_account_id": ACCOUNT }, "jti": number.to_string() });
    format!("e30.{}.c2NyaXB0ZWQ", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// The members of a form.
fn of_form(body: &Value) -> JsonObject {
    let text = body.as_str().unwrap_or_default();
    let Ok(url) = Url::parse(&format!("http://form/?{text}")) else { return JsonObject::new() };
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect()
}
