//! The vendors' endpoints for logins: authorization page, device codes, tokens.
//!
//! `schema/vendors/logins.json` says which there are and what they take. A user is played who agrees at once. Codes and
//! tokens are good for one use where the vendor's are.

pub(super) mod account_models;
mod endpoint;
mod tokens;

use self::endpoint::Endpoint;
use super::journal::lock;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use reqwest::Url;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Mutex,
};

/// An answer of such an endpoint.
pub(super) struct LoginAnswer {
    pub status: u16,
    pub body: Value,
    /// Where the browser goes on.
    pub location: Option<String>,
}

impl LoginAnswer {
    fn of(status: u16, body: Value) -> Self {
        Self { status, body, location: None }
    }

    fn refusal(error: &str, description: impl Into<String>) -> Self {
        Self::of(400, json!({ "error": error, "error_description": description.into() }))
    }
}

/// The state of all logins.
#[derive(Default)]
pub(super) struct LoginDesk {
    state: Mutex<DeskState>,
}

#[derive(Default)]
struct DeskState {
    /// Errors that the next polls and refreshes get, oldest first.
    errors: VecDeque<String>,
    /// Number of codes and tokens so far.
    count: usize,
    /// Challenges of codes that wait for their exchange.
    codes: BTreeMap<String, PendingCode>,
    /// Device codes that wait for their poll.
    devices: BTreeSet<String>,
    /// Refresh tokens that were used.
    used: BTreeSet<String>,
}

struct PendingCode {
    challenge: String,
    redirect_uri: Option<String>,
    state: Option<String>,
}

impl LoginDesk {
    /// Lets the next polls and refreshes fail with these errors.
    pub fn with_errors(errors: Vec<String>) -> Self {
        Self { state: Mutex::new(DeskState { errors: errors.into(), ..DeskState::default() }) }
    }

    /// Whether the path is an endpoint for logins.
    pub fn has(path: &str) -> bool {
        Endpoint::all().iter().any(|endpoint| endpoint.path == path)
    }

    /// Answers a request.
    pub fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> LoginAnswer {
        let (endpoint, fields) = match endpoint::find(method, uri, headers, body) {
            Ok(found) => found,
            Err(refusal) => return refusal,
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut state = lock(&self.state);
        match endpoint.plays.as_str() {
            "discovery" => {
                let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                let scheme = if host.starts_with("127.0.0.1") { "http" } else { "https" };
                LoginAnswer::of(
                    200,
                    json!({ "authorizationEndpoint": format!("{scheme}://{host}/radius/authorize") }),
                )
            }
            "authorize" => state.authorize(endpoint, &fields),
            "exchange" => state.exchange(endpoint, &fields),
            "device" => state.start_device(endpoint),
            "poll" => state.poll(endpoint, text(endpoint.device_member())),
            _ => {
                let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
                let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
                let token = if endpoint.rotates() { text("refresh_token") } else { bearer };
                state.refresh(endpoint, token)
            }
        }
    }
}

impl DeskState {
    fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Sends the browser back with a code, as after a user's consent.
    fn authorize(&mut self, endpoint: &Endpoint, fields: &Map<String, Value>) -> LoginAnswer {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let code = format!("scripted-code-{}", self.number());
        let back = text("redirect_uri").or_else(|| text("callback_url")).unwrap_or_default();
        let Ok(mut to) = Url::parse(&back) else {
            return LoginAnswer::refusal("invalid_request", "redirect_uri");
        };
        to.query_pairs_mut().append_pair("code", &code);
        if let Some(state) = text("state") {
            to.query_pairs_mut().append_pair("state", &state);
        }
        if endpoint.provider == "openai" {
            to.query_pairs_mut().append_pair("client_id", tokens::ISSUED_CLIENT);
        }
        let pending = PendingCode {
            challenge: text("code_challenge").unwrap_or_default(),
            redirect_uri: text("redirect_uri"),
            state: text("state"),
        };
        self.codes.insert(code, pending);
        LoginAnswer { status: StatusCode::FOUND.as_u16(), body: Value::Null, location: Some(to.into()) }
    }

    fn exchange(&mut self, endpoint: &Endpoint, fields: &Map<String, Value>) -> LoginAnswer {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let Some(pending) = self.codes.remove(text("code").unwrap_or_default()) else {
            return LoginAnswer::refusal("invalid_grant", "The code is unknown or was used before.");
        };
        let verifier = text("code_verifier").unwrap_or_default();
        let wrong = [
            ("code_verifier", tokens::challenge(verifier) != pending.challenge),
            (
                "redirect_uri",
                text("redirect_uri").is_some_and(|uri| Some(uri) != pending.redirect_uri.as_deref()),
            ),
            ("state", text("state").is_some_and(|own| Some(own) != pending.state.as_deref())),
            ("client_id", endpoint.provider == "openai" && text("client_id") != Some(tokens::ISSUED_CLIENT)),
        ];
        if let Some((name, _)) = wrong.into_iter().find(|(_, is_wrong)| *is_wrong) {
            return LoginAnswer::refusal(
                "invalid_grant",
                format!("{name} is not that of the authorization."),
            );
        }
        LoginAnswer::of(200, tokens::answer(endpoint, self.number()))
    }

    fn start_device(&mut self, endpoint: &Endpoint) -> LoginAnswer {
        let code = format!("scripted-device-{}", self.number());
        self.devices.insert(code.clone());
        LoginAnswer::of(200, tokens::device(endpoint, &code))
    }

    fn poll(&mut self, endpoint: &Endpoint, code: &str) -> LoginAnswer {
        if !self.devices.contains(code) {
            return tokens::refusal(endpoint, "expired_token");
        }
        if let Some(error) = self.errors.pop_front() {
            return tokens::refusal(endpoint, &error);
        }
        self.devices.remove(code);
        let number = self.number();
        if endpoint.provider == "openai-codex" {
            let (code, verifier) = (format!("scripted-code-{number}"), tokens::VERIFIER);
            let redirect_uri = Some("https://auth.openai.com/deviceauth/callback".to_owned());
            let challenge = tokens::challenge(verifier);
            self.codes.insert(code.clone(), PendingCode { challenge, redirect_uri, state: None });
            return LoginAnswer::of(200, json!({ "authorization_code": code, "code_verifier": verifier }));
        }
        LoginAnswer::of(200, tokens::answer(endpoint, number))
    }

    fn refresh(&mut self, endpoint: &Endpoint, token: &str) -> LoginAnswer {
        if let Some(error) = self.errors.pop_front() {
            return tokens::refusal(endpoint, &error);
        }
        // A token that obtains another one is worth nothing afterwards.
        if endpoint.rotates() && !self.used.insert(token.to_owned()) {
            return LoginAnswer::refusal("invalid_grant", "The refresh token was used before.");
        }
        LoginAnswer::of(200, tokens::answer(endpoint, self.number()))
    }
}
