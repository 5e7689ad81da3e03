//! A login in the browser.

use super::{
    DOCUMENTS, Login, Refresh,
    discovery::{Challenge, Discovery},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pi_rpc_config::mcp_oauth::{LoopbackUrl, McpRegistration, is_listed};
use pi_rpc_login::{
    FlowError,
    callback::{await_callback, random},
};
use pi_rpc_protocol::JsonObject;
use reqwest::Url;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, net::IpAddr, time::Duration};
use tokio::{net::TcpListener, sync::mpsc};

/// The name to register with, where none is configured.
const CLIENT_NAME: &str = "pi-rpc";

/// Bytes of the hash that tells the callbacks of servers apart.
const CALLBACK_BYTES: usize = 9;

/// A login that is to be made.
pub(crate) struct SignIn<'a> {
    pub login: Login,
    /// Takes the page that the user has to open.
    pub notify: &'a mut (dyn FnMut(String) + Send),
    /// Addresses that the user pastes, where the browser is on another machine.
    pub pasted: mpsc::Receiver<String>,
    /// How long the user may take.
    pub patience: Duration,
}

/// Logs in, and stores the tokens.
///
/// # Errors
///
/// What has failed; no token is in it.
pub(crate) async fn sign_in(sign_in: SignIn<'_>) -> Result<(), String> {
    let SignIn { login, notify, pasted, patience } = sign_in;
    let challenge = login.wanted();
    if !challenge.wants_scope() && login.renew().await? == Refresh::Done {
        return Ok(());
    }
    let state = login.store.load().await.map_err(|error| error.to_string())?;
    let (listener, redirect) = listen(&login, &state).await?;
    let metadata_url = login.settings.metadata_url.as_deref();
    let discovery = Discovery::find(&login.requests, &login.server, &challenge, metadata_url).await?;
    if discovery.lists("code_challenge_methods_supported", "S256") == Some(false) {
        return Err("the authorization server does not take PKCE with S256".to_owned());
    }
    let audience = discovery.audience(&login.server)?;
    let scope = scope(&login, &state, &challenge, &discovery);
    let (client, redirect) = client(&login, &state, &discovery, redirect, scope.as_deref()).await?;
    let flow_error = |error: FlowError| error.to_string();
    let (verifier, own_state) = (random().map_err(flow_error)?, random().map_err(flow_error)?);
    let id = client.get("client_id").and_then(Value::as_str).unwrap_or_default();
    let mut page = discovery.endpoint("authorization_endpoint", "/authorize")?;
    {
        let mut query = page.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", id);
        query.append_pair("code_challenge", &BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier)));
        query.append_pair("code_challenge_method", "S256").append_pair("redirect_uri", &redirect);
        query.append_pair("state", &own_state);
        if let Some(scope) = &scope {
            query.append_pair("scope", scope);
            if scope.split_whitespace().any(|it| it == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        if let Some(audience) = &audience {
            query.append_pair("resource", audience);
        }
    }
    notify(page.into());
    let path = LoopbackUrl::read(&redirect).map_or_else(|| "/callback".to_owned(), |url| url.path);
    let query = await_callback(listener, &path, Some(own_state), pasted, patience).await;
    let query = query.map_err(flow_error)?;
    // A code of another authorization server must not be sent to this one (RFC 9207).
    let issuer = discovery.metadata.as_ref().and_then(|metadata| metadata.get("issuer")?.as_str());
    let named = query.get("iss").map(String::as_str);
    if (named.is_some() || discovery.has("authorization_response_iss_parameter_supported")) && named != issuer
    {
        return Err("the page sent the answer of another authorization server back".to_owned());
    }
    let code = query.get("code").ok_or("the page sent no code back")?;
    let mut fields = vec![
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("code_verifier", &verifier),
        ("redirect_uri", &redirect),
    ];
    fields.extend(audience.as_deref().map(|audience| ("resource", audience)));
    let tokens = login.requests.tokens(&discovery, &client, &fields).await;
    let mut tokens = tokens.map_err(|error| error.text().to_owned())?;
    // Where the answer names none, the scope is the one that was requested.
    if let Some(scope) = scope {
        tokens.entry("scope").or_insert_with(|| scope.into());
    }
    login.keep(tokens).await?;
    *login.challenge.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Challenge::default();
    Ok(())
}

impl Login {
    /// Renews the stored tokens, where there are some.
    async fn renew(&self) -> Result<Refresh, String> {
        let mut lock = self.store.lock_refresh().await.map_err(|error| error.to_string())?;
        lock.hold(async {
            let state = self.store.load().await.map_err(|error| error.to_string())?;
            let is_replaced = self.settings.registration == McpRegistration::Document
                && state.contains_key("clientInformation")
                && self.settings.client_id.is_none();
            match is_replaced {
                true => Ok(Refresh::NeedsLogin),
                // What cannot be renewed is made anew.
                false => Ok(self.refresh_stored(&state).await.unwrap_or(Refresh::NeedsLogin)),
            }
        })
        .await
    }

