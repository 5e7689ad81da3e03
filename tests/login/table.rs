//! `data/logins.json`: its shape, and that the vendors' endpoints accept what it makes.

use crate::login_support::{Vendor, http};
use pi_rpc::{
    config::{
        Environment,
        login_kinds::{LOGINS, LoginKind, TokenRequest, login_kinds},
    },
    login::request::{Names, build, entry_of},
    protocol::JsonObject,
};
use serde_json::{Value, json};

/// An entry with which each kind of login can be renewed.
fn previous() -> JsonObject {
    let entry = json!({
        "type": "oauth", "access": "old", "refresh": "old-refresh", "expires": 1, "clientId": "scripted-client",
    });
    entry.as_object().unwrap().clone()
}

/// The answer of the vendor to a request of the table.
async fn answer(vendor: &Vendor, kind: &LoginKind, request: &TokenRequest) -> JsonObject {
    let names = Names::new(kind, &Environment::default(), &previous());
    let mut request = build(request, &names).unwrap();
    let url = request.url_mut();
    url.set_scheme("http").unwrap();
    url.set_ip_host(vendor.address.ip()).unwrap();
    url.set_port(Some(vendor.address.port())).unwrap();
    let answer = http().exchange(request).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn login_table_fits_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../data/logins.schema.json")).unwrap();
    let table: Value = serde_json::from_str(LOGINS).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(&table).map(|error| error.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
    let read: Vec<&str> = login_kinds().map(|(provider, _)| provider).collect();
    let written: Vec<&str> = table["providers"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(read, written);
}

#[tokio::test]
async fn refresh_of_each_kind_is_accepted() {
    let mut made = Vec::new();
    for (provider, kind) in login_kinds() {
        let Some(request) = &kind.refresh else { continue };
        // Its tokens count from one.
        let answer = answer(&Vendor::new(&[]), kind, request).await;
        let entry = entry_of(kind, &answer, &previous(), 2e12).unwrap();
        let mut shown = Value::Object(entry);
        for member in ["access", "expires"] {
            let of_clock = shown[member].as_f64().is_some_and(|time| (time - 2e12).abs() > 1e9);
            if of_clock || shown[member].as_str().is_some_and(|text| text.len() > 60) {
                shown[member] = "…".into();
            }
        }
        made.push(format!("{provider}: {shown}"));
    }
    insta::assert_snapshot!(made.join("\n"));
}

#[tokio::test]
async fn device_login_of_each_kind_begins() {
    for (provider, kind) in login_kinds() {
        let Some(device) = &kind.device else { continue };
        let started = answer(&Vendor::new(&[]), kind, &device.start).await;
        assert!(started[&device.started.device_code].is_string(), "{provider}");
        assert!(
            device.started.page.is_some() || started.contains_key(&device.started.pages[0]),
            "{provider}"
        );
    }
}

#[test]
fn answers_without_tokens_are_refused() {
    let kind = pi_rpc::config::login_kinds::login_kind("anthropic").unwrap();
    let of = |answer: Value| entry_of(kind, answer.as_object().unwrap(), &JsonObject::new(), 0.0);
    let found = [
        of(json!({ "refresh_token": "r", "expires_in": 1 })),
        of(json!({ "access_token": "a", "refresh_token": "", "expires_in": 1 })),
        of(json!({ "access_token": "a", "refresh_token": "r", "expires_in": "1" })),
        of(json!({ "access_token": "a", "refresh_token": "r", "expires_in": -1 })),
    ];
    let expected = [
        "`access_token`: expected a text, got nothing",
        "`refresh_token`: expected a text, got another text",
        "`expires_in`: expected a number of seconds, got another text",
        "`expires_in`: expected a number of seconds, got another number",
    ];
    assert_eq!(found, expected.map(|text| Err(text.to_owned())));
}
