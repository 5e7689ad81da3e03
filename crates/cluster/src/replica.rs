//! A session as clients of this node see it, whichever node owns it: frames come from the output stream, lines go to the input
//! stream.

use super::{
    connection::{Connection, INPUT, OUTPUT, subject},
    input::{ALL_CLIENTS, client_input},
    output::{self, Batch, OutputContent, OutputItem},
    publisher::{
        self, Publication, Publications, PublishedContent, PublishingClient, error_line, publications,
        publish, taken_input,
    },
    session_record::SessionRecord,
    tail::{Tail, read_all},
};
use pi_rpc_host::{
    Attach, Attached, ClientId, ClientLine, Journal, Principal, SessionEnd, SessionHandle, SessionInfo,
    SessionLimits, SessionOwner, SessionRequest, UsageBook, WatcherMessage, WatcherQueue, permit,
};
use pi_rpc_protocol::{Dialect, Encoder, RpcErrorResponse, SessionEndedEvent, SessionState, errors};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

/// Lines of clients that wait to be published.
const LINE_CAPACITY: usize = 64;

/// Requests of connections that wait.
const REQUEST_CAPACITY: usize = 16;

/// How long a session without clients on this node is followed.
const FOLLOWED_WHILE_UNWATCHED: Duration = Duration::from_secs(30);

/// How long a client that comes back waits for the lines of its last connection.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(15);

/// Name of the client that asks for the state, up to a random number.
const STATE_CLIENT: &str = "pi-rpc-state:";

struct Client {
    key: String,
    principal: Arc<Principal>,
    connection: u64,
    queue: Option<Arc<WatcherQueue>>,
    has_messages: bool,
    /// The number of the connection among those of the client, by any node.
    attachment: u64,
    /// The lines that it was told to be received before this connection.
    told: u64,
}

struct Replica {
    connection: Connection,
    session: String,
    dialect: Dialect,
    journal: Journal,
    clients: HashMap<ClientId, Client>,
    /// Ids of clients by their names, those of other nodes included.
    ids: HashMap<String, ClientId>,
    next_connection: u64,
    publications: Publications,
    /// The longest line, and the bytes of lines that may wait to be published before no more are read.
    max_frame: usize,
    /// Who has opened the session.
    owner: Arc<Principal>,
    /// Those who wait for the state, by the name of the client that has asked.
    states: HashMap<String, oneshot::Sender<SessionState>>,
    unwatched_since: Instant,
}

/// Follows a session. It is no longer followed once the handle's channels are closed.
///
/// # Errors
///
/// NATS cannot be read, or the record names a dialect that this version does not have.
pub async fn follow(
    connection: &Connection,
    session: &str,
    record: &SessionRecord,
    limits: SessionLimits,
    usage: &UsageBook,
) -> Result<SessionHandle, String> {
    let dialect = Dialect::parse(&record.spec.dialect);
    let dialect =
        dialect.ok_or_else(|| format!("the dialect {:?} is not known here", record.spec.dialect))?;
    let (publications, queue) = publications();
    let mut replica = Replica {
        connection: connection.clone(),
        session: session.to_owned(),
        dialect,
        journal: Journal::new(dialect, 0, limits.kept_output),
        clients: HashMap::new(),
        ids: HashMap::new(),
        next_connection: 0,
        publications,
        max_frame: limits.max_frame,
        owner: record.spec.principal(usage),
        states: HashMap::new(),
        unwatched_since: Instant::now(),
    };
    let name = subject(OUTPUT, session);
    let read = read_all(&connection.output, &name, |stored| {
        // There is no client yet that needs an end.
        let _ = replica.apply(output::decode(&stored.headers, &stored.payload));
    });
    let whole = read.await?.whole;
    let tail = Tail::start(connection, &connection.output, name, whole).await?;
    let (lines, received_lines) = mpsc::channel(LINE_CAPACITY);
    let (requests, received_requests) = mpsc::channel(REQUEST_CAPACITY);
    let info = SessionInfo {
        durable_id: session.to_owned(),
        path: None,
        directory: record.spec.directory.clone(),
        name: record.title.clone(),
        status: super::status(record),
        only_waits: false,
        waiting: None,
        lines: 0,
    };
    let (info, known) = watch::channel(info);
    let (end, ended) = watch::channel(None);
    let handle = SessionHandle {
        id: session.to_owned(),
        owner: record.spec.principal(usage),
        dialect,
        max_frame: limits.max_frame,
        lines,
        requests,
        info: known,
        serves: watch::channel(true).1,
        ended,
    };
    tokio::spawn(publish(connection.clone(), session.to_owned(), dialect, queue));
    tokio::spawn(async move {
        let _info = info;
        if let Some(ended) = replica.run(tail, received_lines, received_requests).await {
            end.send_replace(Some(SessionEnd::Over(ended)));
        }
    });
    Ok(handle)
}

