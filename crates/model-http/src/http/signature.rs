//! Signs requests with AWS Signature Version 4.

use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use pi_rpc_model::bedrock::{AwsKeys, SignatureScope};
use reqwest::{Request, header::HeaderValue};
use std::time::SystemTime;

/// The id of `keys` for the library, which tells sources apart.
const SOURCE: &str = "pi-rpc";

/// Adds the headers of the signature to `request`, as of `now`.
///
/// # Errors
///
/// A text for the answer: a header or the address cannot be signed.
pub fn add_signature(
    request: &mut Request,
    signing: &SignatureScope,
    keys: &AwsKeys,
    now: SystemTime,
) -> Result<(), String> {
    let headers = signature_headers(request, signing, keys, now)
        .map_err(|error| format!("The request cannot be signed: {error}"))?;
    for (name, value) in headers {
        let mut value = HeaderValue::from_str(&value).map_err(
            |_| "The request cannot be signed: the session token has characters that HTTP does not allow",
        )?;
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
    }
    Ok(())
}

fn signature_headers(
    request: &Request,
    signing: &SignatureScope,
    keys: &AwsKeys,
    now: SystemTime,
) -> Result<Vec<(&'static str, String)>, Box<dyn std::error::Error + Send + Sync>> {
    let AwsKeys { id, secret, session_token } = keys;
    let identity =
        aws_credential_types::Credentials::new(id, secret, session_token.clone(), None, SOURCE).into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(&signing.region)
        .name(signing.service)
        .time(now)
        .settings(SigningSettings::default())
        .build()?;
    let headers =
        request.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default();
    let signable = SignableRequest::new(
        request.method().as_str(),
        request.url().as_str(),
        headers,
        SignableBody::Bytes(body),
    )?;
    let (instructions, _) = sign(signable, &params.into())?.into_parts();
    let (headers, _) = instructions.into_parts();
    Ok(headers.into_iter().map(|header| (header.name(), header.value().to_owned())).collect())
}
