//! Where the credential of a provider comes from, without the credential.

use super::{Keys, auth::Login, login_kinds::login_kind};
use std::path::PathBuf;

/// The source of a provider's credential.
#[derive(Clone, Debug, PartialEq)]
pub struct CredentialSource {
    /// What is there.
    pub kind: CredentialKind,
    /// Where it is.
    pub place: CredentialPlace,
}

/// What is at a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CredentialKind {
    /// A key as such, or the name of a variable that holds it.
    Key,
    /// A command that prints the key.
    Command,
    /// The tokens of a login.
    Login {
        /// End of the token's validity, in milliseconds since 1970; `None`: it has none.
        expires: Option<f64>,
        /// Whether another token is obtained before that.
        is_renewed: bool,
    },
}

/// Where a credential is.
#[derive(Clone, Debug, PartialEq)]
pub enum CredentialPlace {
    /// In a file.
    File(PathBuf),
    /// In an environment variable.
    Variable(&'static str),
}

/// Times from which on a token counts as one without an end: pi writes the largest integer of JSON.
const ENDLESS_MS: f64 = 8.64e15;

impl Keys {
    /// The source of the credential that requests to the provider use; `None`: there is none.
    pub fn credential_source(&self, provider: &str) -> Option<CredentialSource> {
        let key_kind =
            |text: &str| if text.starts_with('!') { CredentialKind::Command } else { CredentialKind::Key };
        let of_login = |login: &Login| match login {
            Login::ApiKey { key, .. } => key_kind(key.as_deref().unwrap_or_default()),
            Login::Oauth { expires, refresh, .. } => CredentialKind::Login {
                expires: (*expires < ENDLESS_MS).then_some(*expires),
                is_renewed: !refresh.is_empty()
                    && login_kind(provider).is_some_and(|kind| kind.refresh.is_some()),
            },
        };
        if let Some(login) = self.logins.get(provider).filter(Login::has_key) {
            return Some(CredentialSource {
                kind: of_login(&login),
                place: CredentialPlace::File(self.auth_file()),
            });
        }
        let set = self.variables(provider).iter().find(|name| self.environment.get(name).is_some());
        if let Some(name) = set {
            return Some(CredentialSource {
                kind: CredentialKind::Key,
                place: CredentialPlace::Variable(name),
            });
        }
        let key = self.providers.get(provider)?.key.as_deref()?;
        let place = CredentialPlace::File(self.agent.join("models.json"));
        Some(CredentialSource { kind: key_kind(key), place })
    }

    /// Providers with a login or a key in `auth.json`.
    pub fn stored_providers(&self) -> Vec<String> {
        self.logins.all().keys().cloned().collect()
    }
}