impl Replica {
    async fn run(
        mut self,
        mut tail: Tail,
        mut lines: mpsc::Receiver<ClientLine>,
        mut requests: mpsc::Receiver<SessionRequest>,
    ) -> Option<SessionEndedEvent> {
        loop {
            let is_watched =
                self.clients.values().any(|client| client.queue.is_some()) || !self.states.is_empty();
            let unwatched = self.unwatched_since + FOLLOWED_WHILE_UNWATCHED;
            let publications = self.publications.clone();
            let reads = publications.pending_bytes() <= self.max_frame;
            tokio::select! {
                biased;
                Some(request) = requests.recv() => self.answer(request, &mut lines).await,
                Some(line) = lines.recv(), if reads => self.receive(line),
                () = publications.taken(), if !reads => {}
                stored = tail.next() => {
                    let batch = output::decode(&stored.headers, &stored.payload);
                    if let Some(ended) = self.apply(batch) {
                        return Some(ended);
                    }
                }
                () = tokio::time::sleep_until(unwatched), if !is_watched => return None,
            }
        }
    }

    /// Distributes a batch. Returns the end of the session.
    fn apply(&mut self, batch: Batch) -> Option<SessionEndedEvent> {
        let mut number = batch.before;
        let has_gap = number > self.journal.last();
        if has_gap {
            self.journal.start_behind(number);
        }
        for OutputItem { to, content } in batch.items {
            let to = to.filter(|to| to != ALL_CLIENTS);
            match content {
                OutputContent::Frame(line) => {
                    number += 1;
                    if number > self.journal.last() {
                        let to = to.map(|to| self.id(&to));
                        self.push_line(line, to);
                    }
                }
                OutputContent::Message(WatcherMessage::Snapshot(snapshot)) => {
                    let asked = to.as_ref().and_then(|to| self.states.remove(to));
                    if let Some(asked) = asked {
                        // A connection that is gone does not ask any more.
                        let _ = asked.send(snapshot.state);
                        continue;
                    }
                    let to = to.map(|to| self.id(&to));
                    for queue in self.queues(to, false) {
                        queue.restart(Encoder::new(self.dialect));
                        queue.push_message(WatcherMessage::Snapshot(snapshot.clone()));
                    }
                }
                OutputContent::Message(WatcherMessage::Ended(ended)) => {
                    for queue in self.queues(None, false) {
                        queue.push_message(WatcherMessage::Ended(ended.clone()));
                        queue.close();
                    }
                    return Some(ended);
                }
                OutputContent::Message(message) => {
                    let to = to.map(|to| self.id(&to));
                    for queue in self.queues(to, true) {
                        queue.push_message(message.clone());
                    }
                }
            }
        }
        if has_gap {
            let watching: Vec<String> = self
                .clients
                .values()
                .filter(|client| client.queue.is_some())
                .map(|client| client.key.clone())
                .collect();
            watching.into_iter().for_each(|client| self.ask(client, PublishedContent::Snapshot));
        }
        None
    }

    fn push_line(&mut self, line: Vec<u8>, to: Option<ClientId>) {
        let entry = self.journal.push_line(line, to);
        for queue in self.queues(to, false) {
            queue.push(&entry);
        }
    }

    fn queues(&self, to: Option<ClientId>, with_messages: bool) -> impl Iterator<Item = &Arc<WatcherQueue>> {
        let meant = self.clients.iter().filter(move |(id, client)| {
            to.is_none_or(|to| to == **id) && (client.has_messages || !with_messages)
        });
        meant.filter_map(|(_, client)| client.queue.as_ref())
    }

    fn id(&mut self, name: &str) -> ClientId {
        let next = self.ids.len() as u64 + 1;
        *self.ids.entry(name.to_owned()).or_insert(next)
    }

    fn ask(&self, client: String, content: PublishedContent) {
        let at = std::time::Instant::now();
        self.publications.push(Publication { client, principal: None, content, at });
    }

