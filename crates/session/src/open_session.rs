//! The open session: its tree, the messages in the context, and which part of it is on disk.

use super::{
    Entry, NewEntry, Notice, RenameEffect, Stamp, Tree, context::Outline, context_message::ContextMessage,
};
use bytes::Bytes;
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, Base, Check as _, SessionEntryKind, SessionHeader, StopReason,
    ThinkingLevel,
};
use std::{
    borrow::Cow,
    path::Path,
    sync::{Arc, OnceLock},
};

/// A session in memory, and perhaps in a file.
#[derive(Clone, Debug)]
pub struct Session {
    tree: Tree,
    /// Messages in the context, oldest first.
    context: Vec<ContextMessage>,
    /// The same messages, parsed at the first use. Shared with outstanding requests.
    messages: OnceLock<Arc<Vec<Arc<AgentMessage>>>>,
    /// The system messages among them.
    systems: OnceLock<Vec<Arc<AgentMessage>>>,
    /// Number of messages that were in the context before the last compaction.
    compacted: usize,
    /// Provider and id of the last model when the session was opened.
    model: Option<(String, String)>,
    /// Thinking level when the session was opened.
    level: Option<ThinkingLevel>,
    file: Option<Arc<Path>>,
    /// The file exists and holds the header.
    has_file: bool,
    /// Number of entries in the file.
    written: usize,
    /// Entries wait that are worth a write: they create the file, or are appended.
    is_write_due: bool,
    /// The header was changed after it was written.
    is_header_stale: bool,
}

/// A session file and the session read from it.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// Path of the file.
    pub path: Arc<Path>,
    /// Its session; `None`: the file does not exist or is empty, and a new session begins in it.
    pub tree: Option<Tree>,
    /// Damage that was found and repaired or passed over.
    pub notices: Vec<Notice>,
}

/// A change of the session's file; lines end with LF. The caller makes it whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Creates the session's file, which does not exist or is empty.
    Create {
        /// Path of the file.
        path: Arc<Path>,
        /// The header and all entries.
        lines: Vec<Bytes>,
    },
    /// Appends one entry, or several that belong together or were held back.
    Append(Bytes),
    /// Replaces all lines of the file: the header has changed.
    Rewrite(Vec<Bytes>),
    /// Syncs the file to the disk.
    Sync,
}

impl Session {
    /// Creates a session without entries, to be written to `file`; `None`: it stays in memory.
    pub fn new(header: SessionHeader, file: Option<Arc<Path>>) -> Self {
        Self::with(Tree::new(header), file, false)
    }

    /// The first line of the file.
    pub fn header(&self) -> &SessionHeader {
        self.tree.header()
    }

    /// Takes over a session that was read from `file`.
    pub fn from_file(tree: Tree, file: Arc<Path>) -> Self {
        Self::with(tree, Some(file), true)
    }

    /// Takes over a session that was made of another one's entries. It is written at once if it has a prompt or an
    /// answer.
    pub fn from_fork(tree: Tree, file: Option<Arc<Path>>) -> Self {
        let mut session = Self::with(tree, file, false);
        let spoken_roles = [Some(AgentMessageKind::User), Some(AgentMessageKind::Assistant)];
        session.is_write_due =
            session.tree.entries().iter().any(|entry| spoken_roles.contains(&entry.role()));
        session
    }

    fn with(tree: Tree, file: Option<Arc<Path>>, has_file: bool) -> Self {
        let written = if has_file { tree.entries().len() } else { 0 };
        let Outline { context, compacted, model, level, .. } = tree.outline();
        let (messages, systems) = (OnceLock::new(), OnceLock::new());
        Self {
            tree,
            context,
            messages,
            systems,
            compacted,
            model,
            level,
            file,
            has_file,
            written,
            is_write_due: false,
            is_header_stale: false,
        }
    }

