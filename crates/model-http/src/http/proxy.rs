//! The proxy for HTTPS where the environment names one for HTTP alone, as in pi.

use reqwest::{NoProxy, Proxy};
use std::env;

/// The proxy of `HTTP_PROXY` for all requests; `None`: there is none, or one for HTTPS is named.
pub fn of_http_alone() -> Option<Proxy> {
    let value = |name: &str| {
        let either = env::var(name.to_lowercase()).or_else(|_| env::var(name));
        either.ok().filter(|value| !value.trim().is_empty())
    };
    // A CGI program has a header of its client in this variable.
    let is_foreign = env::var_os("REQUEST_METHOD").is_some() && env::var_os("http_proxy").is_none();
    if is_foreign || value("HTTPS_PROXY").is_some() || value("ALL_PROXY").is_some() {
        return None;
    }
    let proxy = value("HTTP_PROXY")?;
    let url = if proxy.contains("://") { proxy } else { format!("http://{proxy}") };
    Some(Proxy::all(url).ok()?.no_proxy(NoProxy::from_env()))
}
