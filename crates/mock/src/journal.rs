//! A journal of requests, for tests of clients.

use super::google::tokens::takes_keys;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::VecDeque,
    fs::File,
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// Number of requests that are kept: a server may run for days.
const REMEMBERED: usize = 1000;
/// Bytes of bodies that are kept, as they were sent.
const REMEMBERED_BYTES: usize = 64 * 1024 * 1024;

/// Parts of names of headers that hold credentials. Clients may be configured to send any header.
const SECRET: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// One request and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReceivedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in order, names in lower case; a value that is not UTF-8 has its bad bytes replaced.
    pub headers: Vec<(String, String)>,
    /// The body as JSON, or as a string if it is none; null if it is empty.
    pub body: Value,
    /// HTTP status of the response; `None`: the connection was cut, or nothing was sent.
    pub status: Option<u16>,
    /// The vendor's refusal, if any; also set if the server is lenient and answers.
    pub refusal: Option<String>,
    /// Size of the body as it was sent.
    #[serde(skip)]
    pub(super) bytes: usize,
    /// Whether it belongs to a login: most members are codes and tokens.
    #[serde(skip)]
    pub(super) is_login: bool,
}

impl ReceivedRequest {
    /// The first value of the header `name` (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Members of a login's request that are no codes and no tokens.
const PUBLIC: [&str; 8] = [
    "client_id",
    "code_challenge_method",
    "grant_type",
    "redirect_uri",
    "referrer",
    "resource",
    "response_type",
    "scope",
];

/// The newest thousand requests, or 64 MiB of them, oldest first, and the number of running answers.
pub struct Journal {
    received: Mutex<VecDeque<ReceivedRequest>>,
    running: watch::Sender<usize>,
    file: Option<Mutex<File>>,
}

impl Journal {
    pub(super) fn new(file: Option<File>) -> Self {
        Self { received: Mutex::default(), running: watch::Sender::new(0), file: file.map(Mutex::new) }
    }

    /// The requests so far. One appears when its answer is decided.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        lock(&self.received).iter().cloned().collect()
    }

    /// The number of running answers; an answer ends with its last byte or with its client.
    pub fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
    }

    pub(super) fn add(&self, received: ReceivedRequest) {
        if let Some(file) = &self.file {
            // A full disk must not end the test. One write: the file may have other writers.
            let _ = lock(file).write_all(line(&received).as_bytes());
        }
        let mut all = lock(&self.received);
        all.push_back(received);
        let mut bytes: usize = all.iter().map(|received| received.bytes).sum();
        while all.len() > REMEMBERED || bytes > REMEMBERED_BYTES {
            bytes -= all.pop_front().map_or(bytes, |oldest| oldest.bytes);
        }
    }

    /// Counts an answer as running until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RunningGuard {
        self.running.send_modify(|running| *running += 1);
        RunningGuard(Arc::clone(self))
    }
}

/// A guard that counts a running answer.
pub(super) struct RunningGuard(Arc<Journal>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// Formats a request as a line of the log, without credentials.
fn line(received: &ReceivedRequest) -> String {
    let mut shown = received.clone();
    for (name, value) in &mut shown.headers {
        if SECRET.iter().any(|part| name.contains(part)) {
            "***".clone_into(value);
        }
    }
    if takes_keys(&shown.path) {
        shown.body = "***".into();
    }
    if let Some((path, query)) = shown.path.split_once('?') {
        let masked = |member: &str| match member.split_once('=') {
            Some((name, _)) if received.is_login && !PUBLIC.contains(&name) => format!("{name}=***"),
            Some((name, _)) if SECRET.iter().any(|part| name.contains(part)) => format!("{name}=***"),
            _ => member.to_owned(),
        };
        let query: Vec<String> = query.split('&').map(masked).collect();
        shown.path = format!("{path}?{}", query.join("&"));
    }
    if received.is_login {
        shown.body = masked_login(&shown.body);
    }
    serde_json::to_string(&shown).unwrap_or_default() + "\n"
}

/// The body of a login's request without codes and tokens; a form becomes an object.
fn masked_login(body: &Value) -> Value {
    let members: Vec<(String, Value)> = match body {
        Value::Object(members) => members.clone().into_iter().collect(),
        Value::String(form) => {
            let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.into())).collect()
        }
        _ => return Value::Null,
    };
    let shown = |(name, value): (String, Value)| {
        let value = if PUBLIC.contains(&name.as_str()) { value } else { "***".into() };
        (name, value)
    };
    Value::Object(members.into_iter().map(shown).collect())
}

/// Locks a mutex, poisoned or not: every change here is one push, so its value is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