    /// All entries, on all branches.
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.tree.header().id
    }

    /// The session's name; `None`: it has none.
    pub fn name(&self) -> Option<String> {
        self.tree.name()
    }

    /// Path of the file, whether it exists yet or not; `None`: the session stays in memory.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether the file exists.
    pub const fn is_on_disk(&self) -> bool {
        self.has_file
    }

    /// Messages in the context, oldest first. Those of a file are parsed at the first call.
    pub fn messages(&self) -> &Arc<Vec<Arc<AgentMessage>>> {
        let parse = |message: &ContextMessage| message.message(&self.tree).cloned();
        self.messages.get_or_init(|| Arc::new(self.context.iter().filter_map(parse).collect()))
    }

    /// System messages in the context. Collected once: there are few, however long the session is.
    pub fn system_messages(&self) -> &[Arc<AgentMessage>] {
        let is_system =
            |message: &&ContextMessage| message.kind(&self.tree) == Some(AgentMessageKind::System);
        let parse = |message: &ContextMessage| message.message(&self.tree).cloned();
        self.systems.get_or_init(|| self.context.iter().filter(is_system).filter_map(parse).collect())
    }

    /// Roles of the messages in the context.
    pub fn roles(&self) -> impl Iterator<Item = AgentMessageKind> {
        self.context.iter().filter_map(|message| message.kind(&self.tree))
    }

    /// Messages in the context as JSON in the form of dialects built on `base`, without those that the dialects do
    /// not have. A message that the file holds in this form is not parsed.
    pub fn encoded_messages(&self, base: Base) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let kinds = self
            .context
            .iter()
            .filter(move |message| message.kind(&self.tree).is_some_and(|it| it.is_in(base)));
        kinds.filter_map(move |message| {
            if let ContextMessage::Entry(place) = message
                && let Some(bytes) =
                    self.tree.entries().get(*place).and_then(|entry| entry.plain_message(base))
            {
                return Some(Cow::Borrowed(bytes));
            }
            let mut message = message.message(&self.tree)?.as_ref().clone();
            message.fit(base);
            serde_json::to_vec(&message).ok().map(Cow::Owned)
        })
    }

    /// Provider and id of the model that the session was opened with, if it names one.
    pub fn model(&self) -> Option<(&str, &str)> {
        self.model.as_ref().map(|(provider, id)| (provider.as_str(), id.as_str()))
    }

    /// Provider and id of the last model that was selected on the branch, whichever has answered since.
    pub fn selected_model(&self) -> Option<(String, String)> {
        self.tree.selected_model()
    }

    /// The thinking level that the session was opened with, if it names one.
    pub const fn level(&self) -> Option<ThinkingLevel> {
        self.level
    }

    /// Number of messages that were in the context before the last compaction; token counts of their answers are
    /// void.
    pub const fn compacted(&self) -> usize {
        self.compacted
    }

    /// Appends an entry. It is due to be written at once, or when the file is created: with the first message of the
    /// user, or with the first answer where an extension started the run. Decided here: the originals always wait for
    /// the first answer and lose the prompt with the process.
    pub fn append(&mut self, entry: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) {
        self.tree.append(entry, stamp, random);
        self.is_write_due |= self.has_file;
        let Some(message) =
            self.tree.entries().last().filter(|entry| is_context_message(entry)).and_then(Entry::message)
        else {
            return;
        };
        self.is_write_due |= matches!(**message, AgentMessage::User(_) | AgentMessage::Assistant(_));
        let message = message.clone();
        self.push(ContextMessage::Entry(self.tree.entries().len() - 1), message);
    }

    fn push(&mut self, place: ContextMessage, message: Arc<AgentMessage>) {
        self.context.push(place);
        if let (AgentMessage::System(_), Some(systems)) = (message.as_ref(), self.systems.get_mut()) {
            systems.push(message.clone());
        }
        if let Some(messages) = self.messages.get_mut() {
            Arc::make_mut(messages).push(message);
        }
    }

    /// Appends an entry that may be written together with the next one: settings at the start of a session.
    pub fn append_deferred(&mut self, entry: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) {
        let is_write_due = self.is_write_due;
        self.append(entry, stamp, random);
        self.is_write_due = is_write_due;
    }

    /// Names the session, in an entry or in the header, as the dialect does.
    pub fn rename(&mut self, name: &str, stamp: Stamp, random: &mut fastrand::Rng) {
        self.is_header_stale |= self.tree.rename(name, stamp, random) == RenameEffect::Header;
        self.is_write_due |= self.has_file;
    }

    /// Reverts the last change, an entry or a name, which must not have been written.
    pub fn undo(&mut self) {
        let count = self.tree.entries().len();
        self.tree.undo();
        let gone = matches!(self.context.last(), Some(ContextMessage::Entry(place)) if place + 1 == count);
        if gone && self.tree.entries().len() < count {
            self.context.pop();
            self.systems = OnceLock::new();
            if let Some(messages) = self.messages.get_mut() {
                Arc::make_mut(messages).pop();
            }
        }
        self.is_header_stale = false;
    }

    /// Adds a message to the context without an entry in the session.
    pub fn add_unsaved(&mut self, message: Arc<AgentMessage>) {
        self.push(ContextMessage::Synthetic(message.clone()), message);
    }

    /// Removes the last answer and the results of its calls from the context if it ended for `reason` and is
    /// requested again; the file keeps them. Returns the ids of their entries. Source: pi source, xcsh source.
    pub fn forget_last_answer(&mut self, reason: StopReason) -> Vec<Arc<str>> {
        let is_answer =
            |message: &ContextMessage| message.kind(&self.tree) == Some(AgentMessageKind::Assistant);
        let last = self.context.iter().rposition(is_answer);
        let is_it = |message: &AgentMessage| match message {
            AgentMessage::Assistant(answer) => answer.stop_reason == reason,
            _ => false,
        };
        let Some(last) =
            last.filter(|&last| self.context[last].message(&self.tree).is_some_and(|it| is_it(it)))
        else {
            return Vec::new();
        };
        let rest = self.context.split_off(last + 1);
        self.context.pop();
        let is_result =
            |message: &ContextMessage| message.kind(&self.tree) == Some(AgentMessageKind::ToolResult);
        self.context.extend(rest.into_iter().filter(|message| !is_result(message)));
        self.invalidate_messages();
        self.compacted = self.compacted.min(last);
        self.tree.last_answer().into_iter().map(|entry| entry.id().clone()).collect()
    }

    /// Rebuilds the context from the tree, after a compaction.
    pub fn rebuild(&mut self) {
        let Outline { context, compacted, .. } = self.tree.outline();
        (self.context, self.compacted) = (context, compacted);
        self.invalidate_messages();
    }

    /// Drops the parsed messages: the context has changed.
    fn invalidate_messages(&mut self) {
        (self.messages, self.systems) = (OnceLock::new(), OnceLock::new());
    }

    /// Moves the leaf to the entry `id`, or to the beginning; `false`, and nothing moved, if there is no such entry.
    pub fn continue_after(&mut self, id: Option<&str>) -> bool {
        let moved = self.tree.move_to(id);
        if moved {
            self.rebuild();
        }
        moved
    }

    /// The next change of the file, if one is due.
    pub fn next_write(&self) -> Option<Write> {
        let path =
            self.file.as_ref().filter(|_| self.is_write_due || self.has_file && self.is_header_stale)?;
        if !self.has_file {
            return Some(Write::Create { path: path.clone(), lines: self.tree.lines() });
        }
        if self.is_header_stale {
            return Some(Write::Rewrite(self.tree.lines()));
        }
        match self.tree.entries().get(self.written..)? {
            [] => None,
            [entry] => Some(Write::Append(entry.line().clone())),
            // One write: a change of settings that takes two entries is there whole or not at all.
            entries => {
                let lines: Vec<&[u8]> = entries.iter().map(|entry| entry.line().as_ref()).collect();
                Some(Write::Append(lines.concat().into()))
            }
        }
    }

    /// Notes that the change from [`next_write`](Self::next_write) is written.
    pub fn mark_written(&mut self) {
        self.written = self.tree.entries().len();
        (self.has_file, self.is_header_stale, self.is_write_due) = (true, false, false);
    }
}

/// Whether an entry adds its message to the context when it is appended; summaries take effect when the context is
/// rebuilt.
fn is_context_message(entry: &Entry) -> bool {
    use SessionEntryKind as Kind;
    matches!(entry.kind(), Some(Kind::Message | Kind::CustomMessage | Kind::BranchSummary))
}
