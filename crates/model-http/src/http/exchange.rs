//! Requests with a short answer, such as those for tokens.

use super::{Http, failure::chain, host, response::pieces};
use futures_util::StreamExt as _;
use reqwest::{Request, Response};
use std::time::Duration;
use tokio::time::timeout;

/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Time limit for the whole answer.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(30);

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
        let client = self.client(request.url()).map_err(|failure| failure.message)?;
        let host = host(request.url());
        let answer = async {
            let response = client.execute(request).await.map_err(chain)?;
            read(response).await
        };
        match timeout(EXCHANGE_TIMEOUT, answer).await {
            Ok(answer) => answer.map_err(|reason| format!("Connection error: {host}: {reason}")),
            Err(_) => {
                Err(format!("Connection error: {host} was silent for {} s", EXCHANGE_TIMEOUT.as_secs()))
            }
        }
    }
}

async fn read(response: Response) -> Result<Exchanged, String> {
    let status = response.status().as_u16();
    let mut pieces = Box::pin(pieces(response, EXCHANGE_TIMEOUT));
    let mut body = Vec::new();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece?);
        if body.len() > ANSWER_BYTES {
            break;
        }
    }
    Ok(Exchanged { status, body: String::from_utf8_lossy(&body).into_owned() })
}
