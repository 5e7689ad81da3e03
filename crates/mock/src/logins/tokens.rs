//! Answers with codes and tokens, and refusals, in the form of each vendor.

use super::{LoginAnswer, endpoint::Endpoint};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

/// The client's id that OpenAI gives out with a code.
pub(super) const ISSUED_CLIENT: &str = "scripted-client";

/// The verifier that OpenAI makes up for device logins.
pub(super) const VERIFIER: &str = "scripted-verifier-of-the-device-login-0123456789";

/// Lifetime of tokens in seconds.
const LIFETIME: u64 = 3600;

/// The challenge of a PKCE verifier.
pub(super) fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// The answer with the tokens of that number.
pub(super) fn answer(endpoint: &Endpoint, number: usize) -> Value {
    let access = format!("scripted-access-{number}");
    let refresh = format!("scripted-refresh-{number}");
    match (endpoint.provider.as_str(), endpoint.plays.as_str()) {
        ("github-copilot", "refresh") => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            json!({ "token": format!("tid={access};proxy-ep=proxy.scripted.githubcopilot.com"), "expires_at": now + LIFETIME })
        }
        // Tokens that obtain another one; they stay.
        ("github-copilot" | "meta", "poll") => json!({ "access_token": access, "token_type": "bearer" }),
        ("meta", _) => json!({ "api_key": access }),
        ("openrouter", _) => json!({ "key": access }),
        ("openai-codex", _) => {
            let claims = json!({ "https://api.openai.com/auth": { "chatgpt_account_id": "account_scripted" }, "jti": access });
            let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
            let token = format!("{}.{}.c2lnbmVk", part(&json!({ "alg": "none" })), part(&claims));
            json!({ "access_token": token, "refresh_token": refresh, "id_token": "scripted", "expires_in": LIFETIME })
        }
        ("openai", _) => json!({
            "access_token": access, "refresh_token": refresh, "id_token": "scripted", "expires_in": LIFETIME,
            "scope": "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
        }),
        ("radius", _) => json!({
            "access_token": access, "refresh_token": refresh, "expires_in": LIFETIME, "scope": "gateway offline_access",
        }),
        _ => json!({
            "access_token": access, "refresh_token": refresh, "expires_in": LIFETIME, "token_type": "bearer",
        }),
    }
}

/// The answer that begins a device login.
pub(super) fn device(endpoint: &Endpoint, code: &str) -> Value {
    const USER_CODE: &str = "SCRI-PTED";
    let page = "https://login.example/device";
    match endpoint.provider.as_str() {
        "openai-codex" => json!({ "device_auth_id": code, "user_code": USER_CODE, "interval": "1" }),
        _ => json!({
            "device_code": code, "user_code": USER_CODE, "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={USER_CODE}"), "expires_in": 900, "interval": 1,
        }),
    }
}

/// The refusal with this error, as the vendor words it; a number is a status without a body.
pub(super) fn refusal(endpoint: &Endpoint, error: &str) -> LoginAnswer {
    if let Ok(status) = error.parse() {
        return LoginAnswer::of(status, Value::Null);
    }
    let mut body = json!({ "error": error, "error_description": format!("Scripted: {error}.") });
    if error == "slow_down" {
        body["interval"] = 1.into();
    }
    match (endpoint.provider.as_str(), error) {
        // GitHub says what is amiss with a status of success.
        ("github-copilot", _) if endpoint.plays == "poll" => LoginAnswer::of(200, body),
        ("openai-codex", "authorization_pending") if endpoint.plays == "poll" => {
            LoginAnswer::of(403, json!({ "error": { "code": "deviceauth_authorization_pending" } }))
        }
        ("github-copilot" | "meta", _) if endpoint.plays == "refresh" => LoginAnswer::of(401, body),
        _ => LoginAnswer::of(400, body),
    }
}
