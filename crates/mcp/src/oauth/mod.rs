//! Logins by OAuth at servers over HTTP: authorization code with PKCE, by a document that describes the client or by registration.
//!
//! A connection never opens a page: it sends the token that is stored, and renews it. Where that is not enough the server waits for
//! [`sign_in`]. Tokens are never part of an error or a notice.
//!
//! - `store`: what is stored, and the locks. `discovery`: the authorization server. `requests`: tokens and registrations.
//! - [`sign_in`]: a login in the browser.

pub(crate) mod discovery;
pub(crate) mod requests;
mod sign_in;
pub(crate) mod store;

pub(crate) use sign_in::{SignIn, sign_in};

use self::{
    discovery::{Challenge, Discovery},
    requests::{Requests, TokenError, expiry, now},
    store::LoginStore,
};
use pi_rpc_config::mcp_oauth::McpOAuth;
use pi_rpc_files::secrets::Secrets;
use pi_rpc_protocol::JsonObject;
use reqwest::Url;
use serde_json::Value;
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Mutex as AsyncMutex;

/// Tokens that expire within this time are renewed before they are sent, in milliseconds.
const SKEW: u64 = 30_000;

/// Where the documents are that describe pi as a client.
const DOCUMENTS: &str = "https://pi.dev/oauth";

/// The login at one server.
#[derive(Clone)]
pub(crate) struct Login {
    pub server: Url,
    pub store: LoginStore,
    /// With the secret resolved.
    pub settings: McpOAuth,
    pub requests: Requests,
    pub secrets: Secrets,
    /// What the server wanted when it refused a request.
    pub challenge: Arc<Mutex<Challenge>>,
    /// One refresh at a time.
    refreshing: Arc<AsyncMutex<()>>,
}

/// Whether a refresh has given tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// There are tokens to try.
    Done,
    /// The user has to log in.
    NeedsLogin,
}

impl Login {
    /// The login at the server `name` with this address.
    ///
    /// # Errors
    ///
    /// The address is none.
    pub(crate) fn new(
        agent: &Path,
        name: &str,
        address: &str,
        settings: McpOAuth,
        requests: Requests,
        secrets: Secrets,
    ) -> Result<Self, String> {
        let server: Url = address.parse().map_err(|_| "url must be an http or https URL".to_owned())?;
        Ok(Self {
            store: LoginStore::new(agent, name, &server),
            server,
            settings,
            requests,
            secrets,
            challenge: Arc::default(),
            refreshing: Arc::default(),
        })
    }

    /// The token to send, renewed if it is about to expire; `None`: there is none.
    pub(crate) async fn token(&self) -> Option<String> {
        let state = self.store.load().await.ok()?;
        let token = self.remember(access_token(&state)?);
        let expires = state.get("tokensExpireAt").and_then(Value::as_f64);
        let is_old = expires.is_some_and(|expires| expires <= (now() + SKEW) as f64);
        if !is_old || refresh_token(&state).is_none() {
            return Some(token);
        }
        // The server decides about an old token, where it cannot be renewed.
        let _ = self.refresh(&token).await;
        access_token(&self.store.load().await.ok()?).map(|token| self.remember(token))
    }

    fn remember(&self, token: &str) -> String {
        self.secrets.remember(token);
        token.to_owned()
    }

    /// Notes what the server wants, and replaces the token that it has refused.
    ///
    /// # Errors
    ///
    /// The authorization server cannot be asked.
    pub(crate) async fn refused(&self, token: Option<&str>, challenge: Challenge) -> Result<Refresh, String> {
        let wants_scope = challenge.wants_scope();
        *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = challenge;
        match token {
            // A refresh keeps the scope.
            Some(token) if !wants_scope => self.refresh(token).await,
            _ => Ok(Refresh::NeedsLogin),
        }
    }

