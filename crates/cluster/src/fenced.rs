//! Appends to a subject of a stream, each message behind the last one that the writer knows: JetStream refuses it if another
//! writer was there. That is the fence which an owner that was replaced cannot pass.

use super::{
    connection::{max_message, max_part},
    lease::Lease,
};
use async_nats::{
    HeaderMap,
    jetstream::{
        self, Context, ErrorCode,
        context::{PublishError, PublishErrorKind},
        message::{PublishMessage, StreamMessage},
        stream::{LastRawMessageErrorKind, Stream},
    },
};
use bytes::Bytes;
use std::{
    error::Error as _,
    time::{Duration, Instant},
};

/// Names the write in a message's headers, so that one whose acknowledgement was lost is recognised.
const WRITE: &str = "Pi-Rpc-Write";
/// Which part of a record a message is, from 1 on, and how many there are: `2/3`.
const PART: &str = "Pi-Rpc-Part";

/// How long to wait before a write is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// How long a write is tried: the leader of a stream that was lost is replaced within 10 seconds.
const GIVE_UP_AFTER: Duration = Duration::from_secs(30);

/// Why nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another writer has appended: this one is no longer the owner.
    #[error("another node has taken the session over")]
    Fenced,
    /// NATS refuses the message; the next one may be accepted.
    #[error("NATS refuses it: {0}")]
    Refused(String),
    /// The lease of the node has ended before NATS has answered, or it has not answered for long.
    #[error("the node has lost its lease: NATS cannot be reached")]
    LeaseLost,
}

/// The writer of a subject.
pub struct FencedSubject {
    context: Context,
    stream: Stream,
    subject: String,
    lease: Lease,
    /// The sequence of the last message on the subject; 0: there is none.
    last: u64,
    /// Names this writer.
    writer: String,
    writes: u64,
}

impl FencedSubject {
    /// A writer that continues behind the message with the sequence `last`.
    pub fn new(context: &Context, stream: &Stream, subject: String, last: u64, lease: Lease) -> Self {
        let writer = format!("{:016x}", pi_rpc_server::seed());
        let (context, stream) = (context.clone(), stream.clone());
        Self { context, stream, subject, lease, last, writer, writes: 0 }
    }

