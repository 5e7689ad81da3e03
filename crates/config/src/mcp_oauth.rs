//! `oauth` of a server in `mcp.json`: how a login at it is made. Source: pi 1.6.0's `mcp.md` and source.

use pi_rpc_protocol::JsonObject;
use serde_json::Value;

/// How a login at a server is made; what is missing is found at the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpOAuth {
    /// A client that is registered already.
    pub client_id: Option<String>,
    /// Its secret, as written: see [`McpValues`](super::mcp::McpValues).
    pub client_secret: Option<String>,
    /// The port that the browser comes back to; `None`: any.
    pub callback_port: Option<u16>,
    /// The address that the browser comes back to, as registered.
    pub callback_url: Option<String>,
    /// Scopes to request besides those that the server names.
    pub scope: Option<String>,
    /// The name to register with.
    pub client_name: Option<String>,
    /// How the client makes itself known.
    pub registration: McpRegistration,
    /// The metadata document of the authorization server, in place of discovery.
    pub metadata_url: Option<String>,
}

/// How a client without an id makes itself known to an authorization server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpRegistration {
    /// By a document where the server takes one, else by registration.
    #[default]
    Auto,
    /// By registration.
    Dynamic,
    /// By a document.
    Document,
}

/// An address on this machine: its host, port and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopbackUrl {
    /// `localhost`, `127.0.0.1` or `[::1]`.
    pub host: String,
    /// The port, where one is named.
    pub port: Option<u16>,
    /// The path, at least `/`.
    pub path: String,
}

impl LoopbackUrl {
    /// Reads an address by HTTP without query and fragment; `None`: it is none, or of another machine.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let host = ["localhost", "127.0.0.1", "[::1]"].into_iter().find(|host| {
            authority.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })?;
        let port = match authority[host.len()..].strip_prefix(':') {
            None => None,
            Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
        };
        let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
        is_plain.then(|| Self { host: host.to_owned(), port, path: path.to_owned() })
    }
}

/// Reads `oauth`.
///
/// # Errors
///
/// The field that is wrong, and what was expected.
pub(super) fn read_oauth(value: Option<&Value>) -> Result<McpOAuth, String> {
    let none = JsonObject::new();
    let fields = match value {
        None => &none,
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("oauth must be an object".to_owned()),
    };
    let text = |key: &str| match fields.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("oauth.{key} must be a string")),
    };
    let callback_port = match fields.get("callbackPort") {
        None => None,
        Some(port) => {
            let port = port.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
            Some(port.ok_or("oauth.callbackPort must be a port number")?)
        }
    };
    let callback_url = text("callbackUrl")?;
    let callback = match &callback_url {
        None => None,
        Some(url) => Some(LoopbackUrl::read(url).ok_or(
            "oauth.callbackUrl must be an http URI on localhost, 127.0.0.1, or [::1] without query or fragment",
        )?),
    };
    if callback.as_ref().and_then(|url| url.port).zip(callback_port).is_some_and(|(one, other)| one != other)
    {
        return Err("oauth.callbackUrl and oauth.callbackPort name different ports".to_owned());
    }
    let client_name = text("clientName").map_err(|_| "oauth.clientName must be a non-empty string")?;
    if client_name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err("oauth.clientName must be a non-empty string".to_owned());
    }
    let client_id = text("clientId")?;
    let registration = match fields.get("clientRegistration").map(|value| value.as_str().unwrap_or_default())
    {
        None | Some("auto") => McpRegistration::Auto,
        Some("dcr") => McpRegistration::Dynamic,
        Some("cimd") => McpRegistration::Document,
        Some(_) => return Err(r#"oauth.clientRegistration must be "auto", "dcr", or "cimd""#.to_owned()),
    };
    if registration == McpRegistration::Document {
        if client_id.is_some() || client_name.is_some() {
            let text = "cannot be combined with oauth.clientId or oauth.clientName";
            return Err(format!("oauth.clientRegistration \"cimd\" {text}"));
        }
        if !callback.as_ref().is_none_or(is_listed) {
            let text = "requires oauth.callbackUrl on localhost or 127.0.0.1 with path /callback";
            return Err(format!("oauth.clientRegistration \"cimd\" {text}"));
        }
    }
    let metadata_url = text("authServerMetadataUrl").ok().flatten();
    if fields.contains_key("authServerMetadataUrl") && !metadata_url.as_deref().is_some_and(is_safe) {
        let text = "must be an https URL, or http on localhost, 127.0.0.1, or [::1]";
        return Err(format!("oauth.authServerMetadataUrl {text}"));
    }
    Ok(McpOAuth {
        client_id,
        client_secret: text("clientSecret")?,
        callback_port,
        callback_url,
        scope: text("scope")?,
        client_name,
        registration,
        metadata_url,
    })
}

/// Whether the client's documents list this address.
pub fn is_listed(url: &LoopbackUrl) -> bool {
    url.host != "[::1]" && url.path == "/callback"
}

/// Whether nobody else can read what goes to this address.
pub fn is_safe(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let is_https =
        lower.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    is_https || LoopbackUrl::read(lower.split(['?', '#']).next().unwrap_or_default()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_fields_are_named() {
        for (oauth, expected) in [
            (json!(1), "oauth must be an object"),
            (json!({ "clientId": 1 }), "oauth.clientId must be a string"),
            (json!({ "callbackPort": 70000 }), "oauth.callbackPort must be a port number"),
            (
                json!({ "callbackUrl": "http://example.com/callback" }),
                "oauth.callbackUrl must be an http URI on localhost, 127.0.0.1, or [::1] without query or fragment",
            ),
            (
                json!({ "callbackUrl": "http://localhost:1/a", "callbackPort": 2 }),
                "oauth.callbackUrl and oauth.callbackPort name different ports",
            ),
            (json!({ "clientName": " " }), "oauth.clientName must be a non-empty string"),
            (
                json!({ "clientRegistration": "cimd", "callbackUrl": "http://localhost/other" }),
                "oauth.clientRegistration \"cimd\" requires oauth.callbackUrl on localhost or 127.0.0.1 with path /callback",
            ),
            (
                json!({ "authServerMetadataUrl": "http://example.com/x" }),
                "oauth.authServerMetadataUrl must be an https URL, or http on localhost, 127.0.0.1, or [::1]",
            ),
        ] {
            assert_eq!(read_oauth(Some(&oauth)), Err(expected.to_owned()), "{oauth}");
        }
    }

    #[test]
    fn callbacks_are_of_this_machine() {
        let found = LoopbackUrl::read("http://[::1]:8765/x").unwrap();
        assert_eq!((found.host.as_str(), found.port, found.path.as_str()), ("[::1]", Some(8765), "/x"));
        for text in
            ["https://localhost/", "http://localhost.example/", "http://127.0.0.1:x/", "http://localhost/?a"]
        {
            assert_eq!(LoopbackUrl::read(text), None, "{text}");
        }
    }
}
