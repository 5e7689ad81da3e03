//! The URLs of NATS servers: their addresses, and the login that they contain.

use async_nats::{ConnectOptions, ServerAddr};
use pi_rpc_files::secrets::percent_decoded;

/// The servers, and how a node logs in to them.
#[derive(Debug, PartialEq)]
pub struct NatsServers {
    /// The addresses, without a login, so that nothing which shows them shows it.
    pub addresses: Vec<ServerAddr>,
    /// The login; `None`: the URLs have none.
    pub login: Option<NatsLogin>,
}

/// A login that a URL contains.
#[derive(Clone, PartialEq, Eq)]
pub enum NatsLogin {
    /// `nats://USER:PASSWORD@HOST`.
    Password(String, String),
    /// `nats://TOKEN@HOST`.
    Token(String),
}

impl std::fmt::Debug for NatsLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Password(..) => "Password(***)",
            Self::Token(_) => "Token(***)",
        })
    }
}

impl NatsServers {
    /// Reads URLs, separated by commas. What is percent-encoded in a login is decoded. A login in one URL is that of all
    /// servers.
    ///
    /// # Errors
    ///
    /// A URL is wrong, or two of them have different logins. The text shows nothing of a login.
    pub fn parse(urls: &str) -> Result<Self, String> {
        let mut servers = Self { addresses: Vec::new(), login: None };
        for (at, url) in urls.split(',').map(str::trim).enumerate() {
            let (address, login) = parse(url).map_err(|reason| format!("URL {}: {reason}", at + 1))?;
            servers.addresses.push(address);
            match (&servers.login, login) {
                (Some(known), Some(login)) if *known != login => {
                    return Err(format!("URL {}: its login differs from the one before it", at + 1));
                }
                (_, login) => servers.login = login.or(servers.login.take()),
            }
        }
        Ok(servers)
    }
}

impl NatsLogin {
    /// Logs in with it.
    pub fn apply(&self, options: ConnectOptions) -> ConnectOptions {
        match self.clone() {
            Self::Password(user, password) => options.user_and_password(user, password),
            Self::Token(token) => options.token(token),
        }
    }
}

fn parse(url: &str) -> Result<(ServerAddr, Option<NatsLogin>), String> {
    // The error of the library names nothing but the kind of the mistake; that of an unknown scheme is replaced, as what
    // stands before a `://` may be part of a password.
    let address: ServerAddr = match url.parse() {
        Ok(address) => address,
        Err(_) if url.contains("://") && !["nats://", "tls://"].iter().any(|it| url.starts_with(it)) => {
            return Err(SCHEMES.to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    if !matches!(address.scheme(), "nats" | "tls") {
        return Err(SCHEMES.to_owned());
    }
    if address.host().is_empty() {
        return Err("it names no host".to_owned());
    }
    let login = match (address.username(), address.password()) {
        (None, None) => None,
        (user, Some(password)) => {
            Some(NatsLogin::Password(percent_decoded(user.unwrap_or_default()), percent_decoded(password)))
        }
        (Some(token), None) => Some(NatsLogin::Token(percent_decoded(token))),
    };
    let mut url = address.into_inner();
    // A URL with a host takes both.
    let _ = (url.set_username(""), url.set_password(None));
    Ok((ServerAddr::from_url(url).map_err(|_| SCHEMES.to_owned())?, login))
}

const SCHEMES: &str = "expected nats:// or tls:// before the host";

#[cfg(test)]
mod tests {
    use super::*;

    fn password(user: &str, password: &str) -> Option<NatsLogin> {
        Some(NatsLogin::Password(user.to_owned(), password.to_owned()))
    }

    #[test]
    fn login_of_url_is_decoded() {
        for (urls, addresses, login) in [
            ("nats://h:1", &["nats://h:1"][..], None),
            ("h", &["nats://h"], None),
            ("nats://u:p@h:1", &["nats://h:1"], password("u", "p")),
            ("u:p@h:1", &["nats://h:1"], password("u", "p")),
            ("tls://u:p%40%2C%2F%3A%25@[::1]:1", &["tls://[::1]:1"], password("u", "p@,/:%")),
            ("nats://a%20b@h", &["nats://h"], Some(NatsLogin::Token("a b".to_owned()))),
            ("nats://u:p@h:1, nats://i:2", &["nats://h:1", "nats://i:2"], password("u", "p")),
            (
                "nats://h:1,tls://u:p@i,nats://u:p@j",
                &["nats://h:1", "tls://i", "nats://j"],
                password("u", "p"),
            ),
        ] {
            let servers = NatsServers::parse(urls).unwrap();
            let found: Vec<&str> = servers.addresses.iter().map(ServerAddr::as_url_str).collect();
            assert_eq!((found, servers.login), (addresses.to_vec(), login), "{urls}");
        }
    }

    #[test]
    fn wrong_urls_are_refused_without_their_login() {
        for (urls, reason) in [
            ("", "URL 1: "),
            ("nats://h,", "URL 2: "),
            ("nats://u:secret@h:port", "URL 1: "),
            ("http://u:secret@h", "URL 1: expected nats:// or tls://"),
            ("secret://u@h", "URL 1: expected nats:// or tls://"),
            ("nats://u:secret@h,nats://u:secret2@i", "URL 2: its login differs"),
            ("nats://secret@h,nats://secret:secret@i", "URL 2: its login differs"),
        ] {
            let error = NatsServers::parse(urls).unwrap_err();
            assert!(error.starts_with(reason) && !error.contains("secret"), "{urls}: {error}");
        }
        let login = NatsServers::parse("nats://u:secret@h").unwrap();
        assert!(!format!("{login:?}").contains("secret"), "{login:?}");
    }
}
