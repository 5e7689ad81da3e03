//! Who may connect by TCP: clients with a token, and browsers of allowed origins.

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
use std::sync::Arc;

/// Tokens and origins that are let in.
#[derive(Debug, Default)]
pub struct Access {
    /// SHA-256 of each token.
    tokens: Vec<[u8; 32]>,
    /// Origins of pages, as browsers write them.
    origins: Vec<String>,
}

impl Access {
    /// Lets in the tokens whose SHA-256, in hexadecimal, `text` has: one a line, `#` begins a comment.
    ///
    /// # Errors
    ///
    /// A line is something else, or there is none.
    pub fn new(text: &str, origins: Vec<String>) -> Result<Self, String> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let hash = line.split('#').next().unwrap_or_default().trim();
            if hash.is_empty() {
                continue;
            }
            let expected =
                || format!("line {number}: expected the SHA-256 of a token, 64 hexadecimal digits");
            tokens.push(from_hex(hash).ok_or_else(expected)?);
        }
        match tokens.is_empty() {
            true => Err("expected the SHA-256 of at least one token".to_owned()),
            false => Ok(Self { tokens, origins }),
        }
    }

    /// Why a request is refused: status and error.
    fn refusal(&self, headers: &HeaderMap) -> Option<(StatusCode, ConnectionErrorCode, &'static str)> {
        use ConnectionErrorCode::{ForbiddenOrigin, InvalidToken, MissingToken};
        let unauthorized = StatusCode::UNAUTHORIZED;
        if let Some(origin) = headers.get(ORIGIN)
            && !self.origins.iter().any(|allowed| origin == allowed.as_str())
        {
            return Some((StatusCode::FORBIDDEN, ForbiddenOrigin, "start the host with --allow-origin"));
        }
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = given.and_then(|value| value.strip_prefix("Bearer ")) else {
            return Some((unauthorized, MissingToken, "expected Authorization: Bearer TOKEN"));
        };
        // Hashes are compared, whose first difference tells nothing of the token.
        let hash: [u8; 32] = Sha256::digest(token.trim()).into();
        let is_known = self.tokens.contains(&hash);
        (!is_known).then_some((unauthorized, InvalidToken, "the host does not know this token"))
    }
}

/// Passes on the requests that are let in.
pub async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.refusal(request.headers()) {
        Some((status, code, reason)) => super::listener::refuse(status, code, reason),
        None => next.run(request).await,
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|it| it as u8)).collect::<Option<_>>()?;
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `secret`.
    const HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    fn refused(headers: &[(&'static str, &str)]) -> Option<(u16, &'static str)> {
        let access = Access::new(&format!("# ours\n{HASH} # mine\n"), vec!["https://a.example".to_owned()]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        access.unwrap().refusal(&map).map(|(status, code, _)| (status.as_u16(), code.as_str()))
    }

    #[test]
    fn token_and_origin_are_checked() {
        let missing = Some((401, "missing_token"));
        let foreign = Some((403, "forbidden_origin"));
        assert_eq!(refused(&[]), missing);
        assert_eq!(refused(&[("authorization", "Basic secret")]), missing);
        assert_eq!(refused(&[("authorization", "Bearer other")]), Some((401, "invalid_token")));
        assert_eq!(refused(&[("authorization", "Bearer secret")]), None);
        let page = |origin| [("authorization", "Bearer secret"), ("origin", origin)];
        assert_eq!(refused(&page("https://b.example")), foreign);
        assert_eq!(refused(&page("https://a.example")), None);
    }

    #[test]
    fn token_file_is_checked() {
        let wrong = "line 2: expected the SHA-256 of a token, 64 hexadecimal digits";
        assert_eq!(Access::new("\nsecret", Vec::new()).unwrap_err(), wrong);
        let none = "expected the SHA-256 of at least one token";
        assert_eq!(Access::new("# none\n", Vec::new()).unwrap_err(), none);
    }
}
