//! Publishes what connections of this node send to a session, in order, and numbers their lines ([`way_in`](super::decisions::way_in)).
//!
//! A line that is longer than a message goes in parts, on a subject beside that of the session; the message that stands for the
//! line names their sequences. Parts without that message, as of a node that was lost between them, are never looked at.

use super::{
    connection::{Connection, INPUT, max_message, max_part, subject},
    decisions::way_in::Entry,
    fenced::Attempt,
    input::{InputContent, InputMessage, LineNumber, client_input, name_parts, part_headers},
    records::find,
    session_record::{OutstandingCommand, TakenInput},
};
use async_nats::{HeaderMap, jetstream::message::PublishMessage};
use bytes::Bytes;
use pi_rpc_host::{HostError, Principal, WatcherMessage, WatcherQueue};
use pi_rpc_protocol::{Dialect, ReceivedControl, RpcErrorResponse};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
    /// The name of the client.
    pub client: String,
    /// Who it acts for; `None`: for who has opened the session.
    pub principal: Option<Arc<Principal>>,
    /// What it wants.
    pub content: PublishedContent,
    /// When it came.
    pub at: Instant,
}

/// What a client wants. The publisher numbers lines.
pub enum PublishedContent {
    /// A line of a connection, or the end of its input.
    Line(PublishingClient, ClientLine),
    /// A snapshot in the output.
    Snapshot,
    /// The end of the session.
    Close,
}

/// What a connection has written.
#[derive(Clone)]
pub enum ClientLine {
    /// A line without its line feed.
    Line(Bytes),
    /// A line that is too long, which gets this response.
    TooLong(Vec<u8>),
    /// The end of input.
    End,
}

/// The connection of a line.
#[derive(Clone)]
pub struct PublishingClient {
    /// Its number at this node.
    pub connection: u64,
    /// Its queue; `None`: it has left.
    pub queue: Option<Arc<WatcherQueue>>,
    /// The number with which it is announced.
    pub attachment: u64,
    /// The lines that the client was told to be received before this connection, if it is told of lines.
    pub told: Option<u64>,
}

/// How the lines of a client's newest connection are published.
struct Way {
    connection: u64,
    /// Lines that it has written.
    written: u64,
    state: WayState,
}

#[derive(Clone, Copy)]
enum WayState {
    /// It has not been announced.
    New,
    /// It was announced with this number, behind so many lines of the client.
    Entered { attachment: u64, before: u64 },
    /// Its client has to connect again.
    Outdated,
}

/// The way to the publisher of a session, with what waits there.
#[derive(Clone)]
pub struct Publications {
    messages: mpsc::UnboundedSender<Publication>,
    pending: Arc<PublicationBacklog>,
}

#[derive(Default)]
struct PublicationBacklog {
    bytes: AtomicUsize,
    /// Lines that wait, by the names of their clients.
    lines: Mutex<HashMap<String, usize>>,
    taken: Notify,
}

impl PublicationBacklog {
    fn lines(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, publication: &Publication) {
        self.bytes.fetch_sub(weight(publication), Ordering::Relaxed);
        if let PublishedContent::Line(..) = publication.content {
            let mut lines = self.lines();
            if let Some(count) = lines.get_mut(&publication.client) {
                *count -= 1;
                if *count == 0 {
                    lines.remove(&publication.client);
                }
            }
        }
        self.taken.notify_one();
    }
}

/// The other end of [`Publications`].
pub struct PublicationQueue {
    messages: mpsc::UnboundedReceiver<Publication>,
    pending: Arc<PublicationBacklog>,
}

/// The way to a publisher.
pub fn publications() -> (Publications, PublicationQueue) {
    let (sender, messages) = mpsc::unbounded_channel();
    let pending = Arc::<PublicationBacklog>::default();
    (Publications { messages: sender, pending: pending.clone() }, PublicationQueue { messages, pending })
}

