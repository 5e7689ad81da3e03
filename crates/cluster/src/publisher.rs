//! Publishes what connections of this node send to a session, in order.
//!
//! A line that is longer than a message goes in parts, on a subject beside that of the session; the message that stands for the
//! line names their sequences. Parts without that message, as of a node that was lost between them, are never looked at.

use super::{
    connection::{Connection, INPUT, max_message, max_part, subject},
    fenced::Attempt,
    input::{InputContent, InputMessage, name_parts, part_headers},
    records::OutstandingCommand,
};
use async_nats::{HeaderMap, jetstream::message::PublishMessage};
use bytes::Bytes;
use pi_rpc_host::{HostError, WatcherMessage, WatcherQueue};
use pi_rpc_protocol::{Dialect, ReceivedControl, RpcErrorResponse};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{Notify, mpsc};

/// How long to wait before a message is published again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// How long a message is tried from when it came: the leader of a stream that was lost is replaced within 10 seconds.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// Bytes that a message takes besides its line.
const MESSAGE_OVERHEAD: usize = 256;

/// A message to be published.
pub struct Publication {
    /// The message.
    pub message: InputMessage,
    /// The client that it is from, if it is connected here.
    pub client: Option<PublishingClient>,
    /// When it came.
    pub at: Instant,
}

/// A client that is told what becomes of its line.
pub struct PublishingClient {
    /// Its queue.
    pub queue: Arc<WatcherQueue>,
    /// The lines that it has written with this one, if it is told of those that were received.
    pub received: Option<u64>,
}

/// The way to the publisher of a session, with what waits there.
#[derive(Clone)]
pub struct Publications {
    messages: mpsc::UnboundedSender<Publication>,
    pending: Arc<Pending>,
}

#[derive(Default)]
struct Pending {
    bytes: AtomicUsize,
    taken: Notify,
}

/// The other end of [`Publications`].
pub struct PublicationQueue {
    messages: mpsc::UnboundedReceiver<Publication>,
    pending: Arc<Pending>,
}

/// The way to a publisher.
pub fn publications() -> (Publications, PublicationQueue) {
    let (sender, messages) = mpsc::unbounded_channel();
    let pending = Arc::<Pending>::default();
    (Publications { messages: sender, pending: pending.clone() }, PublicationQueue { messages, pending })
}

impl Publications {
    /// Queues a message.
    pub fn push(&self, publication: Publication) {
        self.pending.bytes.fetch_add(weight(&publication.message), Ordering::Relaxed);
        // The publisher ends only after all senders.
        let _ = self.messages.send(publication);
    }

    /// Bytes that wait.
    pub fn pending_bytes(&self) -> usize {
        self.pending.bytes.load(Ordering::Relaxed)
    }

    /// Resolves when a message that waited was published or given up. Cancel-safe.
    pub async fn taken(&self) {
        self.pending.taken.notified().await;
    }
}

fn weight(message: &InputMessage) -> usize {
    let line = match &message.content {
        InputContent::Line(_, line) => line.len(),
        InputContent::End(_) | InputContent::Snapshot | InputContent::Close => 0,
    };
    MESSAGE_OVERHEAD + line
}

/// Publishes messages until there are no more senders. The client of a line that NATS does not take gets an error.
pub async fn publish(connection: Connection, session: String, dialect: Dialect, mut queue: PublicationQueue) {
    while let Some(publication) = queue.messages.recv().await {
        let Publication { message, client, at } = publication;
        let due = at + GIVE_UP_AFTER;
        let published = publish_message(&connection, &session, &message, due).await;
        if let Err(reason) = &published {
            tracing::error!("session {session}: a message was given up: {reason}");
            if let Some(line) = refusal(&message, dialect, reason)
                && let Some(client) = &client
            {
                client.queue.push_message(WatcherMessage::Response(line));
            }
        }
        if let Some(PublishingClient { queue, received: Some(lines) }) = client {
            queue.push_message(WatcherMessage::Received(ReceivedControl { lines }));
        }
        queue.pending.bytes.fetch_sub(weight(&message), Ordering::Relaxed);
        queue.pending.taken.notify_one();
    }
}

