//! The real binary with a login that has expired.

use crate::{
    login_support::{Home, KIMI, PAST, Vendor, entry},
    serve_support::{Server, binary, command, write_models_file},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// A server whose model is Kimi's, with a login that has expired.
fn server(vendor: &Vendor) -> (Server, PathBuf) {
    let home = Home::new(&json!({ KIMI: entry("old-access", "old-refresh", PAST) }));
    let base = format!("http://{}/coding", vendor.address);
    let models = json!({ "providers": { KIMI: {
        "baseUrl": base, "api": "anthropic-messages", "models": [{ "id": "k", "contextWindow": 200_000, "maxTokens": 8000 }],
    } } });
    write_models_file(home.path(), Dialect::Pi, &models);
    let mut command = command(binary(), home.path());
    command.env("KIMI_CODE_OAUTH_HOST", format!("http://{}", vendor.address));
    command.args(["--mode", "rpc", "--no-session", "--dialect", "pi", "--model", "kimi-coding/k"]);
    let auth = home.auth_file();
    (Server::start(Dialect::Pi, home.into_dir(), command), auth)
}

#[test]
fn prompt_goes_out_with_a_renewed_token() {
    let vendor = Vendor::new(&[]);
    let (mut server, auth) = server(&vendor);
    server.run("hello");
    let sent = vendor.received();
    let paths: Vec<&str> = sent.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths[..2], ["/api/oauth/token", "/coding/v1/messages?beta=true"]);
    assert_eq!(sent[1].header("authorization"), Some("Bearer scripted-access-1"));
    let auth: Value = serde_json::from_str(&fs::read_to_string(auth).unwrap()).unwrap();
    assert_eq!(auth[KIMI]["refresh"], "scripted-refresh-1");
}

#[test]
fn refused_login_fails_the_prompt() {
    let vendor = Vendor::new(&["invalid_grant"]);
    let (mut server, _) = server(&vendor);
    let frames = server.run("hello");
    let end = frames.iter().rfind(|frame| frame["type"] == "agent_end").unwrap();
    let message = end["messages"].as_array().unwrap().last().unwrap();
    let text = message["errorMessage"].as_str().unwrap();
    assert!(text.ends_with("Log in again: pi-rpc login kimi-coding"), "{text}");
}
