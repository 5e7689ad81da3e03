//! Anthropic's workload identity federation: the exchange, and how long its token is kept.

use crate::http_support::with_status;
use pi_rpc_model::{anthropic::federation::Federation, request::Credentials};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::Model;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

fn model(address: &str) -> Model {
    serde_json::from_value(json!({
        "id": "claude-x", "name": "X", "api": "anthropic-messages", "provider": "anthropic",
        "baseUrl": format!("http://{address}"), "reasoning": false, "input": ["text"],
        "cost": {"input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 200_000, "maxTokens": 8192,
    }))
    .unwrap()
}

fn credentials(file: &str) -> Credentials {
    let variables = [
        ("ANTHROPIC_FEDERATION_RULE_ID", "rule"),
        ("ANTHROPIC_ORGANIZATION_ID", "organization"),
        ("ANTHROPIC_IDENTITY_TOKEN_FILE", file),
        ("ANTHROPIC_SERVICE_ACCOUNT_ID", ""),
        ("ANTHROPIC_WORKSPACE_ID", "workspace"),
    ];
    let variables: BTreeMap<&'static str, String> =
        variables.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
    Credentials { variables, ..Credentials::default() }
}

/// Answers one request for each of `answers`; gives back their heads and bodies.
async fn exchanges(listener: &TcpListener, answers: &[String]) -> Vec<(String, Value)> {
    let mut received = Vec::new();
    for answer in answers {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        let body = loop {
            let mut piece = vec![0; 4096];
            let size = stream.read(&mut piece).await.unwrap();
            text += std::str::from_utf8(&piece[..size]).unwrap();
            let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
            if let Some(body) = body {
                break body;
            }
        };
        stream.write_all(answer.as_bytes()).await.unwrap();
        received.push((text.split_once("\r\n\r\n").unwrap().0.to_ascii_lowercase(), body));
    }
    received
}

#[tokio::test]
async fn identity_token_is_exchanged_once() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("token");
    fs::write(&file, "header.claims.signature\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let federation = Federation::of(&model(&address), &credentials(file.to_str().unwrap())).unwrap();
    let token = |lifetime: u64, token: &str| {
        let body = json!({"access_token": token, "token_type": "Bearer", "expires_in": lifetime});
        with_status(200, "content-type: application/json\r\nconnection: close\r\n", &body.to_string())
    };
    // The first is too short to be kept.
    let answers = [token(100, "one"), token(3600, "two")];
    let http = Http::default();
    let ask = async {
        let mut tokens = Vec::new();
        for _ in 0..3 {
            tokens.push(http.federated_token(&federation).await);
        }
        tokens
    };
    let (received, tokens) = tokio::join!(exchanges(&listener, &answers), ask);
    assert_eq!(tokens, [Ok("one".to_owned()), Ok("two".to_owned()), Ok("two".to_owned())]);
    let (head, body) = &received[0];
    assert!(head.starts_with("post /v1/oauth/token http/1.1"), "{head}");
    assert!(head.contains("anthropic-beta: oauth-2025-04-20,oidc-federation-2026-04-01"), "{head}");
    let expected = json!({
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "header.claims.signature",
        "federation_rule_id": "rule", "organization_id": "organization", "workspace_id": "workspace",
    });
    assert_eq!(*body, expected);
}

#[tokio::test]
async fn refusal_names_file_and_no_token() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("token");
    fs::write(&file, "header.claims.signature").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let federation = Federation::of(&model(&address), &credentials(file.to_str().unwrap())).unwrap();
    let body = json!({
        "error": "invalid_grant", "error_description": "no rule for header.claims.signature", "assertion": "header.claims.signature",
    });
    let answers = [with_status(401, "connection: close\r\n", &body.to_string())];
    let http = Http::default();
    let (_, token) = tokio::join!(exchanges(&listener, &answers), http.federated_token(&federation));
    let text = token.unwrap_err();
    let start = format!(
        "Anthropic gives no token for the identity token {}: status 401: invalid_grant: no rule for ",
        file.display()
    );
    assert!(text.starts_with(&start) && !text.contains("claims"), "{text}");
}

#[test]
fn key_or_header_needs_no_exchange() {
    let model = model("localhost");
    let known = credentials("token");
    assert!(Federation::of(&model, &known).is_some());
    let with_key = Credentials { key: Some("key".to_owned()), ..known.clone() };
    let header = ("Authorization".to_owned(), "Bearer x".to_owned());
    let with_header = Credentials { headers: vec![header], ..known.clone() };
    let other = Model { provider: "other".to_owned(), ..model.clone() };
    let mut without_rule = known.clone();
    without_rule.variables.remove("ANTHROPIC_FEDERATION_RULE_ID");
    for (model, credentials) in
        [(&model, &with_key), (&model, &with_header), (&other, &known), (&model, &without_rule)]
    {
        assert_eq!(Federation::of(model, credentials), None);
    }
}