async fn publish_message(
    connection: &Connection,
    session: &str,
    message: &InputMessage,
    due: Instant,
) -> Result<(), String> {
    let name = subject(INPUT, session);
    let (mut headers, mut payload) = message.encode();
    let id = message.id(session);
    if payload.len() > max_message(&connection.client, &connection.input, &headers) {
        let sequences = publish_parts(connection, &name, (&headers, &payload), id.as_deref(), due).await?;
        name_parts(&mut headers, &sequences);
        payload = Bytes::new();
    }
    send(connection, &name, &headers, &payload, id, due).await.map(drop)
}

/// Publishes a payload in parts. Returns their sequences.
async fn publish_parts(
    connection: &Connection,
    name: &str,
    (headers, payload): (&HeaderMap, &Bytes),
    id: Option<&str>,
    due: Instant,
) -> Result<Vec<u64>, String> {
    let name = format!("{name}:parts");
    let headers = part_headers(headers);
    let max = max_part(&connection.client, &connection.input, &headers);
    if max == 0 {
        return Err("its headers are longer than a message of this server (max_payload)".to_owned());
    }
    // Parts of a line that is sent again, perhaps by way of another node, are recognised; those of another text are not.
    let mut hasher = DefaultHasher::new();
    (payload, max).hash(&mut hasher);
    let hash = hasher.finish();
    let mut sequences = Vec::new();
    for (at, start) in (0..payload.len()).step_by(max).enumerate() {
        let part = payload.slice(start..payload.len().min(start + max));
        let id = id.map(|id| format!("{id}:{hash:016x}:{at}"));
        sequences.push(send(connection, &name, &headers, &part, id, due).await?);
    }
    Ok(sequences)
}

/// Publishes one message until NATS has it. Returns its sequence.
async fn send(
    connection: &Connection,
    name: &str,
    headers: &HeaderMap,
    payload: &Bytes,
    id: Option<String>,
    due: Instant,
) -> Result<u64, String> {
    loop {
        let mut publish = PublishMessage::build().headers(headers.clone()).payload(payload.clone());
        if let Some(id) = &id {
            publish = publish.message_id(id);
        }
        let sent = connection.context.send_publish(name.to_owned(), publish).await;
        let acknowledged = match sent {
            Ok(acknowledged) => acknowledged.await,
            Err(error) => Err(error),
        };
        match acknowledged.map_err(Attempt::from) {
            Ok(ack) => return Ok(ack.sequence),
            Err(Attempt::Refused(reason)) => return Err(format!("NATS refuses the command: {reason}")),
            Err(Attempt::Failed(reason)) if Instant::now() >= due => {
                let seconds = GIVE_UP_AFTER.as_secs();
                return Err(format!(
                    "NATS has not confirmed the command for {seconds} s, and whether it has an effect is not known: {reason}"
                ));
            }
            Err(Attempt::Failed(reason)) => tracing::warn!("{name}: a line waits: {reason}"),
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// The response to a command that was given up; `None`: it is none.
fn refusal(message: &InputMessage, dialect: Dialect, reason: &str) -> Option<Vec<u8>> {
    let OutstandingCommand { id, command, .. } = OutstandingCommand::read(message, dialect)?;
    let error = HostError::ClusterUnavailable(reason.to_owned()).text();
    Some(error_line(&RpcErrorResponse { id, command, error, code: None }))
}

/// The line of a response, line feed included.
pub fn error_line(response: &RpcErrorResponse) -> Vec<u8> {
    // Generated types always serialize.
    let mut line = serde_json::to_vec(response).unwrap_or_default();
    line.push(b'\n');
    line
}
