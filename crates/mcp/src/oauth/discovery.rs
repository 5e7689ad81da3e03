//! Finds the authorization server of an MCP server: protected resource metadata (RFC 9728), metadata of authorization servers
//! (RFC 8414, OpenID Connect). Source of what is tried in which order: the specification of MCP, pi 1.6.0 source.

use super::requests::{Requests, read_json};
use pi_rpc_config::mcp_oauth::is_safe;
use reqwest::{StatusCode, Url};
use serde_json::Value;

/// An authorization server, and what it and the MCP server say of themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Discovery {
    /// Its issuer.
    pub issuer: String,
    /// Its metadata; `None`: it has none, and the endpoints are at their default paths.
    pub metadata: Option<Value>,
    /// The metadata of the MCP server.
    pub resource: Option<Value>,
}

/// What a server wants, from `WWW-Authenticate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the header; one of another scheme says nothing.
    pub(crate) fn read(header: &str) -> Self {
        let scheme = header.split_whitespace().next().unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("dpop") {
            return Self::default();
        }
        Self {
            resource_metadata: parameter(header, "resource_metadata"),
            scope: parameter(header, "scope"),
            error: parameter(header, "error"),
        }
    }

    /// Whether the server wants more scope than the token has.
    pub(crate) fn wants_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The value of a parameter; an empty one says nothing.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header;
    loop {
        let at = rest.find(name)?;
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        let is_whole = before.is_empty() || before.ends_with([' ', ',', '\t']);
        if let (true, Some(value)) = (is_whole, behind.strip_prefix('=')) {
            let value = match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next(),
                None => value.split([' ', ',', '\t']).next(),
            };
            return value.filter(|value| !value.is_empty()).map(str::to_owned);
        }
        rest = behind;
    }
}

impl Discovery {
    /// Finds the authorization server of `server`. `configured`: its metadata document, by the user's own word.
    ///
    /// # Errors
    ///
    /// What a server says contradicts itself or is not safe.
    pub(crate) async fn find(
        requests: &Requests,
        server: &Url,
        challenge: &Challenge,
        configured: Option<&str>,
    ) -> Result<Self, String> {
        let resource = resource_metadata(requests, server, challenge).await?;
        if let Some(address) = configured {
            let metadata =
                get(requests, address).await?.map_err(|status| format!("{address}: HTTP {status}"))?;
            let issuer =
                text(&metadata, "issuer").ok_or_else(|| format!("{address}: issuer: expected an address"))?;
            return Ok(Self {
                issuer: issuer.to_owned(),
                metadata: Some(checked(metadata, address)?),
                resource,
            });
        }
        let named = resource.as_ref().and_then(|it| it.pointer("/authorization_servers/0")?.as_str());
        let issuer = named.map_or_else(|| origin(server), str::to_owned);
        let metadata = server_metadata(requests, &issuer).await?;
        Ok(Self { issuer, metadata, resource })
    }

    /// The address of an endpoint, from the metadata, else at its default path.
    ///
    /// # Errors
    ///
    /// It is not safe.
    pub(crate) fn endpoint(&self, member: &str, path: &str) -> Result<Url, String> {
        let named = self.metadata.as_ref().and_then(|metadata| text(metadata, member));
        let url = match named {
            Some(named) => named.parse::<Url>(),
            None => self.issuer.parse::<Url>().and_then(|issuer| issuer.join(path)),
        };
        let url = url.map_err(|_| format!("{member}: expected an address"))?;
        match is_safe(url.as_str()) {
            true => Ok(url),
            false => Err(format!("{member}: expected https, got {}", shown(url.as_str()))),
        }
    }

    /// Whether a list of the metadata has this value; `None`: there is no such list.
    pub(crate) fn lists(&self, member: &str, value: &str) -> Option<bool> {
        let list = self.metadata.as_ref()?.get(member)?.as_array()?;
        Some(list.iter().any(|it| it == value))
    }

    /// Whether a member of the metadata is true.
    pub(crate) fn has(&self, member: &str) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| metadata.get(member) == Some(&Value::Bool(true)))
    }

    /// The resource that tokens are for.
    ///
    /// # Errors
    ///
    /// The metadata is of another server: a token for that must not be asked for here.
    pub(crate) fn audience(&self, server: &Url) -> Result<Option<String>, String> {
        let Some(metadata) = &self.resource else { return Ok(None) };
        let resource = text(metadata, "resource").unwrap_or_default();
        let other =
            || format!("the protected resource {} does not match the server {server}", shown(resource));
        let named: Url = resource.parse().map_err(|_| other())?;
        let slashed = |path: &str| if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
        let matches =
            named.origin() == server.origin() && slashed(server.path()).starts_with(&slashed(named.path()));
        if matches { Ok(Some(resource.to_owned())) } else { Err(other()) }
    }

    /// The scopes that the MCP server names.
    pub(crate) fn scopes(&self) -> Option<String> {
        let list = self.resource.as_ref()?.get("scopes_supported")?.as_array()?;
        let scopes: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
        (!scopes.is_empty()).then(|| scopes.join(" "))
    }
}

