//! One line of a session file after the header.

use super::{
    members::Members,
    message::{Parsed, parse, read},
};
use crate::protocol::{AgentMessage, AgentMessageKind, Base, Bases, SessionEntry, SessionEntryKind};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use std::sync::{Arc, OnceLock};

/// An entry: its line as it stands in the file, and what the tree needs of it. What it says is parsed when asked for.
#[derive(Clone, Debug)]
pub struct Entry {
    line: Bytes,
    id: Arc<str>,
    parent: Option<Arc<str>>,
    kind: Option<SessionEntryKind>,
    role: Option<AgentMessageKind>,
    at: u64,
    plain: Option<Plain>,
    message: OnceLock<Parsed>,
}

/// A message that stands in its line as it would be said: it can be told without being parsed, and parsing it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The dialects in which it is; never none.
    pub bases: Bases,
    /// Where it begins, in bytes from the line's beginning. It is followed by the line's last brace.
    pub start: u32,
}

/// What a line says before its content is looked at.
#[derive(Debug)]
pub(super) struct Head {
    /// Names the entry inside its file.
    pub id: Arc<str>,
    /// The id of the entry before it on its branch; it need not be in the file.
    pub parent: Option<Arc<str>>,
    /// `None`: a type that the schema does not know.
    pub kind: Option<SessionEntryKind>,
    /// The role of the message in it, if it has one that the schema knows.
    pub role: Option<AgentMessageKind>,
    /// When it was written, in milliseconds since the Unix epoch; 0 when it does not say.
    pub at: u64,
    /// Its message is plain.
    pub plain: Option<Plain>,
}

/// The bytes of a line behind a plain message: the brace and the line feed.
const AFTER_MESSAGE: usize = 2;

impl Entry {
    /// `line` ends with its line feed.
    pub(super) fn new(head: Head, line: Bytes) -> Self {
        let Head { id, parent, kind, role, at, plain } = head;
        // The role of any other kind of entry says nothing.
        let plain = plain.filter(|_| kind == Some(SessionEntryKind::Message) && line.ends_with(b"}}\n"));
        Self { line, id, parent, kind, role, at, plain, message: OnceLock::new() }
    }

    /// An entry whose message is at hand.
    pub(super) fn with_message(head: Head, line: Bytes, message: Arc<AgentMessage>) -> Self {
        let entry = Self::new(head, line);
        // A new cell is empty.
        let _ = entry.message.set(Parsed::whole(message));
        entry
    }

    /// Follows another entry from now on; its line in memory says so, too.
    pub(super) fn reparent(&mut self, parent: &Arc<str>) -> serde_json::Result<()> {
        let mut members: Members = serde_json::from_slice(&self.line)?;
        members.set("parentId", &parent.as_ref())?;
        let line = members.line()?;
        // Where the message stood has moved.
        (self.line, self.plain) = (line.into(), None);
        self.parent = Some(parent.clone());
        Ok(())
    }

    /// Names the entry inside its file.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The id of the entry before it on its branch; it need not be in the file. `None`: the first of a branch.
    pub fn parent(&self) -> Option<&Arc<str>> {
        self.parent.as_ref()
    }

    /// What kind of entry it is; `None`: one that the schema does not know.
    pub fn kind(&self) -> Option<SessionEntryKind> {
        self.kind
    }

    /// The role of the message in an entry of the kind `message`; `None` also for a role that the schema does not know.
    pub fn role(&self) -> Option<AgentMessageKind> {
        self.role
    }

    /// When it was written, in milliseconds since the Unix epoch; 0 when it does not say.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Its line, line feed included.
    pub fn line(&self) -> &Bytes {
        &self.line
    }

    /// The message that it brings into the conversation: that of a `message`, and those made of a `custom_message`, a
    /// `branch_summary` that is not empty, and a `compaction`. Parsed once. `None` for all other kinds, and for what
    /// cannot be read: see [`parse_error`](Self::parse_error).
    pub fn message(&self) -> Option<&Arc<AgentMessage>> {
        self.parsed().message.as_ref()
    }

    /// The role of its [`message`](Self::message), which is parsed only where it has to be.
    pub(super) fn message_kind(&self) -> Option<AgentMessageKind> {
        match self.plain {
            Some(_) => self.role,
            None => self.message().map(|message| message.kind()),
        }
    }

    /// Its message is known to be readable, as a whole.
    pub(super) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// The bytes of its message, where they are what dialects built on `base` would say.
    pub(super) fn plain_message(&self, base: Base) -> Option<&[u8]> {
        let Plain { start, .. } = self.plain.filter(|plain| plain.bases.has(base))?;
        self.line.get(start as usize..self.line.len().checked_sub(AFTER_MESSAGE)?)
    }

    /// Why its message, or a part of it, could not be read.
    pub fn parse_error(&self) -> Option<&str> {
        self.parsed().parse_error.as_deref()
    }

    /// The whole entry, parsed anew; `None`: of an unknown kind, or not as the schema has it.
    pub fn content(&self) -> Option<SessionEntry> {
        self.read()
    }

    /// What the schema knows in it, parsed anew; the same as [`content`](Self::content) for one kind.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        read(&self.line).ok()
    }

    fn parsed(&self) -> &Parsed {
        self.message.get_or_init(|| parse(self.kind, &self.line, self.at))
    }
}
