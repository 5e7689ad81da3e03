//! Tokens for Google accounts: reads the account's file or asks the metadata server of the machine, and keeps a token while it is
//! valid.

use super::{
    Http,
    google_exchange::{TokenFailure, post_form, post_json, source_request},
};
use crate::google::{
    account::{Account, Token, read_token},
    external_account::{ExternalAccount, impersonation_body, read_impersonated_token},
};
use pi_rpc_files::{
    regular_files::{self, CONFIGURATION},
    secrets::search_forms,
};
use pi_rpc_model::{google::vertex::AccountSource, http_options::HttpOptions};
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{Error, ErrorKind},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

/// Time before its end at which a token is renewed. Source: the vendor's client library.
const EARLY: Duration = Duration::from_secs(300);

/// What authorizes a request.
#[derive(Clone, PartialEq, Eq)]
pub struct GoogleAuthorization {
    token: String,
    quota_project: Option<String>,
}

impl GoogleAuthorization {
    /// Adds the token, and the project that pays: `quota_project`, else the account's. Configured headers stay.
    pub fn authorize(self, headers: &mut Vec<(String, String)>, quota_project: Option<String>) {
        let mut add = |name: &str, value: String| {
            if headers.iter().all(|(known, _)| known != name) {
                headers.push((name.to_owned(), value));
            }
        };
        add("authorization", format!("Bearer {}", self.token));
        if let Some(project) = quota_project.or(self.quota_project) {
            add("x-goog-user-project", project);
        }
    }
}

/// Tokens by the text of the account's file, or by the address of the metadata server. The lock is held while a token is asked for:
/// one request serves all.
#[derive(Default)]
pub struct TokenCache(Mutex<HashMap<String, (Token, Instant)>>);

// Tokens must not reach logs.
impl std::fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

/// What gives tokens.
#[derive(Clone, Copy)]
enum TokenOrigin<'a> {
    /// An account, whose file errors name.
    Account { account: &'a Account, file: &'a str },
    /// The metadata server of the machine.
    Machine { url: &'a str },
}

impl Http {
    /// Gets a token for the account at `source`, whose keys become known secrets: of the file, or of the machine's metadata server if
    /// no variable names the file and it does not exist.
    ///
    /// # Errors
    ///
    /// The file is no account, or the service refuses it. The text names the file, and no key.
    pub async fn google_authorization(
        &self,
        source: &AccountSource,
        options: &HttpOptions,
    ) -> Result<GoogleAuthorization, String> {
        let (file, text) = match &source.file {
            None => return self.machine_authorization(source, options).await,
            Some(file) => match read(file).await {
                Err(error) if error.kind() == ErrorKind::NotFound && !source.is_named => {
                    return self.machine_authorization(source, options).await;
                }
                Err(error) => return Err(format!("The Google account {file} cannot be read: {error}")),
                Ok(text) => (file, text),
            },
        };
        let account =
            Account::parse(&text).map_err(|reason| format!("{file} is no Google account: {reason}"))?;
        account.secrets().into_iter().for_each(|secret| self.secrets.remember(secret));
        let quota_project = account.quota_project().map(str::to_owned);
        let origin = TokenOrigin::Account { account: &account, file };
        Ok(GoogleAuthorization { token: self.kept_token(text, options, origin).await?, quota_project })
    }

    /// Gets a token for the account of the machine.
    async fn machine_authorization(
        &self,
        source: &AccountSource,
        options: &HttpOptions,
    ) -> Result<GoogleAuthorization, String> {
        let url = source.metadata_url();
        let token = self.kept_token(url.clone(), options, TokenOrigin::Machine { url: &url }).await;
        let token = token.map_err(|reason| format!("{}: {reason}", source.missing()))?;
        Ok(GoogleAuthorization { token, quota_project: None })
    }

    /// Gives the token that is kept as `key`, or a new one of `origin`, with retries.
    async fn kept_token(
        &self,
        key: String,
        options: &HttpOptions,
        origin: TokenOrigin<'_>,
    ) -> Result<String, String> {
        let mut tokens = self.google_tokens.0.lock().await;
        let known = tokens.get(&key).filter(|(token, since)| since.elapsed() + EARLY < token.lifetime);
        if let Some((token, _)) = known {
            return Ok(token.value.clone());
        }
        let since = Instant::now();
        let mut tried = 0;
        let token = loop {
            let asked = match origin {
                TokenOrigin::Account { account, file } => self.account_token(account, file).await,
                TokenOrigin::Machine { url } => self.machine_token(url).await,
            };
            let failure = match asked {
                Ok(token) => break token,
                Err(failure) => failure,
            };
            if !failure.is_transient || tried >= options.retry.retries {
                return Err(failure.message);
            }
            sleep(options.retry.backoff(tried, fastrand::f64())).await;
            tried += 1;
        };
        self.secrets.remember(&token.value);
        let value = token.value.clone();
        tokens.insert(key, (token, since));
        Ok(value)
    }

