//! The connection of one session: its wire is that of the dialect, byte for byte.
//!
//! A text message is a line. A client that asks for the subprotocol [`CONTROL_PROTOCOL`] exchanges binary messages besides,
//! about the connection itself: numbers of frames, lines received, snapshots, the end of input.

use super::{
    host_error::HostError,
    metrics::METRICS,
    permission::Permitted,
    principal::Principal,
    registry::SessionHost,
    session_handle::{Attach, Attached, ClientLine, SessionHandle, SessionRequest},
    transports::{REVOKED, close},
    watcher::{Popped, ReadySessions, WatcherMessage, WatcherQueue},
};
use axum::{
    body::Bytes,
    extract::ws::{Message, Utf8Bytes, WebSocket, close_code},
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use pi_rpc_protocol::{AttachedControl, ClientControl, ConnectionControl, PositionControl};
use pi_rpc_server::TraceContext;
use std::sync::Arc;

/// The WebSocket subprotocol of clients that understand messages about the connection.
pub const CONTROL_PROTOCOL: &str = "pi-rpc.control.v1";

/// A client that connects to a session.
pub struct Client {
    /// Names the client, so that it is the same one after it has come back.
    pub key: String,
    /// Who it acts for.
    pub principal: Arc<Principal>,
    /// The number of the last frame that it has.
    pub after: Option<u64>,
    /// Whether it understands [`CONTROL_PROTOCOL`].
    pub has_control: bool,
    /// Pending bytes at which a snapshot takes the place of frames that it has not read.
    pub max_pending: usize,
    /// The span that its commands are below, unless they name one themselves.
    pub trace_context: Option<TraceContext>,
}

/// Told to a client with the close of its connection.
const ENDED: &str = "the session has ended, or another connection takes its place";

/// Why a connection is over.
enum End {
    /// The client is gone.
    Gone,
    /// The session is over, or another connection of the client has taken its place.
    Closed,
    /// The client has broken the rules, for this reason.
    Refused(u16, &'static str),
}

/// Serves a client until it or the session is gone. The session goes on without it.
pub async fn serve(
    host: &Arc<SessionHost>,
    socket: WebSocket,
    session: Permitted<SessionHandle>,
    client: Client,
) {
    let _counted = METRICS.connection("session");
    let ready = Arc::new(ReadySessions::default());
    let queue = Arc::new(WatcherQueue::new(session.dialect, client.max_pending, ready.clone(), None));
    let principal = client.principal.clone();
    let attach = Attach {
        key: client.key,
        after: client.after,
        queue: queue.clone(),
        principal: client.principal,
        has_messages: client.has_control,
        trace_context: client.trace_context,
    };
    let (mut to_client, mut from_client) = socket.split();
    let (session, attached) = match host.attach(&session.id, attach).await {
        Ok(attached) => attached,
        // It was there when the client asked for it.
        Err(HostError::UnknownSession | HostError::SessionClosing) => {
            return close(&mut to_client, &mut from_client, close_code::NORMAL, ENDED).await;
        }
        Err(_) => {
            let reason = "the session cannot be had now";
            return close(&mut to_client, &mut from_client, close_code::AGAIN, reason).await;
        }
    };
    let mut writer = Writer {
        to_client,
        session: session.clone(),
        queue,
        has_control: client.has_control,
        client: attached.client,
        expected: attached.sequence + 1,
    };
    let (client_id, connection) = (attached.client, attached.connection);
    let end = tokio::select! {
        end = writer.run(&attached, &ready) => end,
        end = read(&mut from_client, &session, &attached, client.has_control) => end,
        () = principal.revoked() => End::Refused(close_code::POLICY, REVOKED),
    };
    if let End::Refused(code, reason) = end {
        tracing::warn!("session {}: a client was disconnected ({code}): {reason}", session.id);
    }
    let detach = SessionRequest::Detach { client: client_id, connection };
    let _ = session.requests.send(detach).await;
    let (code, reason) = match end {
        End::Gone => (close_code::NORMAL, "the connection is over"),
        End::Closed => (close_code::NORMAL, ENDED),
        End::Refused(code, reason) => (code, reason),
    };
    close(&mut writer.to_client, &mut from_client, code, reason).await;
}

async fn read(
    from_client: &mut SplitStream<WebSocket>,
    session: &SessionHandle,
    attached: &Attached,
    has_control: bool,
) -> End {
    let (client, connection) = (attached.client, attached.connection);
    loop {
        let line = match from_client.next().await {
            Some(Ok(Message::Text(text))) => Some(Bytes::from(text).to_vec()),
            Some(Ok(Message::Binary(message))) if has_control => {
                match serde_json::from_slice::<ClientControl>(&message) {
                    Ok(ClientControl::EndOfInput(_)) => None,
                    Err(_) => {
                        return End::Refused(close_code::POLICY, "a binary message is not a ClientControl");
                    }
                }
            }
            Some(Ok(Message::Binary(_))) => {
                return End::Refused(close_code::UNSUPPORTED, "a frame is a text message, not a binary one");
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Gone,
        };
        if session.lines.send(ClientLine { client, connection, line }).await.is_err() {
            // The writer sends what is left.
            return std::future::pending().await;
        }
    }
}

struct Writer {
    to_client: SplitSink<WebSocket, Message>,
    session: Permitted<SessionHandle>,
    queue: Arc<WatcherQueue>,
    has_control: bool,
    client: u64,
    /// The number of the next frame that the client expects.
    expected: u64,
}

impl Writer {
    async fn run(&mut self, attached: &Attached, ready: &ReadySessions) -> End {
        let attached = AttachedControl {
            session_id: self.session.id.clone(),
            dialect: self.session.dialect.as_str().to_owned(),
            sequence: attached.sequence,
            received_lines: attached.received_lines,
        };
        if self.control(attached.into()).await.is_err() {
            return End::Gone;
        }
        loop {
            match self.write_pending().await {
                Ok(true) => {}
                Ok(false) => return End::Closed,
                Err(_) => return End::Gone,
            }
            ready.changed().await;
        }
    }

    /// Writes what is pending. `false`: nothing more comes.
    async fn write_pending(&mut self) -> Result<bool, axum::Error> {
        while let Some(popped) = self.queue.try_pop() {
            match popped {
                Popped::Frame(number, line) => {
                    if number != self.expected {
                        self.control(PositionControl { sequence: number }.into()).await?;
                    }
                    self.expected = number + 1;
                    self.text(line).await?;
                }
                Popped::Message(WatcherMessage::Response(line)) => self.text(line).await?,
                Popped::Message(message) => {
                    if let WatcherMessage::Snapshot(snapshot) = &message {
                        self.expected = snapshot.sequence + 1;
                    }
                    if let Ok(message) = ConnectionControl::try_from(message) {
                        self.control(message).await?;
                    }
                }
                Popped::Lagged => {
                    // A session that has ended closes the queue.
                    let _ = self.session.requests.send(SessionRequest::Snapshot(self.client)).await;
                }
                Popped::Closed => return Ok(false),
            }
        }
        self.to_client.flush().await?;
        Ok(true)
    }

    /// Writes a line, which ends with a line feed, as a text message.
    async fn text(&mut self, mut line: Vec<u8>) -> Result<(), axum::Error> {
        line.pop();
        // Frames are JSON that this process has encoded.
        self.to_client.feed(Message::Text(Utf8Bytes::try_from(line).unwrap_or_default())).await
    }

    async fn control(&mut self, message: ConnectionControl) -> Result<(), axum::Error> {
        if !self.has_control {
            return Ok(());
        }
        let text = serde_json::to_vec(&message).map_err(axum::Error::new)?;
        self.to_client.feed(Message::Binary(text.into())).await
    }
}

impl TryFrom<WatcherMessage> for ConnectionControl {
    type Error = ();

    fn try_from(message: WatcherMessage) -> Result<Self, ()> {
        match message {
            WatcherMessage::Snapshot(snapshot) => Ok((*snapshot).into()),
            WatcherMessage::DialogResolved(event) => Ok(event.into()),
            WatcherMessage::Received(received) => Ok(received.into()),
            WatcherMessage::Ended(ended) => Ok(ended.into()),
            WatcherMessage::Response(_) => Err(()),
        }
    }
}
