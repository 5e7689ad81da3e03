//! Who may connect by TCP: clients with a token, and browsers of allowed origins.

use super::{
    auth_command::AuthCommand,
    client_place::ClientPlace,
    limits::Roots,
    principal::Principal,
    token_file::{self, KnownToken},
    usage::UsageBook,
};
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
use pi_rpc_files::regular_files;
use pi_rpc_protocol::ConnectionErrorCode;
use sha2::{Digest as _, Sha256};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

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

/// How often the file with tokens is read while nobody connects.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// The file with tokens. It is read whenever somebody connects, and at intervals: size and time of a file that has changed
/// may be those of before.
#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    loaded: Mutex<LoadedTokens>,
}

/// What was read last.
#[derive(Debug)]
struct LoadedTokens {
    /// The text, or why there is none.
    text: Result<String, String>,
    tokens: Vec<LoadedToken>,
}

/// A token, and what is cancelled once the file no longer has it as it is.
#[derive(Clone, Debug)]
struct LoadedToken {
    known: KnownToken,
    revoked: CancellationToken,
}

impl LoadedToken {
    fn new(known: KnownToken) -> Self {
        Self { known, revoked: CancellationToken::new() }
    }
}

impl TokenFile {
    fn load(path: PathBuf) -> Result<Self, String> {
        let text = Self::read(&path)?;
        let tokens: Vec<LoadedToken> = token_file::parse(&text)?.into_iter().map(LoadedToken::new).collect();
        match tokens.is_empty() {
            true => Err("expected the SHA-256 of at least one token".to_owned()),
            false => Ok(Self { path, loaded: Mutex::new(LoadedTokens { text: Ok(text), tokens }) }),
        }
    }

    fn read(path: &Path) -> Result<String, String> {
        regular_files::read_to_string(path, regular_files::CONFIGURATION).map_err(|error| error.to_string())
    }

