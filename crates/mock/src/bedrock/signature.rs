//! Checks the signature of a request (AWS Signature Version 4), as the service does.
//!
//! One pair of keys is known, that of the vendor's own examples. A bearer token is any.

use crate::refusal::VendorRefusal;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use axum::http::{HeaderMap, Method, Uri};
use std::time::{Duration, SystemTime};

/// The id of the key that signs requests to the mock of Amazon Bedrock, as in the vendor's own examples.
pub const KEY_ID: &str = "AKIAIOSFODNN7EXAMPLE";
/// The key of that id.
pub const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// Time by which a signature may be old or in the future.
const SKEW: Duration = Duration::from_secs(300);

/// What is signed.
pub struct SignedRequest<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

/// Refuses a request that has no bearer token, nor a signature by the known key that fits and is new as of `now`.
pub fn check(request: &SignedRequest<'_>, now: SystemTime) -> Result<(), VendorRefusal> {
    let refuse = |kind: &str, message: &str| Err(VendorRefusal::of(403, kind, message));
    let authorization = header(request.headers, "authorization");
    if authorization.strip_prefix("Bearer ").is_some_and(|token| !token.trim().is_empty()) {
        return Ok(());
    }
    let Some(parts) = authorization.strip_prefix("AWS4-HMAC-SHA256 ") else {
        return refuse("MissingAuthenticationTokenException", "Missing Authentication Token");
    };
    let part = |name: &str| {
        let mut parts = parts.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find(|(own, _)| *own == name).map(|(_, value)| value)
    };
    let (Some(credential), Some(signed), Some(signature)) =
        (part("Credential"), part("SignedHeaders"), part("Signature"))
    else {
        return refuse(
            "IncompleteSignatureException",
            "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.",
        );
    };
    let scope: Vec<&str> = credential.split('/').collect();
    let [id, date, region, service, "aws4_request"] = scope[..] else {
        return refuse(
            "IncompleteSignatureException",
            "Credential must have exactly 5 slash-delimited elements",
        );
    };
    if id != KEY_ID {
        return refuse(
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        );
    }
    if service != "bedrock" {
        return refuse(
            "InvalidSignatureException",
            "Credential should be scoped to correct service: 'bedrock'. ",
        );
    }
    let stamp = header(request.headers, "x-amz-date");
    let Some(time) = time_of(stamp).filter(|_| stamp.starts_with(date)) else {
        return refuse(
            "InvalidSignatureException",
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date.",
        );
    };
    let age = now.duration_since(time).unwrap_or_else(|ahead| ahead.duration());
    if age > SKEW {
        return refuse(
            "InvalidSignatureException",
            "Signature expired: it is more than 5 min away from the service's time.",
        );
    }
    match expected(request, &signed.split(';').collect::<Vec<_>>(), region, time) {
        Some(expected) if expected == signature => Ok(()),
        _ => refuse(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
             Key and signing method. Consult the service documentation for details.",
        ),
    }
}

/// The signature by the known key over the headers `signed`; `None`: one that must be signed is not, or none can be made.
fn expected(request: &SignedRequest<'_>, signed: &[&str], region: &str, time: SystemTime) -> Option<String> {
    // Those that the library adds by itself, as do all of the vendor's.
    let own = ["x-amz-date", "x-amz-security-token"];
    let must = |name: &str| name == "host" || name.starts_with("x-amz-");
    if !signed.contains(&"host")
        || request.headers.keys().any(|name| must(name.as_str()) && !signed.contains(&name.as_str()))
    {
        return None;
    }
    let token = header(request.headers, "x-amz-security-token");
    let token = (!token.is_empty()).then(|| token.to_owned());
    let identity = aws_credential_types::Credentials::new(KEY_ID, SECRET, token, None, "mock").into();
    let mut settings = SigningSettings::default();
    settings.excluded_headers = None;
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("bedrock")
        .time(time)
        .settings(settings)
        .build()
        .ok()?;
    let headers = signed.iter().filter(|name| !own.contains(*name));
    let headers = headers.map(|name| (*name, header(request.headers, name)));
    let uri = format!("http://{}{}", header(request.headers, "host"), request.uri.path_and_query()?);
    let body = SignableBody::Bytes(request.body);
    let signable = SignableRequest::new(request.method.as_str(), uri, headers, body).ok()?;
    let (_, signature) = sign(signable, &params.into()).ok()?.into_parts();
    Some(signature)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The time of a stamp such as `20261125T190000Z`.
fn time_of(stamp: &str) -> Option<SystemTime> {
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", stamp).ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(time.timestamp().into())
}
