//! Requests to a server and their answers, over any transport.

use super::{
    http::{EventListener, HttpTransport},
    log::ServerLog,
};
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};

/// The versions of MCP that are understood; the first is offered.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// An error of JSON-RPC: there is no such method.
const NO_METHOD: i64 = -32601;

/// Why an answer cannot be read.
const TOO_DEEP: &str = "the answer is no JSON, or nested deeper than 128 levels";

/// The longest text of a server's error, in bytes; more is cut.
const MAX_ERROR: usize = 16 * 1024;

/// The way to a server.
pub(crate) enum Transport {
    /// Takes messages for stdin; closing it ends the server.
    Stdio(mpsc::Sender<String>),
    Http(Box<HttpTransport>),
}

/// A connection to a server.
pub(crate) struct Client {
    transport: Transport,
    inbox: Arc<Inbox>,
    next: AtomicU64,
    timeout: Duration,
    /// What the server sends beside its answers.
    listening: OnceLock<EventListener>,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// For this reason.
    Failed(String),
    /// With an error of JSON-RPC.
    Refused { code: i64, text: String },
    /// By a condition of the server or the network that may pass.
    Transient(String),
    /// The server no longer knows the session, and so has not performed the request.
    SessionOver,
    /// The user has to log in.
    NeedsLogin,
}

impl RequestError {
    /// Whether the server has no such method.
    pub(crate) const fn is_no_method(&self) -> bool {
        matches!(self, Self::Refused { code: NO_METHOD, .. })
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) | Self::Transient(text) => f.write_str(text),
            Self::Refused { code, text } => write!(f, "MCP error {code}: {text}"),
            Self::SessionOver => f.write_str("HTTP 404: the server has ended the session"),
            Self::NeedsLogin => f.write_str("HTTP 401: the server requires a login"),
        }
    }
}

impl From<String> for RequestError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

/// Where messages of a server go.
pub(crate) struct Inbox {
    outstanding: Mutex<HashMap<u64, Outstanding>>,
    /// The directory that the server may work in.
    root: String,
    /// Where what the server logs goes.
    log: Option<ServerLog>,
    /// Tells that the list of tools has changed.
    pub list_changed: Notify,
    /// Why the connection is over; `None`: it is not.
    pub closed: watch::Sender<Option<String>>,
}

/// A request without an answer.
struct Outstanding {
    answer: oneshot::Sender<Result<Value, RequestError>>,
    /// Takes progress; the next one replaces what was not read.
    progress: watch::Sender<Option<Value>>,
    /// Whether the server may be working on it.
    is_at_server: bool,
}

impl Inbox {
    pub(crate) fn new(root: String, log: Option<ServerLog>) -> Arc<Self> {
        Arc::new(Self {
            outstanding: Mutex::default(),
            root,
            log,
            list_changed: Notify::new(),
            closed: watch::Sender::new(None),
        })
    }

    /// Handles the text of a message; gives the answer to send, and whether it was a message at all.
    pub(crate) fn receive_text(&self, text: &[u8]) -> (Option<Value>, bool) {
        // Anything else is no message, and there may be much of it.
        if !text.trim_ascii_start().starts_with(b"{") && !text.trim_ascii_start().starts_with(b"[") {
            return (None, false);
        }
        if let Ok(message) = serde_json::from_slice(text) {
            return self.receive(&message);
        }
        // Parts that are not read may be nested without a limit, so that the request is known.
        let members: Result<HashMap<String, Box<RawValue>>, _> = serde_json::from_slice(text);
        let id = members.ok().and_then(|members| members.get("id")?.get().parse().ok());
        let outstanding = id.and_then(|id: u64| self.lock().remove(&id));
        let known = outstanding.map(|it| it.answer.send(Err(RequestError::Failed(TOO_DEEP.to_owned()))));
        (None, known.is_some())
    }

