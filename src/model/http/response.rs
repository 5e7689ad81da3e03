//! The body of an answer, as it comes, and what people are shown of one that is no answer.

use super::seconds;
use bytes::Bytes;
use futures_util::{Stream, stream};
use reqwest::{Response, header::CONTENT_TYPE};
use std::time::Duration;
use tokio::time::timeout;

/// Bytes that are read of the body of an error.
const ERROR_BYTES: usize = 64 * 1024;
/// Characters that are shown of what is not JSON.
const SHOWN_CHARS: usize = 1000;

/// The body as it comes, each piece within `idle`; the failure says why nothing more does.
pub fn pieces(response: Response, idle: Duration) -> impl Stream<Item = Result<Bytes, String>> {
    stream::try_unfold(response, move |mut response| async move {
        match timeout(idle, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece.map(|piece| (piece, response))),
            Ok(Err(error)) => Err(format!("terminated: {}", super::chain(error))),
            Err(_) => Err(format!("terminated: the provider was silent for {}", seconds(idle))),
        }
    })
}

/// The body as far as it is worth reading; what does not come in time is left out.
pub async fn read_error_body(mut response: Response, patience: Duration) -> String {
    let mut body = Vec::new();
    // A deadline for all of it: a body that drips would keep people waiting for an error.
    let _ = timeout(patience, async {
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > ERROR_BYTES {
                break;
            }
        }
    })
    .await;
    String::from_utf8_lossy(&body).into_owned()
}

/// The beginning of a text, for people.
pub fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What the body is said to be, where that cannot be an event stream. Servers that do not say are believed.
pub fn unexpected_content_type(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    (kind.contains("json") || kind.contains("html")).then_some(kind)
}
