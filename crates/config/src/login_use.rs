//! How the token of a login is used: until when, which header it goes into, and which address it names.

use super::{
    CredentialError, Environment, Keys,
    auth::Login,
    credential_source::is_renewed,
    login_kinds::{BaseUrlRule, LoginKind, login_kind},
};
use pi_rpc_files::secrets::names_key;
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

/// How long a token must be valid for a request to begin with it. Source: pi 1.5.2.
const MIN_VALIDITY_MS: f64 = 300_000.0;

impl Keys {
    /// Checks that a token that has expired can be replaced by another.
    pub(super) fn check_renewable(&self, provider: &str, refresh: &str) -> Result<(), CredentialError> {
        if self.is_renewable(provider, refresh) {
            return Ok(());
        }
        let help = match login_kind(provider) {
            _ if self.of_database.contains(provider) && refresh.is_empty() => {
                "it holds nothing to renew it with.\n\nLog in again in omp (/login), or use an API key.".to_owned()
            }
            _ if self.of_database.contains(provider) => {
                "pi-rpc does not know how to renew it.\n\nSend a prompt in omp, which renews it, or use an API key."
                    .to_owned()
            }
            Some(_) => format!("it holds nothing to renew it with.\n\nLog in again: pi-rpc login {provider}"),
            None => {
                "pi-rpc does not know how to renew it.\n\nLog in again with the program that made it, or use \
                     an API key."
                    .to_owned()
            }
        };
        Err(CredentialError::Expired { provider: provider.to_owned(), file: self.login_file(provider), help })
    }

    /// Whether another token can be obtained for one of the provider's.
    pub(super) fn is_renewable(&self, provider: &str, refresh: &str) -> bool {
        let is_ours = !self.of_database.contains(provider) || self.files.renewed.contains(&provider);
        is_ours && is_renewed(provider, refresh)
    }

    /// The login that the provider's requests use, and its kind.
    pub(super) fn oauth_login(&self, provider: &str) -> Option<(&'static LoginKind, Login)> {
        let login = self.login(provider)?;
        matches!(login, Login::Oauth { .. }).then_some((login_kind(provider)?, login))
    }

    /// Whether the provider's token has expired or will within `MIN_VALIDITY_MS`, and can be replaced by another.
    pub fn expires_soon(&self, provider: &str) -> bool {
        self.expires_within(provider, MIN_VALIDITY_MS)
    }

    /// Whether the provider's token has expired, and can be replaced by another.
    pub fn has_expired(&self, provider: &str) -> bool {
        self.expires_within(provider, 0.0)
    }

    fn expires_within(&self, provider: &str, milliseconds: f64) -> bool {
        match self.oauth_login(provider) {
            Some((_, Login::Oauth { expires, refresh, .. })) => {
                self.is_renewable(provider, &refresh) && has_passed(expires - milliseconds)
            }
            _ => false,
        }
    }

    /// Replaces the login of a provider by an entry of `auth.json`; `None`, or an entry of another shape: there is none.
    pub fn set_login(&self, provider: &str, entry: Option<&JsonObject>) {
        let login = entry.and_then(Login::parse);
        login.iter().for_each(|login| self.learn_login_secrets(login));
        self.logins.set(provider, login);
    }

    /// The path of `auth.json`.
    pub fn auth_file(&self) -> PathBuf {
        self.agent.join("auth.json")
    }

    /// The file that the provider's login is in.
    pub fn login_file(&self, provider: &str) -> PathBuf {
        let database = self.files.database.clone().filter(|_| self.of_database.contains(provider));
        database.unwrap_or_else(|| self.auth_file())
    }

    /// The database that the provider's login is in, and its row; `None`: it is in `auth.json`.
    pub fn database_row(&self, provider: &str) -> Option<(PathBuf, i64)> {
        let stored = self.database.get(provider).filter(|_| self.of_database.contains(provider))?;
        Some((self.files.database.clone()?, stored.login.as_ref()?.0))
    }

    /// The environment that values refer to.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(super) fn learn_login_secrets(&self, login: &Login) {
        match login {
            Login::ApiKey { key, env } => {
                key.iter().for_each(|key| self.learn_secret(key));
                env.iter()
                    .filter(|(name, _)| names_key(name))
                    .for_each(|(_, value)| self.secrets.remember(value));
            }
            Login::Oauth { access, refresh, .. } => {
                self.secrets.remember(access);
                self.secrets.remember(refresh);
            }
        }
    }
}

/// The address of the API that the token of an entry of `auth.json` names.
pub fn login_base_url(kind: &LoginKind, entry: &JsonObject) -> Option<String> {
    login_use(kind, &Login::parse(entry)?).1
}

/// Whether the token of a login always goes into `Authorization: Bearer`, and the address of the API that it names.
pub(super) fn login_use(kind: &LoginKind, login: &Login) -> (bool, Option<String>) {
    let Login::Oauth { access, others, .. } = login else { return (false, None) };
    let base_url = kind.base_url.map(|BaseUrlRule::Copilot| {
        let named = access.split(';').find_map(|part| part.trim().strip_prefix("proxy-ep="));
        // omp keeps the address that GitHub has told it.
        if let Some(told) =
            others.get("apiEndpoint").and_then(Value::as_str).filter(|it| it.starts_with("https://"))
        {
            return told.to_owned();
        }
        let own = others.get("enterpriseUrl").and_then(Value::as_str).filter(|own| !own.is_empty());
        match (named, own) {
            (Some(host), _) => match host.strip_prefix("proxy.") {
                Some(host) => format!("https://api.{host}"),
                None => format!("https://{host}"),
            },
            (None, Some(own)) => format!("https://copilot-api.{}", host_of(own)),
            (None, None) => "https://api.individual.githubcopilot.com".to_owned(),
        }
    });
    (kind.bearer, base_url)
}

/// The host of an address, or the text itself.
pub fn host_of(text: &str) -> String {
    let rest = text.trim().split_once("://").map_or(text.trim(), |(_, rest)| rest);
    rest.split(['/', '?', '#', ':']).next().unwrap_or_default().to_owned()
}

/// Whether a time, in milliseconds since 1970, has passed.
pub(super) fn has_passed(moment: f64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0);
    now >= moment
}
