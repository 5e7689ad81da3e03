//! Notices for programs without a connection: a run is done, a question waits.
//!
//! A process is one host, so there is one receiver, the webhook. A notice has ids and a time, no text of the session.

use super::metrics::METRICS;
use pi_rpc_server::wall_ms;
use std::sync::OnceLock;
use tokio::sync::mpsc;

/// Something that has happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionNotice {
    /// What has happened.
    pub kind: NoticeKind,
    /// The handle of the session.
    pub session: String,
    /// The id in its file.
    pub durable_session: String,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// A run and what follows it are over.
    RunDone,
    /// A dialog with this id has opened.
    QuestionWaits(String),
}

/// Notices that wait to be taken; later ones are dropped, and counted.
const CAPACITY: usize = 256;

static TAKER: OnceLock<mpsc::Sender<SessionNotice>> = OnceLock::new();

/// Takes the notices of all sessions of this process. `None`: they are taken already.
pub fn take_notices() -> Option<mpsc::Receiver<SessionNotice>> {
    let (sender, taken) = mpsc::channel(CAPACITY);
    TAKER.set(sender).is_ok().then_some(taken)
}

/// Whether there is a receiver.
pub fn are_taken() -> bool {
    TAKER.get().is_some()
}

/// Queues a notice for the receiver, if there is one.
pub fn tell(kind: NoticeKind, session: &str, durable_session: String) {
    let Some(taker) = TAKER.get() else { return };
    let notice = SessionNotice { kind, session: session.to_owned(), durable_session, at: wall_ms() };
    if taker.try_send(notice).is_err() {
        METRICS.notice("dropped");
    }
}

/// Counts what became of a notice: `delivered`, `failed` or `dropped`.
pub fn count_notice(outcome: &'static str) {
    METRICS.notice(outcome);
}