    /// Handles a message; gives the answer to send, and whether it was a message at all.
    pub(crate) fn receive(&self, message: &Value) -> (Option<Value>, bool) {
        if let Value::Array(batch) = message {
            // Batches are of old versions and have answers alone.
            return (None, batch.iter().filter(|it| it.is_object() && self.receive(it).1).count() > 0);
        }
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id").filter(|id| id.is_u64() || id.is_i64() || id.is_string());
        match (method, id) {
            (None, Some(id)) => {
                let answer = match (message.get("result"), message.get("error")) {
                    (Some(result), None) => Ok(result.clone()),
                    (_, Some(error)) => Err(refusal(error)),
                    (None, None) => return (None, false),
                };
                let known = id.as_u64().and_then(|id| self.lock().remove(&id));
                // Its caller may have gone.
                known.map(|outstanding| outstanding.answer.send(answer));
                (None, true)
            }
            (Some(method), Some(id)) => {
                let outcome = match method {
                    "ping" => json!({ "result": {} }),
                    "roots/list" => json!({ "result": { "roots": [{ "uri": self.root }] } }),
                    _ => {
                        json!({ "error": { "code": NO_METHOD, "message": format!("Method not found: {method}") } })
                    }
                };
                let mut answer = json!({ "jsonrpc": "2.0", "id": id });
                if let (Value::Object(answer), Value::Object(outcome)) = (&mut answer, outcome) {
                    answer.extend(outcome);
                }
                (Some(answer), true)
            }
            (Some("notifications/tools/list_changed"), None) => {
                self.list_changed.notify_one();
                (None, true)
            }
            (Some("notifications/progress"), None) => {
                let params = message.get("params");
                let token = params.and_then(|params| params.get("progressToken")?.as_u64());
                if let (Some(token), Some(params)) = (token, params)
                    && let Some(outstanding) = self.lock().get(&token)
                {
                    outstanding.progress.send_replace(Some(params.clone()));
                }
                (None, true)
            }
            (Some("notifications/message"), None) => {
                if let Some(log) = &self.log {
                    log.write(message.get("params").unwrap_or(&Value::Null));
                }
                (None, true)
            }
            (Some(_), None) => (None, true),
            (None, None) => (None, false),
        }
    }

