//! Sessions made from others: forks at a user message, copies of a branch, copies of the whole.

use super::{
    entry::{Entry, EntryHead},
    members::Members,
    new_entry::NewEntry,
    tree::{Stamp, Tree},
};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, MessageContent, SessionEntryKind, SessionHeader, UserContent, UserMessage,
};
use serde::Deserialize;
use std::{collections::HashMap, sync::Arc};

/// A fork at a user message.
#[derive(Debug)]
pub struct Forked {
    /// The new session: the branch before the message.
    pub tree: Tree,
    /// The message's text, for the host's editor.
    pub text: String,
}

/// A user message at which a session can be forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkMessage {
    /// Id of the entry.
    pub id: Arc<str>,
    /// Its text.
    pub text: String,
}

impl Tree {
    /// Lists the user's messages with text, on every branch, in the order of the file (source: pi source).
    pub fn fork_messages(&self) -> Vec<ForkMessage> {
        self.entries().iter().filter_map(fork_message).collect()
    }

    /// Lists the user's messages with text on the branch of the leaf.
    pub fn fork_messages_of_branch(&self) -> Vec<ForkMessage> {
        self.path().into_iter().filter_map(fork_message).collect()
    }

    /// The text of the user's message `id`; `None`: there is no such message.
    pub fn user_text(&self, id: &str) -> Option<String> {
        user_text(self.get(id)?)
    }

    /// Copies the branch before the user's message `id` into a new session; `None`: there is no such message. Entries
    /// are copied as by [`copy_branch`](Self::copy_branch).
    pub fn fork(
        &self,
        id: &str,
        header: SessionHeader,
        stamp: Stamp,
        random: &mut fastrand::Rng,
    ) -> Option<Forked> {
        let place = self.index_of(id)?;
        let text = user_text(&self.entries()[place])?;
        let path = self.path_to(Some(place));
        let before = path.split_last().map_or(&[][..], |(_, before)| before);
        Some(Forked { tree: self.copy(before, header, stamp, random), text })
    }

    /// Copies the branch up to and including the entry `id` into a new session; `None`: there is no such entry.
    pub fn fork_with(
        &self,
        id: &str,
        header: SessionHeader,
        stamp: Stamp,
        random: &mut fastrand::Rng,
    ) -> Option<Self> {
        Some(self.copy(&self.path_to(Some(self.index_of(id)?)), header, stamp, random))
    }

    /// Copies the branch of the leaf into a new session.
    ///
    /// Entries keep ids, parents and times. Labels are written anew at the end if the entry that they mark was
    /// copied. An entry behind a label gets the nearest copied entry before it as parent; the originals leave its
    /// parent dangling, which cuts the conversation (source: pi source, observed).
    pub fn copy_branch(&self, header: SessionHeader, stamp: Stamp, random: &mut fastrand::Rng) -> Self {
        self.copy(&self.path(), header, stamp, random)
    }

    fn copy(&self, path: &[&Entry], header: SessionHeader, stamp: Stamp, random: &mut fastrand::Rng) -> Self {
        let mut tree = Self::new(header);
        // The new parent for entries behind a label, by the label's id.
        let mut instead: HashMap<&Arc<str>, Option<Arc<str>>> = HashMap::new();
        for &entry in path {
            let linked = entry.parent().and_then(|parent| instead.get(parent));
            if entry.kind() == Some(SessionEntryKind::Label) {
                let before = linked.cloned().unwrap_or_else(|| entry.parent().cloned());
                instead.insert(entry.id(), before);
            } else {
                tree.insert(match linked {
                    Some(parent) => relinked(entry, parent.clone()),
                    None => entry.clone(),
                });
            }
        }
        for (target, label) in self.labels() {
            if tree.get(&target).is_some() {
                tree.append(NewEntry::Label { target, label: Some(label) }, stamp, random);
            }
        }
        tree
    }

    /// Copies all entries under another header. The leaf is the last entry.
    pub fn copy_all(&self, header: SessionHeader) -> Self {
        let mut tree = Self::new(header);
        for entry in self.entries() {
            tree.insert(entry.clone());
        }
        tree
    }
}

fn fork_message(entry: &Entry) -> Option<ForkMessage> {
    let text = user_text(entry)?;
    (!text.is_empty()).then(|| ForkMessage { id: entry.id().clone(), text })
}

fn relinked(entry: &Entry, parent: Option<Arc<str>>) -> Entry {
    let line = serde_json::from_slice(entry.line()).and_then(|mut members: Members| {
        members.set("parentId", &parent.as_deref())?;
        members.line()
    });
    match line {
        Ok(line) => Entry::new(head(entry, parent), line.into()),
        Err(_) => entry.clone(),
    }
}

fn head(entry: &Entry, parent: Option<Arc<str>>) -> EntryHead {
    EntryHead {
        id: entry.id().clone(),
        parent,
        kind: entry.kind(),
        role: entry.role(),
        at: entry.at(),
        plain: None,
    }
}

/// The text of a user's message, its blocks joined; `None`: the entry is another one.
fn user_text(entry: &Entry) -> Option<String> {
    if entry.kind() != Some(SessionEntryKind::Message) || entry.role() != Some(AgentMessageKind::User) {
        return None;
    }
    let Ok(UserEntryText { message }) = serde_json::from_slice(entry.line()) else {
        return Some(repaired_text(entry));
    };
    Some(match message.content {
        ContentText::Text(text) => text,
        ContentText::Blocks(blocks) => blocks.into_iter().map(|block| block.text).collect(),
    })
}

/// The text of a message that fits the schema only after repair.
fn repaired_text(entry: &Entry) -> String {
    match entry.message().map(AsRef::as_ref) {
        Some(AgentMessage::User(UserMessage { content: MessageContent::Text(text), .. })) => text.clone(),
        Some(AgentMessage::User(UserMessage { content: MessageContent::Blocks(blocks), .. })) => {
            let texts = blocks.iter().filter_map(|block| match block {
                UserContent::Text(block) => Some(block.text.as_str()),
                UserContent::Image(_) => None,
            });
            texts.collect()
        }
        _ => String::new(),
    }
}

/// The text in a user's entry, without anything else.
#[derive(Deserialize)]
struct UserEntryText {
    message: UserMessageText,
}

#[derive(Deserialize)]
struct UserMessageText {
    content: ContentText,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ContentText {
    Text(String),
    Blocks(Vec<BlockText>),
}

/// A block of content; only text blocks have text.
#[derive(Deserialize)]
struct BlockText {
    #[serde(default)]
    text: String,
}
