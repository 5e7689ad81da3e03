//! Sends the requests for tokens of Google accounts.

use super::{
    Http,
    failure::{chain, seconds},
    host, is_loopback,
};
use crate::google::account::{Token, TokenRequest, read_token};
use pi_rpc_model::retry::is_transient_status;
use reqwest::{
    Method, Request, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::timeout;

/// Time limit for one request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for a request to the metadata server, which no other machine has.
const METADATA_PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of the longest answer that is read.
const ANSWER_BYTES: usize = 64 * 1024;
/// The header of requests to the metadata server, and of its answers.
const METADATA_FLAVOR: &str = "metadata-flavor";

/// Why there is no token.
pub struct TokenFailure {
    /// The text for the answer.
    pub message: String,
    /// Whether a retry may succeed.
    pub is_transient: bool,
}

impl TokenFailure {
    /// A failure that does not pass by itself.
    pub fn lasting(message: String) -> Self {
        Self { message, is_transient: false }
    }

    /// The refusal of a service, for the account in `file`.
    pub fn refused(status: u16, file: &str, reason: &str) -> Self {
        Self {
            message: format!("Google gives no token for the account {file}: {reason}"),
            is_transient: is_transient_status(status, |_| None),
        }
    }

    /// Changes the text.
    pub fn map(self, change: impl FnOnce(String) -> String) -> Self {
        Self { message: change(self.message), ..self }
    }
}

/// Builds the `POST` of a form; `member` of the account's file names the address.
pub fn post_form(request: TokenRequest, member: &str) -> Result<Request, TokenFailure> {
    let url = secure_url(&request.url, member)?;
    let mut form = url.clone();
    form.query_pairs_mut().clear().extend_pairs(request.form);
    let mut post = Request::new(Method::POST, url);
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    post.headers_mut().insert(CONTENT_TYPE, kind);
    *post.body_mut() = Some(form.query().unwrap_or_default().to_owned().into());
    Ok(post)
}

/// Builds the `POST` of JSON with a token; `member` of the account's file names the address.
pub fn post_json(url: &str, member: &str, body: &Value, token: &str) -> Result<Request, TokenFailure> {
    let mut post = Request::new(Method::POST, secure_url(url, member)?);
    let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| TokenFailure::lasting("The token has characters that HTTP does not allow".to_owned()))?;
    bearer.set_sensitive(true);
    post.headers_mut().insert(AUTHORIZATION, bearer);
    post.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *post.body_mut() = Some(body.to_string().into());
    Ok(post)
}

/// Builds the `GET` of the token that proves an identity. Servers of such tokens on the same machine have no HTTPS.
pub fn source_request(url: &str, headers: &BTreeMap<String, String>) -> Result<Request, TokenFailure> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        TokenFailure::lasting("credential_source.url: expected an http or https address".to_owned())
    })?;
    let mut get = Request::new(Method::GET, url);
    for (name, value) in headers {
        let wrong =
            || TokenFailure::lasting("credential_source.headers: expected headers of HTTP".to_owned());
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        get.headers_mut().insert(name, value);
    }
    Ok(get)
}

/// The address, if it is one of HTTPS or of this machine; `member` names it in the error.
pub fn secure_url(url: &str, member: &str) -> Result<Url, TokenFailure> {
    let url = Url::parse(url).ok();
    let url = url.filter(|url| url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url)));
    url.ok_or_else(|| TokenFailure::lasting(format!("{member}: expected an https address")))
}

impl Http {
    /// Sends a request; gives the status and the body.
    pub async fn token_exchange(&self, request: Request) -> Result<(u16, String), TokenFailure> {
        let client = self.client(request.url()).map_err(|failure| TokenFailure::lasting(failure.message))?;
        exchange(client, request, PATIENCE).await.map(|(status, _, body)| (status, body))
    }

    /// Asks the metadata server at `url` for a token. It is asked directly, without a proxy.
    pub async fn machine_token(&self, url: &str) -> Result<Token, TokenFailure> {
        let parsed = [url, "http://localhost"].map(|url| Url::parse(url).ok());
        let [Some(url), Some(local)] = parsed else {
            return Err(TokenFailure::lasting("GCE_METADATA_HOST: expected a host".to_owned()));
        };
        let host = host(&url);
        let mut get = Request::new(Method::GET, url);
        get.headers_mut().insert(METADATA_FLAVOR, HeaderValue::from_static("Google"));
        let client = self.client(&local).map_err(|failure| TokenFailure::lasting(failure.message))?;
        let (status, flavor, body) = exchange(client, get, METADATA_PATIENCE).await?;
        if flavor.as_deref() != Some("Google") {
            return Err(TokenFailure::lasting(format!("{host} is no metadata server")));
        }
        let body = serde_json::from_str(&body).unwrap_or_else(|_| super::response::shorten(&body).into());
        read_token(status, &body).map_err(|reason| TokenFailure {
            message: format!("the metadata server {host} gives no token: {reason}"),
            is_transient: is_transient_status(status, |_| None),
        })
    }
}

/// Sends a request; gives the status, the flavor of metadata, and the body.
async fn exchange(
    client: reqwest::Client,
    request: Request,
    patience: Duration,
) -> Result<(u16, Option<String>, String), TokenFailure> {
    let host = host(request.url());
    let answered = timeout(patience, async {
        let mut response = client.execute(request).await?;
        let flavor = response.headers().get(METADATA_FLAVOR).and_then(|value| value.to_str().ok());
        let flavor = flavor.map(str::to_owned);
        let (status, mut body) = (response.status().as_u16(), Vec::new());
        while let Some(piece) = response.chunk().await? {
            body.extend_from_slice(&piece);
            if body.len() > ANSWER_BYTES {
                break;
            }
        }
        Ok((status, flavor, String::from_utf8_lossy(&body).into_owned()))
    });
    let lost = |reason: String| TokenFailure {
        message: format!("Connection error: {host}: {reason}"),
        is_transient: true,
    };
    answered
        .await
        .map_err(|_| lost(format!("silent for {}", seconds(patience))))?
        .map_err(|error| lost(chain(error)))
}
