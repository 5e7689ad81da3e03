//! The body of an answer: pieces of bytes, however it was cut, and the server-sent events in them.

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

/// Bytes of one server-sent event, and of comments in a row. The longest real ones repeat a whole answer.
pub const EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a whole body: what an answer says is limited elsewhere, and takes some fifty times as many bytes here where
/// each token is an event.
pub const BODY_BYTES: usize = 1024 * 1024 * 1024;

/// What some servers begin a text with. The reader of events panics at it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes of lines that are given away at once, and the line that is begun.
const LINE_BATCH_BYTES: usize = 512;

/// One server-sent event, as a [`Reader`](super::request::Reader) takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// Its `event` field; `message` where it has none.
    pub name: String,
    /// Its `data`.
    pub data: String,
}

/// The events in `pieces`, whose own failures are texts for the answer. Fails with such a text where there is no event
/// stream, and where an event or all of it is too long; nothing comes after a failure.
///
/// A reader of lines starts a line over with each piece, and moves what is left of a piece with each line: it is given
/// long lines whole, and a few short ones at a time.
pub fn events(
    pieces: impl Stream<Item = Result<Bytes, String>> + Send,
) -> impl Stream<Item = Result<ServerSentEvent, String>> + Send {
    let unread = Arc::new(AtomicUsize::new(0));
    let pieces = Some(Box::pin(pieces));
    let (line, whole) = (Vec::new(), Bytes::new());
    let body = LineBuffer { pieces, line, whole, read: 0, broken: None, unread: unread.clone() };
    let lines = stream::unfold(body, |mut body| async move { Some((body.next().await?, body)) });
    lines.eventsource().map(move |event| {
        unread.store(0, Ordering::Relaxed);
        event.map(|event| ServerSentEvent { name: event.event, data: event.data }).map_err(reason)
    })
}

/// A body that is read.
struct LineBuffer<P> {
    /// `None`: it has ended.
    pieces: Option<Pin<Box<P>>>,
    /// The beginning of a line.
    line: Vec<u8>,
    /// Whole lines that were not given away yet.
    whole: Bytes,
    /// Bytes so far.
    read: usize,
    /// What is wrong behind the whole lines.
    broken: Option<String>,
    /// Bytes since the last event.
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
        }
        let after = self.whole.len().min(LINE_BATCH_BYTES);
        let rest = memchr::memchr(b'\n', &self.whole[after..]);
        Some(Ok(self.whole.split_to(rest.map_or(self.whole.len(), |at| after + at + 1))))
    }

    /// Looks through lines that were read, of which `begins` says that they are the first. The reader of events would keep
    /// what is no UTF-8 until the body ends, and say nothing meanwhile.
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

    /// Reads until there are whole lines; `None`: nothing more comes.
    async fn read(&mut self) -> Option<Result<(), String>> {
        let pieces = self.pieces.as_mut()?;
        loop {
            let mut piece = match pieces.next().await {
                Some(Ok(piece)) => piece,
                None => {
                    // Some servers leave out the blank line after the last event. A cut event is no JSON: it fails.
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
