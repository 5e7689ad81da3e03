//! Google accounts from files: which request gives a token for one, and what its answer says. No IO.
//!
//! Source: the vendor's pages on OAuth 2.0 for server applications and on application default credentials, RFC 7523.

use super::external_account::ExternalAccount;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{fmt, time::Duration};

/// What a token allows.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Where tokens are given, unless the file names another place.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// How long a signed request for a token is valid, in seconds.
const ASSERTION_SECONDS: u64 = 3600;
/// How long a token is valid, in seconds, if the answer does not say.
const TOKEN_SECONDS: u64 = 3600;

/// An account.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Account {
    /// An account of a program, with a key that signs.
    ServiceAccount {
        /// Its name.
        client_email: String,
        /// Its key, in PEM.
        private_key: String,
        /// The key's id.
        private_key_id: Option<String>,
        /// Where tokens are given.
        token_uri: Option<String>,
        /// The project that pays.
        quota_project_id: Option<String>,
    },
    /// An account of a person, who has logged in.
    AuthorizedUser {
        /// The program that the person has allowed.
        client_id: String,
        /// The program's secret.
        client_secret: String,
        /// What proves the login.
        refresh_token: String,
        /// Where tokens are given.
        token_uri: Option<String>,
        /// The project that pays.
        quota_project_id: Option<String>,
    },
    /// An identity that another provider proves.
    ExternalAccount(ExternalAccount),
    /// A service account for which another account acts.
    ImpersonatedServiceAccount {
        /// Where tokens of the service account are given.
        service_account_impersonation_url: String,
        /// The account that acts for it.
        source_credentials: Box<Account>,
        /// Accounts in between.
        #[serde(default)]
        delegates: Vec<String>,
        /// The project that pays.
        quota_project_id: Option<String>,
    },
}

/// Kinds of accounts, by `type`.
const KINDS: [&str; 4] =
    ["service_account", "authorized_user", "external_account", "impersonated_service_account"];

// Keys must not reach logs.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").finish_non_exhaustive()
    }
}

/// A token and its lifetime.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The token, to be sent as `Authorization: Bearer`.
    pub value: String,
    /// How long it is valid.
    pub lifetime: Duration,
}

/// A `POST` of a form that gives a token.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// The URL.
    pub url: String,
    /// Names and values of the form.
    pub form: Vec<(&'static str, String)>,
}

impl Account {
    /// Reads an account from the text of its file.
    ///
    /// # Errors
    ///
    /// The text is no JSON, has another type of account, or lacks a member. The message quotes no value but the type.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let kind = value["type"].as_str();
        if !kind.is_some_and(|kind| KINDS.contains(&kind)) {
            let found = kind.map_or("none".to_owned(), |kind| format!("{kind:?}"));
            return Err(format!("type: expected {}, got {found}", KINDS.join(", ")));
        }
        let members = ["client_email", "private_key", "client_id", "client_secret", "refresh_token"];
        let wrong = members.iter().find(|name| value.get(*name).is_some_and(|value| !value.is_string()));
        if let Some(name) = wrong {
            return Err(format!("{name}: expected a string"));
        }
        let account: Self = serde_json::from_value(value).map_err(|error| {
            // Other texts of the parser may quote values.
            let text = error.to_string();
            let quotes_nothing = text.starts_with("missing field");
            if quotes_nothing { text } else { "a member has another type than expected".to_owned() }
        })?;
        if let Self::ExternalAccount(account) = &account {
            account.check()?;
        }
        Ok(account)
    }

    /// The keys of the account, to be redacted.
    pub fn secrets(&self) -> Vec<&str> {
        match self {
            Self::ServiceAccount { private_key, .. } => {
                let lines = private_key.lines().filter(|line| !line.starts_with("-----"));
                lines.chain([private_key.as_str()]).collect()
            }
            Self::AuthorizedUser { client_secret, refresh_token, .. } => vec![client_secret, refresh_token],
            Self::ExternalAccount(account) => {
                account.credential_source.headers.values().map(String::as_str).collect()
            }
            Self::ImpersonatedServiceAccount { source_credentials, .. } => source_credentials.secrets(),
        }
    }

    /// The project that pays, if the file names one.
    pub fn quota_project(&self) -> Option<&str> {
        match self {
            Self::ServiceAccount { quota_project_id, .. }
            | Self::AuthorizedUser { quota_project_id, .. }
            | Self::ExternalAccount(ExternalAccount { quota_project_id, .. })
            | Self::ImpersonatedServiceAccount { quota_project_id, .. } => {
                quota_project_id.as_deref().filter(|project| !project.is_empty())
            }
        }
    }

    /// Builds the request for a token of an account with keys; `now` is in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The key of a service account cannot sign, or the account has no keys.
    pub fn token_request(&self, now: u64) -> Result<TokenRequest, String> {
        let url = |uri: &Option<String>| uri.clone().unwrap_or_else(|| TOKEN_URL.to_owned());
        match self {
            Self::ServiceAccount { client_email, private_key, private_key_id, token_uri, .. } => {
                let url = url(token_uri);
                let mut header = json!({ "alg": "RS256", "typ": "JWT" });
                if let Some(id) = private_key_id {
                    header["kid"] = id.as_str().into();
                }
                let claims = json!({
                    "iss": client_email, "scope": SCOPE, "aud": url, "iat": now, "exp": now + ASSERTION_SECONDS,
                });
                let form = vec![
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()),
                    ("assertion", signed(&header, &claims, private_key)?),
                ];
                Ok(TokenRequest { url, form })
            }
            Self::AuthorizedUser { client_id, client_secret, refresh_token, token_uri, .. } => {
                let form = vec![
                    ("grant_type", "refresh_token".to_owned()),
                    ("client_id", client_id.clone()),
                    ("client_secret", client_secret.clone()),
                    ("refresh_token", refresh_token.clone()),
                ];
                Ok(TokenRequest { url: url(token_uri), form })
            }
            Self::ExternalAccount(_) | Self::ImpersonatedServiceAccount { .. } => {
                Err("source_credentials: expected service_account or authorized_user".to_owned())
            }
        }
    }
}

/// A JWT of these parts, signed by the key.
fn signed(header: &Value, claims: &Value, private_key: &str) -> Result<String, String> {
    let wrong = |reason: String| format!("private_key: expected an RSA key in PEM (PKCS #8): {reason}");
    let key = PrivatePkcs8KeyDer::from_pem_slice(private_key.as_bytes())
        .map_err(|error| wrong(error.to_string()))?;
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map_err(|error| wrong(error.to_string()))?;
    let [header, claims] =
        [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string().as_bytes()));
    let text = format!("{header}.{claims}");
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|error| wrong(error.to_string()))?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(&signature)))
}

/// Reads the answer to a request for a token.
///
/// # Errors
///
/// The text of a refusal.
pub fn read_token(status: u16, body: &Value) -> Result<Token, String> {
    let text = |name: &str| body[name].as_str().filter(|text| !text.is_empty());
    match text("access_token") {
        Some(value) if (200..300).contains(&status) => {
            let seconds = body["expires_in"].as_u64().unwrap_or(TOKEN_SECONDS);
            Ok(Token { value: value.to_owned(), lifetime: Duration::from_secs(seconds) })
        }
        _ => {
            let words = [text("error"), text("error_description")];
            let words: Vec<&str> = words.into_iter().flatten().collect();
            Err(if words.is_empty() {
                format!("{status} {body}")
            } else {
                format!("{status} {}", words.join(": "))
            })
        }
    }
}
