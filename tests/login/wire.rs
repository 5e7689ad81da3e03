//! Logins over the wire, by the real binary: it stores what the vendor issues, and no frame holds a token.

use crate::{
    flows::{agree, own_address},
    login_support::{Home, KIMI, PAST, Vendor, entry},
    serve_support::{Server, binary, command},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// A server with logins at `vendor`, and its `auth.json`.
fn server(vendor: &Vendor, auth: &Value) -> (Server, PathBuf) {
    let home = Home::new(auth);
    let mut command = command(binary(), home.path());
    command.env("PI_RPC_TOKEN_ORIGIN", format!("http://{}", vendor.address));
    command.env("PI_OAUTH_CALLBACK_HOST", own_address().to_string());
    command.args(["serve", "--no-session", "--dialect", "pi-1", "--wire-login", "--model", "scripted/demo"]);
    let auth = home.auth_file();
    (Server::start(Dialect::Pi1Login, home.into_dir(), command), auth)
}

fn stored(auth: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(auth).unwrap()).unwrap()
}

/// Frames up to the response with this id.
fn until(server: &mut Server, id: &str) -> Vec<Value> {
    let mut frames = vec![server.next()];
    while frames.last().unwrap()["id"] != id {
        frames.push(server.next());
    }
    frames
}

/// No frame may log somebody in: the mock's codes and tokens begin so.
fn assert_harmless(frames: &[Value]) {
    let text = Value::from(frames).to_string();
    assert!(!text.contains("scripted-access") && !text.contains("scripted-refresh"), "{text}");
}

#[test]
fn device_login_is_stored_and_used() {
    let vendor = Vendor::new(&["authorization_pending"]);
    let (mut server, auth) = server(&vendor, &json!({}));
    server.send(json!({ "id": "l", "type": "login", "providerId": KIMI }));
    let frames = until(&mut server, "l");
    let [page, done] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!([&page["method"], &page["userCode"]], ["open_url", "SCRI-PTED"]);
    assert_eq!(page["url"], "https://login.example/device?user_code=SCRI-PTED");
    let expected = json!({ "id": "l", "type": "response", "command": "login", "success": true, "data": { "providerId": KIMI } });
    assert_eq!(*done, expected);
    assert_harmless(&frames);
    assert_eq!(stored(&auth)[KIMI]["refresh"], "scripted-refresh-2");
    server.send(json!({ "id": "g", "type": "get_login_providers" }));
    let listed = until(&mut server, "g").pop().unwrap();
    let providers = listed["data"]["providers"].as_array().unwrap();
    let kimi = providers.iter().find(|provider| provider["id"] == KIMI).unwrap();
    assert_eq!([&kimi["authenticated"], &kimi["methods"]], [&json!(true), &json!(["device"])]);
    assert!(providers.iter().filter(|provider| provider["authenticated"] == true).count() == 1, "{listed}");
    assert_harmless(&[listed]);
}

#[test]
fn browser_login_ends_with_the_callback() {
    let vendor = Vendor::new(&[]);
    let (mut server, auth) = server(&vendor, &json!({}));
    server.send(json!({ "id": "l", "type": "login", "providerId": "anthropic" }));
    let (page, dialog) = (server.next(), server.next());
    assert_eq!([&page["method"], &dialog["method"]], ["open_url", "input"]);
    agree(page["url"].as_str().unwrap(), own_address());
    let frames = until(&mut server, "l");
    assert_eq!(frames[0]["success"], true, "{frames:?}");
    assert_harmless(&[&[page, dialog][..], &frames].concat());
    assert_eq!(stored(&auth)["anthropic"]["access"], "scripted-access-2");
}

#[test]
fn refused_login_leaves_the_file_alone() {
    let vendor = Vendor::new(&["access_denied"]);
    let (mut server, auth) = server(&vendor, &json!({ KIMI: entry("a", "r", PAST) }));
    server.send(json!({ "id": "l", "type": "login", "providerId": "xai" }));
    let last = until(&mut server, "l").pop().unwrap();
    assert_eq!(last["error"], "Not logged in at xai: the login was refused on the page");
    server.send(json!({ "id": "m", "type": "login", "providerId": KIMI, "method": "browser" }));
    let last = until(&mut server, "m").pop().unwrap();
    assert_eq!(last["error"], "Not logged in at kimi-coding: the provider offers no such way to log in");
    assert_eq!(stored(&auth), json!({ KIMI: entry("a", "r", PAST) }));
}

#[test]
fn aborted_login_stores_nothing() {
    let pending = ["authorization_pending"; 9];
    let vendor = Vendor::new(&pending);
    let (mut server, auth) = server(&vendor, &json!({}));
    server.send(json!({ "id": "l", "type": "login", "providerId": KIMI }));
    assert_eq!(server.next()["method"], "open_url");
    server.send(json!({ "id": "a", "type": "abort_login" }));
    let frames = until(&mut server, "l");
    assert_eq!([&frames[0]["command"], &frames[1]["error"]], ["abort_login", "Login cancelled"]);
    assert_eq!(stored(&auth), json!({}));
}

#[test]
fn logout_removes_one_entry() {
    let vendor = Vendor::new(&[]);
    let auth = json!({ KIMI: entry("a", "r", PAST), "groq": { "type": "api_key", "key": "k" } });
    let (mut server, file) = server(&vendor, &auth);
    for (id, removed) in [("first", true), ("second", false)] {
        server.send(json!({ "id": id, "type": "logout", "providerId": KIMI }));
        let response = until(&mut server, id).pop().unwrap();
        assert_eq!(response["data"], json!({ "providerId": KIMI, "removed": removed }));
    }
    assert_eq!(stored(&file), json!({ "groq": { "type": "api_key", "key": "k" } }));
}

#[test]
fn wire_login_needs_a_dialect_with_logins() {
    let home = Home::new(&json!({}));
    let mut command = command(binary(), home.path());
    let refused = command.args(["serve", "--dialect", "xcsh", "--wire-login"]).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert_eq!(text, "Error: --wire-login: xcsh has no logins; expected --dialect pi-1\n");
}
