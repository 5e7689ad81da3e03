//! Google's endpoint for tokens at the mock, and Vertex AI behind it.

use crate::mock_support::{Served, answered, turns};
use pi_rpc_model_http::google::account::{Account, TokenRequest};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

async fn account(served: &Served, name: &str) -> Value {
    let (status, account) = answered(served.get(&format!("/google/{name}.json"))).await;
    assert_eq!(status, 200);
    account
}

/// Posts the form of a request for a token.
async fn post(served: &Served, request: &TokenRequest) -> (u16, Value) {
    let mut url = reqwest::Url::parse(&request.url).unwrap();
    url.query_pairs_mut().extend_pairs(&request.form);
    let post = served.client.post(&request.url).header("content-type", "application/x-www-form-urlencoded");
    answered(post.body(url.query().unwrap().to_owned())).await
}

const VERTEX: &str = "/v1/projects/p/locations/global/publishers/google/models/m:generateContent";

#[tokio::test]
async fn token_of_account_opens_vertex() {
    let served = turns(json!([{ "say": [{ "text": "Hello" }], "repeat": true }])).await;
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] }).to_string();
    for name in ["service_account", "authorized_user"] {
        let account = Account::parse(&account(&served, name).await.to_string()).unwrap();
        let (status, token) = post(&served, &account.token_request(now()).unwrap()).await;
        assert_eq!(
            (status, &token["token_type"], &token["expires_in"]),
            (200, &json!("Bearer"), &json!(3599))
        );
        let request =
            served.post(VERTEX).body(body.clone()).bearer_auth(token["access_token"].as_str().unwrap());
        let (status, answer) = answered(request).await;
        assert_eq!((status, &answer["candidates"][0]["content"]["parts"][0]["text"]), (200, &json!("Hello")));
    }
    // A key, or a token of somebody else.
    for request in
        [served.post(VERTEX).bearer_auth("ya29.other"), served.post(VERTEX).header("x-goog-api-key", "k")]
    {
        let (status, answer) = answered(request.body(body.clone())).await;
        assert_eq!((status, &answer["error"]["status"]), (401, &json!("UNAUTHENTICATED")));
    }
    // Without a project, a key will do.
    let express = "/v1/publishers/google/models/m:generateContent";
    let (status, _) = answered(served.post(express).body(body).header("x-goog-api-key", "k")).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn wrong_grants_are_refused() {
    let served = turns(json!([])).await;
    let robot = account(&served, "service_account").await;
    let with = |account: &Value, name: &str, value: &str| {
        let mut account = account.clone();
        account[name] = value.into();
        Account::parse(&account.to_string()).unwrap()
    };
    let robot = |name: &str, value: &str| with(&robot, name, value);
    let person = account(&served, "authorized_user").await;
    let person = |name: &str, value: &str| with(&person, name, value);
    let tampered = |mut request: TokenRequest| {
        let end = request.form[1].1.rfind('.').unwrap();
        let other = robot("client_email", "other@example.com").token_request(now()).unwrap();
        let signature = other.form[1].1[other.form[1].1.rfind('.').unwrap()..].to_owned();
        request.form[1].1.replace_range(end.., &signature);
        request
    };
    let own = || robot("type", "service_account").token_request(now()).unwrap();
    let other_url = TokenRequest {
        url: own().url,
        ..robot("token_uri", "https://tokens.example/").token_request(now()).unwrap()
    };
    let late = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat \
                and exp values in the JWT claim.";
    let mut unknown = own();
    unknown.form[0].1 = "password".to_owned();
    for (request, error, text) in [
        (tampered(own()), "invalid_grant", "Invalid JWT Signature."),
        (
            robot("client_email", "other@example.com").token_request(now()).unwrap(),
            "invalid_grant",
            "Invalid grant: account not found",
        ),
        (
            other_url,
            "invalid_grant",
            "Failed audience check. The right audience is the address of this endpoint",
        ),
        (robot("type", "service_account").token_request(now() - 7200).unwrap(), "invalid_grant", late),
        (
            person("client_id", "other").token_request(0).unwrap(),
            "invalid_client",
            "The OAuth client was not found.",
        ),
        (person("client_secret", "other").token_request(0).unwrap(), "invalid_client", "Unauthorized"),
        (person("refresh_token", "other").token_request(0).unwrap(), "invalid_grant", "Bad Request"),
        (unknown, "unsupported_grant_type", "Invalid grant_type: password"),
    ] {
        let refused = json!({ "error": error, "error_description": text });
        assert_eq!(post(&served, &request).await, (400, refused));
    }
}
