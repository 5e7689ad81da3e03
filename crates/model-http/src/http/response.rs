//! Reads bodies of answers, and excerpts of error bodies.

use super::seconds;
use bytes::Bytes;
use futures_util::{Stream, stream};
use reqwest::{Response, header::CONTENT_TYPE};
use std::time::Duration;
use tokio::time::timeout;

/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 * 1024;
/// Characters of a body that is no JSON that are shown.
const SHOWN_CHARS: usize = 1000;

/// Streams the body, each piece within `idle`; an error says why it ends early.
pub fn pieces(response: Response, idle: Duration) -> impl Stream<Item = Result<Bytes, String>> {
    stream::try_unfold(response, move |mut response| async move {
        match timeout(idle, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece.map(|piece| (piece, response))),
            Ok(Err(error)) => Err(format!("terminated: {}", super::chain(error))),
            Err(_) => Err(format!("terminated: the provider was silent for {}", seconds(idle))),
        }
    })
}

/// Reads the beginning of a body; what is not there in time is left out.
pub async fn read_error_body(mut response: Response, patience: Duration) -> String {
    let mut body = Vec::new();
    // One deadline for the whole: a slow trickle would delay the error.
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

/// Shortens a text for an error message.
pub fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The content type, if it cannot be an event stream. A missing one is accepted.
pub fn unexpected_content_type(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    (kind.contains("json") || kind.contains("html")).then_some(kind)
}
