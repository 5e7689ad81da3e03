//! What was asked: for tests that look at what a client sends.

use serde::Serialize;
use serde_json::Value;
use std::{
    collections::VecDeque,
    fs::File,
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// How many requests are remembered: a server may run for days.
const REMEMBERED: usize = 1000;
/// And how many bytes of bodies, as they were sent.
const REMEMBERED_BYTES: usize = 64 * 1024 * 1024;

/// Parts of the names of headers whose values prove who asks. Clients may be told to send any header.
const SECRET: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// One request, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReceivedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in order, names in lower case; a value that is not UTF-8 has its bad bytes replaced.
    pub headers: Vec<(String, String)>,
    /// The body: its JSON, or a string when it is none; null when it is empty.
    pub body: Value,
    /// The HTTP status of the answer, or nothing when the connection is cut or nothing is ever said.
    pub status: Option<u16>,
    /// Why the vendor refuses the request, if it does; also told when the server is lenient and answers.
    pub refusal: Option<String>,
    /// The length of the body as it was sent.
    #[serde(skip)]
    pub(super) bytes: usize,
}

impl ReceivedRequest {
    /// The first value of the header `name` (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// The newest thousand requests, or 64 MiB of them, oldest first, and how many answers are under way.
pub struct Journal {
    received: Mutex<VecDeque<ReceivedRequest>>,
    running: watch::Sender<usize>,
    file: Option<Mutex<File>>,
}

impl Journal {
    pub(super) fn new(file: Option<File>) -> Self {
        Self { received: Mutex::default(), running: watch::Sender::new(0), file: file.map(Mutex::new) }
    }

    /// The requests so far, each from the moment when its answer was decided.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        lock(&self.received).iter().cloned().collect()
    }

    /// How many requests are being answered right now; an answer ends with its last byte or with its client.
    pub fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
    }

    pub(super) fn add(&self, received: ReceivedRequest) {
        if let Some(file) = &self.file {
            // A full disk must not end the test that is being watched. In one piece: the file may have other writers.
            let _ = lock(file).write_all(line(&received).as_bytes());
        }
        let mut all = lock(&self.received);
        all.push_back(received);
        let mut bytes: usize = all.iter().map(|received| received.bytes).sum();
        while all.len() > REMEMBERED || bytes > REMEMBERED_BYTES {
            bytes -= all.pop_front().map_or(bytes, |oldest| oldest.bytes);
        }
    }

    /// Counts an answer as under way until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RunningGuard {
        self.running.send_modify(|running| *running += 1);
        RunningGuard(Arc::clone(self))
    }
}

/// An answer that is under way.
pub(super) struct RunningGuard(Arc<Journal>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// The request as a line of the log, without what others could use.
fn line(received: &ReceivedRequest) -> String {
    let mut shown = received.clone();
    for (name, value) in &mut shown.headers {
        if SECRET.iter().any(|part| name.contains(part)) {
            "***".clone_into(value);
        }
    }
    serde_json::to_string(&shown).unwrap_or_default() + "\n"
}

/// What a panic elsewhere leaves behind is still whole: every change here is one push.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
