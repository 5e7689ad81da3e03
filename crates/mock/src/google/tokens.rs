//! Google's endpoint for tokens, and the accounts that it knows.
//!
//! The accounts can be fetched, as files of application default credentials: their key is public, and good for nothing else.

use axum::http::{HeaderMap, Method};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::Url;
use ring::{
    rsa::KeyPair,
    signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The path of the endpoint, at the end of a path.
const TOKEN: &str = "/google/token";
/// Paths of the accounts' files.
const SERVICE_ACCOUNT: &str = "/google/service_account.json";
const AUTHORIZED_USER: &str = "/google/authorized_user.json";
const EXTERNAL_ACCOUNT: &str = "/google/external_account.json";
const IMPERSONATED: &str = "/google/impersonated_service_account.json";
/// The path of the token that proves an identity of another provider.
const SUBJECT: &str = "/google/subject_token";
/// The path at which a service account's token is given for the token of another account.
const IMPERSONATION: &str = "/google/scripted:generateAccessToken";
/// The path below which the mock is the metadata server of a machine.
pub const METADATA: &str = "/computeMetadata/v1/";

const KEY: &str = include_str!("account_key.pem");
const KEY_ID: &str = "0123456789abcdef0123456789abcdef01234567";
const EMAIL: &str = "scripted@scripted.iam.gserviceaccount.com";
const CLIENT_ID: &str = "scripted.apps.googleusercontent.com";
const CLIENT_SECRET: &str = "scripted-client-secret";
const REFRESH_TOKEN: &str = "1//scripted-refresh-token";
/// What proves an identity of another provider.
const SUBJECT_TOKEN: &str = "scripted-subject-token";
const AUDIENCE: &str =
    "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/scripted/providers/scripted";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
/// The service's own address, which some clients name wherever they ask.
const USUAL_URI: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// What every token begins with.
const TOKEN_START: &str = "ya29.scripted-";
/// The longest validity of a signed request, in seconds, and how far clocks may differ.
const LONGEST: u64 = 3600;
const SKEW: u64 = 300;

/// Whether the mock gave this token.
pub fn is_token(token: &str) -> bool {
    token.starts_with(TOKEN_START)
}

/// Whether the body of a request to this path has keys.
pub fn takes_keys(path: &str) -> bool {
    path.split('?').next().is_some_and(|path| path.ends_with(TOKEN))
}

/// Answers a request for a token or for an account's file: status and body. `None`: the path is another.
///
/// `number` distinguishes tokens.
pub fn answer(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: &str,
    number: usize,
) -> Option<(u16, Value)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = header("host").unwrap_or("localhost");
    if let Some(wanted) = path.strip_prefix(METADATA) {
        return Some(metadata(
            wanted.trim_end_matches('/'),
            *method == Method::GET,
            header("metadata-flavor"),
            number,
        ));
    }
    let (folder, _) = path.rsplit_once("/google/")?;
    let token_uri = format!("http://{host}{folder}{TOKEN}");
    if path.ends_with(TOKEN) && *method == Method::POST {
        return Some(match check(body, &token_uri) {
            Ok(()) => (200, token(number)),
            Err(error) => (400, error),
        });
    }
    let here = format!("http://{host}{folder}");
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if path.ends_with(IMPERSONATION) && *method == Method::POST {
        return Some(impersonate(bearer, body, number));
    }
    let person = json!({
        "type": "authorized_user", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET,
        "refresh_token": REFRESH_TOKEN, "quota_project_id": "scripted-payer", "token_uri": token_uri,
    });
    let account = match path {
        _ if *method != Method::GET => return None,
        path if path.ends_with(SERVICE_ACCOUNT) => json!({
            "type": "service_account", "project_id": "scripted", "private_key_id": KEY_ID, "private_key": KEY,
            "client_email": EMAIL, "client_id": "100000000000000000000", "token_uri": token_uri,
        }),
        path if path.ends_with(AUTHORIZED_USER) => person,
        path if path.ends_with(EXTERNAL_ACCOUNT) => json!({
            "type": "external_account", "audience": AUDIENCE, "subject_token_type": JWT, "token_url": token_uri,
            "credential_source": {
                "url": format!("{here}{SUBJECT}"), "headers": { "x-scripted": "scripted-header" },
                "format": { "type": "json", "subject_token_field_name": "value" },
            },
            "service_account_impersonation_url": format!("{here}{IMPERSONATION}"),
        }),
        path if path.ends_with(IMPERSONATED) => json!({
            "type": "impersonated_service_account", "source_credentials": person, "delegates": [],
            "service_account_impersonation_url": format!("{here}{IMPERSONATION}"),
        }),
        path if path.ends_with(SUBJECT) && header("x-scripted") == Some("scripted-header") => {
            json!({ "value": SUBJECT_TOKEN })
        }
        _ => return None,
    };
    Some((200, account))
}

/// The answer with a token.
fn token(number: usize) -> Value {
    json!({ "access_token": format!("{TOKEN_START}{number}"), "expires_in": 3599, "token_type": "Bearer" })
}