    /// Asks for a token of an account.
    async fn account_token(&self, account: &Account, file: &str) -> Result<Token, TokenFailure> {
        match account {
            Account::ServiceAccount { .. } | Account::AuthorizedUser { .. } => {
                self.own_token(account, file).await
            }
            Account::ExternalAccount(external) => {
                let token = self.exchanged_token(external, file).await?;
                match &external.service_account_impersonation_url {
                    None => Ok(token),
                    Some(url) => {
                        let body = impersonation_body(Some(external.lifetime()), &[]);
                        self.impersonated_token(url, body, token, file).await
                    }
                }
            }
            Account::ImpersonatedServiceAccount {
                service_account_impersonation_url: url,
                source_credentials,
                delegates,
                ..
            } => {
                let token = self.own_token(source_credentials, file).await?;
                self.impersonated_token(url, impersonation_body(None, delegates), token, file).await
            }
        }
    }

    /// Asks for a token with the keys of an account.
    async fn own_token(&self, account: &Account, file: &str) -> Result<Token, TokenFailure> {
        let request = account
            .token_request(now())
            .map_err(|reason| TokenFailure::lasting(format!("{file}: {reason}")))?;
        // What signs or proves, in case the answer repeats it; the first member is the kind of grant.
        let sent: Vec<String> = request.form[1..].iter().flat_map(|(_, value)| search_forms(value)).collect();
        let read = |(status, body): (u16, String)| {
            read_token(status, &json(&body)).map_err(|reason| TokenFailure::refused(status, file, &reason))
        };
        let token = match post_form(request, "token_uri") {
            Ok(request) => self.token_exchange(request).await.and_then(read),
            Err(failure) => Err(failure),
        };
        token.map_err(|failure| failure.map(|message| self.secrets.redact_with(&message, &sent).into_owned()))
    }

    /// Gets the token that proves an identity, and exchanges it.
    async fn exchanged_token(&self, account: &ExternalAccount, file: &str) -> Result<Token, TokenFailure> {
        let source = &account.credential_source;
        let text = match (&source.file, &source.url) {
            (Some(path), _) => read(path).await.map_err(|error| {
                TokenFailure::lasting(format!(
                    "{file}: credential_source.file: {path} cannot be read: {error}"
                ))
            })?,
            (None, url) => {
                let request = source_request(url.as_deref().unwrap_or_default(), &source.headers)?;
                let (status, body) = self.token_exchange(request).await?;
                if !(200..300).contains(&status) {
                    return Err(TokenFailure::refused(
                        status,
                        file,
                        &format!("credential_source.url: status {status}"),
                    ));
                }
                body
            }
        };
        let subject = account
            .subject_token(&text)
            .map_err(|reason| TokenFailure::lasting(format!("{file}: credential_source: {reason}")))?;
        self.secrets.remember(&subject);
        let (status, body) = self.token_exchange(post_form(account.exchange(&subject), "token_url")?).await?;
        let token = read_token(status, &json(&body));
        token.map_err(|reason| self.clean(TokenFailure::refused(status, file, &reason)))
    }

    /// Asks for a token of the service account at `url`, with the token of another account.
    async fn impersonated_token(
        &self,
        url: &str,
        body: Value,
        token: Token,
        file: &str,
    ) -> Result<Token, TokenFailure> {
        self.secrets.remember(&token.value);
        let request = post_json(url, "service_account_impersonation_url", &body, &token.value)?;
        let (status, body) = self.token_exchange(request).await?;
        let token = read_impersonated_token(status, &json(&body), now());
        token.map_err(|reason| self.clean(TokenFailure::refused(status, file, &reason)))
    }

    fn clean(&self, failure: TokenFailure) -> TokenFailure {
        failure.map(|message| self.secrets.redact_with(&message, &[]).into_owned())
    }
}

async fn read(file: &str) -> Result<String, Error> {
    let path = file.to_owned();
    let read = move || regular_files::read_to_string(Path::new(&path), CONFIGURATION);
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| Err(Error::other(super::DEFECT)))
}

/// The body as JSON, or its beginning as a text.
fn json(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| super::response::shorten(body).into())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