    /// Reads the file again. Revokes the tokens that it no longer has, or has with another name or other limits.
    fn reload(&self) -> MutexGuard<'_, LoadedTokens> {
        let text = Self::read(&self.path);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.text == text {
            return loaded;
        }
        match text.as_deref().map_err(Clone::clone).and_then(token_file::parse) {
            Ok(tokens) => {
                let before = std::mem::take(&mut loaded.tokens);
                let same = |known: &KnownToken| before.iter().find(|it| it.known == *known).cloned();
                let tokens: Vec<LoadedToken> = tokens
                    .into_iter()
                    .map(|known| same(&known).unwrap_or_else(|| LoadedToken::new(known)))
                    .collect();
                let is_gone = |it: &&LoadedToken| tokens.iter().all(|other| other.known != it.known);
                before.iter().filter(is_gone).for_each(|it| it.revoked.cancel());
                loaded.tokens = tokens;
            }
            Err(error) => tracing::error!("{}: {error}; the earlier tokens count", self.path.display()),
        }
        loaded.text = text;
        loaded
    }

    /// The token with this hash.
    fn find(&self, hash: &[u8; 32]) -> Option<LoadedToken> {
        self.reload().tokens.iter().find(|token| token.known.hash == *hash).cloned()
    }

    /// The tokens that are in the file now.
    fn known(&self) -> Vec<KnownToken> {
        self.reload().tokens.iter().map(|token| token.known.clone()).collect()
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

    /// The tokens of the file, as they are in it now.
    pub(super) fn known(&self) -> Vec<KnownToken> {
        self.tokens.as_ref().map(TokenFile::known).unwrap_or_default()
    }

    /// The roots of the tokens that have some, each with the name of its principal; `None`: a program knows further tokens.
    pub fn root_holders(&self) -> Option<Vec<(String, Roots)>> {
        if self.command.is_some() {
            return None;
        }
        Some(self.known().into_iter().filter_map(|token| Some((token.name, token.limits.roots?))).collect())
    }

    /// Lets in the tokens that a program accepts.
    #[must_use]
    pub fn with_command(mut self, command: AuthCommand) -> Self {
        self.command = Some(command);
        self
    }

    /// Reads the file with tokens again and again, so that connections of revoked tokens end. Never resolves.
    pub async fn watch_tokens(self: Arc<Self>) {
        loop {
            tokio::time::sleep(READ_INTERVAL).await;
            let access = self.clone();
            // A file system that hangs must not hold up connections.
            let read = tokio::task::spawn_blocking(move || {
                access.tokens.iter().for_each(|file| drop(file.reload()));
            });
            if let Err(error) = read.await {
                tracing::error!("the file with tokens: {error}");
            }
        }
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
        // A program that reads a line would take it for another one.
        if token.is_empty() || token.contains(char::is_control) || token.trim() != token {
            let reason = "expected a token without control characters, and without blanks at its ends";
            return Err((unauthorized, InvalidToken, reason));
        }
        // Hashes are compared, whose first difference tells nothing of the token.
        let hash: [u8; 32] = Sha256::digest(&token).into();
        if let Some(token) = self.tokens.as_ref().and_then(|file| file.find(&hash)) {
            let LoadedToken { known: KnownToken { name, limits, .. }, revoked } = token;
            return Ok(self.usage.principal(name, limits, revoked));
        }
        let Some(command) = &self.command else {
            return Err((unauthorized, InvalidToken, "the host does not know this token"));
        };
        match command.check(&token, hash).await {
            // The program's answer counts for as long as the connection lives.
            Ok(Some((name, limits))) => Ok(self.usage.principal(name, limits, CancellationToken::new())),
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
    ConnectInfo(ClientPlace(place)): ConnectInfo<ClientPlace>,
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
    use std::fs;

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

    /// Whether the token `secret` is let in.
    async fn principal(access: &Access) -> Option<Arc<Principal>> {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer secret".parse().unwrap());
        access.authenticate(&headers).await.ok()
    }

    #[tokio::test]
    async fn revoked_token_dies_at_same_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            let time = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        write(HASH);
        let access = Access::new(Vec::new()).with_tokens(path.clone()).unwrap();
        let live = principal(&access).await.unwrap();
        write(&HASH.replace('2', "3"));
        assert!(principal(&access).await.is_none());
        // What it has opened ends, too.
        live.revoked().await;
    }

    #[tokio::test]
    async fn only_changed_tokens_are_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        fs::write(&path, HASH).unwrap();
        let access = Access::new(Vec::new()).with_tokens(path.clone()).unwrap();
        let revoked = |principal: &Principal| principal.is_revoked();
        let live = principal(&access).await.unwrap();
        fs::write(&path, format!("{HASH}\n{}\n", HASH.replace('2', "3"))).unwrap();
        assert!(principal(&access).await.is_some_and(|again| !revoked(&again)) && !revoked(&live));
        // A file that cannot be read revokes nothing.
        fs::write(&path, "{").unwrap();
        assert!(principal(&access).await.is_some() && !revoked(&live));
        let named = format!(r#"{{"tokens":[{{"sha256":"{HASH}","name":"a"}}]}}"#);
        fs::write(&path, named).unwrap();
        assert!(principal(&access).await.is_some_and(|again| !revoked(&again)) && revoked(&live));
        // The last token can be revoked.
        fs::write(&path, "").unwrap();
        assert!(principal(&access).await.is_none());
    }

    #[test]
    fn token_file_must_be_regular() {
        let refused = Access::new(Vec::new()).with_tokens("/dev/zero".into()).err();
        assert_eq!(refused.map(|error| error.to_string()).as_deref(), Some("not a regular file"));
    }

    #[tokio::test]
    async fn odd_tokens_are_refused() {
        let invalid = Some((401, "invalid_token"));
        for token in ["secret\n", "secret\nmore", "sec\u{0}ret", " secret", "secret ", "", "secret\u{85}"] {
            let name = format!("{BEARER_PROTOCOL}{}", BASE64_URL_SAFE_NO_PAD.encode(token));
            assert_eq!(refused(&[("sec-websocket-protocol", &name)]).await, invalid, "{token:?}");
        }
        for header in ["Bearer ", "Bearer sec\tret"] {
            assert_eq!(refused(&[("authorization", header)]).await, invalid, "{header:?}");
        }
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
