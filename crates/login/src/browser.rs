//! Login in a browser: authorization code with PKCE (RFC 7636), and a listener on this machine that the browser comes back
//! to. Where the browser is elsewhere, the address that it ended at can be pasted.

use super::{
    Notice,
    client::{FlowError, obtain, send},
    request::{Names, web_page},
};
use axum::{
    Router,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pi_rpc_config::login_kinds::{BodyForm, BrowserFlow, LoginKind, StateRule, TokenRequest};
use pi_rpc_guarded_listener::{GuardedListener, Strangers};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::JsonObject;
use reqwest::Url;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};

/// How long the user may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Members of the query that the browser comes back with.
type Query = BTreeMap<String, String>;

/// A login in a browser that has begun.
pub struct BrowserLogin<'a> {
    kind: &'a LoginKind,
    flow: &'a BrowserFlow,
    names: Names,
    /// What must come back; `None`: the path says it.
    state: Option<String>,
    listener: TcpListener,
    path: String,
}

impl<'a> BrowserLogin<'a> {
    /// Opens the listener and tells the user which page to open.
    ///
    /// # Errors
    ///
    /// The port is taken, or the vendor cannot be reached.
    pub async fn begin(
        http: &Http,
        kind: &'a LoginKind,
        flow: &'a BrowserFlow,
        mut names: Names,
        address: IpAddr,
        notify: &mut (dyn FnMut(Notice) + Send),
    ) -> Result<Self, FlowError> {
        let verifier = random()?;
        names.set("challenge", &BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier)));
        names.set("nonce", &random()?);
        let state = if flow.state == StateRule::Verifier { verifier.clone() } else { random()? };
        names.set_secret("verifier", &verifier);
        names.set("state", &state);
        let callback = &flow.callback;
        let listener = match TcpListener::bind((address, callback.port)).await {
            Err(_) if callback.or_any_port => TcpListener::bind((address, 0)).await,
            bound => bound,
        };
        let failed = |error: std::io::Error| FlowError::Port(callback.port, error.to_string());
        let listener = listener.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let path = names.fill(&callback.path).map_err(FlowError::Unavailable)?;
        names.set("redirectUri", &format!("http://{}:{port}{path}", callback.host));
        if let Some(discovery) = &flow.discovery {
            let request = TokenRequest {
                url: discovery.url.clone(),
                body: BodyForm::None,
                headers: BTreeMap::new(),
                fields: indexmap::IndexMap::new(),
            };
            let answer = send(http, &request, &names).await?;
            let page = answer.members.get(&discovery.member).and_then(Value::as_str).and_then(web_page);
            let page = page.ok_or_else(|| {
                answer.unusable(&format!("`{}`: expected an http:// or https:// address", discovery.member))
            })?;
            names.set("discovered", &page);
        }
        notify(Notice::OpenPage { page: page(flow, &names).map_err(FlowError::Unavailable)? });
        let state = (flow.state != StateRule::Path).then_some(state);
        Ok(Self { kind, flow, names, state, listener, path })
    }

    /// Waits for the browser, or for an address that is pasted, and obtains the token. `previous`: members that the entry
    /// begins with.
    ///
    /// # Errors
    ///
    /// The user or the vendor refuses, or nothing happens for ten minutes.
    pub async fn finish(
        mut self,
        http: &Http,
        mut previous: JsonObject,
        mut pasted: mpsc::Receiver<String>,
    ) -> Result<JsonObject, FlowError> {
        let (sender, mut queries) = mpsc::channel(1);
        let shared = Arc::new(ExpectedCallback { state: self.state.clone(), sender });
        let router = Router::new().route(&self.path, get(receive)).with_state(shared);
        // A browser shows what it was sent back with at once, and needs the connection no longer.
        let listener = GuardedListener::new(self.listener, Strangers::of_process(|_| {}));
        let served = axum::serve(listener, router);
        let came = async {
            tokio::select! {
                query = queries.recv() => query.ok_or(FlowError::Expired),
                Some(text) = pasted.recv() => read_pasted(&text, self.state.as_deref()),
                _ = async { served.await } => Err(FlowError::Expired),
            }
        };
        let query = timeout(PATIENCE, came).await.map_err(|_| FlowError::Expired)??;
        match query.get("error").map(String::as_str) {
            Some("access_denied") => return Err(FlowError::Denied),
            Some(error) => return Err(FlowError::Refused(format!("the page refuses it ({error})"))),
            None => {}
        }
        let code =
            query.get("code").ok_or_else(|| FlowError::Callback("the page sent no code back".to_owned()))?;
        self.names.set_secret("code", code);
        for (member, own) in &self.flow.callback_members {
            let value = query.get(member).filter(|value| !value.is_empty());
            let value =
                value.ok_or_else(|| FlowError::Callback(format!("the page sent no `{member}` back")))?;
            previous.insert(own.clone(), value.clone().into());
        }
        self.names.add_credential(self.kind, &previous);
        obtain(http, self.kind, &self.flow.exchange, &self.names, &previous).await
    }
}

