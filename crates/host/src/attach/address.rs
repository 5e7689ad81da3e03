//! Addresses of hosts and sessions.

use std::{fmt, path::PathBuf};

/// Where a host listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAddress {
    /// A Unix socket.
    Unix(PathBuf),
    /// A name or number with a port.
    Tcp(String),
    /// The same, by TLS.
    Tls(String),
}

/// The session to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAddress {
    /// The open session with this name: its handle, or the id in its file.
    Open(String),
    /// A session that the host opens, with these parameters of the address.
    New(Vec<(&'static str, String)>),
}

/// Beginnings of addresses.
const SCHEMES: [&str; 3] = ["unix:", "ws://", "wss://"];

impl HostAddress {
    /// Parses addresses of hosts that share their sessions, separated by commas, as [`parse`](Self::parse) does each. One of them
    /// names the session, if it is an open one.
    ///
    /// # Errors
    ///
    /// One is wrong, or two name different sessions.
    pub fn parse_list(text: &str) -> Result<(Vec<Self>, Option<String>), String> {
        let (mut hosts, mut session) = (Vec::new(), None);
        let mut rest = text;
        loop {
            // A path may have a comma.
            let end = rest.match_indices(',').map(|(at, _)| at);
            let mut end = end.filter(|at| SCHEMES.iter().any(|scheme| rest[at + 1..].starts_with(scheme)));
            let (first, others) = match end.next() {
                Some(at) => (&rest[..at], Some(&rest[at + 1..])),
                None => (rest, None),
            };
            let (host, named) = Self::parse(first)?;
            hosts.push(host);
            if session.is_some() && named.is_some() && session != named {
                return Err(format!("{text}: expected one session, got two"));
            }
            session = named.or(session);
            match others {
                Some(others) => rest = others,
                None => return Ok((hosts, session)),
            }
        }
    }

    /// Parses `unix:PATH`, `ws://HOST:PORT` or `wss://HOST[:PORT]`, with `/sessions/ID` behind it for an open session.
    ///
    /// # Errors
    ///
    /// The text has none of these forms.
    pub fn parse(text: &str) -> Result<(Self, Option<String>), String> {
        const SESSIONS: &str = "/sessions/";
        let (host, session) = match text.rsplit_once(SESSIONS) {
            Some((host, session)) if !session.is_empty() && !session.contains('/') => {
                (host.trim_end_matches(':'), Some(session.to_owned()))
            }
            _ => (text, None),
        };
        if let Some(path) = host.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok((Self::Unix(PathBuf::from(path)), session));
        }
        let authority = |scheme| host.strip_prefix(scheme).map(|address| address.trim_end_matches('/'));
        match (authority("ws://"), authority("wss://")) {
            (Some(address), _) if address.contains(':') && !address.contains('/') => {
                Ok((Self::Tcp(address.to_owned()), session))
            }
            (None, Some(address)) if !address.is_empty() && !address.contains('/') => {
                let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
                let address = if has_port { address.to_owned() } else { format!("{address}:443") };
                Ok((Self::Tls(address), session))
            }
            _ => Err(format!(
                "{text}: expected unix:PATH, ws://HOST:PORT or wss://HOST:PORT, and /sessions/ID for an open session{}",
                similar(text).map(|address| format!("; did you mean {address}?")).unwrap_or_default()
            )),
        }
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "ws://{address}"),
            Self::Tls(address) => write!(f, "wss://{address}"),
        }
    }
}

impl SessionAddress {
    /// The path and query of the session's connection.
    pub fn path(&self, client: &str, after: Option<u64>) -> String {
        let (session, mut parameters) = match self {
            Self::Open(id) => (encode(id), Vec::new()),
            Self::New(parameters) => ("new".to_owned(), parameters.clone()),
        };
        parameters.push(("client", client.to_owned()));
        parameters.extend(after.map(|after| ("after", after.to_string())));
        let query: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        format!("/sessions/{session}?{}", query.join("&"))
    }
}

/// The address that may be meant: with the scheme of a WebSocket, or of a socket in a file.
fn similar(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("http://") {
        return Some(format!("ws://{rest}"));
    }
    if let Some(rest) = text.strip_prefix("https://") {
        return Some(format!("wss://{rest}"));
    }
    let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    match text {
        _ if text.contains("://") => None,
        _ if port.is_some() => Some(format!("ws://{text}")),
        _ if text.contains('/') || text.ends_with(".sock") => Some(format!("unix:{text}")),
        _ => None,
    }
}

/// Percent-encodes everything but unreserved characters. Source: RFC 3986.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_three_forms() {
        let unix = |path: &str| HostAddress::Unix(path.into());
        assert_eq!(HostAddress::parse("unix:/run/pi.sock"), Ok((unix("/run/pi.sock"), None)));
        let named = HostAddress::parse("unix:/run/pi.sock:/sessions/a1");
        assert_eq!(named, Ok((unix("/run/pi.sock"), Some("a1".to_owned()))));
        let tcp = HostAddress::Tcp("example.org:80".to_owned());
        assert_eq!(HostAddress::parse("ws://example.org:80/"), Ok((tcp.clone(), None)));
        assert_eq!(HostAddress::parse("ws://example.org:80/sessions/a1"), Ok((tcp, Some("a1".to_owned()))));
        let tls = |address: &str| Ok((HostAddress::Tls(address.to_owned()), None));
        assert_eq!(HostAddress::parse("wss://example.org"), tls("example.org:443"));
        assert_eq!(HostAddress::parse("wss://[::1]:80/"), tls("[::1]:80"));
        for wrong in ["", "wss://", "unix:", "ws://example.org", "http://example.org:80"] {
            assert!(HostAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn wrong_scheme_suggests_the_right_one() {
        let error = |text| HostAddress::parse(text).unwrap_err();
        let ends = [
            ("http://a:80", "; did you mean ws://a:80?"),
            ("https://a", "; did you mean wss://a?"),
            ("a:80", "; did you mean ws://a:80?"),
            ("/run/pi.sock", "; did you mean unix:/run/pi.sock?"),
            ("a", "for an open session"),
        ];
        for (text, end) in ends {
            assert!(error(text).ends_with(end), "{}", error(text));
        }
    }

    #[test]
    fn list_names_one_session() {
        let parse = |text: &str| HostAddress::parse_list(text);
        let (unix, tcp) = (HostAddress::Unix("/a,b".into()), HostAddress::Tcp("c:1".to_owned()));
        let both = vec![unix.clone(), tcp.clone()];
        assert_eq!(parse("unix:/a,b"), Ok((vec![unix], None)));
        assert_eq!(parse("unix:/a,b,ws://c:1"), Ok((both.clone(), None)));
        assert_eq!(parse("unix:/a,b,ws://c:1/sessions/s"), Ok((both, Some("s".to_owned()))));
        let two = parse("ws://a:1/sessions/s,ws://c:1/sessions/t").unwrap_err();
        assert!(two.ends_with("expected one session, got two"), "{two}");
        assert!(parse("ws://a:1,ws://c").is_err());
    }

    #[test]
    fn parameters_are_percent_encoded() {
        let new = SessionAddress::New(vec![("cwd", "/a b&c".to_owned())]);
        assert_eq!(new.path("k", None), "/sessions/new?cwd=%2Fa%20b%26c&client=k");
        assert_eq!(
            SessionAddress::Open("x/y".to_owned()).path("k", Some(7)),
            "/sessions/x%2Fy?client=k&after=7"
        );
    }
}