/// Answers a request for metadata of the machine.
fn metadata(wanted: &str, is_get: bool, flavor: Option<&str>, number: usize) -> (u16, Value) {
    let error = |error: &str, text: &str| json!({ "error": error, "error_description": text });
    match wanted {
        _ if !is_get || flavor != Some("Google") => {
            (403, error("forbidden", "Missing Metadata-Flavor:Google header."))
        }
        "instance/service-accounts/default/token" => (200, token(number)),
        // Clients look there whether this is a metadata server.
        "instance" => (200, json!({})),
        _ => (404, error("not_found", "The mock has no such metadata.")),
    }
}

/// Answers a request for a token of a service account.
fn impersonate(bearer: &str, body: &str, number: usize) -> (u16, Value) {
    let error = |status: u16, kind: &str, message: &str| {
        (status, json!({ "error": { "code": status, "message": message, "status": kind } }))
    };
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    if !is_token(bearer) {
        return error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.");
    }
    if !body["scope"].as_array().is_some_and(|scopes| scopes.iter().any(|scope| scope == SCOPE)) {
        return error(400, "INVALID_ARGUMENT", "Request must specify a scope.");
    }
    let lifetime = body["lifetime"].as_str().unwrap_or("3600s").trim_end_matches('s').parse();
    let Ok(seconds @ 1..=LONGEST) = lifetime else {
        return error(400, "INVALID_ARGUMENT", "The specified lifetime is not in the allowed range.");
    };
    let end = jiff::Timestamp::now() + Duration::from_secs(seconds);
    (200, json!({ "accessToken": format!("{TOKEN_START}{number}"), "expireTime": end.to_string() }))
}

/// Checks a form; an error is the body of the refusal.
fn check(form: &str, token_uri: &str) -> Result<(), Value> {
    let error = |error: &str, text: &str| json!({ "error": error, "error_description": text });
    let parsed = Url::parse(&format!("http://localhost/?{form}")).ok();
    let members: HashMap<String, String> =
        parsed.iter().flat_map(|url| url.query_pairs().into_owned()).collect();
    let member = |name: &str| members.get(name).map(String::as_str);
    match member("grant_type") {
        Some("urn:ietf:params:oauth:grant-type:jwt-bearer") => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            let checked = check_assertion(member("assertion").unwrap_or_default(), token_uri, now);
            checked.map_err(|text| error("invalid_grant", text))
        }
        Some("refresh_token") if member("client_id") != Some(CLIENT_ID) => {
            Err(error("invalid_client", "The OAuth client was not found."))
        }
        Some("refresh_token") if member("client_secret") != Some(CLIENT_SECRET) => {
            Err(error("invalid_client", "Unauthorized"))
        }
        Some("refresh_token") if member("refresh_token") != Some(REFRESH_TOKEN) => {
            Err(error("invalid_grant", "Bad Request"))
        }
        Some("refresh_token") => Ok(()),
        Some("urn:ietf:params:oauth:grant-type:token-exchange") => {
            let wanted = [
                ("audience", AUDIENCE),
                ("scope", SCOPE),
                ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
                ("subject_token_type", JWT),
            ];
            match wanted.into_iter().find(|(name, value)| member(name) != Some(value)) {
                Some((name, _)) => Err(error("invalid_request", &format!("Invalid value for \"{name}\"."))),
                None if member("subject_token") != Some(SUBJECT_TOKEN) => {
                    Err(error("invalid_grant", "The subject token is not valid."))
                }
                None => Ok(()),
            }
        }
        Some(other) => Err(error("unsupported_grant_type", &format!("Invalid grant_type: {other}"))),
        None => Err(error("invalid_request", "Required parameter is missing: grant_type")),
    }
}

/// Checks a JWT: its signature, who has signed it, for whom, for what and for how long.
fn check_assertion(assertion: &str, token_uri: &str, now: u64) -> Result<(), &'static str> {
    let malformed = "Invalid JWT";
    let (signed, signature) = assertion.rsplit_once('.').ok_or(malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(malformed)?;
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed);
    let object = |part: &str| serde_json::from_slice::<Value>(&decoded(part)?).map_err(|_| malformed);
    let (header, claims) = (object(header)?, object(claims)?);
    if header["alg"] != "RS256" {
        return Err(malformed);
    }
    let key = key().public_key().as_ref().to_vec();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
    if key.verify(signed.as_bytes(), &decoded(signature)?).is_err() {
        return Err("Invalid JWT Signature.");
    }
    if claims["iss"] != EMAIL {
        return Err("Invalid grant: account not found");
    }
    if claims["aud"] != token_uri && claims["aud"] != USUAL_URI {
        return Err("Failed audience check. The right audience is the address of this endpoint");
    }
    if !claims["scope"].as_str().is_some_and(|scopes| scopes.split(' ').any(|scope| scope == SCOPE)) {
        return Err("Invalid OAuth scope or ID token audience provided.");
    }
    let (Some(from), Some(until)) = (claims["iat"].as_u64(), claims["exp"].as_u64()) else {
        return Err(malformed);
    };
    let is_now = from <= now.saturating_add(SKEW) && now < until.saturating_add(SKEW);
    if !is_now || until.saturating_sub(from) > LONGEST {
        return Err(
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat \
             and exp values in the JWT claim.",
        );
    }
    Ok(())
}

/// The key of the service account.
fn key() -> KeyPair {
    let key = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).expect("our own key is PEM");
    RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("our own key is one")
}