impl Publications {
    /// Queues a message.
    pub fn push(&self, publication: Publication) {
        self.pending.bytes.fetch_add(weight(&publication), Ordering::Relaxed);
        if let PublishedContent::Line(..) = publication.content {
            *self.pending.lines().entry(publication.client.clone()).or_default() += 1;
        }
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

    /// Resolves when no line of the client waits.
    pub async fn no_line_of(&self, client: &str) {
        while self.pending.lines().contains_key(client) {
            self.taken().await;
        }
    }
}

fn weight(publication: &Publication) -> usize {
    let line = match &publication.content {
        PublishedContent::Line(_, ClientLine::Line(line)) => line.len(),
        _ => 0,
    };
    MESSAGE_OVERHEAD + line
}

/// Publishes messages until there are no more senders. The client of a line that NATS does not take gets an error.
pub async fn publish(connection: Connection, session: String, dialect: Dialect, mut queue: PublicationQueue) {
    let mut publisher = InputPublisher { connection, session, dialect, ways: HashMap::new() };
    while let Some(publication) = queue.messages.recv().await {
        publisher.publish(&publication).await;
        queue.pending.remove(&publication);
    }
}

/// Publishes the input of a session from this node.
struct InputPublisher {
    connection: Connection,
    session: String,
    dialect: Dialect,
    /// By the names of clients.
    ways: HashMap<String, Way>,
}

impl InputPublisher {
    async fn publish(&mut self, publication: &Publication) {
        let Publication { client, principal, content, at } = publication;
        let (client, principal) = (client.clone(), principal.clone());
        let content = match content {
            PublishedContent::Line(from, line) => {
                return self.publish_line(client, principal, from, line, *at).await;
            }
            PublishedContent::Snapshot => InputContent::Snapshot,
            PublishedContent::Close => InputContent::Close,
        };
        let message = InputMessage { client, principal, content };
        let published = publish_message(&self.connection, &self.session, &message, *at + GIVE_UP_AFTER).await;
        if let Err(GivenUp { reason, .. }) = published {
            tracing::error!("session {}: a message was given up: {reason}", self.session);
        }
    }

    async fn publish_line(
        &mut self,
        client: String,
        principal: Option<Arc<Principal>>,
        from: &PublishingClient,
        line: &ClientLine,
        at: Instant,
    ) {
        let due = at + GIVE_UP_AFTER;
        let way = self.ways.entry(client.clone()).or_insert_with(|| Way::new(from.connection));
        if way.connection != from.connection {
            *way = Way::new(from.connection);
        }
        way.written += 1;
        let written = way.written;
        let entered = match way.state {
            WayState::New => self.enter(&client, from, due).await,
            state => Ok(state),
        };
        if let (Ok(state), Some(way)) = (&entered, self.ways.get_mut(&client)) {
            way.state = *state;
        }
        let published = match (entered, line) {
            (Err(reason), _) => Err(reason),
            (Ok(WayState::New | WayState::Outdated), _) => {
                // What is not confirmed is sent again by the client.
                from.queue.iter().for_each(|queue| queue.close());
                return;
            }
            (Ok(WayState::Entered { attachment, before }), line) => {
                let number = LineNumber { attachment: Some(attachment), line: before + written };
                let content = match line {
                    ClientLine::Line(line) => InputContent::Line(number, line.clone()),
                    // Keeps its number: no later line may have it.
                    ClientLine::TooLong(_) => InputContent::Line(number, Bytes::new()),
                    ClientLine::End => InputContent::End(number),
                };
                let message = InputMessage { client: client.clone(), principal, content };
                publish_message(&self.connection, &self.session, &message, due).await
            }
        };
        let is_given_up = published.is_err();
        // One that NATS may still have is not answered to a client that sends again what is not confirmed.
        let is_open = from.told.is_some() && published.as_ref().is_err_and(|it| !it.is_certain);
        if let Err(GivenUp { reason, .. }) = &published {
            tracing::error!("session {}: a line was given up: {reason}", self.session);
        }
        let response = match (published, line) {
            (_, ClientLine::TooLong(response)) => Some(response.clone()),
            (Err(it), ClientLine::Line(line)) => refusal(line, self.dialect, &it.reason),
            _ => None,
        };
        // The lines behind it would be counted with it: the client sends them again by another connection.
        let is_over = is_given_up && from.told.is_some();
        if let Some(way) = self.ways.get_mut(&client).filter(|_| is_over) {
            way.state = WayState::Outdated;
        }
        let Some(queue) = &from.queue else { return };
        if let Some(line) = response.filter(|_| !is_open) {
            queue.push_message(WatcherMessage::Response(line));
        }
        if let Some(told) = from.told.filter(|_| !is_open) {
            queue.push_message(WatcherMessage::Received(ReceivedControl { lines: told + written }));
        }
        if is_over {
            queue.close();
        }
    }

