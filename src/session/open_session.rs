//! The session that is open: its tree, the messages that the model is told, and what of it is on disk.

use super::{
    Entry, NewEntry, Notice, RenameEffect, Stamp, Tree, context::Outline, context_message::ContextMessage,
};
use crate::protocol::{
    AgentMessage, AgentMessageKind, Base, Check as _, SessionEntryKind, SessionHeader, StopReason,
    ThinkingLevel,
};
use bytes::Bytes;
use std::{
    borrow::Cow,
    path::Path,
    sync::{Arc, OnceLock},
};

/// One session, kept in memory and perhaps in a file.
#[derive(Clone, Debug)]
pub struct Session {
    tree: Tree,
    /// What the model is told, oldest first.
    context: Vec<ContextMessage>,
    /// The same, parsed: from when somebody asks for it. Shared with requests that are under way.
    messages: OnceLock<Arc<Vec<Arc<AgentMessage>>>>,
    /// Those among them that tell the model of itself.
    systems: OnceLock<Vec<Arc<AgentMessage>>>,
    /// How many messages were in the context before the last compaction.
    compacted: usize,
    /// Provider and id of the model that was asked last when the session was opened.
    model: Option<(String, String)>,
    /// The level that it was left with.
    level: Option<ThinkingLevel>,
    file: Option<Arc<Path>>,
    /// The file holds the header.
    has_file: bool,
    /// How many entries are in the file.
    written: usize,
    /// The file begins now, or goes on: something was kept that is worth a write.
    is_write_due: bool,
    /// The header has changed since it was written.
    is_header_stale: bool,
}

/// A session's file that was read.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// The file.
    pub path: Arc<Path>,
    /// The session in it; `None`: there is no file, or it is empty, and the session begins in it.
    pub tree: Option<Tree>,
    /// What was found wrong with it, and got over.
    pub notices: Vec<Notice>,
}

/// A change of the session's file; lines end with LF. The caller does it whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A file that is not there yet, or is empty, begins with these lines. From now on it is the session's.
    Create {
        /// The file.
        path: Arc<Path>,
        /// The header and the entries so far.
        lines: Vec<Bytes>,
    },
    /// What was kept since, at the end of the session's file: one entry, or the few that belong together or were missed.
    Append(Bytes),
    /// The session's file holds these lines instead: the header has changed.
    Rewrite(Vec<Bytes>),
    /// Nothing new: what was written is put on the disk.
    Sync,
}

impl Session {
    /// A session that has not begun. It will be kept in `file`; without one only in memory.
    pub fn new(header: SessionHeader, file: Option<Arc<Path>>) -> Self {
        Self::with(Tree::new(header), file, false)
    }

    /// What its file begins with.
    pub fn header(&self) -> &SessionHeader {
        self.tree.header()
    }

    /// A session as `file` has it.
    pub fn from_file(tree: Tree, file: Arc<Path>) -> Self {
        Self::with(tree, Some(file), true)
    }

    /// A session made of entries of another one. It is written at once if something was said in it.
    pub fn from_fork(tree: Tree, file: Option<Arc<Path>>) -> Self {
        let mut session = Self::with(tree, file, false);
        let said = [Some(AgentMessageKind::User), Some(AgentMessageKind::Assistant)];
        session.is_write_due = session.tree.entries().iter().any(|entry| said.contains(&entry.role()));
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

    /// The tree of everything that was kept.
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.tree.header().id
    }

    /// The name that people know it by.
    pub fn name(&self) -> Option<String> {
        self.tree.name()
    }

    /// The file that it is, or will be, kept in.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether the file exists.
    pub const fn is_on_disk(&self) -> bool {
        self.has_file
    }

    /// The messages that the model is told, oldest first. Those of a file are parsed with the first call.
    pub fn messages(&self) -> &Arc<Vec<Arc<AgentMessage>>> {
        let parse = |message: &ContextMessage| message.message(&self.tree).cloned();
        self.messages.get_or_init(|| Arc::new(self.context.iter().filter_map(parse).collect()))
    }

