//! Who may connect by TCP: clients with a token, and browsers of allowed origins.

use super::{
    auth_command::AuthCommand,
    file_watch::FileStamp,
    limits::Roots,
    principal::{Principal, UsageBook},
    token_file::{self, KnownToken},
};
use crate::{protocol::ConnectionErrorCode, strangers::Place};
use axum::{
    extract::{ConnectInfo, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{AUTHORIZATION, CONNECTION, ORIGIN, SEC_WEBSOCKET_PROTOCOL},
    },
    middleware::Next,
    response::Response,
};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Beginning of the WebSocket subprotocol that carries a token, in base64url without padding.
const BEARER_PROTOCOL: &str = "pi-rpc.bearer.";

/// Tokens and origins that are let in.
#[derive(Debug, Default)]
pub struct Access {
    tokens: Option<TokenFile>,
    /// Asked for tokens that are not known.
    command: Option<AuthCommand>,
    /// Origins of pages, as browsers write them.
    origins: Vec<String>,
    usage: UsageBook,
}

/// The file with tokens, read again when it has changed.
#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    loaded: Mutex<(FileStamp, Vec<KnownToken>)>,
}

impl TokenFile {
    fn load(path: PathBuf) -> Result<Self, String> {
        let stamp = FileStamp::of(&path);
        let tokens = Self::read(&path)?;
        Ok(Self { path, loaded: Mutex::new((stamp, tokens)) })
    }

    fn read(path: &Path) -> Result<Vec<KnownToken>, String> {
        token_file::parse(&fs::read_to_string(path).map_err(|error| error.to_string())?)
    }

    /// The token with this hash.
    fn find(&self, hash: &[u8; 32]) -> Option<KnownToken> {
        let stamp = FileStamp::of(&self.path);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.0 != stamp {
            match Self::read(&self.path) {
                Ok(tokens) => loaded.1 = tokens,
                Err(error) => tracing::error!("{}: {error}; the earlier tokens count", self.path.display()),
            }
            loaded.0 = stamp;
        }
        loaded.1.iter().find(|token| token.hash == *hash).cloned()
    }

