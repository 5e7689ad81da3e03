//! The region and the endpoint of a request.

use super::AwsAccess;
use std::fmt::Write as _;

/// The region if nothing names one.
const DEFAULT_REGION: &str = "us-east-1";

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The endpoint, without a slash at its end.
    pub endpoint: String,
    /// The region of the signature.
    pub region: String,
}

/// Finds the address for a model with this id and `base_url`.
///
/// A `base_url` of the service itself gives way to a region of the environment; any other is kept. The region of an inference
/// profile's ARN precedes all others.
pub fn address(id: &str, base_url: &str, access: &AwsAccess) -> Address {
    let own_region = service_region(base_url);
    // The catalogue's address is none of those that the environment may ask for.
    let is_other =
        access.uses_fips || access.uses_dual_stack || access.region.is_some() || access.has_profile;
    let is_kept = own_region.is_none() || !is_other;
    let region = arn_region(id)
        .or(access.region.as_deref())
        .or(own_region.filter(|_| is_kept))
        .or(access.profile_region.as_deref())
        .or(own_region)
        .unwrap_or(DEFAULT_REGION)
        .to_owned();
    let endpoint = match (is_kept, &access.endpoint) {
        (true, _) => base_url.to_owned(),
        (false, Some(endpoint)) => endpoint.clone(),
        (false, None) => {
            let fips = if access.uses_fips { "-fips" } else { "" };
            let domain = match (region.starts_with("cn-"), access.uses_dual_stack) {
                (false, false) => "amazonaws.com",
                (true, false) => "amazonaws.com.cn",
                (false, true) => "api.aws",
                (true, true) => "api.amazonwebservices.com.cn",
            };
            format!("https://bedrock-runtime{fips}.{region}.{domain}")
        }
    };
    Address { endpoint: endpoint.trim_end_matches('/').to_owned(), region }
}

/// The region of an ARN of the service, such as an inference profile's.
fn arn_region(id: &str) -> Option<&str> {
    let mut parts = id.split(':');
    let is_arn = parts.next() == Some("arn");
    let is_aws = parts.next().is_some_and(|part| part == "aws" || part.starts_with("aws-"));
    let is_bedrock = parts.next() == Some("bedrock");
    parts.next().filter(|region| is_arn && is_aws && is_bedrock && is_region(region))
}

/// The region of an endpoint of the service itself.
fn service_region(base_url: &str) -> Option<&str> {
    let (_, rest) = base_url.split_once("://")?;
    let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
    let (service, rest) = host.split_once('.')?;
    let (region, domain) = rest.split_once('.')?;
    let is_service = ["bedrock-runtime", "bedrock-runtime-fips"].contains(&service);
    let is_aws = ["amazonaws.com", "amazonaws.com.cn"].contains(&domain);
    Some(region).filter(|region| is_service && is_aws && is_region(region))
}

fn is_region(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_part)
}

/// Encodes an id as one segment of a path: ARNs have colons and slashes.
pub fn percent_encoded(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len() + 16);
    for byte in id.bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            true => encoded.push(byte.into()),
            false => {
                // Writing to a string cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}
