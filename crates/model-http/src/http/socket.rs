//! Answers over a WebSocket: a connection per session and account, kept open for the next request, and given up for
//! server-sent events where it fails.
//!
//! The request for the upgrade goes through the same HTTP client as all others, so that proxies and certificates are the same;
//! `tokio-tungstenite` frames the messages. Source: pi 1.6.0 (`openai-codex-responses`).

use super::{
    AnswerWatch, Http, RawEvent, RequestFailure, SILENT_IDLE_FACTOR, chain, forward_events, host,
    redactor::Redactor, seconds,
};
use crate::body::EVENT_BYTES;
use futures_util::{SinkExt as _, StreamExt as _};
use pi_rpc_model::{
    followed_answer::FollowedAnswer,
    http_options::{HttpOptions, Transport},
    openai_codex::socket::{Continuation, SocketEvent, classify, message},
    request::{HttpRequest, Reader, SocketRequest},
    types::StreamEvent,
};
use reqwest::{
    Method, Request, StatusCode, Upgraded, Url,
    header::{
        CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
        SEC_WEBSOCKET_VERSION, UPGRADE,
    },
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};

/// How long an idle connection is kept. Source: pi.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// Age at which a connection gets no further request: the server closes it after an hour, in the middle of an answer. Source: pi.
const MOST_AGE: Duration = Duration::from_secs(45 * 60);
/// Sessions that are remembered.
const MOST_SESSIONS: usize = 1000;

/// The connections of all sessions.
#[derive(Clone, Default)]
pub struct Sockets(Arc<Mutex<HashMap<String, SessionSocket>>>);

// Keys of sessions have no place in logs.
impl std::fmt::Debug for Sockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sockets").finish_non_exhaustive()
    }
}

/// What is known of a session.
enum SessionSocket {
    /// Its answers come as server-sent events from now on.
    GivenUp,
    /// A connection that waits for its next request.
    Idle { connection: Box<Connection>, since: Instant },
}

/// An open connection.
struct Connection {
    socket: WebSocketStream<Upgraded>,
    created: Instant,
    /// Where the next request can go on.
    continuation: Option<Continuation>,
}

/// How an attempt ended.
enum Attempt {
    /// The answer is complete, or has failed for good, and its last event was sent.
    Over,
    /// The connection failed; `has_begun`: after events of the answer; `is_silent`: the provider said nothing for too long.
    Broken { reason: String, has_begun: bool, is_silent: bool },
    /// The server does not hold what the request goes on behind.
    NotHeld,
    /// The account has too many connections.
    TooMany,
}

impl Sockets {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, SessionSocket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_given_up(&self, key: &str) -> bool {
        matches!(self.lock().get(key), Some(SessionSocket::GivenUp))
    }

    fn give_up(&self, key: &str) {
        self.insert(key, SessionSocket::GivenUp);
    }

    fn insert(&self, key: &str, state: SessionSocket) {
        let mut sessions = self.lock();
        if sessions.len() >= MOST_SESSIONS && !sessions.contains_key(key) {
            sessions.clear();
        }
        sessions.insert(key.to_owned(), state);
    }

    /// The idle connection of a session, unless it is too old.
    fn take(&self, key: &str) -> Option<Box<Connection>> {
        let mut sessions = self.lock();
        match sessions.remove(key) {
            Some(SessionSocket::Idle { connection, since })
                if since.elapsed() < IDLE && connection.created.elapsed() < MOST_AGE =>
            {
                Some(connection)
            }
            Some(SessionSocket::GivenUp) => {
                sessions.insert(key.to_owned(), SessionSocket::GivenUp);
                None
            }
            Some(SessionSocket::Idle { .. }) | None => None,
        }
    }

    /// Keeps a connection for the next request of its session, for some time.
    fn keep(&self, key: &str, connection: Box<Connection>) {
        let since = Instant::now();
        self.insert(key, SessionSocket::Idle { connection, since });
        let (sockets, key) = (self.clone(), key.to_owned());
        tokio::spawn(async move {
            sleep(IDLE).await;
            let mut sessions = sockets.lock();
            if matches!(sessions.get(&key), Some(SessionSocket::Idle { since: kept, .. }) if *kept == since) {
                sessions.remove(&key);
            }
        });
    }
}

