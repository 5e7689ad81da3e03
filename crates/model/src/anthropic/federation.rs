//! Anthropic's workload identity federation: the token that a platform gives this program is exchanged for one of Anthropic.
//!
//! Source: pi 1.6.0 (provider `anthropic`); the vendor's client library, 0.x for TypeScript.

use crate::request::Credentials;
use pi_rpc_protocol::Model;
use serde_json::{Value, json};
use std::time::Duration;

/// The provider whose service gives tokens.
pub const ANTHROPIC: &str = "anthropic";

const RULE: &str = "ANTHROPIC_FEDERATION_RULE_ID";
const ORGANIZATION: &str = "ANTHROPIC_ORGANIZATION_ID";
const TOKEN_FILE: &str = "ANTHROPIC_IDENTITY_TOKEN_FILE";
const SERVICE_ACCOUNT: &str = "ANTHROPIC_SERVICE_ACCOUNT_ID";
const WORKSPACE: &str = "ANTHROPIC_WORKSPACE_ID";

/// Variables that a request depends on, the [needed](NEEDED) ones first.
pub const VARIABLES: [&str; 5] = [RULE, ORGANIZATION, TOKEN_FILE, SERVICE_ACCOUNT, WORKSPACE];
/// Number of variables without which there is no exchange.
pub const NEEDED: usize = 3;

/// The feature that requests with an exchanged token ask for.
pub const TOKEN_BETA: &str = "oauth-2025-04-20";
/// The features that the exchange asks for.
pub const EXCHANGE_BETAS: &str = "oauth-2025-04-20,oidc-federation-2026-04-01";

/// Headers that authorize a request by themselves.
const AUTHORIZING: [&str; 3] = ["authorization", "x-api-key", "cf-aig-authorization"];

/// Longest identity token that the service takes, in bytes.
pub const IDENTITY_BYTES: usize = 16 * 1024;

/// What the exchange needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Federation {
    rule: String,
    organization: String,
    /// The file of the identity token, which the platform renews.
    pub token_file: String,
    service_account: Option<String>,
    workspace: Option<String>,
    /// The address of the exchange.
    pub url: String,
}

impl Federation {
    /// The exchange that authorizes requests to `model`; `None`: a key or a header does, or the variables are not set.
    pub fn of(model: &Model, credentials: &Credentials) -> Option<Self> {
        let is_authorized = credentials.key.is_some()
            || credentials.headers.iter().any(|(name, value)| {
                !value.trim().is_empty() && AUTHORIZING.contains(&name.to_ascii_lowercase().as_str())
            });
        if model.provider != ANTHROPIC || is_authorized {
            return None;
        }
        let variable = |name| credentials.variable(name).map(str::to_owned);
        Some(Self {
            rule: variable(RULE)?,
            organization: variable(ORGANIZATION)?,
            token_file: variable(TOKEN_FILE)?,
            service_account: variable(SERVICE_ACCOUNT),
            workspace: variable(WORKSPACE),
            url: format!("{}/v1/oauth/token", model.base_url.trim_end_matches('/')),
        })
    }

    /// The body of the exchange.
    pub fn body(&self, identity: &str) -> Value {
        let mut body = json!({
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": identity,
            "federation_rule_id": self.rule,
            "organization_id": self.organization,
        });
        let others = [("service_account_id", &self.service_account), ("workspace_id", &self.workspace)];
        for (name, value) in others {
            if let Some(value) = value {
                body[name] = value.as_str().into();
            }
        }
        body
    }

    /// The text that follows a refusal with `status`.
    pub fn hint(&self, status: u16) -> &'static str {
        match (status, &self.workspace) {
            (401, None) => {
                ". Check that the federation rule matches the identity token; a rule of several workspaces needs \
                 ANTHROPIC_WORKSPACE_ID"
            }
            (401, Some(_)) => ". Check that the federation rule matches the identity token",
            _ => "",
        }
    }
}

/// An exchanged token.
#[derive(Clone, PartialEq, Eq)]
pub struct FederatedToken {
    /// The token.
    pub value: String,
    /// How long it is valid.
    pub lifetime: Duration,
}

/// Reads the answer to an exchange.
///
/// # Errors
///
/// What is missing or wrong in it, without a value of it, or the words with which the service refuses.
pub fn read_token(status: u16, body: &Value) -> Result<FederatedToken, String> {
    if !(200..300).contains(&status) {
        // Other members may repeat what was sent.
        let words: Vec<&str> = ["error", "error_description", "error_uri"]
            .into_iter()
            .filter_map(|name| body[name].as_str())
            .collect();
        return Err(format!("status {status}: {}", words.join(": ")).trim_end_matches([':', ' ']).to_owned());
    }
    let kind = body["token_type"].as_str().unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(format!("token_type: expected Bearer, got {kind}"));
    }
    let value = body["access_token"].as_str().filter(|token| !token.is_empty());
    let value = value.ok_or("access_token: expected a text")?.to_owned();
    let seconds = &body["expires_in"];
    let seconds = seconds.as_f64().or_else(|| seconds.as_str()?.parse().ok());
    let lifetime = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(FederatedToken { value, lifetime: lifetime.ok_or("expires_in: expected seconds")? })
}