    fn receive(&mut self, line: ClientLine) {
        let ClientLine { client: id, connection, line } = line;
        let client = self.clients.get(&id).filter(|client| client.connection == connection);
        let Some(client) = client else { return };
        let line = match line {
            Some(line) if line.len() > self.max_frame => {
                // As the session would respond.
                let reason = format!("the line has {} bytes, the limit is {}", line.len(), self.max_frame);
                let error = errors::parse(self.dialect.base(), &reason);
                let response = RpcErrorResponse { id: None, command: "parse".to_owned(), error, code: None };
                publisher::ClientLine::TooLong(error_line(&response))
            }
            Some(line) => publisher::ClientLine::Line(line.into()),
            None => publisher::ClientLine::End,
        };
        let told = client.has_messages.then_some(client.told);
        let from =
            PublishingClient { connection, queue: client.queue.clone(), attachment: client.attachment, told };
        let content = PublishedContent::Line(from, line);
        // Its limits hold where the session runs.
        let (name, principal) = (client.key.clone(), Some(client.principal.clone()));
        let at = std::time::Instant::now();
        self.publications.push(Publication { client: name, principal, content, at });
    }

    async fn answer(&mut self, request: SessionRequest, lines: &mut mpsc::Receiver<ClientLine>) {
        match request {
            SessionRequest::Attach(attach, reply) => {
                // Lines that the client's last connection has passed on count as received.
                while let Ok(line) = lines.try_recv() {
                    self.receive(line);
                }
                // As the session's own task does: no way passes by it.
                let principal = attach.principal.clone();
                let permitted = permit(&principal, SessionOwner::Opener(&self.owner.name.clone()), attach);
                let Ok(attach) = permitted else { return };
                if let Some(attached) = self.attach(attach.into_inner()).await {
                    // A connection that is gone does not receive the reply; its Detach follows.
                    let _ = reply.send(attached);
                }
            }
            SessionRequest::Detach { client, connection } => {
                let client = self.clients.get_mut(&client).filter(|client| client.connection == connection);
                if let Some(queue) = client.and_then(|client| client.queue.take()) {
                    queue.close();
                }
                self.unwatched_since = Instant::now();
            }
            SessionRequest::Snapshot(client) => {
                if let Some(client) = self.clients.get(&client) {
                    self.ask(client.key.clone(), PublishedContent::Snapshot);
                }
            }
            SessionRequest::State(reply) => {
                let name = format!("{STATE_CLIENT}{:016x}", pi_rpc_server::seed());
                self.states.insert(name.clone(), reply);
                self.ask(name, PublishedContent::Snapshot);
            }
            // A node that leaves does not ask: the others take its sessions.
            SessionRequest::WriteOut => {}
            SessionRequest::Close => self.ask(format!("{STATE_CLIENT}close"), PublishedContent::Close),
        }
    }

    /// The lines of a client that were received, by any node, and the number of its next connection.
    async fn received(&self, key: &str) -> Result<(u64, u64), String> {
        // What it has written by its last connection to this node may still be on its way.
        let published = tokio::time::timeout(FLUSH_TIMEOUT, self.publications.no_line_of(key)).await;
        published.map_err(|_| "lines of the client before wait for NATS".to_owned())?;
        let taken = taken_input(&self.connection, &self.session).await?;
        let (stream, name) = (&self.connection.input, subject(INPUT, &self.session));
        let input = client_input(stream, &name, &taken, key, u64::MAX).await?;
        Ok((input.lines, input.next_attachment(taken.position)))
    }

    /// Attaches a client; `None`: NATS cannot be read.
    async fn attach(&mut self, attach: Attach) -> Option<Attached> {
        // The lines go to the node that has the session, and carry what they carry.
        let Attach { key, after, queue, has_messages, principal, trace_context: _ } = attach;
        let id = self.id(&key);
        self.next_connection += 1;
        let connection = self.next_connection;
        let (told, attachment) = match self.received(&key).await {
            Ok(received) => received,
            Err(error) => {
                tracing::warn!("session {}: {error}", self.session);
                return None;
            }
        };
        if let Some(replaced) = self.clients.get(&id).and_then(|client| client.queue.as_ref()) {
            replaced.close();
        }
        let sequence = match after {
            Some(after) if self.journal.replay(after, id, &queue) => after,
            Some(_) => {
                self.ask(key.clone(), PublishedContent::Snapshot);
                self.journal.last()
            }
            None => {
                queue.restart(Encoder::new(self.dialect));
                self.journal.last()
            }
        };
        let queue = Some(queue);
        self.clients.insert(id, Client { key, principal, connection, queue, has_messages, attachment, told });
        Some(Attached { client: id, connection, sequence, received_lines: told })
    }
}