impl Http {
    /// Like [`Self::stream_watched_answer`], but by the WebSocket that `socket` asks for, as far as `options` want one and it
    /// works. The head of an answer is shown of an answer over HTTP alone.
    pub async fn stream_socket_answer(
        &self,
        socket: SocketRequest,
        request: HttpRequest,
        mut reader: Box<dyn Reader>,
        options: &HttpOptions,
        events: mpsc::Sender<StreamEvent>,
        watch: AnswerWatch,
    ) {
        let is_given_up = socket.key.as_deref().is_some_and(|key| self.sockets.is_given_up(key));
        if options.transport != Transport::Sse && !is_given_up {
            let redactor = Redactor::of(&socket.headers, self.secrets.clone());
            let (watching, body) = (watch.events.as_ref(), &request.body);
            let asked =
                self.socket_answer(&socket, body, reader.as_mut(), options, &events, watching, &redactor);
            let ended = tokio::select! {
                ended = asked => ended,
                () = events.closed() => return,
            };
            match ended {
                Attempt::Broken { reason, has_begun, .. } => {
                    tracing::debug!("no WebSocket: {}", redactor.redact(reason.clone()));
                    socket.key.iter().for_each(|key| self.sockets.give_up(key));
                    if has_begun {
                        let failure = RequestFailure::new(format!("terminated: {reason}"));
                        // Without a receiver the failure is of no interest.
                        let _ = events.send(failure.into_event(&redactor)).await;
                        return;
                    }
                }
                Attempt::Over => return,
                // After a second time.
                Attempt::NotHeld | Attempt::TooMany => {
                    socket.key.iter().for_each(|key| self.sockets.give_up(key));
                }
            }
        }
        self.stream_watched_answer(request, reader, options, events, watch).await;
    }

    /// Asks by the session's connection or a new one; once more where the server has lost the conversation, has too many
    /// connections, or has closed the connection since.
    #[expect(clippy::too_many_arguments, reason = "what every exchange needs")]
    async fn socket_answer(
        &self,
        socket: &SocketRequest,
        body: &Value,
        reader: &mut dyn Reader,
        options: &HttpOptions,
        events: &mpsc::Sender<StreamEvent>,
        watching: Option<&mpsc::Sender<RawEvent>>,
        redactor: &Redactor,
    ) -> Attempt {
        let mut tried = 0;
        loop {
            let kept = socket.key.as_deref().and_then(|key| self.sockets.take(key));
            let is_kept = kept.is_some();
            let connection = match kept {
                Some(connection) => connection,
                None => match self.connect(socket, options.socket_connect).await {
                    Ok(connection) => Box::new(connection),
                    Err(reason) => {
                        return Attempt::Broken { reason, has_begun: false, is_silent: false };
                    }
                },
            };
            let attempt =
                self.ask(connection, socket, body, reader, options, events, watching, redactor).await;
            let is_again = match &attempt {
                Attempt::NotHeld | Attempt::TooMany => tried == 0,
                // The other side may have closed it since. One that took the request and is silent may be at work on it.
                Attempt::Broken { has_begun: false, is_silent: false, .. } => is_kept,
                Attempt::Broken { .. } | Attempt::Over => false,
            };
            if !is_again {
                return attempt;
            }
            tried += u32::from(!matches!(attempt, Attempt::Broken { .. }));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what every exchange needs")]
    async fn ask(
        &self,
        mut connection: Box<Connection>,
        request: &SocketRequest,
        body: &Value,
        reader: &mut dyn Reader,
        options: &HttpOptions,
        events: &mpsc::Sender<StreamEvent>,
        watching: Option<&mpsc::Sender<RawEvent>>,
        redactor: &Redactor,
    ) -> Attempt {
        let continuation = connection.continuation.take().filter(|_| options.transport.continues());
        let shortened = continuation.and_then(|it| it.shortened(body)).unwrap_or_else(|| body.clone());
        let sending = connection.socket.send(Message::text(message(shortened).to_string()));
        let failed = match timeout(options.idle, sending).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("the WebSocket failed: {error}")),
            Err(_) => Some(format!("the provider read nothing for {}", seconds(options.idle))),
        };
        if let Some(reason) = failed {
            return Attempt::Broken { reason, has_begun: false, is_silent: false };
        }
        let longest = options.idle.saturating_mul(SILENT_IDLE_FACTOR);
        let mut last_activity = Instant::now();
        let mut answer = FollowedAnswer::default();
        let mut has_begun = false;
        loop {
            let patience = options.idle.min(longest.saturating_sub(last_activity.elapsed()));
            let text = match next_text(&mut connection.socket, patience).await {
                Ok(Some(text)) => text,
                Ok(None) => {
                    let reason = format!("the provider was silent for {}", seconds(patience));
                    return Attempt::Broken { reason, has_begun, is_silent: true };
                }
                Err(reason) => return Attempt::Broken { reason, has_begun, is_silent: false },
            };
            // What is no JSON is the reader's to refuse.
            let event: Value = serde_json::from_str(&text).unwrap_or_default();
            let meaning = classify(&event);
            match meaning {
                SocketEvent::NotHeld if !has_begun => return Attempt::NotHeld,
                SocketEvent::TooMany if !has_begun => return Attempt::TooMany,
                _ => {}
            }
            if let Some(watching) = watching {
                let (seen, acknowledged) = oneshot::channel();
                // Without a receiver there is nothing to wait for.
                let _ = watching.send(RawEvent { data: text.clone(), seen }).await;
                let _ = acknowledged.await;
            }
            has_begun = true;
            let made = reader.event(event["type"].as_str().unwrap_or("message"), &text);
            if !made.is_empty() {
                last_activity = Instant::now();
            }
            made.iter().for_each(|event| answer.follow(event));
            let is_complete = made.iter().any(|event| matches!(event, StreamEvent::Finish(_)));
            let is_over = forward_events(made, events, redactor).await;
            if is_complete && let Some(key) = &request.key {
                if options.transport.continues() {
                    connection.continuation = Continuation::behind(body, answer);
                }
                self.sockets.keep(key, connection);
                return Attempt::Over;
            }
            if is_over || meaning != SocketEvent::Part {
                forward_events(reader.end(), events, redactor).await;
                return Attempt::Over;
            }
        }
    }