    /// The document that describes the client, and the address that the browser comes back to with it; `None`: there is none for
    /// this server.
    pub(super) fn document(&self, discovery: &Discovery, redirect: &str) -> Option<(String, String)> {
        let may_be = match self.settings.registration {
            McpRegistration::Document => true,
            McpRegistration::Dynamic => false,
            McpRegistration::Auto => self.settings.client_id.is_none() && self.settings.client_name.is_none(),
        };
        let is_taken = discovery.has("client_id_metadata_document_supported")
            && discovery.lists("token_endpoint_auth_methods_supported", "none") == Some(true);
        if !may_be || !is_taken || !LoopbackUrl::read(redirect).is_some_and(|url| is_listed(&url)) {
            return None;
        }
        if discovery.has("authorization_response_iss_parameter_supported") {
            return Some((format!("{DOCUMENTS}/client.json"), redirect.to_owned()));
        }
        // Without the issuer in the answer, a path of its own tells whose the answer is.
        let id = callback_id(&self.server);
        Some((format!("{DOCUMENTS}/{id}/client.json"), format!("{redirect}/{id}")))
    }
}

/// What tells the callbacks of this server from those of others.
fn callback_id(server: &Url) -> String {
    let mut server = server.clone();
    server.set_fragment(None);
    BASE64_URL_SAFE_NO_PAD.encode(&Sha256::digest(server.as_str())[..CALLBACK_BYTES])
}

/// Opens the listener that the browser comes back to; gives its address, too.
async fn listen(login: &Login, state: &JsonObject) -> Result<(TcpListener, String), String> {
    let configured = login.settings.callback_url.as_deref();
    let url = LoopbackUrl::read(configured.unwrap_or("http://127.0.0.1/callback"))
        .ok_or("oauth.callbackUrl must be an http URI on localhost, 127.0.0.1, or [::1]")?;
    let fixed = url.port.or(login.settings.callback_port);
    // The port of a registered client is better than another, which would need another client.
    let registered =
        state.get("clientInformation").and_then(|client| client.pointer("/redirect_uris/0")?.as_str());
    let registered = registered.and_then(|registered| LoopbackUrl::read(registered)?.port);
    let address: IpAddr = match url.host.as_str() {
        "[::1]" => std::net::Ipv6Addr::LOCALHOST.into(),
        _ => std::net::Ipv4Addr::LOCALHOST.into(),
    };
    let bound = match (fixed, registered) {
        (Some(port), _) => TcpListener::bind((address, port)).await,
        (None, Some(port)) => match TcpListener::bind((address, port)).await {
            Err(_) => TcpListener::bind((address, 0)).await,
            bound => bound,
        },
        (None, None) => TcpListener::bind((address, 0)).await,
    };
    let port = fixed.unwrap_or_default();
    let listener = bound.map_err(|error| format!("the port {port} for the browser: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let redirect = match (configured, url.port) {
        // As it was registered, to the letter.
        (Some(configured), Some(_)) => configured.to_owned(),
        _ => format!("http://{}:{port}{}", url.host, url.path),
    };
    Ok((listener, redirect))
}

/// The scopes to request: the configured ones and those that the server wants, else those that it names.
fn scope(login: &Login, state: &JsonObject, challenge: &Challenge, discovery: &Discovery) -> Option<String> {
    // More scope comes on top of what was granted: the server may name only what is missing.
    let granted = state.get("tokens").and_then(|tokens| tokens.get("scope")?.as_str());
    let granted = granted.filter(|_| challenge.wants_scope() && challenge.scope.is_some());
    let lists = [login.settings.scope.as_deref(), granted, challenge.scope.as_deref()];
    let mut seen = BTreeSet::new();
    let scopes = lists.into_iter().flatten().flat_map(str::split_whitespace);
    let scopes: Vec<&str> = scopes.filter(|scope| seen.insert(*scope)).collect();
    if scopes.is_empty() { discovery.scopes() } else { Some(scopes.join(" ")) }
}

/// The client to log in with, and the address that the browser comes back to. A client that cannot use that is replaced, and its tokens
/// are forgotten.
async fn client(
    login: &Login,
    state: &JsonObject,
    discovery: &Discovery,
    redirect: String,
    scope: Option<&str>,
) -> Result<(JsonObject, String), String> {
    if let Some(client) = login.configured_client() {
        return Ok((client, redirect));
    }
    let stored = state.get("clientInformation").and_then(Value::as_object);
    let is_usable = |client: &&JsonObject| {
        let uris = client.get("redirect_uris").and_then(Value::as_array);
        login.settings.registration != McpRegistration::Document
            && uris.is_some_and(|uris| uris.iter().any(|uri| uri == redirect.as_str()))
    };
    if let Some(client) = stored.filter(is_usable) {
        return Ok((client.clone(), redirect));
    }
    let forget = |state: &mut JsonObject| {
        for member in ["clientInformation", "tokens", "tokensExpireAt"] {
            state.shift_remove(member);
        }
    };
    if let Some((document, redirect)) = login.document(discovery, &redirect) {
        if stored.is_some() {
            login.store.change(forget).await.map_err(|error| error.to_string())?;
        }
        return Ok(([("client_id".to_owned(), document.into())].into_iter().collect(), redirect));
    }
    if login.settings.registration == McpRegistration::Document {
        let text = "the authorization server takes no documents of public clients; expected another oauth.clientRegistration";
        return Err(text.to_owned());
    }
    let name = login.settings.client_name.as_deref().unwrap_or(CLIENT_NAME);
    let client = login.requests.register(discovery, name, &redirect, scope).await?;
    let keep = client.clone();
    let change = |state: &mut JsonObject| {
        forget(state);
        state.insert("clientInformation".to_owned(), Value::Object(keep));
    };
    login.store.change(change).await.map_err(|error| error.to_string())?;
    Ok((client, redirect))
}
