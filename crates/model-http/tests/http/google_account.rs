//! Google accounts from files, and the requests for their tokens.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pi_rpc_model_http::google::{
    account::{Account, read_token},
    external_account::{impersonation_body, read_impersonated_token},
};
use serde_json::{Value, json};
use std::time::Duration;

const KEY: &str = include_str!("../../../../crates/mock/src/google/account_key.pem");

fn service(members: Value) -> Value {
    let mut account = json!({
        "type": "service_account", "client_email": "robot@p.iam.gserviceaccount.com", "private_key": KEY,
        "private_key_id": "k1", "project_id": "p",
    });
    crate::model_support::extend(&mut account, members);
    account
}

fn person() -> Value {
    json!({ "type": "authorized_user", "client_id": "id", "client_secret": "secret", "refresh_token": "refresh" })
}

fn external(source: Value) -> Value {
    json!({
        "type": "external_account", "audience": "//pool", "subject_token_type": "jwt", "token_url": "https://t.example",
        "credential_source": source,
    })
}

const KINDS: &str =
    "type: expected service_account, authorized_user, external_account, impersonated_service_account";

fn parsed(account: &Value) -> Result<Account, String> {
    Account::parse(&account.to_string())
}

#[test]
fn service_account_signs_its_request() {
    for (members, url) in [
        (json!({}), "https://oauth2.googleapis.com/token"),
        (json!({ "token_uri": "https://tokens.example/t" }), "https://tokens.example/t"),
    ] {
        let request = parsed(&service(members)).unwrap().token_request(1_700_000_000).unwrap();
        assert_eq!(request.url, url);
        assert_eq!(request.form[0], ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()));
        let (name, assertion) = &request.form[1];
        let parts: Vec<Vec<u8>> =
            assertion.split('.').map(|part| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        let json = |part: &[u8]| serde_json::from_slice::<Value>(part).unwrap();
        assert_eq!((*name, parts.len(), parts[2].len()), ("assertion", 3, 256));
        assert_eq!(json(&parts[0]), json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" }));
        assert_eq!(
            json(&parts[1]),
            json!({
                "iss": "robot@p.iam.gserviceaccount.com", "aud": url, "iat": 1_700_000_000, "exp": 1_700_003_600,
                "scope": "https://www.googleapis.com/auth/cloud-platform",
            })
        );
    }
}

#[test]
fn person_sends_refresh_token() {
    let request = parsed(&person()).unwrap().token_request(0).unwrap();
    let expected = [
        ("grant_type", "refresh_token"),
        ("client_id", "id"),
        ("client_secret", "secret"),
        ("refresh_token", "refresh"),
    ];
    assert_eq!(request.url, "https://oauth2.googleapis.com/token");
    assert_eq!(request.form, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn wrong_account_is_told_without_keys() {
    let without = |mut account: Value, name: &str| {
        account.as_object_mut().unwrap().shift_remove(name);
        account
    };
    for (account, expected) in [
        (json!({}), &*format!("{KINDS}, got none")),
        (json!({ "type": "gdch" }), &*format!("{KINDS}, got \"gdch\"")),
        (json!({ "type": "external_account" }), "missing field `audience`"),
        (external(json!({ "headers": "sk-1" })), "a member has another type than expected"),
        (
            external(json!({ "environment_id": "aws1" })),
            "credential_source: expected file or url (environments of AWS and executables are not supported)",
        ),
        (
            external(json!({ "file": "f", "format": { "type": "json" } })),
            "credential_source.format.subject_token_field_name: expected the name of a member",
        ),
        (
            external(json!({ "file": "f", "format": { "type": "xml" } })),
            "credential_source.format.type: expected text or json, got \"xml\"",
        ),
        (without(service(json!({})), "private_key"), "missing field `private_key`"),
        (without(person(), "refresh_token"), "missing field `refresh_token`"),
        (service(json!({ "private_key": ["sk-1"] })), "private_key: expected a string"),
    ] {
        assert_eq!(parsed(&account).unwrap_err(), expected, "{account}");
    }
    assert!(Account::parse("{\"private_key\": \"sk-1").unwrap_err().starts_with("no JSON: EOF"));
    for key in ["sk-1", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        let error = parsed(&service(json!({ "private_key": key }))).unwrap().token_request(0).err().unwrap();
        assert!(error.starts_with("private_key: expected an RSA key in PEM (PKCS #8): "), "{error}");
        assert!(!error.contains("sk-1"), "{error}");
    }
}

#[test]
fn token_or_reason_is_read() {
    let token = read_token(200, &json!({ "access_token": "t", "expires_in": 3599 })).ok().unwrap();
    assert_eq!((token.value.as_str(), token.lifetime), ("t", Duration::from_secs(3599)));
    for (status, body, expected) in [
        (400, json!({ "error": "invalid_grant", "error_description": "Bad" }), "400 invalid_grant: Bad"),
        (401, json!({ "error": "invalid_client" }), "401 invalid_client"),
        (502, json!("<html>"), "502 \"<html>\""),
        (200, json!({}), "200 {}"),
    ] {
        assert_eq!(read_token(status, &body).err().unwrap(), expected);
    }
}

#[test]
fn external_account_exchanges_its_token() {
    let formats = [
        (json!({ "file": "f" }), " token\n", Ok("token")),
        (json!({ "file": "f" }), " ", Err("expected a token, got nothing")),
        (
            json!({ "url": "u", "format": { "type": "json", "subject_token_field_name": "v" } }),
            "{\"v\":\"token\"}",
            Ok("token"),
        ),
        (
            json!({ "url": "u", "format": { "type": "json", "subject_token_field_name": "v" } }),
            "{}",
            Err("v: expected a string"),
        ),
        (
            json!({ "url": "u", "format": { "type": "json", "subject_token_field_name": "v" } }),
            "sk-1",
            Err("expected JSON"),
        ),
    ];
    for (source, text, expected) in formats {
        let Account::ExternalAccount(account) = parsed(&external(source)).unwrap() else {
            panic!("another kind")
        };
        let token = account.subject_token(text);
        assert_eq!(token, expected.map(str::to_owned).map_err(str::to_owned));
    }
    let mut account = external(json!({ "file": "f" }));
    account["workforce_pool_user_project"] = "p".into();
    let Account::ExternalAccount(account) = parsed(&account).unwrap() else { panic!("another kind") };
    let request = account.exchange("token");
    let expected = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", "//pool"),
        ("scope", "https://www.googleapis.com/auth/cloud-platform"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token", "token"),
        ("subject_token_type", "jwt"),
        ("options", "{\"userProject\":\"p\"}"),
    ];
    assert_eq!(request.url, "https://t.example");
    assert_eq!(request.form, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn impersonated_token_or_reason_is_read() {
    let scope = "https://www.googleapis.com/auth/cloud-platform";
    let expected = json!({ "scope": [scope], "lifetime": "60s", "delegates": ["a"] });
    assert_eq!(impersonation_body(Some(60), &["a".to_owned()]), expected);
    let body = json!({ "accessToken": "t", "expireTime": "2023-11-14T22:13:30Z" });
    let token = read_impersonated_token(200, &body, 1_700_000_000).ok().unwrap();
    assert_eq!((token.value.as_str(), token.lifetime), ("t", Duration::from_secs(10)));
    for (status, body, expected) in [
        (403, json!({ "error": { "code": 403, "message": "No", "status": "PERMISSION_DENIED" } }), "403 No"),
        (200, json!({}), "200 {}"),
    ] {
        assert_eq!(read_impersonated_token(status, &body, 0).err().unwrap(), expected);
    }
}