    /// The tokens that are in the file now.
    fn known(&self) -> Vec<KnownToken> {
        // Reads the file again if it has changed.
        let _ = self.find(&[0; 32]);
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

/// Status, code and reason of a refused request.
type Refused = (StatusCode, ConnectionErrorCode, &'static str);

impl Access {
    /// Lets pages of these origins in, if they have a token; a token is let in by [`with_tokens`](Self::with_tokens) or
    /// [`with_command`](Self::with_command).
    pub fn new(origins: Vec<String>) -> Self {
        Self { origins, ..Self::default() }
    }

    /// Lets in the tokens of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its text is none of tokens.
    pub fn with_tokens(mut self, file: PathBuf) -> Result<Self, String> {
        self.tokens = Some(TokenFile::load(file)?);
        Ok(self)
    }

    /// What the principals have used of their limits.
    pub fn usage(&self) -> UsageBook {
        self.usage.clone()
    }

    /// The roots of the tokens that have some, each with the name of its principal; `None`: a program knows further tokens.
    pub fn root_holders(&self) -> Option<Vec<(String, Roots)>> {
        if self.command.is_some() {
            return None;
        }
        let known = self.tokens.as_ref().map(TokenFile::known).unwrap_or_default();
        Some(known.into_iter().filter_map(|token| Some((token.name, token.limits.roots?))).collect())
    }

    /// Lets in the tokens that a program accepts.
    #[must_use]
    pub fn with_command(mut self, command: AuthCommand) -> Self {
        self.command = Some(command);
        self
    }

    /// Who makes a request.
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Principal>, Refused> {
        use ConnectionErrorCode::{AuthUnavailable, ForbiddenOrigin, InvalidToken, MissingToken};
        let unauthorized = StatusCode::UNAUTHORIZED;
        if let Some(origin) = headers.get(ORIGIN)
            && !self.origins.iter().any(|allowed| origin == allowed.as_str())
        {
            return Err((StatusCode::FORBIDDEN, ForbiddenOrigin, "start the host with --allow-origin"));
        }
        let Some(token) = bearer(headers) else {
            return Err((unauthorized, MissingToken, "expected Authorization: Bearer TOKEN"));
        };
        // Hashes are compared, whose first difference tells nothing of the token.
        let hash: [u8; 32] = Sha256::digest(&token).into();
        if let Some(KnownToken { name, limits, .. }) = self.tokens.as_ref().and_then(|file| file.find(&hash))
        {
            return Ok(self.usage.principal(name, limits));
        }
        let Some(command) = &self.command else {
            return Err((unauthorized, InvalidToken, "the host does not know this token"));
        };
        match command.check(&token, hash).await {
            Ok(Some((name, limits))) => Ok(self.usage.principal(name, limits)),
            Ok(None) => Err((unauthorized, InvalidToken, "the host does not know this token")),
            Err(error) => {
                tracing::error!("--auth-command: {error}");
                let text = "the program that checks tokens has failed; the host's log has the reason";
                Err((StatusCode::SERVICE_UNAVAILABLE, AuthUnavailable, text))
            }
        }
    }
}

/// The token of a request. Pages of browsers cannot set headers: theirs is in the name of a subprotocol.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let header = headers.get(AUTHORIZATION).and_then(text);
    if let Some(token) = header.as_deref().and_then(|value| value.strip_prefix("Bearer ")) {
        return Some(token.trim().to_owned());
    }
    let offered: Vec<String> = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(text).collect();
    let mut names = offered.iter().flat_map(|list| list.split(',')).map(str::trim);
    let encoded = names.find_map(|name| name.strip_prefix(BEARER_PROTOCOL))?;
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
}

/// Passes on the requests that are let in, with their principal.
pub async fn check(
    State(access): State<Arc<Access>>,
    ConnectInfo(place): ConnectInfo<Place>,
    mut request: Request,
    next: Next,
) -> Response {
    place.hear();
    match access.authenticate(request.headers()).await {
        Ok(principal) => {
            place.admit();
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err((status, code, reason)) => {
            let mut refusal = super::listener::refuse(status, code, reason);
            // It has had its time.
            refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            refusal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `secret`.
    const HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    async fn refused(headers: &[(&'static str, &str)]) -> Option<(u16, &'static str)> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokens");
        fs::write(&file, HASH).unwrap();
        let access = Access::new(vec!["https://a.example".to_owned()]).with_tokens(file).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let refused = access.authenticate(&map).await.err();
        refused.map(|(status, code, _)| (status.as_u16(), code.as_str()))
    }

    #[tokio::test]
    async fn token_and_origin_are_checked() {
        let missing = Some((401, "missing_token"));
        let foreign = Some((403, "forbidden_origin"));
        assert_eq!(refused(&[]).await, missing);
        assert_eq!(refused(&[("authorization", "Basic secret")]).await, missing);
        assert_eq!(refused(&[("authorization", "Bearer other")]).await, Some((401, "invalid_token")));
        assert_eq!(refused(&[("authorization", "Bearer secret")]).await, None);
        let offered = |names| [("sec-websocket-protocol", names)];
        assert_eq!(refused(&offered("pi-rpc.control.v1, pi-rpc.bearer.c2VjcmV0")).await, None);
        assert_eq!(refused(&offered("pi-rpc.bearer.b3RoZXI")).await, Some((401, "invalid_token")));
        assert_eq!(refused(&offered("pi-rpc.control.v1")).await, missing);
        let page = |origin| [("authorization", "Bearer secret"), ("origin", origin)];
        assert_eq!(refused(&page("https://b.example")).await, foreign);
        assert_eq!(refused(&page("https://a.example")).await, None);
    }
}
