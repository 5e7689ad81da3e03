//! The scripted server over streamable HTTP: each message is a request, whose answer is a message or a stream of them.

use super::{
    conversation::{Conversation, McpState, Sent, VERSIONS},
    oauth::AuthorizationServer,
    script::McpScript,
};
use crate::{
    Journal, ReceivedRequest,
    connection::{Connection, CuttableListener},
    journal::lock,
};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::stream;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs::File,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{net::TcpListener, sync::mpsc};

/// Size limit of a message: 64 MiB.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Messages that wait for the client to read.
const QUEUE: usize = 16;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A scripted MCP server that is bound to an address. Any path is its endpoint.
pub struct McpMock {
    listener: TcpListener,
    address: SocketAddr,
    script: McpScript,
    journal: Arc<Journal>,
}

/// What comes on streams that were closed.
#[derive(Default)]
struct ClosedStreams {
    waiting: Mutex<BTreeMap<String, mpsc::Receiver<Sent>>>,
    count: AtomicUsize,
}

/// What all requests share.
struct Shared {
    state: Arc<McpState>,
    sessions: Mutex<BTreeMap<String, Arc<Conversation>>>,
    /// Streams that were closed and go on, by the ids of their last events.
    closed: Arc<ClosedStreams>,
    /// In place of sessions, where there are none.
    single: Arc<Conversation>,
    journal: Arc<Journal>,
    authorization: Option<AuthorizationServer>,
}

impl McpMock {
    /// Binds `address`; port 0 takes any free one. Connections wait until [`McpMock::serve`] runs.
    ///
    /// # Errors
    ///
    /// The address cannot be bound.
    pub async fn bind(address: SocketAddr, script: McpScript) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, script, journal: Arc::new(Journal::new(None)) })
    }

    /// Appends every request to `file`, one JSON line each, without keys and tokens.
    pub fn log_to(mut self, file: File) -> Self {
        self.journal = Arc::new(Journal::new(Some(file)));
        self
    }

    /// The bound address, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The journal of requests, before, during and after [`McpMock::serve`].
    pub fn journal(&self) -> Arc<Journal> {
        Arc::clone(&self.journal)
    }

    /// Serves until the future is dropped.
    ///
    /// # Errors
    ///
    /// None are known: failures to accept a connection are waited out.
    pub async fn serve(self) -> io::Result<()> {
        let origin = format!("http://{}", self.address);
        let oauth = self.script.oauth.clone();
        let authorization = oauth.map(|oauth| AuthorizationServer::new(oauth, origin));
        let state = McpState::new(self.script);
        let single = Conversation::shared(Arc::clone(&state));
        let (sessions, closed) = (Mutex::default(), Arc::default());
        let shared = Shared { state, sessions, closed, single, journal: self.journal, authorization };
        let router = axum::Router::new().fallback(handle).with_state(Arc::new(shared));
        let service = router.into_make_service_with_connect_info::<Connection>();
        axum::serve(CuttableListener::new(self.listener), service).await
    }
}