    /// Opens a WebSocket.
    async fn connect(&self, request: &SocketRequest, patience: Duration) -> Result<Connection, String> {
        let url =
            Url::parse(&request.url).map_err(|error| format!("the address of the WebSocket: {error}"))?;
        let host = host(&url);
        let key = generate_key();
        let opening = async {
            let client = self.socket_client(&url).map_err(|failure| failure.message)?;
            let mut get = Request::new(Method::GET, url);
            *get.headers_mut() = headers(request, &key)?;
            let response = client.execute(get).await.map_err(|error| format!("{host}: {}", chain(error)))?;
            let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Err(format!(
                    "{host} answered a WebSocket with status {}",
                    response.status().as_u16()
                ));
            }
            if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
                return Err(format!("{host} did not accept the key of the WebSocket"));
            }
            response.upgrade().await.map_err(|error| format!("{host}: {}", chain(error)))
        };
        let upgraded = timeout(patience, opening).await;
        let upgraded =
            upgraded.map_err(|_| format!("{host} opened no WebSocket for {}", seconds(patience)))??;
        let config =
            WebSocketConfig::default().max_message_size(Some(EVENT_BYTES)).max_frame_size(Some(EVENT_BYTES));
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(Connection { socket, created: Instant::now(), continuation: None })
    }
}

/// The headers that ask for the upgrade.
fn headers(request: &SocketRequest, key: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        // The text names the header only: its value may be a key.
        let wrong = || format!("The header {name:?} has characters that HTTP does not allow");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    let key = HeaderValue::from_str(key).map_err(|error| error.to_string())?;
    headers.insert(SEC_WEBSOCKET_KEY, key);
    Ok(headers)
}

/// The text of the next message; `None`: there was none within `idle`. Pings are answered on the way.
async fn next_text(socket: &mut WebSocketStream<Upgraded>, idle: Duration) -> Result<Option<String>, String> {
    let deadline = Instant::now().checked_add(idle);
    loop {
        let next = match deadline {
            Some(deadline) => match timeout_at(deadline, socket.next()).await {
                Ok(next) => next,
                Err(_) => return Ok(None),
            },
            None => socket.next().await,
        };
        match next {
            Some(Ok(Message::Text(text))) => return Ok(Some(text.to_string())),
            Some(Ok(Message::Binary(bytes))) => {
                return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
            }
            Some(Ok(Message::Close(frame))) => {
                let why = frame.map(|frame| format!(" {} {}", u16::from(frame.code), frame.reason));
                return Err(format!("WebSocket closed{}", why.unwrap_or_default().trim_end()));
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Err(error)) => return Err(format!("the WebSocket failed: {error}")),
            None => return Err("WebSocket closed".to_owned()),
        }
    }
}