/// The address of the page for the user.
fn page(flow: &BrowserFlow, names: &Names) -> Result<String, String> {
    let mut url = names.url(&flow.url)?;
    for (name, text) in &flow.parameters {
        let value = names.fill(text)?;
        url.query_pairs_mut().append_pair(name, &value);
    }
    Ok(url.into())
}

/// What the listener for the browser knows of the login.
struct ExpectedCallback {
    state: Option<String>,
    sender: mpsc::Sender<Query>,
}

/// Answers the browser that comes back.
async fn receive(State(expected): State<Arc<ExpectedCallback>>, RawQuery(query): RawQuery) -> Response {
    let query = read_query(&query.unwrap_or_default());
    if expected.state.is_some() && query.get("state") != expected.state.as_ref() {
        return shown(StatusCode::BAD_REQUEST, "This page belongs to another login.");
    }
    if !query.contains_key("code") && !query.contains_key("error") {
        return shown(StatusCode::BAD_REQUEST, "There is no code in this address.");
    }
    // A second visit changes nothing.
    let _ = expected.sender.try_send(query);
    shown(
        StatusCode::OK,
        "pi-rpc has received the answer and says in its terminal what came of it. This page can be closed.",
    )
}

fn shown(status: StatusCode, text: &str) -> Response {
    let page = format!("<!doctype html><meta charset=\"utf-8\"><title>pi-rpc</title><p>{text}</p>");
    // The address holds the code: no cache and no other site may get it.
    (status, [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "no-referrer")], Html(page))
        .into_response()
}

fn read_query(text: &str) -> Query {
    let form = Url::parse(&format!("form:?{text}")).ok();
    form.iter().flat_map(|form| form.query_pairs().into_owned()).collect()
}

/// Reads what was pasted: the address that the browser ended at, `code#state`, or a code.
fn read_pasted(text: &str, state: Option<&str>) -> Result<Query, FlowError> {
    let text = text.trim();
    let query = match Url::parse(text) {
        Ok(url) => read_query(url.query().unwrap_or_default()),
        Err(_) if text.contains("code=") => read_query(text.trim_start_matches('?')),
        Err(_) => {
            let (code, own) = text.split_once('#').unwrap_or((text, ""));
            let members = [("code", code), ("state", own)].into_iter().filter(|(_, value)| !value.is_empty());
            members.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
    };
    match query.get("state") {
        Some(own) if state.is_some_and(|state| state != own) => {
            Err(FlowError::Callback("the pasted address belongs to another login".to_owned()))
        }
        _ => Ok(query),
    }
}

/// 256 random bits.
fn random() -> Result<String, FlowError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| FlowError::Unavailable(format!("the system has no randomness: {error}")))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_addresses_and_codes_are_read() {
        let found = |text: &str| read_pasted(text, Some("s")).map(|query| query.get("code").cloned());
        for text in [" http://localhost:1/callback?code=c&state=s\n", "c#s", "code=c&state=s", "c"] {
            assert_eq!(found(text), Ok(Some("c".to_owned())), "{text}");
        }
        let other = FlowError::Callback("the pasted address belongs to another login".to_owned());
        assert_eq!(found("c#t"), Err(other));
        assert_eq!(found("http://localhost:1/callback"), Ok(None));
    }
}
