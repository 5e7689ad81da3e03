//! Google accounts of other identity providers (workload identity federation), and accounts that act for a service account: which
//! requests give their tokens, and what the answers say. No IO.
//!
//! Source: the vendor's pages on workload identity federation (AIP-4117), RFC 8693, the reference of the IAM credentials API.

use super::account::{SCOPE, Token, TokenRequest};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// How long a token for a service account is asked for, in seconds.
const LIFETIME: u64 = 3600;

/// An identity that another provider proves.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct ExternalAccount {
    /// The pool and the provider of the identity.
    pub audience: String,
    /// The kind of token that proves the identity.
    pub subject_token_type: String,
    /// Where that token is exchanged.
    pub token_url: String,
    /// Where that token is.
    pub credential_source: CredentialSource,
    /// Where a token for a service account is given; `None`: the exchanged token is used.
    pub service_account_impersonation_url: Option<String>,
    /// How such a token is asked for.
    #[serde(default)]
    pub service_account_impersonation: Impersonation,
    /// The project that pays.
    pub quota_project_id: Option<String>,
    /// The project of a person's identity.
    pub workforce_pool_user_project: Option<String>,
}

/// How a token for a service account is asked for.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Impersonation {
    token_lifetime_seconds: Option<u64>,
}

/// Where the token is that proves an identity: in a file or at a URL.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct CredentialSource {
    /// The file.
    pub file: Option<String>,
    /// The address.
    pub url: Option<String>,
    /// Headers of the request to the address.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: Option<String>,
    subject_token_field_name: Option<String>,
}

impl ExternalAccount {
    /// Checks what its shape does not say.
    ///
    /// # Errors
    ///
    /// The token is neither in a file nor at a URL, or has an unknown format.
    pub fn check(&self) -> Result<(), String> {
        let source = &self.credential_source;
        if source.file.is_none() && source.url.is_none() {
            return Err("credential_source: expected file or url (environments of AWS and executables are not supported)"
                .to_owned());
        }
        match (source.format.kind.as_deref(), &source.format.subject_token_field_name) {
            (None | Some("text"), _) | (Some("json"), Some(_)) => Ok(()),
            (Some("json"), None) => {
                Err("credential_source.format.subject_token_field_name: expected the name of a member"
                    .to_owned())
            }
            (Some(kind), _) => {
                Err(format!("credential_source.format.type: expected text or json, got {kind:?}"))
            }
        }
    }

    /// Reads the token that proves the identity from the text of its file or answer.
    ///
    /// # Errors
    ///
    /// It is not there. The message quotes no value.
    pub fn subject_token(&self, text: &str) -> Result<String, String> {
        let format = &self.credential_source.format;
        let token = match (format.kind.as_deref(), &format.subject_token_field_name) {
            (Some("json"), Some(name)) => {
                let value: Value = serde_json::from_str(text).map_err(|_| "expected JSON".to_owned())?;
                value[name].as_str().map(str::to_owned).ok_or_else(|| format!("{name}: expected a string"))?
            }
            _ => text.trim().to_owned(),
        };
        Some(token)
            .filter(|token| !token.is_empty())
            .ok_or_else(|| "expected a token, got nothing".to_owned())
    }

    /// Builds the request that exchanges the token.
    pub fn exchange(&self, subject_token: &str) -> TokenRequest {
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("audience", self.audience.clone()),
            ("scope", SCOPE.to_owned()),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token".to_owned()),
            ("subject_token", subject_token.to_owned()),
            ("subject_token_type", self.subject_token_type.clone()),
        ];
        if let Some(project) = &self.workforce_pool_user_project {
            form.push(("options", json!({ "userProject": project }).to_string()));
        }
        TokenRequest { url: self.token_url.clone(), form }
    }

    /// Seconds that a token for the service account is valid.
    pub fn lifetime(&self) -> u64 {
        self.service_account_impersonation.token_lifetime_seconds.unwrap_or(LIFETIME)
    }
}

/// Builds the body of a request for a token of a service account.
pub fn impersonation_body(seconds: Option<u64>, delegates: &[String]) -> Value {
    let lifetime = format!("{}s", seconds.unwrap_or(LIFETIME));
    let mut body = json!({ "scope": [SCOPE], "lifetime": lifetime });
    if !delegates.is_empty() {
        body["delegates"] = delegates.into();
    }
    body
}

/// Reads the answer to such a request; `now` is in seconds since 1970.
///
/// # Errors
///
/// The text of a refusal.
pub fn read_impersonated_token(status: u16, body: &Value, now: u64) -> Result<Token, String> {
    match body["accessToken"].as_str().filter(|token| !token.is_empty()) {
        Some(token) if (200..300).contains(&status) => {
            let end = body["expireTime"].as_str().and_then(|end| end.parse::<Timestamp>().ok());
            let end = end.and_then(|end| u64::try_from(end.as_second()).ok());
            let seconds = end.map_or(LIFETIME, |end| end.saturating_sub(now));
            Ok(Token { value: token.to_owned(), lifetime: Duration::from_secs(seconds) })
        }
        _ => match body["error"]["message"].as_str() {
            Some(message) => Err(format!("{status} {message}")),
            None => Err(format!("{status} {body}")),
        },
    }
}
