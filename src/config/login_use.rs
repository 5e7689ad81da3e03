//! How the token of a login is used: which header it goes into, and which address it names.

use super::{
    auth::Login,
    login_kinds::{BaseUrlRule, LoginKind},
};
use serde_json::Value;

/// Whether the token of a login always goes into `Authorization: Bearer`, and the address of the API that it names.
pub(super) fn login_use(kind: &LoginKind, login: &Login) -> (bool, Option<String>) {
    let Login::Oauth { access, others, .. } = login else { return (false, None) };
    let base_url = kind.base_url.map(|BaseUrlRule::Copilot| {
        let named = access.split(';').find_map(|part| part.trim().strip_prefix("proxy-ep="));
        let own = others.get("enterpriseUrl").and_then(Value::as_str).filter(|own| !own.is_empty());
        match (named, own) {
            (Some(host), _) => match host.strip_prefix("proxy.") {
                Some(host) => format!("https://api.{host}"),
                None => format!("https://{host}"),
            },
            (None, Some(own)) => format!("https://copilot-api.{}", host_of(own)),
            (None, None) => "https://api.individual.githubcopilot.com".to_owned(),
        }
    });
    (kind.bearer, base_url)
}

/// The host of an address, or the text itself.
pub fn host_of(text: &str) -> String {
    let rest = text.trim().split_once("://").map_or(text.trim(), |(_, rest)| rest);
    rest.split(['/', '?', '#', ':']).next().unwrap_or_default().to_owned()
}
