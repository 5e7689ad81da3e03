//! Streamable HTTP: each message is a request, whose answer is a message or a stream of them.
//!
//! No redirect is followed, so that no header goes to another host. Where there is a login by OAuth, its token goes with every message.

use super::{
    MAX_MESSAGE,
    client::{Inbox, RequestError},
    event_stream::{EventStream, TooLong},
    oauth::{Login, Refresh, discovery::Challenge},
};
use reqwest::{
    Client, Response, StatusCode,
    header::{
        ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
    },
    redirect,
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{sleep, timeout};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The type of streams.
const EVENT_STREAM: &str = "text/event-stream";

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of a session may take.
const END_TIMEOUT: Duration = Duration::from_millis(150);

/// Waits before a first message is sent again, where the server may be better off then.
const RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Waits before a stream is opened again, where the server names none; so often in a row, without anything that comes.
const STREAM_RETRIES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
];

/// The stream beside answers; dropping it closes the stream.
pub(crate) struct EventListener(tokio::task::JoinHandle<()>);

impl Drop for EventListener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A server at an address.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    client: Client,
    url: String,
    headers: HeaderMap,
    /// The session and the version, once they are known.
    session: Arc<Mutex<HeaderMap>>,
    /// `None`: the headers have what proves to the server who asks.
    login: Option<Box<Login>>,
}

