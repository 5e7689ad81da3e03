//! Requests with a short answer, such as those for tokens.

use super::{Http, failure::chain, host, response::pieces};
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

impl Http {
    /// Sends a request once and reads its answer, of any status, within 30 s.
    ///
    /// # Errors
    ///
    /// `Connection error: …`: there is no answer, or no whole one.
    pub async fn exchange(&self, request: Request) -> Result<Exchanged, String> {
        self.exchange_within(request, SHORT).await
    }

    /// As [`exchange`](Self::exchange), within other limits.
    ///
    /// # Errors
    ///
    /// `Connection error: …`: there is no answer, or no whole one.
    pub async fn exchange_within(
        &self,
        request: Request,
        limits: ExchangeLimits,
    ) -> Result<Exchanged, String> {
        let client = self.client(request.url()).map_err(|failure| failure.message)?;
        let host = host(request.url());
        let answer = async {
            let response = client.execute(request).await.map_err(chain)?;
            read(response, limits).await
        };
        match timeout(limits.time, answer).await {
            Ok(answer) => answer.map_err(|reason| format!("Connection error: {host}: {reason}")),
            Err(_) => Err(format!("Connection error: {host} was silent for {} s", limits.time.as_secs())),
        }
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
