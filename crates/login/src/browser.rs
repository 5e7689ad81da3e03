//! Login in a browser: authorization code with PKCE (RFC 7636), and a listener on this machine that the browser comes back
//! to. Where the browser is elsewhere, the address that it ended at can be pasted.

use super::{
    Notice,
    callback::{await_callback, random},
    client::{FlowError, obtain, send},
    request::{Names, web_page},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pi_rpc_config::login_kinds::{BodyForm, BrowserFlow, LoginKind, StateRule, TokenRequest};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, net::IpAddr, time::Duration};
use tokio::{net::TcpListener, sync::mpsc};

/// How long the user may take.
const PATIENCE: Duration = Duration::from_secs(600);

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
        pasted: mpsc::Receiver<String>,
    ) -> Result<JsonObject, FlowError> {
        let query = await_callback(self.listener, &self.path, self.state, pasted, PATIENCE).await?;
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