    /// Announces a connection of a client.
    async fn enter(&self, client: &str, from: &PublishingClient, due: Instant) -> Result<WayState, GivenUp> {
        let Self { connection, session, .. } = self;
        let name = subject(INPUT, session);
        let mut attachment = from.attachment;
        loop {
            let taken = taken_input(connection, session).await?;
            let message = InputMessage {
                client: client.to_owned(),
                principal: None,
                content: InputContent::Attach(attachment),
            };
            let announced = publish_message(connection, session, &message, due).await;
            // The line itself was not published.
            let sequence = announced.map_err(|it| GivenUp::from(it.reason))?;
            let before = client_input(&connection.input, &name, &taken, client, sequence).await?;
            match Entry::judge(before, attachment, from.told) {
                Entry::Entered(before) => return Ok(WayState::Entered { attachment, before }),
                Entry::Outdated if from.told.is_some() => return Ok(WayState::Outdated),
                // A client that is told of no lines sends none again: it has this connection alone.
                Entry::Outdated if Instant::now() < due => {
                    attachment = before.next_attachment(taken.position)
                }
                Entry::Outdated => {
                    return Err("other connections of the client take its place".to_owned().into());
                }
            }
        }
    }
}

impl Way {
    const fn new(connection: u64) -> Self {
        Self { connection, written: 0, state: WayState::New }
    }
}

/// What an owner has taken of the session's input, by the record.
///
/// # Errors
///
/// NATS does not answer in time.
pub async fn taken_input(connection: &Connection, session: &str) -> Result<TakenInput, String> {
    Ok(find(connection, session).await?.map(|(record, _)| record.taken).unwrap_or_default())
}

/// Why a message was given up.
struct GivenUp {
    reason: String,
    /// Whether NATS will never have it.
    is_certain: bool,
}

impl From<String> for GivenUp {
    fn from(reason: String) -> Self {
        Self { reason, is_certain: true }
    }
}

async fn publish_message(
    connection: &Connection,
    session: &str,
    message: &InputMessage,
    due: Instant,
) -> Result<u64, GivenUp> {
    let name = subject(INPUT, session);
    let (mut headers, mut payload) = message.encode();
    let id = message.id(session);
    if payload.len() > max_message(&connection.client, &connection.input, &headers) {
        let sequences = publish_parts(connection, &name, (&headers, &payload), id.as_deref(), due).await?;
        name_parts(&mut headers, &sequences);
        payload = Bytes::new();
    }
    send(connection, &name, &headers, &payload, id, due).await
}

/// Publishes a payload in parts. Returns their sequences.
async fn publish_parts(
    connection: &Connection,
    name: &str,
    (headers, payload): (&HeaderMap, &Bytes),
    id: Option<&str>,
    due: Instant,
) -> Result<Vec<u64>, GivenUp> {
    let name = format!("{name}:parts");
    let headers = part_headers(headers);
    let max = max_part(&connection.client, &connection.input, &headers);
    if max == 0 {
        let reason = "its headers are longer than a message of this server (max_payload)".to_owned();
        return Err(GivenUp { reason, is_certain: true });
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
) -> Result<u64, GivenUp> {
    let mut is_certain = true;
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
            Err(Attempt::Refused(reason)) => {
                return Err(GivenUp { reason: format!("NATS refuses the command: {reason}"), is_certain });
            }
            Err(Attempt::Failed(reason)) if Instant::now() >= due => {
                let seconds = GIVE_UP_AFTER.as_secs();
                let reason = format!(
                    "NATS has not confirmed the command for {seconds} s, and whether it has an effect is not known: {reason}"
                );
                return Err(GivenUp { reason, is_certain: false });
            }
            Err(Attempt::Failed(reason)) => {
                is_certain = false;
                tracing::warn!("{name}: a line waits: {reason}");
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// The response to a command that was given up; `None`: the line is none.
fn refusal(line: &Bytes, dialect: Dialect, reason: &str) -> Option<Vec<u8>> {
    let (id, command) = OutstandingCommand::command_in(line, dialect)?;
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
