//! The browser that comes back from a page with the answer, to a listener on this machine. Where the browser is elsewhere, the address
//! that it ended at can be pasted.

use super::client::FlowError;
use axum::{
    Router,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pi_rpc_guarded_listener::{GuardedListener, Strangers};
use reqwest::Url;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};

/// Members of the query that the browser comes back with.
pub type Query = BTreeMap<String, String>;

/// Waits for the browser at `path`, or for an address that is pasted. `state`: what must come back; `None`: the path says it.
///
/// # Errors
///
/// The user or the page refuses, or nothing happens for as long as `patience`.
pub async fn await_callback(
    listener: TcpListener,
    path: &str,
    state: Option<String>,
    mut pasted: mpsc::Receiver<String>,
    patience: Duration,
) -> Result<Query, FlowError> {
    let (sender, mut queries) = mpsc::channel(1);
    let shared = Arc::new(ExpectedCallback { state: state.clone(), sender });
    let router = Router::new().route(path, get(receive)).with_state(shared);
    // A browser shows what it was sent back with at once, and needs the connection no longer.
    let listener = GuardedListener::new(listener, Strangers::of_process(|_| {}));
    let served = axum::serve(listener, router);
    let came = async {
        tokio::select! {
            query = queries.recv() => query.ok_or(FlowError::Expired),
            Some(text) = pasted.recv() => read_pasted(&text, state.as_deref()),
            _ = async { served.await } => Err(FlowError::Expired),
        }
    };
    let query = timeout(patience, came).await.map_err(|_| FlowError::Expired)??;
    match query.get("error").map(String::as_str) {
        Some("access_denied") => Err(FlowError::Denied),
        Some(error) => Err(FlowError::Refused(format!("the page refuses it ({error})"))),
        None => Ok(query),
    }
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
///
/// # Errors
///
/// The system has no randomness.
pub fn random() -> Result<String, FlowError> {
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
