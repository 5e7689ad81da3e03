//! Requests for tokens of pi 1.5.2 and of our server: equal, member by member, for each kind of login that expires.

use crate::{
    logins::{server, until, write_preload},
    peer_support::peer,
    serve_support::{FakeVendor, chatgpt_token, write_agent_file, write_models_file},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Providers whose tokens expire.
const PROVIDERS: [&str; 8] =
    ["anthropic", "openai", "openai-codex", "github-copilot", "kimi-coding", "meta", "radius", "xai"];

/// Headers that are compared. `accept`: pi names none at ChatGPT, where we ask for JSON, as it does elsewhere.
const HEADERS: [&str; 7] = [
    "authorization",
    "content-type",
    "copilot-integration-id",
    "editor-plugin-version",
    "editor-version",
    "x-api-version",
    "x-github-api-version",
];

/// The first request of a program whose login at `provider` has expired: method, path, headers, members.
fn refresh(provider: &str, words: Option<&[PathBuf]>) -> (String, String, Vec<(String, String)>, Value) {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hello." }] }] }));
    let home = tempfile::tempdir().unwrap();
    write_preload(home.path());
    let model = json!({ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 });
    let base = format!("http://{}/v1", vendor.address);
    let models = json!({ "providers": { provider: { "baseUrl": base, "api": "openai-completions", "models": [model] } } });
    write_models_file(home.path(), Dialect::Pi, &models);
    write_agent_file(home.path(), Dialect::Pi, "settings.json", &json!({ "retry": { "enabled": false } }));
    let login = json!({ provider: {
        "type": "oauth", "access": chatgpt_token("old"), "refresh": "old-refresh", "expires": 1_000_000_000_000_u64,
        "clientId": "issued", "accountId": "old",
    } });
    write_agent_file(home.path(), Dialect::Pi, "auth.json", &login);
    let mut server = server(&vendor, home.path(), words, &format!("{provider}/model"));
    server.send(json!({ "type": "prompt", "message": "hi" }));
    until(&mut server, "agent_end");
    server.close_stdin();
    while server.next_line().is_some() {}
    let request =
        vendor.journal.received().into_iter().next().unwrap_or_else(|| panic!("{provider}: no request"));
    let mut headers: Vec<_> =
        request.headers.into_iter().filter(|(name, _)| HEADERS.contains(&name.as_str())).collect();
    headers.sort();
    let members = match request.body {
        Value::String(form) => {
            let mut members: Vec<&str> = form.split('&').collect();
            members.sort_unstable();
            json!(members)
        }
        body => body,
    };
    (request.method, request.path, headers, members)
}

#[test]
fn refresh_requests_equal_pi_for_each_login() {
    let Some(pi) = peer("1.5.2") else { return };
    for provider in PROVIDERS {
        assert_eq!(refresh(provider, None), refresh(provider, Some(pi)), "{provider}");
    }
}
