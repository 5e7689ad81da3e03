//! The session that is open: its tree, the messages that the model is told, and what of it is on disk.

use super::{Context, Entry, NewEntry, Notice, Renamed, Stamp, Tree};
use crate::protocol::{
    AgentMessage, AgentMessageKind, SessionEntryKind, SessionHeader, StopReason, ThinkingLevel,
};
use bytes::Bytes;
use std::{path::Path, sync::Arc};

/// One session, kept in memory and perhaps in a file.
#[derive(Clone, Debug)]
pub struct Session {
    tree: Tree,
    messages: Vec<Arc<AgentMessage>>,
    /// How many of them were in the context before the last compaction.
    compacted: usize,
    /// Provider and id of the model that was asked last when the session was opened.
    model: Option<(String, String)>,
    /// The level that it was left with.
    level: Option<ThinkingLevel>,
    file: Option<Arc<Path>>,
    /// The file holds the header.
    born: bool,
    /// How many entries are in the file.
    written: usize,
    /// The file begins now, or goes on: something was kept that is worth a write.
    due: bool,
    /// The header has changed since it was written.
    stale: bool,
}

/// A session's file that was read.
#[derive(Clone, Debug)]
pub struct Opened {
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
}

impl Session {
    /// A session that has not begun. It will be kept in `file`; without one only in memory.
    pub fn new(header: SessionHeader, file: Option<Arc<Path>>) -> Self {
        Self::with(Tree::new(header), file, false)
    }

    /// A session as `file` has it.
    pub fn opened(tree: Tree, file: Arc<Path>) -> Self {
        Self::with(tree, Some(file), true)
    }

    /// A session made of entries of another one. It is written at once if something was said in it.
    pub fn forked(tree: Tree, file: Option<Arc<Path>>) -> Self {
        let mut session = Self::with(tree, file, false);
        let said = [Some(AgentMessageKind::User), Some(AgentMessageKind::Assistant)];
        session.due = session.tree.entries().iter().any(|entry| said.contains(&entry.role()));
        session
    }

    fn with(tree: Tree, file: Option<Arc<Path>>, born: bool) -> Self {
        let written = if born { tree.entries().len() } else { 0 };
        let Context { messages, compacted, model, level, .. } = tree.context();
        Self { tree, messages, compacted, model, level, file, born, written, due: false, stale: false }
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
        self.born
    }

    /// The messages that the model is told, oldest first.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
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
        self.due |= self.born;
        let Some(message) =
            self.tree.entries().last().filter(|entry| is_said(entry)).and_then(Entry::message)
        else {
            return;
        };
        self.due |= matches!(**message, AgentMessage::User(_) | AgentMessage::Assistant(_));
        self.messages.push(message.clone());
    }

    /// Keeps an entry that need not be written before the next one: what a session begins or is taken up with.
    pub fn append_quietly(&mut self, entry: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) {
        let due = self.due;
        self.append(entry, stamp, random);
        self.due = due;
    }

    /// Names the session, as the dialect does.
    pub fn rename(&mut self, name: &str, stamp: Stamp, random: &mut fastrand::Rng) {
        self.stale |= self.tree.rename(name, stamp, random) == Renamed::Header;
        self.due |= self.born;
    }

    /// Takes the last change back: an entry, or the name. It must not have been written.
    pub fn undo(&mut self) {
        let told = self.tree.entries().last().is_some_and(is_said);
        let count = self.tree.entries().len();
        self.tree.undo();
        if told && self.tree.entries().len() < count {
            self.messages.pop();
        }
        self.stale = false;
    }

    /// The model is told this, though the session does not keep it.
    pub fn tell(&mut self, message: Arc<AgentMessage>) {
        self.messages.push(message);
    }

    /// The model is not told its last answer any more if that ended for `reason` and is asked for again, nor the results
    /// of its calls; the file keeps them. Source: pi source, xcsh source.
    pub fn forget_answer(&mut self, reason: StopReason) {
        let last = self.messages.iter().rposition(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => answer.stop_reason == reason,
            _ => false,
        });
        let is_answer = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::Assistant(_));
        let Some(last) = last.filter(|last| !self.messages[last + 1..].iter().any(is_answer)) else { return };
        let rest = self.messages.split_off(last + 1);
        self.messages.pop();
        let is_result = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::ToolResult(_));
        self.messages.extend(rest.into_iter().filter(|message| !is_result(message)));
        self.compacted = self.compacted.min(last);
    }

    /// The model is told what the tree says: after a compaction.
    pub fn rebuild(&mut self) {
        let Context { messages, compacted, .. } = self.tree.context();
        (self.messages, self.compacted) = (messages, compacted);
    }

    /// What is to be written next, if anything is.
    pub fn next_write(&self) -> Option<Write> {
        let path = self.file.as_ref().filter(|_| self.due || self.born && self.stale)?;
        if !self.born {
            return Some(Write::Create { path: path.clone(), lines: self.tree.lines() });
        }
        if self.stale {
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
    pub fn written(&mut self) {
        self.written = self.tree.entries().len();
        (self.born, self.stale, self.due) = (true, false, false);
    }
}

/// Whether the entry is a message that models are told as it comes; a summary takes its place when all is rebuilt.
fn is_said(entry: &Entry) -> bool {
    use SessionEntryKind as Kind;
    matches!(entry.kind(), Some(Kind::Message | Kind::CustomMessage | Kind::BranchSummary))
}
