//! The requests with which pi 1.5.2 and our server get tokens for Vertex AI: of the metadata server of a machine, and with an account
//! of another identity provider. Accounts with a key of Google's own are not compared: pi's library asks Google, whatever address
//! the file names.

use crate::{
    peer_support::{Agent, Kind, peer},
    request_comparison::choose,
    serve_support::FakeVendor,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
};

/// A request for a token, or to the model: its path, its form or JSON, and whether it has a token.
type Asked = (String, Value, bool);

/// The account's file at the vendor, as JSON.
fn account(vendor: &FakeVendor, name: &str) -> String {
    let mut stream = TcpStream::connect(vendor.address).unwrap();
    let host = vendor.address;
    write!(stream, "GET /google/{name}.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The requests of a prompt, where `variables` give the account.
fn asked(kind: Kind, variables: fn(&FakeVendor, &Path) -> Vec<(&'static str, String)>) -> Vec<Asked> {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Yes." }] }] }));
    let home = tempfile::tempdir().unwrap();
    let mut all = variables(&vendor, home.path());
    all.extend([("GOOGLE_CLOUD_PROJECT", "p".to_owned()), ("GOOGLE_CLOUD_LOCATION", "global".to_owned())]);
    let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let model =
        json!({ "id": "gemini-2.5-flash", "name": "Flash", "contextWindow": 200_000, "maxTokens": 50_000 });
    let models = json!({ "providers": { "vertex": {
        "baseUrl": format!("http://{}", vendor.address), "apiKey": "gcp-vertex-credentials", "api": "google-vertex",
        "models": [model],
    } } });
    let mut agent = Agent::start_with_variables(home, kind, &models, &["--no-tools"], &all);
    choose(&mut agent, "vertex", "gemini-2.5-flash", "off");
    // A second prompt has no request for a token here; pi asks for each anew.
    agent.run("hi");
    agent.ends();
    let received = vendor.journal.received().into_iter();
    // pi's library looks first whether there is a metadata server, and the test fetches the account.
    let received = received.filter(|request| {
        ["/token", "_token", "generate", "Generate"].iter().any(|part| request.path.contains(part))
    });
    received
        .map(|request| {
            let has_token = request.header("authorization").is_some_and(|it| it.starts_with("Bearer ya29."));
            let path = request.path.replace("%3A", ":").replace("%2F", "/");
            let body = match &request.body {
                Value::String(form) => {
                    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
                    json!(pairs.collect::<BTreeMap<_, _>>())
                }
                Value::Object(members) if members.contains_key("contents") => Value::Null,
                json => json.clone(),
            };
            (path, body, has_token)
        })
        .collect()
}

fn assert_equal(variables: fn(&FakeVendor, &Path) -> Vec<(&'static str, String)>) {
    let Some(pi) = peer("1.5.2") else { return };
    let (theirs, ours) = (asked(Kind::Pi(pi), variables), asked(Kind::Ours, variables));
    assert_eq!(theirs, ours);
    assert!(ours.len() >= 2, "{ours:?}");
}

#[test]
fn metadata_requests_equal_pi() {
    assert_equal(|vendor, _| vec![("GCE_METADATA_HOST", vendor.address.to_string())]);
}

#[test]
fn external_account_requests_equal_pi() {
    assert_equal(|vendor, home| {
        let file = home.join("account.json");
        fs::write(&file, account(vendor, "external_account")).unwrap();
        vec![("GOOGLE_APPLICATION_CREDENTIALS", file.display().to_string())]
    });
}
