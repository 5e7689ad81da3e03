//! Reads bodies of answers, and excerpts of error bodies.

use super::failure::{chain, seconds};
use crate::decoder::decoded;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use pi_rpc_model::request::StreamFormat;
use reqwest::{
    Response,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use std::{pin::Pin, time::Duration};
use tokio::time::timeout;

/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 * 1024;
/// Characters of a body that is no JSON that are shown.
const SHOWN_CHARS: usize = 1000;

/// Streams the unpacked body, each piece within `idle`; an error says why it ends early.
pub fn pieces(response: Response, idle: Duration) -> impl Stream<Item = Result<Bytes, String>> + Send {
    let encodings = header(&response, CONTENT_ENCODING.as_str());
    let packed = stream::try_unfold(response, move |mut response| async move {
        match timeout(idle, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece.map(|piece| (piece, response))),
            Ok(Err(error)) => Err(format!("terminated: {}", chain(error))),
            Err(_) => Err(format!("terminated: the provider was silent for {}", seconds(idle))),
        }
    });
    decoded(packed, encodings)
}

/// All values of a header, joined with commas.
fn header(response: &Response, name: &str) -> String {
    let values = response.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

/// Reads the beginning of a body; what is not there in time is left out.
pub async fn read_error_body(response: Response, patience: Duration) -> String {
    read_excerpt(Box::pin(pieces(response, patience)), Vec::new(), patience).await
}

/// Reads what follows `body` as far as an error needs it and it is there in time.
async fn read_excerpt(
    mut pieces: impl Stream<Item = Result<Bytes, String>> + Unpin,
    mut body: Vec<u8>,
    patience: Duration,
) -> String {
    // One deadline for the whole: a slow trickle would delay the error.
    let _ = timeout(patience, async {
        while let Some(Ok(piece)) = pieces.next().await {
            body.extend_from_slice(&piece);
            if body.len() > ERROR_BYTES {
                break;
            }
        }
    })
    .await;
    body.truncate(ERROR_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}

/// The pieces of a body.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// What a server sent in place of an event stream.
pub struct NoEventStream {
    /// The content type, or that there is none.
    pub kind: String,
    /// The beginning of the body.
    pub body: String,
}

/// The body, if it is an event stream: some servers give event streams another content type, and other things none.
pub async fn event_stream(
    response: Response,
    format: StreamFormat,
    idle: Duration,
    patience: Duration,
) -> Result<Pieces, NoEventStream> {
    let kind = header(&response, CONTENT_TYPE.as_str()).to_ascii_lowercase();
    let is_page = kind.contains("json") || kind.contains("html");
    let mut pieces = Box::pin(pieces(response, idle).fuse());
    if kind.contains("event-stream") || (format == StreamFormat::AmazonEventStream && !is_page) {
        return Ok(pieces);
    }
    let (mut start, mut broken) = (Vec::new(), None);
    while beginning(&start).len() < BEGINNING_BYTES && start.len() < ERROR_BYTES {
        match pieces.next().await {
            Some(Ok(piece)) => start.extend_from_slice(&piece),
            end => {
                broken = end;
                break;
            }
        }
    }
    let begins = |field: &[u8]| beginning(&start).starts_with(field);
    let is_stream = FIELDS.into_iter().any(begins) || (begins(b"{") && !is_page);
    if format == StreamFormat::ServerSentEvents && (is_stream || beginning(&start).is_empty()) {
        let start = stream::iter([Ok(start.into())]).chain(stream::iter(broken));
        return Ok(Box::pin(start.chain(pieces)));
    }
    let kind = if kind.is_empty() { "no content type".to_owned() } else { kind };
    Err(NoEventStream { kind, body: read_excerpt(pieces, start, patience).await })
}

/// How lines of server-sent events begin.
const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
/// Bytes by which they are told from other texts.
const BEGINNING_BYTES: usize = 8;

/// A body without the mark and the blank lines before its text.
fn beginning(body: &[u8]) -> &[u8] {
    body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start()
}

/// Shortens a text for an error message.
pub fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
