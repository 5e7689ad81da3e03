//! A connection that carries many sessions: each frame has the `sessionId` of its session. Source: senpi reference.

mod commands;
mod response_lines;

use self::response_lines::{error_response, line_of, refusal, tag, tagged};
use super::{
    host_error::HostError,
    metrics::METRICS,
    permission::Permitted,
    principal::Principal,
    scoped_host::ScopedHost,
    session_handle::{Attach, Attached, ClientLine, SessionHandle, SessionRequest},
    watcher::{Popped, ReadySessions, WatcherMessage, WatcherQueue},
};
use futures_util::{FutureExt as _, future::BoxFuture};
use pi_rpc_protocol::{
    Dialect, MultiSessionCommand, MultiSessionCommandKind, MultiSessionEvent, RequestId, errors,
};
use pi_rpc_server::TraceContext;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::sync::mpsc;

/// Reads the lines of a client.
pub trait ReadLines: Send {
    /// The next line without its line feed; `None` at the end. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<Result<Vec<u8>, String>>> + Send;

    /// Reads on until the client has closed the connection, too.
    fn finish(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Writes lines to a client.
pub trait WriteLines: Send {
    /// Writes a line, which ends with a line feed; it may be buffered. `false`: the client is gone.
    fn write(&mut self, line: Vec<u8>) -> impl Future<Output = bool> + Send;
    /// Writes what is buffered. `false`: the client is gone.
    fn flush(&mut self) -> impl Future<Output = bool> + Send;

    /// Says that nothing more comes, where the transport has a word for it.
    fn close(&mut self, _end: ConnectionEnd) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Why a host ends a connection of many sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The client has left, or has no more input.
    Over,
    /// The process ends.
    Stopping,
    /// Its token was revoked.
    Revoked,
}

/// What the end of input means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InputEnd {
    /// The client leaves, and its sessions go on.
    Leaves,
    /// The sessions of the client end, each as a process does whose stdin is closed.
    EndsSessions,
}

/// The members of a line that decide who gets it.
#[derive(Deserialize)]
struct Envelope {
    id: Option<RequestId>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(rename = "sessionId")]
    session_id: Option<serde_json::Value>,
}

/// How long the end of a connection may take.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A client with a connection of its own for many sessions.
pub struct SharedConnection {
    host: ScopedHost,
    /// Names the client in every session.
    key: String,
    trace_context: Option<TraceContext>,
    dialect: Dialect,
    max_pending: usize,
    /// Sessions with something to write: a frame of each in turn.
    ready: Arc<ReadySessions>,
    sessions: BTreeMap<String, Watched>,
    /// Sessions that this client is closing: the response is their last frame.
    closing: BTreeSet<String>,
    /// The command to the host that is being counted: no line is read before it is executed.
    counted: Option<CountedCommand>,
    /// Commands that take their time.
    outstanding: usize,
    outcomes: mpsc::UnboundedSender<Outcome>,
}

struct Watched {
    session: Permitted<SessionHandle>,
    queue: Arc<WatcherQueue>,
    attached: Attached,
    is_input_over: bool,
}

/// A command that waits until it is counted.
struct CountedCommand {
    id: Option<RequestId>,
    kind: String,
    command: MultiSessionCommand,
    admission: BoxFuture<'static, Result<(), HostError>>,
}

/// What a command that took its time has led to.
enum Outcome {
    Response(Vec<u8>),
    Opened(Box<(Watched, Vec<u8>)>),
    Closed(String, Vec<u8>),
}

