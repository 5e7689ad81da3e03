//! Requests with a short answer, such as those for tokens.

use super::{
    Http,
    failure::{chain, is_refused_certificate},
    host,
    response::pieces,
};
use futures_util::StreamExt as _;
use reqwest::{Request, Response};
use std::time::Duration;
use tokio::time::timeout;

/// Limits of an answer that is read as a whole.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeLimits {
    /// Bytes that are read.
    pub bytes: usize,
    /// Time for the whole answer.
    pub time: Duration,
}

/// The limits of short answers.
const SHORT: ExchangeLimits = ExchangeLimits { bytes: 4 * 1024 * 1024, time: Duration::from_secs(30) };

/// An answer as a whole.
pub struct Exchanged {
    /// HTTP status.
    pub status: u16,
    /// The body; what is no UTF-8 in it is replaced.
    pub body: String,
}

/// Why there is no answer, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeFailure {
    /// For people: `Connection error: …`.
    pub text: String,
    /// Whether there was no connection to send the request on, which there may be later. What was sent may have been performed, and
    /// cost money.
    pub is_unsent: bool,
}

impl Http {
    /// Sends a request once and reads its answer, of any status, within 30 s.
    ///
    /// # Errors
    ///
    /// `Connection error: …`: there is no answer, or no whole one.
    pub async fn exchange(&self, request: Request) -> Result<Exchanged, String> {
        self.exchange_within(request, SHORT).await.map_err(|failure| failure.text)
    }

    /// As [`exchange`](Self::exchange), within other limits.
    ///
    /// # Errors
    ///
    /// There is no answer, or no whole one.
    pub async fn exchange_within(
        &self,
        request: Request,
        limits: ExchangeLimits,
    ) -> Result<Exchanged, ExchangeFailure> {
        let failed = |text: String, is_unsent: bool| ExchangeFailure { text, is_unsent };
        let client = self.client(request.url()).map_err(|failure| failed(failure.message, false))?;
        let host = host(request.url());
        let broken = |reason: String| format!("Connection error: {host}: {reason}");
        let answer = async {
            match client.execute(request).await {
                Ok(response) => read(response, limits).await.map_err(|reason| failed(broken(reason), false)),
                Err(error) => {
                    // A certificate that is refused now is refused a second later.
                    let may_pass = error.is_connect() && !is_refused_certificate(&error);
                    Err(failed(broken(chain(error)), may_pass))
                }
            }
        };
        let late =
            || failed(format!("Connection error: {host} was silent for {} s", limits.time.as_secs()), false);
        timeout(limits.time, answer).await.unwrap_or_else(|_| Err(late()))
    }
}

async fn read(response: Response, limits: ExchangeLimits) -> Result<Exchanged, String> {
    let status = response.status().as_u16();
    let mut pieces = Box::pin(pieces(response, limits.time));
    let mut body = Vec::new();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece?);
        if body.len() > limits.bytes {
            break;
        }
    }
    Ok(Exchanged { status, body: String::from_utf8_lossy(&body).into_owned() })
}