/// A refusal: a status, and what was expected.
type Refusal = (StatusCode, String);

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    connection.admit();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await;
    let body = body.unwrap_or_default();
    let message = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let value = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = parts.headers.iter().map(|(name, own)| (name.to_string(), value(own)));
    let mut received = ReceivedRequest {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: headers.collect(),
        bytes: message.to_string().len(),
        body: message.clone(),
        status: None,
        refusal: None,
        is_login: false,
    };
    let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    let page = shared.authorization.as_ref().and_then(|it| it.answer(&parts.method, path, query, &body));
    if let Some(page) = page {
        // What goes to and fro is codes and tokens.
        received.is_login = true;
        received.status = Some(page.status.as_u16());
        received.refusal = page.body.get("error").and_then(Value::as_str).map(str::to_owned);
        if received.body.is_null() {
            received.body = String::from_utf8_lossy(&body).into_owned().into();
        }
        shared.journal.add(received);
        let mut response = respond(page.status, Body::from(page.body.to_string()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(to) = page.location.and_then(|to| HeaderValue::try_from(to).ok()) {
            headers.insert(header::LOCATION, to);
        }
        return response;
    }
    let answered = shared.answer(&parts.method, &parts.headers, message, &connection).await;
    let response = answered.unwrap_or_else(|(status, text)| {
        received.refusal = Some(text.clone());
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        if status == StatusCode::UNAUTHORIZED {
            let challenge = shared.authorization.as_ref().and_then(|it| it.challenge(None));
            let challenge = challenge.and_then(|challenge| HeaderValue::try_from(challenge).ok());
            let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    });
    received.status = Some(response.status().as_u16());
    shared.journal.add(received);
    response
}

impl Shared {
    async fn answer(
        &self,
        method: &Method,
        headers: &HeaderMap,
        message: Value,
        connection: &Connection,
    ) -> Result<Response, Refusal> {
        self.check_key(headers)?;
        let session = headers.get(&SESSION).and_then(|value| value.to_str().ok());
        match *method {
            Method::POST => {}
            Method::DELETE => {
                let ended = session.and_then(|session| lock(&self.sessions).remove(session));
                let status = if ended.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
                return Ok(respond(status, Body::empty()));
            }
            Method::GET if headers.contains_key(&LAST_EVENT) => {
                let id = headers.get(&LAST_EVENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
                let unknown = || {
                    (StatusCode::BAD_REQUEST, "last-event-id: expected that of a closed stream".to_owned())
                };
                let sent = lock(&self.closed.waiting).remove(id).ok_or_else(unknown)?;
                return Ok(event_stream(None, sent, connection, &self.closed));
            }
            Method::GET if !self.state.script.on_listen.is_empty() => {
                let unknown = || (StatusCode::NOT_FOUND, "mcp-session-id: the session is over".to_owned());
                let known = session.and_then(|session| lock(&self.sessions).get(session).cloned());
                let conversation = known.ok_or_else(unknown)?;
                let (sender, sent) = mpsc::channel(QUEUE);
                tokio::spawn(async move { conversation.listen(&sender).await });
                return Ok(event_stream(None, sent, connection, &self.closed));
            }
            _ => {
                return Err((StatusCode::METHOD_NOT_ALLOWED, "there is no stream beside answers".to_owned()));
            }
        }
        check_headers(headers)?;
        if !message.is_object() {
            return Err((StatusCode::BAD_REQUEST, "expected a message of JSON-RPC".to_owned()));
        }
        let is_first = message["method"] == "initialize";
        let (conversation, id) = match session {
            _ if self.state.script.without_sessions => (Arc::clone(&self.single), None),
            None if is_first => {
                let conversation = Conversation::new(Arc::clone(&self.state));
                let mut sessions = lock(&self.sessions);
                let id = format!("scripted-session-{}", sessions.len() + 1);
                sessions.insert(id.clone(), Arc::clone(&conversation));
                (conversation, Some(id))
            }
            None => {
                return Err((
                    StatusCode::BAD_REQUEST,
                    "mcp-session-id: expected that of the session".to_owned(),
                ));
            }
            Some(id) => {
                let known = lock(&self.sessions).get(id).cloned();
                let unknown = || (StatusCode::NOT_FOUND, "mcp-session-id: the session is over".to_owned());
                (known.ok_or_else(unknown)?, None)
            }
        };
        let is_request = message.get("method").is_some() && !message["id"].is_null();
        let id_of_request = message["id"].clone();
        let (sender, sent) = mpsc::channel(QUEUE);
        conversation.receive(message, sender);
        if !is_request {
            return Ok(respond(StatusCode::ACCEPTED, Body::empty()));
        }
        let mut response = play(sent, &id_of_request, connection, &self.closed).await;
        if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    fn check_key(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|given| given.strip_prefix("Bearer "));
        if self.authorization.as_ref().is_some_and(|it| it.challenge(given).is_some()) {
            let text = "authorization: expected a token of the authorization server".to_owned();
            return Err((StatusCode::UNAUTHORIZED, text));
        }
        match &self.state.script.key {
            Some(key) if given != Some(key) => {
                let text = "authorization: expected the key of the script".to_owned();
                Err((StatusCode::UNAUTHORIZED, text))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses what a client must not send by MCP's own words.
fn check_headers(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepted = text(header::ACCEPT);
    if !accepted.contains("application/json") || !accepted.contains("text/event-stream") {
        let text = "accept: expected application/json and text/event-stream";
        return Err((StatusCode::NOT_ACCEPTABLE, text.to_owned()));
    }
    if !text(header::CONTENT_TYPE).starts_with("application/json") {
        let text = "content-type: expected application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text.to_owned()));
    }
    if headers.contains_key(&VERSION) && !VERSIONS.contains(&text(VERSION)) {
        let text = format!("mcp-protocol-version: expected one of {}", VERSIONS.join(", "));
        return Err((StatusCode::BAD_REQUEST, text));
    }
    Ok(())
}

/// Plays what a request causes: a single message as such, anything else as a stream.
async fn play(
    mut sent: mpsc::Receiver<Sent>,
    id: &Value,
    connection: &Connection,
    closed: &Arc<ClosedStreams>,
) -> Response {
    let first = loop {
        match sent.recv().await {
            Some(Sent::Stderr(text)) => eprint(&text),
            Some(first) => break first,
            // The request was cancelled.
            None => return respond(StatusCode::ACCEPTED, Body::empty()),
        }
    };
    match first {
        Sent::Message(message) if message.get("method").is_none() && message["id"] == *id => {
            let mut response = respond(StatusCode::OK, Body::from(message.to_string()));
            let kind = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Sent::Http(answer) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = respond(status, Body::from(answer.body));
            for (name, value) in answer.headers {
                if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        first => event_stream(Some(first), sent, connection, closed),
    }
}

/// A stream of events, with this first one.
fn event_stream(
    first: Option<Sent>,
    sent: mpsc::Receiver<Sent>,
    connection: &Connection,
    closed: &Arc<ClosedStreams>,
) -> Response {
    let (connection, closed) = (connection.clone(), Arc::clone(closed));
    let pieces = stream::unfold(Some((first, sent)), move |open| {
        let (connection, closed) = (connection.clone(), Arc::clone(&closed));
        async move {
            let (next, mut sent) = open?;
            let next = match next {
                Some(next) => next,
                None => sent.recv().await?,
            };
            if let Sent::Close(pause) = next {
                let id = format!("event-{}", closed.count.fetch_add(1, Ordering::Relaxed) + 1);
                lock(&closed.waiting).insert(id.clone(), sent);
                let piece = format!("id: {id}\nretry: {pause}\ndata:\n\n");
                return Some((Ok::<_, Infallible>(Bytes::from(piece)), None));
            }
            let piece = piece(next, &connection)?;
            Some((Ok(Bytes::from(piece)), Some((None, sent))))
        }
    });
    let mut response = respond(StatusCode::OK, Body::from_stream(pieces));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// What goes over a stream; `None`: it ends.
fn piece(sent: Sent, connection: &Connection) -> Option<String> {
    match sent {
        Sent::Message(message) => Some(format!("event: message\ndata: {message}\n\n")),
        Sent::Raw(text) => Some(text),
        Sent::Stderr(text) => {
            eprint(&text);
            Some(String::new())
        }
        Sent::Exit(_) => {
            connection.cut();
            None
        }
        Sent::Http(_) | Sent::Close(_) => None,
    }
}

fn eprint(text: &str) {
    // Nobody may read it.
    let _ = io::Write::write_all(&mut io::stderr(), text.as_bytes());
}

fn respond(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
