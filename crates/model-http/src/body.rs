//! Splits the body of an answer into server-sent events, however its bytes arrive.

use super::stray_json::StrayJson;
use bytes::{Buf as _, Bytes};
use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::{Stream, StreamExt, stream};
use std::{
    mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Size limit of one server-sent event, and of comments in a row, in bytes. The longest real events repeat a whole
/// answer.
pub const EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Size limit of a whole body in bytes. The answer itself is limited elsewhere; as one event per token it takes some
/// fifty times as many bytes.
pub const BODY_BYTES: usize = 1024 * 1024 * 1024;

/// A byte order mark, which some servers send first. The event parser panics at it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes of lines that are passed on at once, plus the rest of the last line.
const LINE_BATCH_BYTES: usize = 512;

/// One server-sent event, as a [`Reader`](pi_rpc_model::request::Reader) takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// The `event` field; `message` if there is none.
    pub name: String,
    /// The `data` field.
    pub data: String,
}

/// Parses the events in `pieces`, whose errors are texts for the answer. Yields such a text as its last item when the
/// body is no event stream, or an event or the whole body is too long.
///
/// The event parser scans an incomplete line again with each piece, and moves the rest of a piece with each line: it
/// gets long lines whole, and short ones a few at a time.
pub fn events(
    pieces: impl Stream<Item = Result<Bytes, String>> + Send,
) -> impl Stream<Item = Result<ServerSentEvent, String>> + Send {
    let unread = Arc::new(AtomicUsize::new(0));
    let pieces = Some(Box::pin(pieces));
    let (line, whole) = (Vec::new(), Bytes::new());
    let stray = StrayJson::default();
    let body = LineBuffer { pieces, line, whole, stray, read: 0, broken: None, unread: unread.clone() };
    let lines = stream::unfold(body, |mut body| async move { Some((body.next().await?, body)) });
    lines.eventsource().map(move |event| {
        unread.store(0, Ordering::Relaxed);
        event.map(|event| ServerSentEvent { name: event.event, data: event.data }).map_err(reason)
    })
}

/// The bytes of a body, grouped into lines.
struct LineBuffer<P> {
    /// The source of bytes; `None`: it has ended.
    pieces: Option<Pin<Box<P>>>,
    /// An incomplete line.
    line: Vec<u8>,
    /// Complete lines that are not passed on yet.
    whole: Bytes,
    /// Finds JSON among the lines.
    stray: StrayJson,
    /// Bytes read so far.
    read: usize,
    /// An error behind the complete lines.
    broken: Option<String>,
    /// Bytes passed on since the last event.
    unread: Arc<AtomicUsize>,
}

impl<P: Stream<Item = Result<Bytes, String>>> LineBuffer<P> {
    async fn next(&mut self) -> Option<Result<Bytes, String>> {
        if self.whole.is_empty() {
            let begins = self.read == 0;
            let read = match self.broken.take() {
                Some(broken) => Err(broken),
                None => self.read().await?,
            };
            if let Err(broken) = read.and_then(|()| self.check_text(begins)) {
                self.pieces = None;
                return Some(Err(broken));
            }
            self.whole = self.stray.mark(mem::take(&mut self.whole));
        }
        let after = self.whole.len().min(LINE_BATCH_BYTES);
        let rest = memchr::memchr(b'\n', &self.whole[after..]);
        Some(Ok(self.whole.split_to(rest.map_or(self.whole.len(), |at| after + at + 1))))
    }

    /// Checks new lines for UTF-8, and the first ones (`begins`) for a byte order mark. The event parser would hold
    /// back invalid UTF-8 until the body ends.
    fn check_text(&mut self, begins: bool) -> Result<(), String> {
        if begins && self.whole.starts_with(BYTE_ORDER_MARK) {
            self.whole.advance(BYTE_ORDER_MARK.len());
        }
        let Err(error) = str::from_utf8(&self.whole) else { return Ok(()) };
        let valid = &self.whole[..error.valid_up_to()];
        self.whole.truncate(memchr::memrchr2(b'\n', b'\r', valid).map_or(0, |at| at + 1));
        self.pieces = None;
        if self.whole.is_empty() {
            return Err(NOT_UTF8.to_owned());
        }
        self.broken = Some(NOT_UTF8.to_owned());
        Ok(())
    }

    /// Reads until there are complete lines; `None`: the body has ended.
    async fn read(&mut self) -> Option<Result<(), String>> {
        let pieces = self.pieces.as_mut()?;
        loop {
            let mut piece = match pieces.next().await {
                Some(Ok(piece)) => piece,
                None => {
                    // Some servers leave out the blank line after the last event. A cut event fails as JSON.
                    self.line.extend_from_slice(b"\n\n");
                    (self.pieces, self.whole) = (None, mem::take(&mut self.line).into());
                    return Some(Ok(()));
                }
                Some(Err(broken)) => return Some(Err(broken)),
            };
            self.read += piece.len();
            if self.read > BODY_BYTES {
                return Some(Err(format!("The provider's answer takes more than {BODY_BYTES} bytes")));
            }
            if self.unread.fetch_add(piece.len(), Ordering::Relaxed) + piece.len() > EVENT_BYTES {
                let reason =
                    format!("terminated: the provider sent an event of more than {EVENT_BYTES} bytes");
                return Some(Err(reason));
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

const NOT_UTF8: &str = "terminated: the provider's answer is not UTF-8";

fn reason(error: EventStreamError<String>) -> String {
    match error {
        EventStreamError::Transport(reason) => reason,
        EventStreamError::Utf8(_) => NOT_UTF8.to_owned(),
        EventStreamError::Parser(_) => "terminated: the provider's answer is no event stream".to_owned(),
    }
}