impl SharedConnection {
    /// Serves a client until it is gone. `key` names it, `trace_context` is the span that its commands are below.
    pub async fn serve(
        host: ScopedHost,
        (key, trace_context): (String, Option<TraceContext>),
        (dialect, max_pending): (Dialect, usize),
        end: InputEnd,
        mut reader: impl ReadLines,
        mut writer: impl WriteLines,
    ) {
        let _counted = METRICS.connection("shared");
        let (mut stop, revoked) = (host.stop(), host.principal.clone());
        let (outcomes, mut received) = mpsc::unbounded_channel();
        let ready = Arc::new(ReadySessions::default());
        let mut connection = Self {
            host,
            key,
            trace_context,
            dialect,
            max_pending,
            ready: ready.clone(),
            sessions: BTreeMap::new(),
            closing: BTreeSet::new(),
            counted: None,
            outstanding: 0,
            outcomes,
        };
        let mut is_stopping = false;
        let mut is_input_over = false;
        let mut why = ConnectionEnd::Over;
        'connection: loop {
            if revoked.revoked().now_or_never().is_some() {
                tracing::warn!("a client was disconnected: its token was revoked");
                why = ConnectionEnd::Revoked;
                break;
            }
            while let Some(line) = connection.next_line().await {
                if !writer.write(line).await {
                    break 'connection;
                }
            }
            if !writer.flush().await {
                break;
            }
            let is_done = is_input_over && connection.outstanding == 0;
            if is_stopping || is_done && (end == InputEnd::Leaves || connection.sessions.is_empty()) {
                break;
            }
            let stopping = async {
                // The sender is gone only with the process.
                let _ = stop.wait_for(|stop| *stop).await;
            };
            let is_counting = connection.counted.is_some();
            let line = tokio::select! {
                () = stopping => {
                    (is_stopping, why) = (true, ConnectionEnd::Stopping);
                    continue;
                }
                () = revoked.revoked() => continue,
                () = ready.changed() => continue,
                Some(outcome) = received.recv() => {
                    connection.outstanding -= 1;
                    connection.apply(outcome)
                }
                Some((command, admitted)) = connection.admitted() => {
                    // Both may be known at once.
                    if revoked.revoked().now_or_never().is_some() {
                        continue;
                    }
                    let CountedCommand { id, kind, command, .. } = command;
                    match admitted {
                        Ok(()) => connection.execute(command).await,
                        Err(error) => Some(refusal(id, &kind, &error)),
                    }
                }
                line = reader.next(), if !is_input_over && !is_counting => match line {
                    Some(Ok(line)) => connection.handle(line).await,
                    Some(Err(reason)) => Some(connection.parse_error(&reason)),
                    None => {
                        is_input_over = true;
                        None
                    }
                },
            };
            if is_input_over && connection.outstanding == 0 && end == InputEnd::EndsSessions {
                connection.end_sessions().await;
            }
            if let Some(line) = line
                && !writer.write(line).await
            {
                break;
            }
        }
        for watched in connection.sessions.into_values() {
            watched.detach().await;
        }
        let closing = async {
            writer.close(why).await;
            reader.finish().await;
        };
        // A client that does not answer is left.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    }

