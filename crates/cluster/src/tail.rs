//! Reads a subject of a stream in order, and waits for what comes.
//!
//! JetStream republishes each message once it is stored, with its sequence and that of the one before: as long as they follow each
//! other, nothing is asked for. A gap, as after a change of servers, is filled by reading the stream.

use super::{
    connection::Connection,
    fenced::{Parts, header, number},
};
use async_nats::{
    HeaderMap, Subscriber,
    jetstream::{
        consumer::{AckPolicy, DeliverPolicy, pull},
        stream::{DirectGetErrorKind, Stream},
    },
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use std::time::{Duration, Instant};

/// How long a silent subject is trusted to be silent.
const POLL: Duration = Duration::from_secs(2);

/// How long to wait before a read is tried again, as for a message that a copy of the stream does not have yet.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Messages that are fetched at once.
const BATCH: usize = 500;

/// How long a batch may take.
const BATCH_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a read is tried: the leader of a stream that was lost is replaced within 10 seconds.
const READ_FOR: Duration = Duration::from_secs(15);

/// A record of a stream; long ones are joined.
#[derive(Debug)]
pub struct Stored {
    /// Its subject.
    pub subject: String,
    /// The stream sequence of its last message.
    pub sequence: u64,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its content.
    pub payload: Bytes,
}

/// The reader of a subject.
pub struct Tail {
    stream: Stream,
    subject: String,
    subscription: Subscriber,
    parts: Parts,
    /// The sequence of the last message that was read.
    last: u64,
    /// A message up to which the stream has to be read.
    wanted: u64,
    /// Whether the stream is to be asked for the next message.
    is_behind: bool,
}

impl Tail {
    /// A reader of what follows the message with the sequence `after`.
    ///
    /// # Errors
    ///
    /// The client is closed.
    pub async fn start(
        connection: &Connection,
        stream: &Stream,
        subject: String,
        after: u64,
    ) -> Result<Self, String> {
        let stored = subject.replacen("pi-rpc.", "pi-rpc.stored.", 1);
        let subscription = connection.client.subscribe(stored).await.map_err(|error| error.to_string())?;
        let (stream, parts) = (stream.clone(), Parts::default());
        Ok(Self { stream, subject, subscription, parts, last: after, wanted: 0, is_behind: true })
    }

    /// The next record. Cancel-safe.
    pub async fn next(&mut self) -> Stored {
        loop {
            let (sequence, headers, payload) = self.next_message().await;
            self.last = sequence;
            if let Some(payload) = self.parts.push(&headers, payload) {
                let subject = self.subject.clone();
                return Stored { subject, sequence, headers, payload };
            }
        }
    }

    async fn next_message(&mut self) -> (u64, HeaderMap, Bytes) {
        loop {
            if self.is_behind {
                let next = self.stream.direct_get_builder().next_by_subject(self.subject.as_str());
                match next.sequence(self.last + 1).send().await {
                    Ok(message) => {
                        self.is_behind = message.sequence < self.wanted;
                        return (message.sequence, message.headers, message.payload);
                    }
                    Err(error)
                        if error.kind() == DirectGetErrorKind::NotFound && self.wanted <= self.last =>
                    {
                        self.is_behind = false;
                    }
                    Err(_) => {
                        tokio::time::sleep(RETRY_DELAY).await;
                        continue;
                    }
                }
            }
            match tokio::time::timeout(POLL, self.subscription.next()).await {
                Ok(Some(message)) => {
                    let headers = message.headers.unwrap_or_default();
                    let sequence = number(&headers, "Nats-Sequence").unwrap_or_default();
                    let before = number(&headers, "Nats-Last-Sequence").unwrap_or_default();
                    if sequence <= self.last {
                        continue;
                    }
                    if before <= self.last && header(&headers, "Nats-Last-Sequence").is_some() {
                        return (sequence, headers, message.payload);
                    }
                    (self.wanted, self.is_behind) = (sequence, true);
                }
                Ok(None) => tokio::time::sleep(POLL).await,
                Err(_) => self.is_behind = true,
            }
        }
    }
}

/// How far a subject was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadEnd {
    /// The stream sequence of the last message; 0: there is none.
    pub last: u64,
    /// The stream sequence of the last message that ends a record: parts of one without its end may follow.
    pub whole: u64,
}

/// All records of a subject, or of all that a wildcard stands for, and how far they go.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn read_all(
    stream: &Stream,
    subject: &str,
    mut take: impl FnMut(Stored),
) -> Result<ReadEnd, String> {
    let (mut end, mut parts) = (ReadEnd::default(), Parts::default());
    let attempts = ReadAttempts::start();
    while let Err(error) = read_on(stream, subject, &mut end, &mut parts, &mut take).await {
        attempts.wait(error).await?;
    }
    Ok(end)
}

/// Reads what follows the last message that was read, up to what is stored when it begins.
async fn read_on(
    stream: &Stream,
    subject: &str,
    end: &mut ReadEnd,
    parts: &mut Parts,
    take: &mut impl FnMut(Stored),
) -> Result<(), String> {
    let config = pull::Config {
        filter_subject: subject.to_owned(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: end.last + 1 },
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(10),
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await.map_err(|error| error.to_string())?;
    let mut pending = consumer.cached_info().num_pending;
    while pending > 0 {
        let batch = consumer.fetch().max_messages(BATCH).expires(BATCH_TIMEOUT).messages().await;
        let mut batch = batch.map_err(|error| error.to_string())?;
        let mut is_empty = true;
        while let Some(message) = batch.next().await {
            let message = message.map_err(|error| error.to_string())?;
            let info = message.info().map_err(|error| error.to_string())?;
            (end.last, pending, is_empty) = (info.stream_sequence, info.pending, false);
            let message = message.message;
            let headers = message.headers.unwrap_or_default();
            if let Some(payload) = parts.push(&headers, message.payload) {
                end.whole = end.last;
                take(Stored { subject: message.subject.to_string(), sequence: end.last, headers, payload });
            }
        }
        if is_empty {
            return Err(format!("{subject}: NATS has not sent what is stored in time"));
        }
    }
    let name = consumer.cached_info().name.clone();
    // A consumer that stays is gone with its threshold.
    let _ = stream.delete_consumer(&name).await;
    Ok(())
}

/// The attempts of a read.
pub struct ReadAttempts {
    end: Instant,
}

impl ReadAttempts {
    /// Begins now.
    pub fn start() -> Self {
        Self { end: Instant::now() + READ_FOR }
    }

    /// Waits for the next attempt.
    ///
    /// # Errors
    ///
    /// `error`, that of the last attempt, once there are no more.
    pub async fn wait(&self, error: String) -> Result<(), String> {
        if Instant::now() >= self.end {
            return Err(error);
        }
        tracing::debug!("NATS: {error}");
        tokio::time::sleep(RETRY_DELAY).await;
        Ok(())
    }
}