    /// Fails every request: the connection is over.
    pub(crate) fn close(&self, reason: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.to_owned());
            }
            first
        });
        self.lock().clear();
    }

    /// Notes whether the server may be working on a request, and so has to be told of its cancellation.
    pub(crate) fn set_at_server(&self, id: u64, is_at_server: bool) {
        if let Some(outstanding) = self.lock().get_mut(&id) {
            outstanding.is_at_server = is_at_server;
        }
    }

    /// Whether a request has no answer yet.
    pub(crate) fn awaits(&self, id: u64) -> bool {
        self.lock().contains_key(&id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Outstanding>> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    pub(crate) const fn new(transport: Transport, inbox: Arc<Inbox>, timeout: Duration) -> Self {
        Self { transport, inbox, next: AtomicU64::new(1), timeout, listening: OnceLock::new() }
    }

    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Opens the session; gives what the server says of itself.
    pub(crate) async fn initialize(&self) -> Result<Value, RequestError> {
        let params = json!({
            "protocolVersion": VERSIONS[0],
            "capabilities": { "roots": {} },
            "clientInfo": { "name": "pi-rpc", "version": env!("CARGO_PKG_VERSION") },
        });
        let result = self.request("initialize", params).await?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !VERSIONS.contains(&version) {
            let shown: String = version.chars().take(40).filter(|c| !c.is_control()).collect();
            return Err(RequestError::Failed(format!(
                "initialize: protocolVersion: expected one of {}, got \"{shown}\"",
                VERSIONS.join(", ")
            )));
        }
        if let Transport::Http(http) = &self.transport {
            http.use_version(version);
        }
        self.notify("notifications/initialized", json!({})).await?;
        if let Transport::Http(http) = &self.transport {
            self.listening.get_or_init(|| http.listen(self.inbox.clone()));
        }
        Ok(result)
    }

    /// Sends a request and waits for its answer, for as long as the server's time limit.
    ///
    /// # Errors
    ///
    /// The server's error, the time limit, or the end of the connection.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, RequestError> {
        self.request_with_progress(method, params, None).await
    }

    /// Like [`request`](Self::request); progress starts the time limit anew, and goes to `progress`. Dropping the future cancels the request.
    pub(crate) async fn request_with_progress(
        &self,
        method: &str,
        mut params: Value,
        progress: Option<mpsc::Sender<Value>>,
    ) -> Result<Value, RequestError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if method == "tools/call" {
            params["_meta"] = json!({ "progressToken": id });
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let (answer, mut answered) = oneshot::channel();
        let (sender, mut news) = watch::channel(None);
        self.inbox.lock().insert(id, Outstanding { answer, progress: sender, is_at_server: false });
        let request = OpenRequest { client: self, id, is_cancellable: method != "initialize" };
        let mut closed = self.inbox.closed.subscribe();
        let sending = self.send(&message);
        tokio::pin!(sending);
        let mut is_sent = false;
        let mut limit = Instant::now() + self.timeout;
        let late = || format!("{method}: no answer within {} seconds", self.timeout.as_secs_f64());
        let outcome = loop {
            tokio::select! {
                biased;
                Ok(answer) = &mut answered => break answer,
                sent = &mut sending, if !is_sent => match sent {
                    Ok(()) => is_sent = true,
                    Err(error) => break Err(error),
                },
                reason = closed_reason(&mut closed) => break Err(reason.into()),
                Ok(()) = news.changed() => {
                    limit = Instant::now() + self.timeout;
                    let params = news.borrow_and_update().clone();
                    if let (Some(params), Some(progress)) = (params, &progress) {
                        // Of quick progress, some is left out.
                        let _ = progress.try_send(params);
                    }
                }
                () = sleep_until(limit) => break Err(late().into()),
            }
        };
        // Dropped here, where it cancels what the server may still work on.
        drop(request);
        outcome
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<(), RequestError> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let sent = tokio::time::timeout(self.timeout, self.send(&message)).await;
        sent.unwrap_or_else(|_| Err(format!("{method}: the server does not read").into()))
    }

    /// Ends the session, where that takes a message.
    pub(crate) async fn end(&self) {
        if let Transport::Http(http) = &self.transport {
            http.end().await;
        }
    }

    async fn send(&self, message: &Value) -> Result<(), RequestError> {
        match &self.transport {
            Transport::Stdio(sender) => {
                let sent = sender.send(format!("{message}\n")).await;
                sent.map_err(|_| RequestError::Failed("the connection is closed".to_owned()))?;
                if let Some(id) = message.get("id").and_then(Value::as_u64) {
                    self.inbox.set_at_server(id, true);
                }
                Ok(())
            }
            Transport::Http(http) => http.post(message, &self.inbox).await,
        }
    }
}

/// Resolves to the reason once the connection is over.
pub(crate) async fn closed_reason(closed: &mut watch::Receiver<Option<String>>) -> String {
    let reason = closed.wait_for(Option::is_some).await.map(|reason| reason.clone());
    reason.ok().flatten().unwrap_or_else(|| "Connection closed".to_owned())
}

/// A request that is cancelled when it is dropped while the server may be working on it.
struct OpenRequest<'a> {
    client: &'a Client,
    id: u64,
    is_cancellable: bool,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let outstanding = self.client.inbox.lock().remove(&self.id);
        if !self.is_cancellable || !outstanding.is_some_and(|it| it.is_at_server) {
            return;
        }
        let params = json!({ "requestId": self.id, "reason": "cancelled" });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        match &self.client.transport {
            // A server that does not read is not told.
            Transport::Stdio(sender) => drop(sender.try_send(format!("{message}\n"))),
            Transport::Http(http) => http.post_later(message),
        }
    }
}

/// An error of JSON-RPC.
fn refusal(error: &Value) -> RequestError {
    let text = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message");
    let text = text[..text.floor_char_boundary(MAX_ERROR)].to_owned();
    match error.get("code").and_then(Value::as_i64) {
        Some(code) => RequestError::Refused { code, text },
        None => RequestError::Failed(text),
    }
}
