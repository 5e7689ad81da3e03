//! Tokens for Google accounts over HTTP: how long they are kept, and what is tried again.

use crate::http_support::{PATIENCE, Server, retrying, with_status, write};
use pi_rpc_model::google::vertex::AccountSource;
use pi_rpc_model_http::http::{Http, google_token::GoogleAuthorization};
use serde_json::json;
use std::fs;

/// The headers of so many authorizations of one account, whose endpoint gives these answers; and the requests for them.
async fn authorized(
    times: usize,
    answers: &[String],
) -> (Vec<Result<Vec<(String, String)>, String>>, Vec<String>) {
    let server = Server::new().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("account.json");
    let account = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "secret/1", "refresh_token": "refresh&1",
        "token_uri": format!("http://{}/token", server.address()),
    });
    fs::write(&file, account.to_string()).unwrap();
    let (http, options) = (Http::default(), retrying(2, PATIENCE));
    let named = file.to_str().map(str::to_owned);
    let source = AccountSource { file: named, is_named: true, metadata_host: None };
    let mut requests = Vec::new();
    let serve = async {
        for answer in answers {
            let (mut connection, request) = server.accept().await;
            requests.push(request);
            write(&mut connection, answer.as_bytes()).await;
        }
        server.accept().await;
    };
    let ask = async {
        let mut all = Vec::new();
        for _ in 0..times {
            let answered = http.google_authorization(&source, &options).await;
            all.push(answered.map(headers).map_err(|error| error.replace(file.to_str().unwrap(), "FILE")));
        }
        all
    };
    let all = tokio::select! {
        all = ask => all,
        () = serve => panic!("more requests than {}", answers.len()),
    };
    (all, requests)
}

fn headers(authorization: GoogleAuthorization) -> Vec<(String, String)> {
    let mut headers = vec![("x-goog-user-project".to_owned(), "configured".to_owned())];
    authorization.authorize(&mut headers, Some("payer".to_owned()));
    headers
}

fn answer(status: u16, body: &serde_json::Value) -> String {
    with_status(status, "connection: close\r\ncontent-type: application/json\r\n", &body.to_string())
}

fn token(name: &str, seconds: u64) -> String {
    answer(200, &json!({ "access_token": name, "expires_in": seconds }))
}

/// What such an authorization makes of headers that name who pays.
fn bearer(name: &str) -> Result<Vec<(String, String)>, String> {
    let headers = [("x-goog-user-project", "configured"), ("authorization", &format!("Bearer {name}"))];
    Ok(headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
}

#[tokio::test]
async fn valid_token_is_kept() {
    let (all, requests) = authorized(2, &[token("one", 3600)]).await;
    assert_eq!(all, [bearer("one"), bearer("one")]);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /token HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-www-form-urlencoded"), "{head}");
    let form = "grant_type=refresh_token&client_id=id&client_secret=secret%2F1&refresh_token=refresh%261";
    assert_eq!(body, form);
}

#[tokio::test]
async fn token_near_its_end_is_renewed() {
    let (all, requests) = authorized(2, &[token("one", 299), token("two", 3600)]).await;
    assert_eq!((all, requests.len()), (vec![bearer("one"), bearer("two")], 2));
}

#[tokio::test]
async fn transient_failure_is_tried_again() {
    let busy = || answer(503, &json!({ "error": "unavailable" }));
    let (all, requests) = authorized(1, &[busy(), busy(), token("one", 3600)]).await;
    assert_eq!((all, requests.len()), (vec![bearer("one")], 3));
    let (all, _) = authorized(1, &[busy(), busy(), busy()]).await;
    assert_eq!(all, [Err("Google gives no token for the account FILE: 503 unavailable".to_owned())]);
}

#[tokio::test]
async fn refusal_is_final_and_clean() {
    let refused =
        json!({ "error": "invalid_grant", "error_description": "refresh&1 of secret%2F1 was revoked" });
    let (all, requests) = authorized(1, &[answer(400, &refused)]).await;
    assert_eq!(requests.len(), 1);
    let clean = "Google gives no token for the account FILE: 400 invalid_grant: *** of *** was revoked";
    assert_eq!(all, [Err(clean.to_owned())]);
}

#[tokio::test]
async fn machine_without_flavor_is_no_metadata_server() {
    let server = Server::new().await;
    let host = server.address().to_string();
    let source = AccountSource { file: None, is_named: false, metadata_host: Some(host.clone()) };
    let (http, options) = (Http::default(), retrying(0, PATIENCE));
    let serve = async {
        let (mut connection, request) = server.accept().await;
        write(&mut connection, token("one", 3600).as_bytes()).await;
        request
    };
    let (refused, request) = tokio::join!(http.google_authorization(&source, &options), serve);
    let expected = format!(
        "Vertex AI needs an account: set GOOGLE_APPLICATION_CREDENTIALS to its file, or use an API key: {host} is no metadata server"
    );
    assert_eq!(refused.err(), Some(expected));
    assert!(request.contains("metadata-flavor: Google\r\n"), "{request}");
}
