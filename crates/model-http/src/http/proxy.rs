//! Proxies where the environment does not name one for each protocol, as in pi: that of HTTP serves HTTPS, too, and the user's
//! settings may name one for both.

use reqwest::{NoProxy, Proxy};
use std::env;

/// The proxies for other machines; none: those of the environment hold as they are.
///
/// # Errors
///
/// An address is none: without its proxy a request would take a way that the user has not chosen. The text does not repeat it,
/// as it may hold a password.
pub fn proxies(of_settings: Option<&str>) -> Result<Vec<Proxy>, String> {
    let (http, https, all) = (variable("HTTP_PROXY"), variable("HTTPS_PROXY"), variable("ALL_PROXY"));
    let setting = || of_settings.map(str::to_owned);
    for (name, url) in
        [("httpProxy", &setting()), ("HTTP_PROXY", &http), ("HTTPS_PROXY", &https), ("ALL_PROXY", &all)]
    {
        if url.as_ref().is_some_and(|url| Proxy::all(with_scheme(url)).is_err()) {
            return Err(format!("{name}: expected the address of a proxy (http://HOST:PORT)"));
        }
    }
    let is_for_http_alone = http.is_some() && https.is_none() && all.is_none();
    if of_settings.is_none() && !is_for_http_alone {
        return Ok(Vec::new());
    }
    let http = http.or_else(setting).or_else(|| all.clone());
    let https = https.or_else(setting).or(all).or_else(|| http.clone());
    let http = http.and_then(|url| Proxy::http(with_scheme(&url)).ok());
    let https = https.and_then(|url| Proxy::https(with_scheme(&url)).ok());
    Ok(http.into_iter().chain(https).map(|proxy| proxy.no_proxy(NoProxy::from_env())).collect())
}

/// The value of a variable, whose name in lower case precedes.
fn variable(name: &str) -> Option<String> {
    // A CGI program has a header of its client in this variable.
    let is_foreign = name == "HTTP_PROXY" && env::var_os("REQUEST_METHOD").is_some();
    let upper = || env::var(name).ok().filter(|_| !is_foreign);
    let value = env::var(name.to_lowercase()).ok().or_else(upper);
    value.filter(|value| !value.trim().is_empty())
}

fn with_scheme(url: &str) -> String {
    let url = url.trim();
    if url.contains("://") { url.to_owned() } else { format!("http://{url}") }
}