    /// The sequence of the last message.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Appends a record, in several messages if it is long. Waits while NATS cannot be reached.
    ///
    /// # Errors
    ///
    /// Another writer was faster, NATS refuses it, or the lease has ended.
    pub async fn append(&mut self, headers: &HeaderMap, payload: Bytes) -> Result<u64, AppendError> {
        let parts = split(&payload, max_part(&self.context.client(), &self.stream, headers))?;
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            let mut headers = headers.clone();
            if count > 1 {
                headers.insert(PART, format!("{}/{count}", at + 1));
            }
            self.publish(headers, part).await?;
        }
        Ok(self.last)
    }

    /// The largest record without headers that [`append_whole`](Self::append_whole) takes, in bytes.
    pub fn max_whole(&self) -> usize {
        max_message(&self.context.client(), &self.stream, &HeaderMap::new())
    }

    /// Appends a record without headers as one message: readers take the last message of the subject alone.
    ///
    /// # Errors
    ///
    /// It is longer than [`max_whole`](Self::max_whole), or as [`append`](Self::append).
    pub async fn append_whole(&mut self, payload: Bytes) -> Result<u64, AppendError> {
        let (length, max) = (payload.len(), self.max_whole());
        if length > max {
            let reason = format!("it has {length} bytes, and a message of this server {max} (max_payload)");
            return Err(AppendError::Refused(reason));
        }
        self.publish(HeaderMap::new(), payload).await.map(|()| self.last)
    }

    async fn publish(&mut self, mut headers: HeaderMap, payload: Bytes) -> Result<(), AppendError> {
        self.writes += 1;
        let write = format!("{}:{}", self.writer, self.writes);
        headers.insert(WRITE, write.as_str());
        let mut lost = self.lease.clone();
        let due = Instant::now() + GIVE_UP_AFTER;
        while Instant::now() < due {
            let attempt = self.attempt(&write, headers.clone(), payload.clone());
            let outcome = tokio::select! {
                outcome = attempt => outcome,
                () = lost.lost() => return Err(AppendError::LeaseLost),
            };
            match outcome {
                Ok(Some(sequence)) => {
                    self.last = sequence;
                    return Ok(());
                }
                Ok(None) => return Err(AppendError::Fenced),
                Err(Attempt::Refused(reason)) => return Err(AppendError::Refused(reason)),
                Err(Attempt::Failed(error)) => tracing::debug!("{}: {error}", self.subject),
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY_DELAY) => {}
                () = lost.lost() => return Err(AppendError::LeaseLost),
            }
        }
        Err(AppendError::LeaseLost)
    }

    /// The sequence of the message; `None`: another writer was there.
    async fn attempt(&self, write: &str, headers: HeaderMap, payload: Bytes) -> Result<Option<u64>, Attempt> {
        let message = PublishMessage::build()
            .headers(headers)
            .payload(payload)
            .message_id(write)
            .expected_last_subject_sequence(self.last);
        let sent = self.context.send_publish(self.subject.clone(), message).await;
        let error = match sent {
            Ok(acknowledged) => match acknowledged.await {
                Ok(ack) => return Ok(Some(ack.sequence)),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if !is_wrong_sequence(&error) {
            return Err(Attempt::from(error));
        }
        // The message of an attempt before, whose acknowledgement was lost, is this one.
        match last_message(&self.stream, &self.subject).await {
            Ok(Some(last)) if header(&last.headers, WRITE) == Some(write) => Ok(Some(last.sequence)),
            Ok(_) => Ok(None),
            Err(error) => Err(Attempt::Failed(error)),
        }
    }
}

/// The parts of a payload, each at most `max` bytes; one if it is empty.
fn split(payload: &Bytes, max: usize) -> Result<Vec<Bytes>, AppendError> {
    if max == 0 {
        return Err(AppendError::Refused("its headers are longer than a message (max_payload)".to_owned()));
    }
    let count = payload.len().div_ceil(max).max(1);
    Ok((0..count).map(|part| payload.slice(part * max..payload.len().min((part + 1) * max))).collect())
}

/// Why an attempt has led to nothing.
#[derive(Debug)]
pub enum Attempt {
    /// It may be tried again.
    Failed(String),
    /// It would be refused again.
    Refused(String),
}

impl From<PublishError> for Attempt {
    fn from(error: PublishError) -> Self {
        let text = error.to_string();
        match (error.kind(), code(&error)) {
            (PublishErrorKind::MaxPayloadExceeded, _)
            | (
                _,
                Some(
                    ErrorCode::STREAM_STORE_FAILED
                    | ErrorCode::STORAGE_RESOURCES_EXCEEDED
                    | ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM
                    | ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM,
                ),
            ) => Self::Refused(text),
            _ => Self::Failed(text),
        }
    }
}

fn code(error: &PublishError) -> Option<ErrorCode> {
    Some(error.source()?.downcast_ref::<jetstream::Error>()?.error_code())
}

/// Whether the last message of the subject is another one than the writer expects.
pub fn is_wrong_sequence(error: &PublishError) -> bool {
    error.kind() == PublishErrorKind::WrongLastSequence
        || code(error) == Some(ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
}

/// The last message of a subject, from the leader of the stream.
pub async fn last_message(stream: &Stream, subject: &str) -> Result<Option<StreamMessage>, String> {
    match stream.get_last_raw_message_by_subject(subject).await {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// A header as text.
pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(async_nats::HeaderValue::as_str)
}

/// A header as a number.
pub fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    header(headers, name)?.parse().ok()
}

/// Joins the parts of long records.
#[derive(Default)]
pub struct Parts {
    bytes: Vec<u8>,
    /// Parts that are there.
    count: usize,
}

impl Parts {
    /// Adds a message. Returns the payload of the record once it is whole; a record whose end is missing is dropped.
    pub fn push(&mut self, headers: &HeaderMap, payload: Bytes) -> Option<Bytes> {
        let part = header(headers, PART).and_then(|part| {
            let (part, count) = part.split_once('/')?;
            Some((part.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        });
        let Some((part, count)) = part else {
            *self = Self::default();
            return Some(payload);
        };
        if part == 1 {
            *self = Self::default();
        } else if part != self.count + 1 {
            *self = Self::default();
            return None;
        }
        self.bytes.extend_from_slice(&payload);
        self.count = part;
        (part == count).then(|| std::mem::take(self).bytes.into())
    }
}