impl HttpTransport {
    /// A server that gets these headers with every message, and the token of the login.
    ///
    /// # Errors
    ///
    /// A header cannot be sent; its value is not shown.
    pub(crate) fn new(
        url: String,
        headers: &[(String, String)],
        login: Option<Box<Login>>,
    ) -> Result<Self, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let key: HeaderName =
                name.parse().map_err(|_| format!("headers: \"{name}\" is no name of a header"))?;
            let mut value: HeaderValue =
                value.parse().map_err(|_| format!("headers.{name}: the value cannot be sent"))?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        Ok(Self { client: http_client()?, url, headers: map, session: Arc::default(), login })
    }

    /// Names the version in every later message.
    pub(crate) fn use_version(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.session.lock().unwrap_or_else(PoisonError::into_inner).insert(VERSION, version);
        }
    }

    /// Sends a message; what comes back goes to `inbox`.
    pub(crate) async fn post(&self, message: &Value, inbox: &Inbox) -> Result<(), RequestError> {
        // A call may have been performed already: only the first message is sent again.
        let mut retries = RETRIES.iter().filter(|_| message["method"] == "initialize");
        loop {
            match self.post_once(message, inbox).await {
                Ok(()) => return Ok(()),
                Err(error @ RequestError::Transient(_)) => match retries.next() {
                    Some(wait) => sleep(*wait).await,
                    None => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what the server sends beside its answers, where it does, until the returned handle is dropped.
    pub(crate) fn listen(&self, inbox: Arc<Inbox>) -> EventListener {
        let http = self.clone();
        EventListener(tokio::spawn(async move {
            let mut place = EventStream::default();
            let mut waits = STREAM_RETRIES.iter();
            loop {
                match http.open_stream(place.last_event.as_ref()).await {
                    Ok(Some(response)) => {
                        // Its end is no error: servers close such streams at will.
                        let (had_some, _) = http.read_stream(response, &inbox, &mut place).await;
                        if had_some {
                            waits = STREAM_RETRIES.iter();
                        }
                    }
                    Err(RequestError::Transient(_)) => {}
                    Ok(None) | Err(_) => return,
                }
                let Some(wait) = waits.next() else { return };
                sleep(place.retry.unwrap_or(*wait)).await;
            }
        }))
    }

    /// Opens a stream beside answers, or resumes one behind an event; `None`: the server has none.
    async fn open_stream(&self, last_event: Option<&HeaderValue>) -> Result<Option<Response>, RequestError> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut request = self.client.get(&self.url).headers(self.headers.clone()).headers(session);
        request = request.header(ACCEPT, EVENT_STREAM);
        if let Some(id) = last_event {
            request = request.header(LAST_EVENT, id);
        }
        if let Some(token) = self.token().await {
            request = request.bearer_auth(token);
        }
        let response =
            request.send().await.map_err(|error| RequestError::Transient(network_error(&error)))?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(None);
        }
        self.check(&response)?;
        match is_event_stream(&response) {
            true => Ok(Some(response)),
            false => Err(RequestError::Failed("the answer to GET is no stream of events".to_owned())),
        }
    }

    /// Sends a notification beside everything else; nobody waits for it.
    pub(crate) fn post_later(&self, message: Value) {
        let http = self.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let unread = Inbox::unread();
                let _ = timeout(CONNECT_TIMEOUT, http.post_once(&message, &unread)).await;
            });
        }
    }

    /// Ends the session at the server, if it answers soon.
    pub(crate) async fn end(&self) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if session.contains_key(&SESSION) {
            let _ = timeout(END_TIMEOUT, async {
                let mut request =
                    self.client.delete(&self.url).headers(self.headers.clone()).headers(session);
                if let Some(token) = self.token().await {
                    request = request.bearer_auth(token);
                }
                request.send().await
            })
            .await;
        }
    }

    async fn token(&self) -> Option<String> {
        self.login.as_ref()?.token().await
    }

    /// Sends a message; once more where the login could be renewed.
    async fn send(&self, message: &Value) -> Result<Response, RequestError> {
        let mut is_renewed = false;
        loop {
            let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let token = self.token().await;
            let mut request = self.client.post(&self.url).headers(self.headers.clone()).headers(session);
            request = request.header(ACCEPT, "application/json, text/event-stream");
            if let Some(token) = &token {
                request = request.bearer_auth(token);
            }
            let sent =
                request.header(CONTENT_TYPE, "application/json").body(message.to_string()).send().await;
            let response = sent.map_err(|error| RequestError::Transient(network_error(&error)))?;
            let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
            let challenge = Challenge::read(challenge.unwrap_or_default());
            let is_refused = match response.status() {
                StatusCode::UNAUTHORIZED => true,
                StatusCode::FORBIDDEN => challenge.wants_scope(),
                _ => false,
            };
            let Some(login) = self.login.as_ref().filter(|_| is_refused) else { return Ok(response) };
            if is_renewed {
                return Err(RequestError::NeedsLogin);
            }
            match login.refused(token.as_deref(), challenge).await {
                Ok(Refresh::Done) => is_renewed = true,
                Ok(Refresh::NeedsLogin) => return Err(RequestError::NeedsLogin),
                Err(error) => return Err(RequestError::Failed(error)),
            }
        }
    }

    async fn post_once(&self, message: &Value, inbox: &Inbox) -> Result<(), RequestError> {
        let request = message.get("id").filter(|_| message.get("method").is_some()).and_then(Value::as_u64);
        request.into_iter().for_each(|id| inbox.set_at_server(id, true));
        let sent = self.send(message).await;
        // A server whose connection broke, or whose gateway gave up, may still work on it; one that has refused it does not.
        let is_unclear = match &sent {
            Ok(response) => {
                matches!(response.status(), StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT)
            }
            Err(error) => matches!(error, RequestError::Transient(_)),
        };
        let checked = sent.and_then(|response| self.check(&response).map(|()| response));
        if checked.is_err() && !is_unclear {
            request.into_iter().for_each(|id| inbox.set_at_server(id, false));
        }
        let response = checked?;
        if let Some(id) = response.headers().get(&SESSION).filter(|_| message["method"] == "initialize") {
            self.session.lock().unwrap_or_else(PoisonError::into_inner).insert(SESSION, id.clone());
        }
        let Some(id) = request else { return Ok(()) };
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let status = response.status().as_u16();
            return Err(RequestError::Failed(format!(
                "HTTP {status}: the server took the request without an answer"
            )));
        }
        match is_event_stream(&response) {
            true => self.read_answer(response, id, inbox).await,
            false => self.read_message(response, inbox).await.map_err(RequestError::Failed),
        }
    }

    /// Reads the stream that has the answer to a request. A server may close it before, and is asked for the rest where it has named
    /// a place.
    async fn read_answer(&self, response: Response, id: u64, inbox: &Inbox) -> Result<(), RequestError> {
        let mut place = EventStream::default();
        let mut waits = STREAM_RETRIES.iter();
        let mut stream = Some(response);
        let mut end = "the stream has ended without the answer".to_owned();
        loop {
            if let Some(response) = stream.take() {
                let (had_some, read) = self.read_stream(response, inbox, &mut place).await;
                if had_some {
                    waits = STREAM_RETRIES.iter();
                }
                match read {
                    Ok(()) => {}
                    Err(error @ RequestError::Transient(_)) => end = error.to_string(),
                    Err(error) => return Err(error),
                }
            }
            if !inbox.awaits(id) {
                return Ok(());
            }
            let (Some(last), Some(wait)) = (&place.last_event, waits.next()) else {
                return Err(RequestError::Failed(end));
            };
            sleep(place.retry.unwrap_or(*wait)).await;
            match self.open_stream(Some(last)).await {
                Ok(Some(resumed)) => stream = Some(resumed),
                Ok(None) => return Err(RequestError::Failed(end)),
                Err(error @ RequestError::Transient(_)) => end = error.to_string(),
                // The server has taken the request and then forgotten the session: sent again, it might be performed twice.
                Err(RequestError::SessionOver) => return Err(RequestError::Failed(end)),
                Err(error) => return Err(error),
            }
        }
    }

    fn check(&self, response: &Response) -> Result<(), RequestError> {
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let text = match status {
            StatusCode::UNAUTHORIZED => {
                let missing = match self.headers.contains_key("authorization") {
                    true => "it refuses the Authorization header of headers",
                    false => "it wants a login; expected headers.Authorization",
                };
                format!("HTTP 401: {missing}")
            }
            StatusCode::FORBIDDEN => "HTTP 403: the server refuses these headers".to_owned(),
            StatusCode::NOT_FOUND if self.has_session() => return Err(RequestError::SessionOver),
            StatusCode::NOT_FOUND => "HTTP 404: there is no MCP server at this address".to_owned(),
            _ if status.is_redirection() => {
                let target =
                    header(LOCATION).map(|target| format!(" to {}", shown(target))).unwrap_or_default();
                format!(
                    "HTTP {}: redirects{target} are not followed; expected the server's own address in url",
                    status.as_u16()
                )
            }
            _ => {
                let wait = header(RETRY_AFTER)
                    .map(|wait| format!(", again in {} s", shown(wait)))
                    .unwrap_or_default();
                format!("HTTP {}{wait}", status.as_u16())
            }
        };
        Err(match status.as_u16() {
            408 | 429 | 500 | 502..=599 => RequestError::Transient(text),
            _ => RequestError::Failed(text),
        })
    }

    fn has_session(&self) -> bool {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&SESSION)
    }

    async fn read_message(&self, mut response: Response, inbox: &Inbox) -> Result<(), String> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| network_error(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_MESSAGE {
                return Err(too_long());
            }
        }
        match self.pass_on(&body, inbox) {
            true => Ok(()),
            false => Err("the answer is no message of MCP".to_owned()),
        }
    }

    /// Reads a stream to its end; says whether a message was in it, and how it ended: the connection may be cut, or a message too
    /// long. `place` is where to resume it.
    async fn read_stream(
        &self,
        mut response: Response,
        inbox: &Inbox,
        place: &mut EventStream,
    ) -> (bool, Result<(), RequestError>) {
        let mut had_some = false;
        let mut pass_on = |data: &[u8]| had_some |= self.pass_on(data, inbox);
        let end = loop {
            match response.chunk().await {
                Ok(Some(bytes)) => {
                    if place.read(&bytes, &mut pass_on) == Err(TooLong) {
                        place.cut();
                        break Err(RequestError::Failed(too_long()));
                    }
                }
                Ok(None) => {
                    place.end(&mut pass_on);
                    break Ok(());
                }
                Err(error) => {
                    place.cut();
                    break Err(RequestError::Transient(network_error(&error)));
                }
            }
        };
        (had_some, end)
    }

    /// Passes a message on; says whether it was one.
    fn pass_on(&self, text: &[u8], inbox: &Inbox) -> bool {
        let (answer, is_message) = inbox.receive_text(text);
        if let Some(answer) = answer {
            self.post_later(answer);
        }
        is_message
    }
}

impl Inbox {
    /// For a message whose answer nobody reads.
    fn unread() -> Arc<Self> {
        Self::new(String::new(), None)
    }
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(EVENT_STREAM))
}

fn too_long() -> String {
    format!("it sent a message of more than {MAX_MESSAGE} bytes")
}

/// A client that follows no redirect.
pub(crate) fn http_client() -> Result<Client, String> {
    // Fails if one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client =
        Client::builder().redirect(redirect::Policy::none()).connect_timeout(CONNECT_TIMEOUT).build();
    client.map_err(|error| error.to_string())
}

/// The cause of a failure, without the address: it may hold a key.
pub(crate) fn network_error(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    if cause.source().is_none() && std::ptr::eq(cause, error as &dyn std::error::Error) {
        return "the request failed".to_owned();
    }
    cause.to_string()
}

/// A part of a server's answer, for an error.
fn shown(text: &str) -> String {
    let address = text.split(['?', '#']).next().unwrap_or_default();
    address.chars().filter(|c| !c.is_control()).take(200).collect()
}
