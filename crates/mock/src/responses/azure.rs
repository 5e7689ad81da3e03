//! Rules of Responses at Azure beyond those of OpenAI.

use crate::{refusal::VendorRefusal, vendor::has_member};
use axum::http::Uri;

/// Versions of the API without a date.
const VERSIONS: [&str; 3] = ["v1", "preview", "latest"];

/// The refusal of a request without a key.
pub fn no_access() -> VendorRefusal {
    let message = "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for \
                   an active subscription and use a correct regional API endpoint for your resource.";
    VendorRefusal::of(401, "", message).code("401")
}

/// Checks the version: of a name below `/openai/v1`, where it may be left out; a date elsewhere.
pub fn check_version(uri: &Uri) -> Result<(), VendorRefusal> {
    let query = uri.query();
    let is_v1 = uri.path().ends_with("/v1/responses");
    if !is_v1 && !has_member(query, "api-version") {
        return Err(VendorRefusal::of(404, "", "Resource not found").code("404"));
    }
    let members = query.unwrap_or_default().split('&').filter_map(|member| member.split_once('='));
    let version = members.filter(|(name, _)| *name == "api-version").map(|(_, version)| version).next_back();
    let fits =
        version.is_none_or(|version| if is_v1 { VERSIONS.contains(&version) } else { is_dated(version) });
    match fits {
        true => Ok(()),
        false => Err(VendorRefusal::of(400, "", "API version not supported").code("BadRequest")),
    }
}

/// Whether a version begins with a date, as in `2025-04-01-preview`.
fn is_dated(version: &str) -> bool {
    let date = version.as_bytes();
    date.len() >= 10
        && date[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