    /// The next line to write: one frame of each session in turn. An empty one stands for something that is not written,
    /// behind which there may be more.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        let (id, popped) = loop {
            let id = self.ready.pop()?;
            let popped = self.sessions.get(&*id).and_then(|watched| watched.queue.try_pop());
            if let Some(popped) = popped {
                self.ready.push(id.clone());
                break (id.to_string(), popped);
            }
        };
        match popped {
            Popped::Frame(sequence, line) => {
                self.note_written(&id, sequence);
                Some(tagged(line, &tag(&id, Some(sequence))))
            }
            Popped::Message(WatcherMessage::Ended(_)) | Popped::Closed if self.closing.contains(&id) => {
                self.sessions.remove(&id);
                Some(Vec::new())
            }
            Popped::Message(WatcherMessage::Response(line)) => Some(tagged(line, &tag(&id, None))),
            Popped::Message(message) => match MultiSessionEvent::try_from(message) {
                Ok(event) => {
                    match &event {
                        MultiSessionEvent::SessionEnded(_) => drop(self.sessions.remove(&id)),
                        MultiSessionEvent::SessionSnapshot(it) => self.note_written(&id, it.sequence),
                        MultiSessionEvent::DialogResolved(_) => {}
                    }
                    Some(line_of(&event))
                }
                Err(()) => Some(Vec::new()),
            },
            Popped::Lagged => {
                if let Some(watched) = self.sessions.get(&id) {
                    let request = SessionRequest::Snapshot(watched.attached.client);
                    // A session that has ended closes the queue.
                    let _ = watched.session.requests.send(request).await;
                }
                Some(Vec::new())
            }
            Popped::Closed => {
                self.sessions.remove(&id);
                Some(Vec::new())
            }
        }
    }

    /// Notes the number of the last frame of a session that was written.
    fn note_written(&mut self, id: &str, sequence: u64) {
        if let Some(watched) = self.sessions.get_mut(id) {
            watched.attached.sequence = sequence;
        }
    }

    /// The command that was being counted, and what that has led to; `None`: there is none. Cancel-safe.
    async fn admitted(&mut self) -> Option<(CountedCommand, Result<(), HostError>)> {
        let admitted = (&mut self.counted.as_mut()?.admission).await;
        Some((self.counted.take()?, admitted))
    }

    /// Handles a line. Returns the response if there is one already.
    async fn handle(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let envelope: Envelope = match serde_json::from_slice(&line) {
            Ok(envelope) => envelope,
            Err(error) => return Some(self.parse_error(&error.to_string())),
        };
        let Envelope { id, kind, session_id } = envelope;
        let Some(kind) = kind else {
            return Some(self.parse_error("`type`: expected a string that names a command"));
        };
        if MultiSessionCommandKind::parse(&kind).is_some() {
            return match pi_rpc_protocol::from_slice::<MultiSessionCommand>(&line) {
                Ok(command) => {
                    let opens = matches!(command, MultiSessionCommand::OpenSession(_));
                    let host = self.host.clone();
                    let admission = Box::pin(async move { host.count_command(opens).await });
                    self.counted = Some(CountedCommand { id, kind, command, admission });
                    None
                }
                Err(error) => Some(error_response(id, &kind, error.to_string())),
            };
        }
        let session = match session_id.as_ref().and_then(serde_json::Value::as_str) {
            Some(session) => self.watch(session, None).await.map(|watched| {
                let (client, connection) = (watched.attached.client, watched.attached.connection);
                (watched.session.lines.clone(), ClientLine { client, connection, line: Some(line) })
            }),
            None => Err(HostError::MissingSessionId),
        };
        match session {
            Ok((lines, line)) => match lines.send(line).await {
                Ok(()) => None,
                Err(_) => Some(refusal(id, &kind, &HostError::UnknownSession)),
            },
            Err(error) => Some(refusal(id, &kind, &error)),
        }
    }

    /// The session with this name, to which the connection is attached from now on: a client that writes to a
    /// session gets its frames.
    async fn watch(&mut self, name: &str, after: Option<u64>) -> Result<&Watched, HostError> {
        let session = self.host.find(name).await?;
        let id = session.id.clone();
        if after.is_some() || !self.sessions.contains_key(&id) {
            let watched = Watched::attach(&self.host, session, self.attachment(after)).await?;
            self.insert(watched);
        }
        self.sessions.get(&id).ok_or(HostError::UnknownSession)
    }

    fn insert(&mut self, watched: Watched) {
        // It may have had something before it was known here.
        self.ready.push(watched.session.id.as_str().into());
        self.sessions.insert(watched.session.id.clone(), watched);
    }

    fn attachment(&self, after: Option<u64>) -> Attachment {
        Attachment {
            key: self.key.clone(),
            after,
            max_pending: self.max_pending,
            ready: self.ready.clone(),
            principal: self.host.principal.clone(),
            trace_context: self.trace_context.clone(),
        }
    }

    fn apply(&mut self, outcome: Outcome) -> Option<Vec<u8>> {
        match outcome {
            Outcome::Response(line) => Some(line),
            Outcome::Opened(opened) => {
                let (watched, line) = *opened;
                self.insert(watched);
                Some(line)
            }
            Outcome::Closed(id, response) => {
                self.closing.remove(&id);
                // The response is the last frame with that handle.
                let mut lines = Vec::new();
                if let Some(watched) = self.sessions.remove(&id) {
                    while let Some(popped) = watched.queue.try_pop() {
                        match popped {
                            Popped::Frame(sequence, line) => {
                                lines.extend(tagged(line, &tag(&id, Some(sequence))));
                            }
                            Popped::Message(_) => {}
                            Popped::Lagged | Popped::Closed => break,
                        }
                    }
                }
                lines.extend(response);
                Some(lines)
            }
        }
    }

    /// Ends the input of all sessions.
    async fn end_sessions(&mut self) {
        for watched in self.sessions.values_mut().filter(|watched| !watched.is_input_over) {
            watched.is_input_over = true;
            let (client, connection) = (watched.attached.client, watched.attached.connection);
            // A session that has ended needs no end of input.
            let _ = watched.session.lines.send(ClientLine { client, connection, line: None }).await;
        }
    }

    fn parse_error(&self, reason: &str) -> Vec<u8> {
        error_response(None, "parse", errors::parse(self.dialect.base(), reason))
    }
}

/// How a connection attaches to a session.
struct Attachment {
    key: String,
    after: Option<u64>,
    max_pending: usize,
    ready: Arc<ReadySessions>,
    principal: Arc<Principal>,
    trace_context: Option<TraceContext>,
}

impl Watched {
    async fn attach(
        host: &ScopedHost,
        session: Permitted<SessionHandle>,
        attachment: Attachment,
    ) -> Result<Self, HostError> {
        let Attachment { key, after, max_pending, ready, principal, trace_context } = attachment;
        let queue = Arc::new(WatcherQueue::new(
            session.dialect,
            max_pending,
            ready,
            Some(session.id.as_str().into()),
        ));
        let (queue_of_client, has_messages) = (queue.clone(), true);
        let attach = Attach { key, after, queue: queue_of_client, principal, has_messages, trace_context };
        let (session, attached) = host.attach(&session.id, attach).await?;
        Ok(Self { session, queue, attached, is_input_over: false })
    }

    async fn detach(&self) {
        let (client, connection) = (self.attached.client, self.attached.connection);
        let _ = self.session.requests.send(SessionRequest::Detach { client, connection }).await;
    }
}

impl TryFrom<WatcherMessage> for MultiSessionEvent {
    type Error = ();

    fn try_from(message: WatcherMessage) -> Result<Self, ()> {
        match message {
            WatcherMessage::Snapshot(snapshot) => Ok((*snapshot).into()),
            WatcherMessage::DialogResolved(event) => Ok(event.into()),
            WatcherMessage::Ended(event) => Ok(event.into()),
            WatcherMessage::Received(_) | WatcherMessage::Response(_) => Err(()),
        }
    }
}

#[cfg(test)]
mod counting;
