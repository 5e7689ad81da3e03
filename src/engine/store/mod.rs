//! The session and its file: entries are persisted before they are emitted.

pub(super) mod disk;
pub(super) mod entries;
pub(super) mod persist;
pub(super) mod sessions;
