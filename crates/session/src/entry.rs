//! One entry of a session file, parsed as far as needed.

use super::{
    members::Members,
    message::{Parsed, parse, read},
};
use bytes::Bytes;
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, Base, Bases, FromJson, SessionEntry, SessionEntryKind,
};
use std::sync::{Arc, OnceLock};

/// An entry: its line in the file, and the members that the tree needs. Its content is parsed on demand.
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

/// The place of a message that stands in its line exactly as the encoder would write it: it can be copied to the wire
/// unparsed, and parsing it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The dialects whose form it has; at least one.
    pub bases: Bases,
    /// Offset of its first byte from the line's beginning. The line's last brace follows it.
    pub start: u32,
}

/// The members of a line that are read before its content.
#[derive(Debug)]
pub(super) struct EntryHead {
    /// The entry's id, unique in its file.
    pub id: Arc<str>,
    /// Id of the entry before it on its branch; it may be missing in the file.
    pub parent: Option<Arc<str>>,
    /// The type; `None`: the schema does not know it.
    pub kind: Option<SessionEntryKind>,
    /// The role of its message, if the schema knows it.
    pub role: Option<AgentMessageKind>,
    /// Time of writing in milliseconds since the Unix epoch; 0: unknown.
    pub at: u64,
    /// The place of its message, if the message is plain.
    pub plain: Option<Plain>,
}

/// Number of bytes behind a plain message: the brace and the line feed.
const AFTER_MESSAGE: usize = 2;

impl Entry {
    /// Creates an entry from its head and its line, line feed included.
    pub(super) fn new(head: EntryHead, line: Bytes) -> Self {
        let EntryHead { id, parent, kind, role, at, plain } = head;
        // Only entries of the kind `message` have a role.
        let plain = plain.filter(|_| kind == Some(SessionEntryKind::Message) && line.ends_with(b"}}\n"));
        Self { line, id, parent, kind, role, at, plain, message: OnceLock::new() }
    }

    /// Creates an entry whose message is already parsed.
    pub(super) fn with_message(head: EntryHead, line: Bytes, message: Arc<AgentMessage>) -> Self {
        let entry = Self::new(head, line);
        // A new cell is empty.
        let _ = entry.message.set(Parsed::whole(message));
        entry
    }

    /// Gives the entry another parent, also in its line in memory.
    pub(super) fn reparent(&mut self, parent: &Arc<str>) -> serde_json::Result<()> {
        let mut members: Members = serde_json::from_slice(&self.line)?;
        members.set("parentId", &parent.as_ref())?;
        let line = members.line()?;
        // The place of the message has moved.
        (self.line, self.plain) = (line.into(), None);
        self.parent = Some(parent.clone());
        Ok(())
    }

    /// The entry's id, unique in its file.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Id of the entry before it on its branch, which may be missing in the file. `None`: the first of a branch.
    pub fn parent(&self) -> Option<&Arc<str>> {
        self.parent.as_ref()
    }

    /// The type; `None`: the schema does not know it.
    pub fn kind(&self) -> Option<SessionEntryKind> {
        self.kind
    }

    /// The role of the message in an entry of the kind `message`; `None` also for a role that the schema does not know.
    pub fn role(&self) -> Option<AgentMessageKind> {
        self.role
    }

    /// Time of writing in milliseconds since the Unix epoch; 0: unknown.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The line in the file, line feed included.
    pub fn line(&self) -> &Bytes {
        &self.line
    }

    /// The message that the entry adds to the conversation: that of a `message`, or one made of a `custom_message`, a
    /// `branch_summary` that is not empty, or a `compaction`. Parsed once. `None`: another kind, or unreadable
    /// ([`parse_error`](Self::parse_error)).
    pub fn message(&self) -> Option<&Arc<AgentMessage>> {
        self.parsed().message.as_ref()
    }

    /// The role of its [`message`](Self::message), without parsing it where possible.
    pub(super) fn message_kind(&self) -> Option<AgentMessageKind> {
        match self.plain {
            Some(_) => self.role,
            None => self.message().map(|message| message.kind()),
        }
    }

    /// Whether its message is known to be readable without parsing it.
    pub(super) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// The bytes of its message, if they are what dialects built on `base` write.
    pub(super) fn plain_message(&self, base: Base) -> Option<&[u8]> {
        let Plain { start, .. } = self.plain.filter(|plain| plain.bases.has(base))?;
        self.line.get(start as usize..self.line.len().checked_sub(AFTER_MESSAGE)?)
    }

    /// Why the message, or a part of it, could not be read; `None`: it could.
    pub fn parse_error(&self) -> Option<&str> {
        self.parsed().parse_error.as_deref()
    }

    /// Parses the whole entry; `None`: its kind is unknown, or it does not fit the schema.
    pub fn content(&self) -> Option<SessionEntry> {
        self.read()
    }

    /// Parses the entry as `T`; `None`: it does not fit.
    pub fn read<T: FromJson>(&self) -> Option<T> {
        read(&self.line).ok()
    }

    fn parsed(&self) -> &Parsed {
        self.message.get_or_init(|| parse(self.kind, &self.line, self.at))
    }
}
