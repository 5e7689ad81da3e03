//! Keys of a Google account, its signed requests and its tokens are redacted in all outputs.

use crate::{
    hostile::{Hostile, WAYS},
    keys::{assert_clean, planted},
    serve_support::{Server, binary, command, write_agent_file, write_models_file},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::fs;

/// The accounts, whose tokens come from the endpoint at `way`.
fn accounts(hostile: &Hostile, way: &str) -> [Value; 3] {
    let token_uri = format!("http://{}/{way}/token", hostile.address);
    let key = include_str!("../../crates/mock/src/google/account_key.pem");
    [
        json!({
            "type": "authorized_user", "client_id": "id", "client_secret": planted("client"),
            "refresh_token": planted("refresh/token"), "token_uri": token_uri,
        }),
        json!({
            "type": "service_account", "client_email": "robot@example.com", "private_key": key, "token_uri": token_uri,
        }),
        json!({
            "type": "external_account", "audience": "a", "subject_token_type": "jwt", "token_url": token_uri,
            "credential_source": { "url": token_uri, "headers": { "x-identity": planted("header") } },
        }),
    ]
}

#[test]
fn token_endpoint_cannot_leak_account_keys() {
    let hostile = Hostile::listen();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("account.json");
    fs::write(&file, "{}").unwrap();
    let models =
        json!({ "providers": { "google-vertex": { "baseUrl": format!("http://{}", hostile.address) } } });
    write_models_file(dir.path(), Dialect::Pi1, &models);
    let settings = json!({ "retry": { "enabled": false, "provider": { "maxRetries": 0 } } });
    write_agent_file(dir.path(), Dialect::Pi1, "settings.json", &settings);
    let mut serve = command(binary(), dir.path());
    serve.env("GOOGLE_APPLICATION_CREDENTIALS", &file).env("RUST_LOG", "trace");
    serve.envs([("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "global")]);
    serve.args(["serve", "--dialect", "pi-1", "--no-session", "--provider", "google-vertex"]);
    let mut server = Server::start(Dialect::Pi1, dir, serve);
    let mut frames = Vec::new();
    for account in WAYS.iter().flat_map(|way| accounts(&hostile, way)) {
        fs::write(&file, account.to_string()).unwrap();
        server.send(json!({ "type": "prompt", "message": "hi" }));
        frames.extend(server.until_type("agent_settled"));
    }
    // A file that is none is not repeated.
    fs::write(&file, json!({ "type": "authorized_user", "refresh_token": [planted("list")] }).to_string())
        .unwrap();
    server.send(json!({ "type": "prompt", "message": "hi" }));
    frames.extend(server.until_type("agent_settled"));
    server.close_stdin();
    let ended = server.ends();
    let ends = frames.iter().filter(|frame| frame["type"] == "message_end");
    let errors: Vec<&str> = ends.filter_map(|frame| frame["message"]["errorMessage"].as_str()).collect();
    assert_eq!(errors.len(), 3 * WAYS.len() + 1, "{errors:#?}");
    let heard = hostile.heard();
    assert!(
        heard.contains(&planted("client"))
            && heard.contains(&planted("header"))
            && heard.contains("assertion=ey"),
        "{heard}"
    );
    let stdout = Value::from(frames.clone()).to_string();
    assert_clean([("stdout".to_owned(), &*stdout), ("stderr".to_owned(), &*ended.stderr)]);
    // What begins a signed request: {"alg" in Base64.
    for text in [&stdout, &ended.stderr] {
        assert!(!text.contains("eyJhbGci") && !text.contains("MIIEv"), "{text}");
    }
}
