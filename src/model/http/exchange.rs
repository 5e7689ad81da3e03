//! Requests to token endpoints.

use super::{Http, chain, host, response::read_error_body};
use reqwest::{
    Method, Request, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use std::{fmt, time::Duration};

/// Time limit of an answer's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A request for new tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// The URL.
    pub url: String,
    /// Headers by lower-case name.
    pub headers: Vec<(String, String)>,
    /// The body of a `POST`; `None`: a `GET`.
    pub body: Option<String>,
}

// Headers and body hold tokens.
impl fmt::Debug for TokenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenRequest").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Http {
    /// Sends the request once, and returns status and body, of which 64 KiB are read.
    ///
    /// # Errors
    ///
    /// The connection fails. The text holds nothing of the request but its host.
    pub async fn exchange(&self, request: TokenRequest) -> Result<(u16, String), String> {
        let url = Url::parse(&request.url).map_err(|error| format!("{}: {error}", request.url))?;
        let client = self.client(&url).map_err(|failure| failure.message)?;
        let host = host(&url);
        let method = if request.body.is_some() { Method::POST } else { Method::GET };
        let mut built = Request::new(method, url);
        *built.headers_mut() = headers(&request.headers)?;
        *built.body_mut() = request.body.map(Into::into);
        let response = client.execute(built).await.map_err(|error| format!("{host}: {}", chain(error)))?;
        let status = response.status().as_u16();
        Ok((status, read_error_body(response, BODY_TIMEOUT).await))
    }
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = || format!("the header {name:?} has characters that HTTP does not allow");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}