    /// Those that tell the model of itself. Found once: there are few, however long the session is.
    pub fn system_messages(&self) -> &[Arc<AgentMessage>] {
        let is_system =
            |message: &&ContextMessage| message.kind(&self.tree) == Some(AgentMessageKind::System);
        let parse = |message: &ContextMessage| message.message(&self.tree).cloned();
        self.systems.get_or_init(|| self.context.iter().filter(is_system).filter_map(parse).collect())
    }

    /// The roles of the messages that the model is told.
    pub fn roles(&self) -> impl Iterator<Item = AgentMessageKind> {
        self.context.iter().filter_map(|message| message.kind(&self.tree))
    }

    /// The messages that the model is told as JSON, as dialects built on `base` say them, those left out that they cannot
    /// tell. What a file holds in that form is not parsed.
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

    /// The thinking level that the session was opened with, if it names one.
    pub const fn level(&self) -> Option<ThinkingLevel> {
        self.level
    }

    /// How many of the messages were in the context before the last compaction: what models counted then is over.
    pub const fn compacted(&self) -> usize {
        self.compacted
    }

    /// Keeps an entry. It is to be written at once, or with the file's beginning: a file begins with the first message
    /// of the user, or with the first answer where an extension had the model asked. Source: settled; the originals
    /// always wait for the first answer and lose the prompt with the process.
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

    /// Keeps an entry that need not be written before the next one: what a session begins or is taken up with.
    pub fn append_deferred(&mut self, entry: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) {
        let is_write_due = self.is_write_due;
        self.append(entry, stamp, random);
        self.is_write_due = is_write_due;
    }

    /// Names the session, as the dialect does.
    pub fn rename(&mut self, name: &str, stamp: Stamp, random: &mut fastrand::Rng) {
        self.is_header_stale |= self.tree.rename(name, stamp, random) == RenameEffect::Header;
        self.is_write_due |= self.has_file;
    }

    /// Takes the last change back: an entry, or the name. It must not have been written.
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

    /// The model is told this, though the session does not keep it.
    pub fn add_unsaved(&mut self, message: Arc<AgentMessage>) {
        self.push(ContextMessage::Synthetic(message.clone()), message);
    }

    /// The model is not told its last answer any more if that ended for `reason` and is asked for again, nor the results
    /// of its calls; the file keeps them. Gives the ids of their entries. Source: pi source, xcsh source.
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

    /// The model is told what the tree says: after a compaction.
    pub fn rebuild(&mut self) {
        let Outline { context, compacted, .. } = self.tree.outline();
        (self.context, self.compacted) = (context, compacted);
        self.invalidate_messages();
    }

    /// What was parsed is another list now.
    fn invalidate_messages(&mut self) {
        (self.messages, self.systems) = (OnceLock::new(), OnceLock::new());
    }

    /// Goes on behind the entry `id`, or from the beginning; `false`, and nothing moved, if there is no such entry.
    pub fn continue_after(&mut self, id: Option<&str>) -> bool {
        let moved = self.tree.move_to(id);
        if moved {
            self.rebuild();
        }
        moved
    }

    /// What is to be written next, if anything is.
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
            // In one go: a change of settings that takes two entries is there whole or not at all.
            entries => {
                let lines: Vec<&[u8]> = entries.iter().map(|entry| entry.line().as_ref()).collect();
                Some(Write::Append(lines.concat().into()))
            }
        }
    }

    /// What [`next_write`](Self::next_write) gave is done.
    pub fn mark_written(&mut self) {
        self.written = self.tree.entries().len();
        (self.has_file, self.is_header_stale, self.is_write_due) = (true, false, false);
    }
}

/// Whether the entry is a message that models are told as it comes; a summary takes its place when all is rebuilt.
fn is_context_message(entry: &Entry) -> bool {
    use SessionEntryKind as Kind;
    matches!(entry.kind(), Some(Kind::Message | Kind::CustomMessage | Kind::BranchSummary))
}
