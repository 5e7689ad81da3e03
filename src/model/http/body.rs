//! The body of an answer, as it comes: bounded in every direction.

use super::seconds;
use bytes::{Buf, Bytes};
use eventsource_stream::EventStreamError;
use futures_util::{Stream, stream};
use reqwest::{Response, header::CONTENT_TYPE};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tokio::time::timeout;

/// Bytes of one server-sent event, and of comments in a row. The longest real ones repeat a whole answer.
pub const EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a whole body: what an answer says is limited elsewhere, and takes some fifty times as many bytes here where
/// each token is an event.
pub const BODY_BYTES: usize = 1024 * 1024 * 1024;
/// Bytes that are read of the body of an error.
const ERROR_BYTES: usize = 64 * 1024;
/// Characters that are shown of what is not JSON.
const SHOWN: usize = 1000;

/// The body in whole lines, each piece within `idle`; `unread` grows by their lengths, and is set back by whoever makes
/// events. A reader of lines starts a line over with each piece, and moves what is left of a piece with each line: it is
/// given long lines whole, and a few short ones at a time.
pub fn lines(
    response: Response,
    idle: Duration,
    unread: &AtomicUsize,
) -> impl Stream<Item = Result<Bytes, Broken>> {
    let body =
        Body { response: Some(response), line: Vec::new(), whole: Bytes::new(), read: 0, broken: None };
    stream::unfold(body, move |mut body| async move { Some((body.next(idle, unread).await?, body)) })
}

/// A body that is read.
struct Body {
    /// `None`: it has ended.
    response: Option<Response>,
    /// The beginning of a line.
    line: Vec<u8>,
    /// Whole lines that were not given away yet.
    whole: Bytes,
    /// Bytes so far.
    read: usize,
    /// What is wrong behind the whole lines.
    broken: Option<Broken>,
}

/// What some servers begin a text with. The reader of events panics at it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes of lines that are given away at once, and the line that is begun.
const FEW_LINES: usize = 512;

impl Body {
    async fn next(&mut self, idle: Duration, unread: &AtomicUsize) -> Option<Result<Bytes, Broken>> {
        if self.whole.is_empty() {
            let begins = self.read == 0;
            let read = match self.broken.take() {
                Some(broken) => Err(broken),
                None => self.read(idle, unread).await?,
            };
            if let Err(broken) = read.and_then(|()| self.look(begins)) {
                self.response = None;
                return Some(Err(broken));
            }
        }
        let after = self.whole.len().min(FEW_LINES);
        let rest = memchr::memchr(b'\n', &self.whole[after..]);
        Some(Ok(self.whole.split_to(rest.map_or(self.whole.len(), |at| after + at + 1))))
    }

    /// Looks through lines that were read, of which `begins` says that they are the first. The reader of events would keep
    /// what is no UTF-8 until the body ends, and say nothing meanwhile.
    fn look(&mut self, begins: bool) -> Result<(), Broken> {
        if begins && self.whole.starts_with(BYTE_ORDER_MARK) {
            self.whole.advance(BYTE_ORDER_MARK.len());
        }
        let Err(error) = str::from_utf8(&self.whole) else { return Ok(()) };
        let valid = &self.whole[..error.valid_up_to()];
        self.whole.truncate(memchr::memrchr2(b'\n', b'\r', valid).map_or(0, |at| at + 1));
        self.response = None;
        if self.whole.is_empty() {
            return Err(Broken::NotUtf8);
        }
        self.broken = Some(Broken::NotUtf8);
        Ok(())
    }

    /// Reads until there are whole lines; `None`: nothing more comes.
    async fn read(&mut self, idle: Duration, unread: &AtomicUsize) -> Option<Result<(), Broken>> {
        let response = self.response.as_mut()?;
        loop {
            let mut piece = match timeout(idle, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => {
                    // Some servers leave out the blank line after the last event. A cut event is no JSON: it fails.
                    self.line.extend_from_slice(b"\n\n");
                    (self.response, self.whole) = (None, std::mem::take(&mut self.line).into());
                    return Some(Ok(()));
                }
                Ok(Err(error)) => return Some(Err(Broken::Connection(error))),
                Err(_) => return Some(Err(Broken::Silent)),
            };
            self.read += piece.len();
            if self.read > BODY_BYTES {
                return Some(Err(Broken::TooMuch));
            }
            if unread.fetch_add(piece.len(), Ordering::Relaxed) + piece.len() > EVENT_BYTES {
                return Some(Err(Broken::TooLong));
            }
            let Some(end) = memchr::memrchr2(b'\n', b'\r', &piece) else {
                self.line.extend_from_slice(&piece);
                continue;
            };
            let rest = piece.split_off(end + 1);
            self.whole = match self.line.is_empty() {
                true => piece,
                false => [&self.line[..], &piece].concat().into(),
            };
            self.line = rest.to_vec();
            return Some(Ok(()));
        }
    }
}

/// Why a body ends too early.
pub enum Broken {
    /// The connection broke.
    Connection(reqwest::Error),
    /// Nothing came in time.
    Silent,
    /// An event without end.
    TooLong,
    /// A body without end.
    TooMuch,
    /// Bytes that are no text.
    NotUtf8,
}

/// What is said of it.
pub fn broken(error: EventStreamError<Broken>, idle: Duration) -> String {
    match error {
        EventStreamError::Transport(Broken::Connection(error)) => {
            format!("terminated: {}", super::chain(error))
        }
        EventStreamError::Transport(Broken::Silent) => {
            format!("terminated: the provider was silent for {}", seconds(idle))
        }
        EventStreamError::Transport(Broken::TooLong) => {
            format!("terminated: the provider sent an event of more than {EVENT_BYTES} bytes")
        }
        EventStreamError::Transport(Broken::TooMuch) => {
            format!("The provider's answer takes more than {BODY_BYTES} bytes")
        }
        EventStreamError::Utf8(_) | EventStreamError::Transport(Broken::NotUtf8) => {
            "terminated: the provider's answer is not UTF-8".to_owned()
        }
        EventStreamError::Parser(_) => "terminated: the provider's answer is no event stream".to_owned(),
    }
}

/// The body as far as it is worth reading; what does not come in time is left out.
pub async fn beginning(mut response: Response, patience: Duration) -> String {
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
pub fn shown(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What the body is said to be, where that cannot be an event stream. Servers that do not say are believed.
pub fn other_kind(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    (kind.contains("json") || kind.contains("html")).then_some(kind)
}
