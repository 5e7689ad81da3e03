//! Where the credential of a provider comes from, without the credential.

use super::{
    Keys,
    auth::{self, Login},
    login_kinds::login_kind,
    login_use::has_passed,
};
use pi_rpc_files::regular_files::{self, CONFIGURATION};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

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

/// The validity of a login in `auth.json`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredLogin {
    /// End of the token's validity, in milliseconds since 1970; `None`: it has none.
    pub expires: Option<f64>,
    /// Whether the token is valid or can be renewed.
    pub is_usable: bool,
}

/// Reads the logins in `auth.json`, by provider; none where the file is missing or unreadable.
pub fn read_stored_logins(path: &Path) -> BTreeMap<String, StoredLogin> {
    let text = regular_files::read_to_string(path, CONFIGURATION).unwrap_or_default();
    let (logins, _) = auth::read(&text, path);
    let stored = |(provider, login): (String, Login)| match login {
        Login::Oauth { expires, refresh, .. } => {
            let expires = (expires < ENDLESS_MS).then_some(expires);
            let is_renewed = is_renewed(&provider, &refresh);
            let is_usable = is_renewed || !expires.is_some_and(has_passed);
            Some((provider, StoredLogin { expires, is_usable }))
        }
        Login::ApiKey { .. } => None,
    };
    logins.into_iter().filter_map(stored).collect()
}

/// Whether a token of the provider is replaced by another before its end.
pub(super) fn is_renewed(provider: &str, refresh: &str) -> bool {
    !refresh.is_empty() && login_kind(provider).is_some_and(|kind| kind.refresh.is_some())
}

impl Keys {
    /// The source of the credential that requests to the provider use, the command line aside; `None`: there is none.
    pub fn credential_source(&self, provider: &str) -> Option<CredentialSource> {
        let key_kind =
            |text: &str| if text.starts_with('!') { CredentialKind::Command } else { CredentialKind::Key };
        let of_login = |login: &Login| match login {
            Login::ApiKey { key, .. } => key_kind(key.as_deref().unwrap_or_default()),
            Login::Oauth { expires, refresh, .. } => CredentialKind::Login {
                expires: (*expires < ENDLESS_MS).then_some(*expires),
                is_renewed: self.is_renewable(provider, refresh),
            },
        };
        let of_models = |key: &str| CredentialSource {
            kind: key_kind(key),
            place: CredentialPlace::File(self.files.models.clone()),
        };
        if let Some(key) = self.first_key(provider) {
            return Some(of_models(key));
        }
        if let Some(login) = self.login(provider).filter(Login::has_key) {
            return Some(CredentialSource {
                kind: of_login(&login),
                place: CredentialPlace::File(self.login_file(provider)),
            });
        }
        let set = self.variables(provider).iter().find(|name| self.environment.get(name).is_some());
        if let Some(name) = set {
            return Some(CredentialSource {
                kind: CredentialKind::Key,
                place: CredentialPlace::Variable(name),
            });
        }
        if let (Some(key), Some(database)) = (self.late_key(provider), &self.files.database) {
            let place = CredentialPlace::File(database.clone());
            return Some(CredentialSource { kind: key_kind(key), place });
        }
        self.providers.get(provider)?.key.as_deref().map(of_models)
    }

    /// Providers with a login or a key in `auth.json`.
    pub fn stored_providers(&self) -> Vec<String> {
        let logins = self.logins.all();
        logins.keys().filter(|provider| !self.of_database.contains(*provider)).cloned().collect()
    }

    /// Providers with a login or a key in the dialect's database.
    pub fn database_providers(&self) -> impl Iterator<Item = &str> {
        self.database.iter().map(|(provider, _)| provider.as_str())
    }
}
