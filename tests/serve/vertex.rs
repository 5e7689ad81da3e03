//! Vertex AI with accounts of Google: the real binary, the fake vendor and its endpoint for tokens.

use crate::serve_support::{
    FakeVendor, Server, binary, command, of_type, write_agent_file, write_models_file,
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
};

/// A server whose only account is that of the vendor of this name, after `change`; and the account's file.
fn server(vendor: &FakeVendor, name: &str, change: impl FnOnce(&mut Value)) -> (Server, PathBuf) {
    let mut stream = TcpStream::connect(vendor.address).unwrap();
    let host = vendor.address;
    write!(stream, "GET /google/{name}.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let mut account: Value = serde_json::from_str(text).unwrap();
    change(&mut account);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("account.json");
    fs::write(&file, account.to_string()).unwrap();
    let base = format!("http://{}/v1/projects/p/locations/global", vendor.address);
    write_models_file(
        dir.path(),
        Dialect::Pi,
        &json!({ "providers": { "google-vertex": { "baseUrl": base } } }),
    );
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &json!({ "retry": { "enabled": false } }));
    let mut command = command(binary(), dir.path());
    command.env("GOOGLE_APPLICATION_CREDENTIALS", &file);
    command.envs([("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "global")]);
    command.args(["--mode", "rpc", "--no-session", "--model", "google-vertex/gemini-3.5-flash"]);
    (Server::start(Dialect::Pi, dir, command), file)
}

fn vendor() -> FakeVendor {
    FakeVendor::plays(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hello." }] }] }))
}

/// The text of an answer, or its error.
fn answer(server: &mut Server) -> String {
    server.send(json!({ "type": "prompt", "message": "hi" }));
    let frames = server.until_type("agent_end");
    let message = &of_type(&frames, "turn_end").last().unwrap()["message"];
    message["errorMessage"].as_str().or(message["content"][0]["text"].as_str()).unwrap().to_owned()
}

#[test]
fn token_of_account_is_used_again() {
    for (name, payer) in [("service_account", None), ("authorized_user", Some("scripted-payer"))] {
        let vendor = vendor();
        let (mut server, _) = server(&vendor, name, |_| {});
        assert_eq!([answer(&mut server), answer(&mut server)], ["Hello.", "Hello."], "{name}");
        server.finishes();
        let received = vendor.journal.received();
        let paths: Vec<&str> = received.iter().map(|request| &*request.path).collect();
        let model = "/v1/projects/p/locations/global/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse";
        assert_eq!(paths[1..], ["/google/token", model, model], "{name}");
        let token = received[2].header("authorization").unwrap();
        assert!(token.starts_with("Bearer ya29.scripted-"), "{name}");
        assert_eq!(received[3].header("authorization"), Some(token), "{name}");
        assert_eq!(received[2].header("x-goog-user-project"), payer, "{name}");
        assert_eq!(vendor.refusals(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn refused_account_is_told_and_mended() {
    let vendor = vendor();
    let (mut server, file) =
        server(&vendor, "authorized_user", |account| account["refresh_token"] = "1//revoked".into());
    let path = file.display();
    let refused = format!("Google gives no token for the account {path}: 400 invalid_grant: Bad Request");
    assert_eq!(answer(&mut server), refused);
    let mut account: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    account["type"] = "gdch_service_account".into();
    fs::write(&file, account.to_string()).unwrap();
    assert_eq!(
        answer(&mut server),
        format!(
            "{path} is no Google account: type: expected service_account, authorized_user, external_account, \
             impersonated_service_account, got \"gdch_service_account\""
        )
    );
    account["type"] = "authorized_user".into();
    account["refresh_token"] = "1//scripted-refresh-token".into();
    fs::write(&file, account.to_string()).unwrap();
    assert_eq!(answer(&mut server), "Hello.");
    fs::remove_file(&file).unwrap();
    let missing = answer(&mut server);
    assert!(missing.starts_with("No API key found for google-vertex."), "{missing}");
    assert!(missing.contains("GOOGLE_APPLICATION_CREDENTIALS to its file"), "{missing}");
    server.finishes();
}

#[test]
fn account_of_another_provider_opens_vertex() {
    let steps: [(&str, &[&str]); 2] = [
        (
            "external_account",
            &["/google/subject_token", "/google/token", "/google/scripted:generateAccessToken"],
        ),
        ("impersonated_service_account", &["/google/token", "/google/scripted:generateAccessToken"]),
    ];
    for (name, steps) in steps {
        let vendor = vendor();
        let (mut server, _) = server(&vendor, name, |_| {});
        assert_eq!([answer(&mut server), answer(&mut server)], ["Hello.", "Hello."], "{name}");
        server.finishes();
        let received = vendor.journal.received();
        let paths: Vec<&str> = received[1..].iter().map(|request| &*request.path).collect();
        assert_eq!(paths[..steps.len()], *steps, "{name}");
        assert_eq!(paths.len(), steps.len() + 2, "{name}: {paths:?}");
    }
}

#[test]
fn machine_account_opens_vertex() {
    let vendor = vendor();
    let dir = tempfile::tempdir().unwrap();
    let base = format!("http://{}/v1/projects/p/locations/global", vendor.address);
    let models = json!({ "providers": { "google-vertex": { "baseUrl": base } } });
    write_models_file(dir.path(), Dialect::Pi, &models);
    let mut command = command(binary(), dir.path());
    command.env("GCE_METADATA_HOST", vendor.address.to_string());
    command.envs([("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "global")]);
    command.args(["--mode", "rpc", "--no-session", "--model", "google-vertex/gemini-3.5-flash"]);
    let mut server = Server::start(Dialect::Pi, dir, command);
    assert_eq!([answer(&mut server), answer(&mut server)], ["Hello.", "Hello."]);
    server.finishes();
    let received = vendor.journal.received();
    let token = "/computeMetadata/v1/instance/service-accounts/default/token?scopes=https://www.googleapis.com/auth/cloud-platform";
    assert_eq!((received[0].path.as_str(), received.len()), (token, 3));
    assert_eq!(vendor.refusals(), Vec::<String>::new());
}
