//! Requests to authorization servers, and what their answers must have. No redirect is followed, and every answer is bounded.

use super::discovery::{Discovery, shown};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use pi_rpc_protocol::JsonObject;
use reqwest::{Client, Response, Url, header};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a request may take: a lock may be held meanwhile.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// Members of an answer with tokens that are kept.
const KEPT: [&str; 6] = ["access_token", "token_type", "expires_in", "scope", "refresh_token", "id_token"];

/// Sends requests.
#[derive(Clone)]
pub(crate) struct Requests {
    pub client: Client,
}

/// Why a request for tokens has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// The code or the refresh token is worth nothing.
    Grant(String),
    /// The client is not known any more.
    Client(String),
    /// Anything else; it may pass.
    Other(String),
}

impl TokenError {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Grant(text) | Self::Client(text) | Self::Other(text) => text,
        }
    }
}

impl Requests {
    /// Requests a document.
    pub(crate) async fn get(&self, address: &str) -> Result<Response, String> {
        let request = self.client.get(address).header(header::ACCEPT, "application/json").timeout(TIMEOUT);
        request
            .send()
            .await
            .map_err(|error| format!("{}: {}", shown(address), crate::http::network_error(&error)))
    }

    /// Registers a client, for this address that the browser comes back to.
    ///
    /// # Errors
    ///
    /// The server registers none, or refuses.
    pub(crate) async fn register(
        &self,
        discovery: &Discovery,
        name: &str,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<JsonObject, String> {
        if discovery.metadata.as_ref().is_some_and(|metadata| metadata.get("registration_endpoint").is_none())
        {
            let text = "the authorization server registers no clients; expected oauth.clientId";
            return Err(text.to_owned());
        }
        let url = discovery.endpoint("registration_endpoint", "/register")?;
        let mut body = json!({
            "client_name": name,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        });
        if let Some(scope) = scope {
            body["scope"] = scope.into();
        }
        let request = self.client.post(url).header(header::ACCEPT, "application/json");
        let request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        let sent = request.timeout(TIMEOUT).send().await;
        let response =
            sent.map_err(|error| format!("registration: {}", crate::http::network_error(&error)))?;
        let status = response.status();
        let answer = read_json(response).await;
        if !status.is_success() {
            let reason = answer.ok().and_then(|answer| error_text(&answer)).unwrap_or_default();
            return Err(format!("registration: HTTP {} {reason}", status.as_u16()).trim_end().to_owned());
        }
        match answer? {
            Value::Object(mut client) if client.get("client_id").is_some_and(Value::is_string) => {
                // Some servers leave out what they were told.
                client.entry("redirect_uris").or_insert_with(|| json!([redirect]));
                Ok(client)
            }
            _ => Err("registration: client_id: expected a string".to_owned()),
        }
    }

    /// Requests tokens by these fields, as this client; what comes is as it is kept.
    pub(crate) async fn tokens(
        &self,
        discovery: &Discovery,
        client: &JsonObject,
        fields: &[(&str, &str)],
    ) -> Result<JsonObject, TokenError> {
        let url = discovery.endpoint("token_endpoint", "/token").map_err(TokenError::Other)?;
        let text = |member: &str| client.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (id, secret) = (text("client_id").unwrap_or_default(), text("client_secret"));
        let mut form: Url = "form:".parse().map_err(|_| TokenError::Other(String::new()))?;
        form.query_pairs_mut().extend_pairs(fields);
        let mut request = self.client.post(url).header(header::ACCEPT, "application/json");
        match (method(discovery, text("token_endpoint_auth_method"), secret.is_some()), secret) {
            ("client_secret_basic", Some(secret)) => {
                let value = BASE64_STANDARD.encode(format!("{id}:{secret}"));
                request = request.header(header::AUTHORIZATION, format!("Basic {value}"));
            }
            ("client_secret_post", Some(secret)) => {
                form.query_pairs_mut().append_pair("client_id", id).append_pair("client_secret", secret);
            }
            _ => drop(form.query_pairs_mut().append_pair("client_id", id)),
        }
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let body = form.query().unwrap_or_default().to_owned();
        let sent = request.body(body).timeout(TIMEOUT).send().await;
        let response = sent.map_err(|error| TokenError::Other(crate::http::network_error(&error)))?;
        let status = response.status();
        let answer = read_json(response).await;
        // An error may come with any status.
        if let Some(text) = answer.as_ref().ok().and_then(error_text) {
            let error = answer.as_ref().ok().and_then(|answer| answer.get("error")?.as_str());
            return Err(match error {
                Some("invalid_grant") => TokenError::Grant(text),
                Some("invalid_client" | "unauthorized_client") => TokenError::Client(text),
                _ => TokenError::Other(text),
            });
        }
        if !status.is_success() {
            return Err(TokenError::Other(format!("HTTP {}", status.as_u16())));
        }
        kept(&answer.map_err(TokenError::Other)?).map_err(TokenError::Other)
    }
}

/// How a client proves itself: as it was registered, else as the server takes it.
fn method<'a>(discovery: &Discovery, registered: Option<&'a str>, has_secret: bool) -> &'a str {
    let takes = |method: &str| discovery.lists("token_endpoint_auth_methods_supported", method);
    if let Some(method) = registered.filter(|method| takes(method) != Some(false)) {
        return method;
    }
    match has_secret {
        false => "none",
        true if takes("client_secret_basic") != Some(false) => "client_secret_basic",
        true => "client_secret_post",
    }
}

/// The members of an answer that are kept.
fn kept(answer: &Value) -> Result<JsonObject, String> {
    let text = |member: &str| answer.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
    for member in ["access_token", "token_type"] {
        text(member).ok_or_else(|| format!("tokens: {member}: expected a string"))?;
    }
    let mut tokens = JsonObject::new();
    for member in KEPT {
        match answer.get(member) {
            Some(Value::String(value)) if member == "expires_in" => {
                let seconds: f64 = value.parse().map_err(|_| "tokens: expires_in: expected a number")?;
                tokens.insert(member.to_owned(), seconds.into());
            }
            Some(value @ Value::Number(_)) if member == "expires_in" => {
                tokens.insert(member.to_owned(), value.clone());
            }
            Some(Value::String(value)) if !value.is_empty() => {
                tokens.insert(member.to_owned(), value.as_str().into());
            }
            _ => {}
        }
    }
    Ok(tokens)
}

/// When tokens expire, in milliseconds since 1970; `None`: they do not say.
pub(crate) fn expiry(tokens: &JsonObject) -> Option<u64> {
    let seconds = tokens.get("expires_in")?.as_f64().filter(|seconds| seconds.is_finite())?;
    Some(now().saturating_add((seconds.clamp(0.0, 1e11) * 1000.0) as u64))
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The error of OAuth in an answer, without control characters.
fn error_text(answer: &Value) -> Option<String> {
    let error = answer.get("error")?.as_str()?;
    let description = answer.get("error_description").and_then(Value::as_str).unwrap_or_default();
    let text = if description.is_empty() { error.to_owned() } else { format!("{error}: {description}") };
    Some(text.chars().filter(|c| !c.is_control()).take(300).collect())
}

/// Reads an answer of JSON.
pub(crate) async fn read_json(mut response: Response) -> Result<Value, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| crate::http::network_error(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(format!("the answer is longer than {MAX_ANSWER} bytes"));
        }
    }
    serde_json::from_slice(&body).map_err(|_| "the answer is no JSON".to_owned())
}
