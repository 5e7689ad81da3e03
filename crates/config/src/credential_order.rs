//! The order of sources of credentials: the file of models, `auth.json`, the dialect's database and the environment.

use super::{Keys, auth::Login, credential_database::StoredCredentials, login_use::has_passed};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Files with credentials beside `auth.json`, and what the dialect does with them.
#[derive(Clone, Default)]
pub(super) struct CredentialFiles {
    /// The user's file of models.
    pub(super) models: PathBuf,
    /// Whether its keys precede all others but that of the command line.
    pub(super) models_first: bool,
    /// The database; `None`: the dialect has none.
    pub(super) database: Option<PathBuf>,
    /// Providers whose logins in the database are renewed.
    pub(super) renewed: &'static [&'static str],
}

impl Keys {
    /// Sets the files beside `auth.json`, and adds the credentials of the database. An entry of `auth.json` stands for all
    /// that the database has for its provider.
    #[must_use]
    pub(super) fn with_files(mut self, files: CredentialFiles, database: StoredCredentials) -> Self {
        self.files = files;
        for (provider, stored) in database.iter() {
            let login_key =
                stored.login_key.clone().map(|key| Login::ApiKey { key: Some(key), env: BTreeMap::new() });
            let login = stored.login.clone().map(|(_, login)| login);
            login.iter().chain(&login_key).for_each(|login| self.learn_login_secrets(login));
            stored.key.iter().for_each(|key| self.learn_secret(key));
            let is_stored = self.logins.get(provider).is_some();
            if let Some(login) = login.or(login_key).filter(|_| !is_stored) {
                self.logins.set(provider, Some(login));
                self.of_database.insert(provider.clone());
            }
        }
        self.database = Arc::new(database);
        self
    }

    /// The key in the file of models, if it precedes all others.
    pub(super) fn first_key(&self, provider: &str) -> Option<&str> {
        let configured = self.providers.get(provider).filter(|_| self.files.models_first)?;
        configured.key.as_deref()
    }

    /// The key of the database that environment variables precede.
    pub(super) fn late_key(&self, provider: &str) -> Option<&str> {
        // An entry of `auth.json` stands for it.
        let is_own = self.logins.get(provider).is_none() || self.of_database.contains(provider);
        self.database.get(provider).filter(|_| is_own)?.key.as_deref()
    }

    /// The login or key of `auth.json` or the database for requests to the provider; `None`: there is none, or another
    /// source precedes it. A login of the database that can no longer be used makes way for whatever else there is.
    pub(super) fn login(&self, provider: &str) -> Option<Login> {
        if self.cli_key(provider).is_some() || self.first_key(provider).is_some() {
            return None;
        }
        let login = self.logins.get(provider)?;
        let is_over = |login: &Login| match login {
            Login::Oauth { expires, refresh, .. } => {
                has_passed(*expires) && !self.is_renewable(provider, refresh)
            }
            Login::ApiKey { .. } => false,
        };
        if !self.of_database.contains(provider) || !is_over(&login) {
            return Some(login);
        }
        let next = self.database.get(provider).and_then(|stored| stored.login_key.clone());
        let has_variable = self.providers.get(provider).is_some_and(|it| self.variable(it).is_some());
        match next {
            Some(key) => Some(Login::ApiKey { key: Some(key), env: BTreeMap::new() }),
            None if has_variable || self.late_key(provider).is_some() => None,
            None => Some(login),
        }
    }
}