/// Reads the metadata of the MCP server; none is no error.
async fn resource_metadata(
    requests: &Requests,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<Value>, String> {
    let path = server.path().trim_end_matches('/');
    let places = match &challenge.resource_metadata {
        // The server names it; an unsafe one could be read by anybody on the way.
        Some(named) if is_safe(named) => vec![named.clone()],
        Some(named) => return Err(format!("resource_metadata: expected https, got {}", shown(named))),
        None => {
            let well_known =
                format!("{}/.well-known/oauth-protected-resource", origin(server).trim_end_matches('/'));
            let mut places = vec![format!("{well_known}{path}")];
            places.extend((!path.is_empty()).then_some(well_known));
            places
        }
    };
    for place in places {
        match get(requests, &place).await? {
            Ok(metadata) if text(&metadata, "resource").is_some() => return Ok(Some(metadata)),
            Ok(_) => return Ok(None),
            Err(status) if is_miss(status) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// Reads the metadata of an authorization server; `None`: there is none.
async fn server_metadata(requests: &Requests, issuer: &str) -> Result<Option<Value>, String> {
    let url: Url = issuer
        .parse()
        .map_err(|_| format!("authorization_servers: {}: expected an address", shown(issuer)))?;
    if !is_safe(issuer) {
        return Err(format!("authorization_servers: expected https, got {}", shown(issuer)));
    }
    let (origin, path) = (origin(&url), url.path().trim_end_matches('/'));
    let origin = origin.trim_end_matches('/');
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    places.extend((!path.is_empty()).then(|| format!("{origin}{path}/.well-known/openid-configuration")));
    for place in places {
        match get(requests, &place).await? {
            Ok(metadata) => {
                let metadata = checked(metadata, &place)?;
                let own = text(&metadata, "issuer").unwrap_or_default();
                if own.trim_end_matches('/') != issuer.trim_end_matches('/') {
                    return Err(format!("{place}: issuer: expected {}, got {}", shown(issuer), shown(own)));
                }
                return Ok(Some(metadata));
            }
            Err(status) if is_miss(status) => {}
            Err(status) => return Err(format!("{place}: HTTP {status}")),
        }
    }
    Ok(None)
}

/// Whether what is looked for may be elsewhere.
fn is_miss(status: StatusCode) -> bool {
    status.is_client_error() || status == StatusCode::BAD_GATEWAY
}

/// Metadata of an authorization server, with the members that it must have.
fn checked(metadata: Value, place: &str) -> Result<Value, String> {
    for member in ["issuer", "authorization_endpoint", "token_endpoint"] {
        let url = text(&metadata, member).and_then(|text| text.parse::<Url>().ok());
        // The page is opened by the system, which starts programs for other schemes.
        if !url.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
            return Err(format!("{place}: {member}: expected an address by HTTP"));
        }
    }
    match metadata.get("response_types_supported").and_then(Value::as_array) {
        Some(types) if types.iter().any(|kind| kind == "code") => Ok(metadata),
        _ => Err(format!("{place}: response_types_supported: expected code")),
    }
}

async fn get(requests: &Requests, address: &str) -> Result<Result<Value, StatusCode>, String> {
    let response = requests.get(address).await?;
    if !response.status().is_success() {
        return Ok(Err(response.status()));
    }
    read_json(response).await.map(Ok).map_err(|error| format!("{address}: {error}"))
}

fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value.get(member).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn origin(url: &Url) -> String {
    format!("{}/", url.origin().ascii_serialization())
}

/// The beginning of an address of a server's, for an error.
pub(super) fn shown(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn challenges_are_read() {
        let header =
            r#"Bearer realm="x", error="insufficient_scope", scope="a b", resource_metadata="https://h/p""#;
        let expected = Challenge {
            resource_metadata: Some("https://h/p".to_owned()),
            scope: Some("a b".to_owned()),
            error: Some("insufficient_scope".to_owned()),
        };
        assert_eq!(Challenge::read(header), expected);
        assert_eq!(Challenge::read("Basic scope=a"), Challenge::default());
        assert_eq!(Challenge::read(r#"Bearer scope="", x_error=1"#), Challenge::default());
    }

    #[test]
    fn tokens_are_for_this_server_alone() {
        let server: Url = "https://h.example/a/mcp".parse().unwrap();
        let audience = |resource: &str| {
            let discovery =
                Discovery { resource: Some(json!({ "resource": resource })), ..Discovery::default() };
            discovery.audience(&server).ok().flatten()
        };
        for resource in ["https://h.example/", "https://h.example/a", "https://h.example/a/mcp"] {
            assert_eq!(audience(resource).as_deref(), Some(resource));
        }
        for resource in
            ["https://other.example/a/mcp", "https://h.example/a/m", "http://h.example/a/mcp", "x"]
        {
            assert_eq!(audience(resource), None, "{resource}");
        }
    }
}
