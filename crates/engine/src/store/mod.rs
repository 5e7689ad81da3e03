//! The session and its file: entries are appended before they are emitted.
//!
//! An entry goes to the session first, together with what is to follow its append ([`AfterAppend`]). [`Store::advance`]
//! gives the writes that are left, and only then what follows them, with an [`Appended`]: whatever emits the frames of
//! an entry takes one, and only the store can create one.

pub(super) mod after_append;
pub(super) mod disk;
pub(super) mod entries;
pub(super) mod next_session;
pub(super) mod persist;
pub(super) mod sessions;

use crate::setup::SessionStorage;
use after_append::AfterAppend;
use pi_rpc_session::{NewEntry, Session, Stamp, Write};
use std::{sync::Arc, time::Duration};

/// The session and its file: appends entries, and yields writes and their continuations.
#[derive(Debug)]
pub struct Store {
    /// The session.
    pub session: Session,
    /// Where sessions are stored.
    pub place: SessionStorage,
    disk: Disk,
    /// The continuation once all entries so far are persisted.
    after_append: Option<AfterAppend>,
}

/// The state of the file.
#[derive(Debug, PartialEq, Eq)]
enum Disk {
    /// No write is outstanding.
    Free,
    /// A write is outstanding since this moment of the monotonic clock.
    Writing(Duration),
    /// The last write failed; the next follows with another entry, or by [`Store::retry_write`].
    Failed,
}

/// Proof that the writes of all entries so far have completed, or that one has failed.
#[derive(Debug)]
pub struct Appended(());

/// The next step of the store.
#[derive(Debug)]
pub enum StoreStep {
    /// Perform this write; it ends by [`Store::complete`] or [`Store::fail`].
    Write(Write),
    /// Perform this continuation: everything is written.
    Follow(AfterAppend, Appended),
}

impl Store {
    /// Creates a store with a session.
    pub const fn new(session: Session, place: SessionStorage) -> Self {
        Self { session, place, disk: Disk::Free, after_append: None }
    }

    /// Adds an entry to the session, and gives its id. Entries are written in this order, what could not be written
    /// before first.
    pub fn append(&mut self, entry: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) -> Option<Arc<str>> {
        self.retry_write();
        self.session.append(entry, stamp, random);
        self.session.tree().leaf_id().cloned()
    }

    /// Sets the continuation for when all entries so far are persisted.
    pub fn after_append(&mut self, next: AfterAppend) {
        self.retry_write();
        self.after_append = Some(next);
    }

    /// Requests a compaction once the exclusion of an entry is persisted.
    pub const fn compact_after_append(&mut self) {
        if let Some(AfterAppend::Entries { compacts, .. }) = &mut self.after_append {
            *compacts = true;
        }
    }

    /// Retries a failed write.
    pub fn retry_write(&mut self) {
        if self.disk == Disk::Failed {
            self.disk = Disk::Free;
        }
    }

    /// Records a failed write: none follows until another entry is appended.
    pub const fn wait(&mut self) {
        self.disk = Disk::Failed;
    }

    /// The next write, or the continuation after all of them; `None`: neither.
    pub fn advance(&mut self, now: Duration) -> Option<StoreStep> {
        if self.disk != Disk::Free {
            return None;
        }
        if let Some(write) = self.session.next_write() {
            self.disk = Disk::Writing(now);
            return Some(StoreStep::Write(write));
        }
        Some(StoreStep::Follow(self.after_append.take()?, Appended(())))
    }

    /// Syncs the file to the disk; `next` follows.
    pub fn sync(&mut self, next: AfterAppend, now: Duration) -> Write {
        self.after_append = Some(next);
        self.disk = Disk::Writing(now);
        Write::Sync
    }

    /// The outstanding write has completed; gives since when it was outstanding, `None`: none was.
    pub fn complete(&mut self) -> Option<Duration> {
        let Disk::Writing(since) = self.disk else { return None };
        self.disk = Disk::Free;
        // A sync writes no further entries.
        if !self.is_syncing() {
            self.session.mark_written();
        }
        Some(since)
    }

    /// The outstanding write has failed; gives since when it was outstanding, and what will not follow it.
    pub fn fail(&mut self) -> Option<(Duration, Option<AfterAppend>, Appended)> {
        let Disk::Writing(since) = self.disk else { return None };
        self.disk = Disk::Failed;
        Some((since, self.after_append.take(), Appended(())))
    }

    /// Whether a write is outstanding.
    pub const fn is_writing(&self) -> bool {
        matches!(self.disk, Disk::Writing(_))
    }

    /// Whether the last write failed.
    pub fn has_failed(&self) -> bool {
        self.disk == Disk::Failed
    }

    /// Whether the end of a run waits until the file is synced.
    pub const fn is_syncing(&self) -> bool {
        matches!(self.after_append, Some(AfterAppend::RunEnd(_)))
    }

    /// Whether the file can be synced before a run ends.
    pub fn can_sync(&self) -> bool {
        self.session.is_on_disk() && self.disk == Disk::Free && self.after_append.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::Dialect;
    use pi_rpc_session::new_header;
    use serde_json::json;
    use std::path::Path;

    const NOW: Duration = Duration::from_secs(1);

    /// A store with one entry that is still to be written.
    fn store() -> Store {
        let header = new_header("id".to_owned(), "/".to_owned(), None, 0);
        let session = Session::new(header, Some(Path::new("/session.jsonl").into()));
        let mut store = Store::new(session, SessionStorage::in_memory("/"));
        let stamp = Stamp { dialect: Dialect::Pi, wall_ms: 0 };
        let message = json!({"role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "stopReason": "stop", "timestamp": 0});
        let message = serde_json::from_value(message).expect("a message of pi");
        store.append(NewEntry::Message(message), stamp, &mut fastrand::Rng::with_seed(1));
        store.after_append(AfterAppend::Nothing);
        store
    }

    #[test]
    fn continuation_waits_for_the_write() {
        let mut store = store();
        assert!(matches!(store.advance(NOW), Some(StoreStep::Write(_))));
        assert!(store.advance(NOW).is_none(), "the write is outstanding");
        assert_eq!(store.complete(), Some(NOW));
        assert!(matches!(store.advance(NOW), Some(StoreStep::Follow(AfterAppend::Nothing, _))));
        assert!(store.advance(NOW).is_none(), "nothing is left");
    }

    #[test]
    fn failed_write_is_repeated_with_next() {
        let mut store = store();
        let write = store.advance(NOW);
        assert!(matches!(store.fail(), Some((NOW, Some(AfterAppend::Nothing), _))));
        assert!(store.has_failed() && store.advance(NOW).is_none());
        store.after_append(AfterAppend::Nothing);
        assert_eq!(format!("{:?}", store.advance(NOW)), format!("{write:?}"));
    }
}