    /// What the server wanted last.
    pub(crate) fn wanted(&self) -> Challenge {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces this access token, unless another process has done it.
    async fn refresh(&self, old: &str) -> Result<Refresh, String> {
        let _one = self.refreshing.lock().await;
        let mut lock = self.store.lock_refresh().await.map_err(|error| error.to_string())?;
        lock.hold(async {
            let state = self.store.load().await.map_err(|error| error.to_string())?;
            if access_token(&state) != Some(old) {
                return Ok(if access_token(&state).is_some() { Refresh::Done } else { Refresh::NeedsLogin });
            }
            self.refresh_stored(&state).await
        })
        .await
    }

    /// Renews the stored tokens, with the client that they belong to. The lock of refreshes is held.
    async fn refresh_stored(&self, state: &JsonObject) -> Result<Refresh, String> {
        let Some(refresh) = refresh_token(state) else { return Ok(Refresh::NeedsLogin) };
        let metadata_url = self.settings.metadata_url.as_deref();
        let discovery = Discovery::find(&self.requests, &self.server, &self.wanted(), metadata_url).await?;
        let audience = discovery.audience(&self.server)?;
        let Some(client) = self.client(state, &discovery) else { return Ok(Refresh::NeedsLogin) };
        let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
        fields.extend(audience.as_deref().map(|audience| ("resource", audience)));
        match self.requests.tokens(&discovery, &client, &fields).await {
            Ok(mut tokens) => {
                // What a refresh leaves out stays as it was.
                let before = state.get("tokens").and_then(Value::as_object);
                for member in ["refresh_token", "scope"] {
                    if let Some(old) = before.and_then(|before| before.get(member)) {
                        tokens.entry(member).or_insert_with(|| old.clone());
                    }
                }
                self.keep(tokens).await?;
                Ok(Refresh::Done)
            }
            Err(error @ (TokenError::Grant(_) | TokenError::Client(_))) => {
                let is_client = matches!(error, TokenError::Client(_));
                let forget = |state: &mut JsonObject| {
                    state.shift_remove("tokens");
                    state.shift_remove("tokensExpireAt");
                    if is_client {
                        state.shift_remove("clientInformation");
                        state.shift_remove("discovery");
                    }
                };
                self.store.change(forget).await.map_err(|error| error.to_string())?;
                Ok(Refresh::NeedsLogin)
            }
            Err(TokenError::Other(text)) => Err(format!("the login could not be renewed: {text}")),
        }
    }

    /// Stores tokens.
    async fn keep(&self, tokens: JsonObject) -> Result<(), String> {
        if let Some(token) = tokens.get("access_token").and_then(Value::as_str) {
            self.secrets.remember(token);
        }
        let expires = expiry(&tokens);
        let change = |state: &mut JsonObject| {
            match expires {
                Some(expires) => drop(state.insert("tokensExpireAt".to_owned(), expires.into())),
                None => drop(state.shift_remove("tokensExpireAt")),
            }
            state.insert("tokens".to_owned(), Value::Object(tokens));
        };
        self.store.change(change).await.map_err(|error| error.to_string())
    }

    /// The client of stored tokens: the configured one, the registered one, or the one of a document. `None`: there is none.
    fn client(&self, state: &JsonObject, discovery: &Discovery) -> Option<JsonObject> {
        if let Some(client) = self.configured_client() {
            return Some(client);
        }
        if let Some(Value::Object(client)) = state.get("clientInformation") {
            return Some(client.clone());
        }
        let (document, _) = self.document(discovery, "http://127.0.0.1/callback")?;
        Some([("client_id".to_owned(), document.into())].into_iter().collect())
    }

    fn configured_client(&self) -> Option<JsonObject> {
        let id = self.settings.client_id.as_ref()?;
        let mut client: JsonObject = [("client_id".to_owned(), id.as_str().into())].into_iter().collect();
        if let Some(secret) = &self.settings.client_secret {
            client.insert("client_secret".to_owned(), secret.as_str().into());
        }
        Some(client)
    }
}

fn access_token(state: &JsonObject) -> Option<&str> {
    state.get("tokens")?.get("access_token")?.as_str()
}

fn refresh_token(state: &JsonObject) -> Option<&str> {
    state.get("tokens")?.get("refresh_token")?.as_str()
}
