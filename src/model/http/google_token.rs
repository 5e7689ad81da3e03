//! Tokens for Google accounts: reads the account's file, asks for a token and keeps it while it is valid.

use super::{Http, HttpOptions, chain, host, is_loopback, seconds};
use crate::{
    model::google::account::{Account, Token, TokenRequest, read_token},
    regular_files::{self, CONFIGURATION},
    secrets::search_forms,
};
use reqwest::{
    Method, Request, Url,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep, timeout},
};

/// Time before its end at which a token is renewed. Source: the vendor's client library.
const EARLY: Duration = Duration::from_secs(300);
/// Time limit for one request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of the longest answer that is read.
const ANSWER_BYTES: usize = 64 * 1024;

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

/// Tokens by the text of the account's file. The lock is held while a token is asked for: one request serves all.
#[derive(Default)]
pub struct TokenCache(Mutex<HashMap<String, (Token, Instant)>>);

// Tokens must not reach logs.
impl std::fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

impl Http {
    /// Gets a token for the account in `file`, whose keys become known secrets.
    ///
    /// # Errors
    ///
    /// The file is no account, or the service refuses it. The text names the file, and no key.
    pub async fn google_authorization(
        &self,
        file: &str,
        options: &HttpOptions,
    ) -> Result<GoogleAuthorization, String> {
        let path = file.to_owned();
        let text = tokio::task::spawn_blocking(move || {
            regular_files::read_to_string(Path::new(&path), CONFIGURATION)
        })
        .await;
        let text = text.map_err(|_| format!("{file}: {}", super::DEFECT))?;
        let text = text.map_err(|error| format!("The Google account {file} cannot be read: {error}"))?;
        let account =
            Account::parse(&text).map_err(|reason| format!("{file} is no Google account: {reason}"))?;
        account.secrets().into_iter().for_each(|secret| self.secrets.remember(secret));
        let quota_project = account.quota_project().map(str::to_owned);
        let mut tokens = self.google_tokens.0.lock().await;
        let known = tokens.get(&text).filter(|(token, since)| since.elapsed() + EARLY < token.lifetime);
        let token = match known {
            Some((token, _)) => token.value.clone(),
            None => {
                let since = Instant::now();
                let token = self.new_token(&account, file, options).await?;
                self.secrets.remember(&token.value);
                let value = token.value.clone();
                tokens.insert(text, (token, since));
                value
            }
        };
        Ok(GoogleAuthorization { token, quota_project })
    }

    /// Asks for a token, with retries.
    async fn new_token(&self, account: &Account, file: &str, options: &HttpOptions) -> Result<Token, String> {
        let mut tried = 0;
        loop {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            let request = account.token_request(now).map_err(|reason| format!("{file}: {reason}"))?;
            // What signs or proves, in case the answer repeats it; the first member is the kind of grant.
            let sent: Vec<String> =
                request.form[1..].iter().flat_map(|(_, value)| search_forms(value)).collect();
            let (message, is_transient) = match self.post_form(request).await {
                Ok((status, body)) => match read_token(status, &body) {
                    Ok(token) => return Ok(token),
                    Err(reason) => {
                        let is_transient = super::is_transient_status(status, |_| None);
                        (format!("Google gives no token for the account {file}: {reason}"), is_transient)
                    }
                },
                Err((message, is_transient)) => (message, is_transient),
            };
            if !is_transient || tried >= options.retry.retries {
                return Err(self.secrets.redact_with(&message, &sent).into_owned());
            }
            sleep(options.retry.backoff(tried, fastrand::f64())).await;
            tried += 1;
        }
    }

    /// Posts a form; gives the status and the body. An error has its text, and whether it may pass.
    async fn post_form(&self, request: TokenRequest) -> Result<(u16, Value), (String, bool)> {
        let url = Url::parse(&request.url).ok();
        let url = url.filter(|url| url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url)));
        let url = url.ok_or_else(|| ("token_uri: expected an https address".to_owned(), false))?;
        let host = host(&url);
        let mut form = url.clone();
        form.query_pairs_mut().clear().extend_pairs(request.form);
        let mut post = Request::new(Method::POST, url);
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        post.headers_mut().insert(CONTENT_TYPE, kind);
        *post.body_mut() = Some(form.query().unwrap_or_default().to_owned().into());
        let client = self.client(post.url()).map_err(|failure| (failure.message, false))?;
        let answered = timeout(PATIENCE, async {
            let mut response = client.execute(post).await?;
            let (status, mut body) = (response.status().as_u16(), Vec::new());
            while let Some(piece) = response.chunk().await? {
                body.extend_from_slice(&piece);
                if body.len() > ANSWER_BYTES {
                    break;
                }
            }
            Ok((status, body))
        });
        let lost = |reason: String| (format!("Connection error: {host}: {reason}"), true);
        let (status, body) = answered
            .await
            .map_err(|_| lost(format!("silent for {}", seconds(PATIENCE))))?
            .map_err(|error| lost(chain(error)))?;
        let text = String::from_utf8_lossy(&body);
        Ok((status, serde_json::from_str(&text).unwrap_or_else(|_| super::shorten(&text).into())))
    }
}
