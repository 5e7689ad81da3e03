//! Tokens of Anthropic in exchange for the identity token of a platform, kept while they are valid.

use super::{Http, google_exchange::secure_url};
use pi_rpc_files::regular_files::{self, CONFIGURATION};
use pi_rpc_model::anthropic::federation::{
    EXCHANGE_BETAS, FederatedToken, Federation, IDENTITY_BYTES, read_token,
};
use reqwest::{
    Method, Request,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;
use std::{collections::HashMap, path::Path, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// Time before its end at which a token is renewed. Source: the vendor's client library.
const EARLY: Duration = Duration::from_secs(120);
/// Time before its end up to which a token is used that could not be renewed. Source: the vendor's client library.
const LATEST: Duration = Duration::from_secs(30);

/// Tokens by what they were exchanged with. The lock is held during an exchange: one serves all.
#[derive(Default)]
pub struct FederatedTokens(Mutex<HashMap<String, (FederatedToken, Instant)>>);

// Tokens must not reach logs.
impl std::fmt::Debug for FederatedTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FederatedTokens").finish_non_exhaustive()
    }
}

impl FederatedTokens {
    /// Forgets the token that a refused request had in its `authorization`.
    pub fn forget(&self, authorization: &str) {
        // One that is exchanged right now is newer.
        if let Ok(mut tokens) = self.0.try_lock() {
            tokens
                .retain(|_, (token, _)| authorization.strip_prefix("Bearer ") != Some(token.value.as_str()));
        }
    }
}

impl Http {
    /// Gets a token for `federation`, which becomes a known secret.
    ///
    /// # Errors
    ///
    /// The identity token cannot be read, or the service refuses it. The text names the file, and no token.
    pub async fn federated_token(&self, federation: &Federation) -> Result<String, String> {
        let key = format!("{federation:?}");
        let mut tokens = self.federated_tokens.0.lock().await;
        let left =
            |(token, since): &(FederatedToken, Instant)| token.lifetime.saturating_sub(since.elapsed());
        let known = tokens.get(&key).filter(|token| left(token) > LATEST).cloned();
        if let Some((token, _)) = known.as_ref().filter(|token| left(token) > EARLY) {
            return Ok(token.value.clone());
        }
        let since = Instant::now();
        match self.exchanged(federation).await {
            Ok(token) => {
                self.secrets.remember(&token.value);
                let value = token.value.clone();
                tokens.insert(key, (token, since));
                Ok(value)
            }
            Err(reason) => known.map(|(token, _)| token.value).ok_or(reason),
        }
    }

    async fn exchanged(&self, federation: &Federation) -> Result<FederatedToken, String> {
        let file = federation.token_file.clone();
        let read = move || regular_files::read_to_string(Path::new(&file), CONFIGURATION);
        let read =
            tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let file = &federation.token_file;
        let text = read.map_err(|error| format!("The identity token {file} cannot be read: {error}"))?;
        let identity = text.trim();
        if identity.is_empty() {
            return Err(format!("The identity token {file} is empty"));
        }
        if identity.len() > IDENTITY_BYTES {
            return Err(format!(
                "The identity token {file} has {} bytes; the service takes {IDENTITY_BYTES}",
                identity.len()
            ));
        }
        self.secrets.remember(identity);
        let url = secure_url(&federation.url, "baseUrl").map_err(|failure| failure.message)?;
        let mut post = Request::new(Method::POST, url);
        post.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let betas = HeaderName::from_static("anthropic-beta");
        post.headers_mut().insert(betas, HeaderValue::from_static(EXCHANGE_BETAS));
        *post.body_mut() = Some(federation.body(identity).to_string().into());
        let (status, body) = self.token_exchange(post).await.map_err(|failure| failure.message)?;
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        read_token(status, &body).map_err(|reason| {
            let text = format!(
                "Anthropic gives no token for the identity token {file}: {reason}{}",
                federation.hint(status)
            );
            self.secrets.redact_with(&text, &[]).into_owned()
        })
    }
}
