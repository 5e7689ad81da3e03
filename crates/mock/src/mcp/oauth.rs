//! An authorization server beside the scripted MCP server: metadata, registration, authorization code with PKCE, refresh tokens.
//!
//! A user is played who agrees at once. Codes and refresh tokens are good for one use.

use super::script::OAuthScript;
use crate::journal::lock;
use axum::http::{Method, StatusCode};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::Url;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

/// The state of all logins.
pub(super) struct AuthorizationServer {
    script: OAuthScript,
    /// The address of this server, without a slash at its end.
    origin: String,
    state: Mutex<Logins>,
}

#[derive(Default)]
struct Logins {
    count: usize,
    clients: BTreeMap<String, Vec<String>>,
    codes: BTreeMap<String, Code>,
    /// Access tokens, with how many requests they are still good for.
    access: BTreeMap<String, Option<usize>>,
    refresh: BTreeSet<String>,
}

struct Code {
    client: String,
    redirect: String,
    challenge: String,
}

/// An answer: a status, a body, and where the browser goes on.
pub(super) struct LoginPage {
    pub status: StatusCode,
    pub body: Value,
    pub location: Option<String>,
}

impl AuthorizationServer {
    pub(super) fn new(script: OAuthScript, origin: String) -> Self {
        Self { script, origin, state: Mutex::default() }
    }

    /// Answers a request that is part of a login; `None`: it is none.
    pub(super) fn answer(&self, method: &Method, path: &str, query: &str, body: &[u8]) -> Option<LoginPage> {
        let answer = match (method.as_str(), path) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => Ok(json!({
                "resource": self.resource(),
                "authorization_servers": [self.origin],
                "scopes_supported": self.script.scopes,
            })),
            ("GET", "/.well-known/oauth-authorization-server") => Ok(self.metadata()),
            ("POST", "/register") => self.register(body),
            ("GET", "/authorize") => return Some(self.authorize(&pairs(query))),
            ("POST", "/token") => self.token(&pairs(&String::from_utf8_lossy(body))),
            _ => return None,
        };
        let (status, body) = match answer {
            Ok(body) => (StatusCode::OK, body),
            Err((error, text)) => {
                (StatusCode::BAD_REQUEST, json!({ "error": error, "error_description": text }))
            }
        };
        Some(LoginPage { status, body, location: None })
    }

    /// What a request without a good token is told; `None`: its token is good.
    pub(super) fn challenge(&self, token: Option<&str>) -> Option<String> {
        let mut logins = lock(&self.state);
        if let Some(uses) = token.and_then(|token| logins.access.get_mut(token))
            && *uses != Some(0)
        {
            *uses = uses.map(|uses| uses - 1);
            return None;
        }
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        Some(format!("Bearer error=\"invalid_token\", resource_metadata=\"{metadata}\""))
    }

    fn resource(&self) -> String {
        self.script.resource.clone().unwrap_or_else(|| format!("{}/mcp", self.origin))
    }

    fn metadata(&self) -> Value {
        json!({
            "issuer": self.script.issuer.as_ref().unwrap_or(&self.origin),
            "authorization_endpoint": format!("{}/authorize", self.origin),
            "token_endpoint": format!("{}/token", self.origin),
            "registration_endpoint": format!("{}/register", self.origin),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "client_id_metadata_document_supported": self.script.takes_documents,
            "authorization_response_iss_parameter_supported": true,
        })
    }

    fn register(&self, body: &[u8]) -> Result<Value, (&'static str, String)> {
        let wrong = |text: &str| ("invalid_client_metadata", text.to_owned());
        let mut client: Map<String, Value> =
            serde_json::from_slice(body).map_err(|_| wrong("expected an object"))?;
        let uris = client.get("redirect_uris").and_then(Value::as_array);
        let uris: Vec<String> =
            uris.into_iter().flatten().filter_map(|uri| uri.as_str().map(str::to_owned)).collect();
        if uris.is_empty() {
            return Err(wrong("redirect_uris: expected addresses"));
        }
        let mut logins = lock(&self.state);
        let id = format!("scripted-client-{}", logins.clients.len() + 1);
        logins.clients.insert(id.clone(), uris);
        client.insert("client_id".to_owned(), id.into());
        Ok(Value::Object(client))
    }

    fn authorize(&self, query: &BTreeMap<String, String>) -> LoginPage {
        let text = |name: &str| query.get(name).cloned().unwrap_or_default();
        let mut logins = lock(&self.state);
        let (client, redirect) = (text("client_id"), text("redirect_uri"));
        let is_known = logins.clients.get(&client).is_some_and(|uris| uris.contains(&redirect));
        let is_document = self.script.takes_documents && client.starts_with("https://");
        let wrong = [
            ("client_id", !is_known && !is_document),
            ("response_type", text("response_type") != "code"),
            ("code_challenge_method", text("code_challenge_method") != "S256"),
            ("resource", text("resource") != self.resource()),
        ];
        let wrong = wrong.into_iter().find(|(_, is_wrong)| *is_wrong);
        let (Ok(mut to), None) = (redirect.parse::<Url>(), wrong) else {
            let name = wrong.map_or("redirect_uri", |(name, _)| name);
            let body = json!({ "error": "invalid_request", "error_description": name });
            return LoginPage { status: StatusCode::BAD_REQUEST, body, location: None };
        };
        logins.count += 1;
        let code = format!("scripted-code-{}", logins.count);
        to.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &text("state"))
            .append_pair("iss", &self.origin);
        logins.codes.insert(code, Code { client, redirect, challenge: text("code_challenge") });
        LoginPage { status: StatusCode::FOUND, body: Value::Null, location: Some(to.into()) }
    }

    fn token(&self, form: &BTreeMap<String, String>) -> Result<Value, (&'static str, String)> {
        let text = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let mut logins = lock(&self.state);
        if text("resource") != self.resource() {
            return Err(("invalid_target", "resource".to_owned()));
        }
        match text("grant_type") {
            "authorization_code" => {
                let unknown = || ("invalid_grant", "code".to_owned());
                let code = logins.codes.remove(text("code")).ok_or_else(unknown)?;
                let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text("code_verifier")));
                let wrong = [
                    ("client_id", text("client_id") != code.client),
                    ("redirect_uri", text("redirect_uri") != code.redirect),
                    ("code_verifier", challenge != code.challenge),
                ];
                if let Some((name, _)) = wrong.into_iter().find(|(_, is_wrong)| *is_wrong) {
                    return Err(("invalid_grant", name.to_owned()));
                }
            }
            "refresh_token" if logins.refresh.remove(text("refresh_token")) => {}
            "refresh_token" => return Err(("invalid_grant", "refresh_token".to_owned())),
            _ => return Err(("unsupported_grant_type", "grant_type".to_owned())),
        }
        logins.count += 1;
        let number = logins.count;
        let (access, refresh) = (format!("scripted-access-{number}"), format!("scripted-refresh-{number}"));
        logins.access.insert(access.clone(), self.script.uses);
        logins.refresh.insert(refresh.clone());
        let mut answer = json!({ "access_token": access, "token_type": "Bearer", "refresh_token": refresh });
        if let Some(seconds) = self.script.expires_in {
            answer["expires_in"] = seconds.into();
        }
        Ok(answer)
    }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let form = Url::parse(&format!("form:?{text}")).ok();
    form.iter().flat_map(|form| form.query_pairs().into_owned()).collect()
}
