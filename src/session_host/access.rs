//! Who may connect by TCP: clients with a token, and browsers of allowed origins.

use super::{
    auth_command::AuthCommand,
    file_watch::FileStamp,
    principal::{Principal, UsageBook},
    token_file::{self, KnownToken},
};
use crate::protocol::ConnectionErrorCode;
use axum::{
    extract::{Request, State},
    http::{
        HeaderMap, StatusCode,
        header::{AUTHORIZATION, ORIGIN},
    },
    middleware::Next,
    response::Response,
};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

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
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = given.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim) else {
            return Err((unauthorized, MissingToken, "expected Authorization: Bearer TOKEN"));
        };
        // Hashes are compared, whose first difference tells nothing of the token.
        let hash: [u8; 32] = Sha256::digest(token).into();
        if let Some(KnownToken { name, limits, .. }) = self.tokens.as_ref().and_then(|file| file.find(&hash))
        {
            return Ok(self.usage.principal(name, limits));
        }
        let Some(command) = &self.command else {
            return Err((unauthorized, InvalidToken, "the host does not know this token"));
        };
        match command.check(token, hash).await {
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

/// Passes on the requests that are let in, with their principal.
pub async fn check(State(access): State<Arc<Access>>, mut request: Request, next: Next) -> Response {
    match access.authenticate(request.headers()).await {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err((status, code, reason)) => super::listener::refuse(status, code, reason),
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
        let page = |origin| [("authorization", "Bearer secret"), ("origin", origin)];
        assert_eq!(refused(&page("https://b.example")).await, foreign);
        assert_eq!(refused(&page("https://a.example")).await, None);
    }
}
