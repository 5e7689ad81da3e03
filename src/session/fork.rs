//! Sessions made from others: forks at a user message, and copies of a branch or of the whole.

use super::{
    entry::{Entry, Head},
    members::Members,
    new_entry::NewEntry,
    tree::{Stamp, Tree},
};
use crate::protocol::{
    AgentMessage, AgentMessageKind, MessageContent, SessionEntryKind, SessionHeader, UserContent, UserMessage,
};
use serde::Deserialize;
use std::{collections::HashMap, sync::Arc};

/// What a fork comes to.
#[derive(Debug)]
pub struct Forked {
    /// The new session: the branch up to the message, without it.
    pub tree: Tree,
    /// The message's text.
    pub text: String,
}

/// A message that a fork can begin at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkMessage {
    /// The entry.
    pub id: Arc<str>,
    /// Its text.
    pub text: String,
}

impl Tree {
    /// The user's messages in the order of the file, on every branch, those without text left out (source: pi source).
    pub fn fork_messages(&self) -> Vec<ForkMessage> {
        self.entries().iter().filter_map(fork_message).collect()
    }

    /// Those of them that are on the branch of the leaf.
    pub fn fork_messages_of_branch(&self) -> Vec<ForkMessage> {
        self.path().into_iter().filter_map(fork_message).collect()
    }

    /// What the user said in the entry `id`; `None`: that is no message of the user.
    pub fn user_text(&self, id: &str) -> Option<String> {
        user_text(self.get(id)?)
    }

    /// A new session that holds the branch up to the user's message `id`, without it; `None`: that is no message of the
    /// user. Entries are copied as [`copy_branch`](Self::copy_branch) does.
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

    /// A new session that holds the branch up to the entry `id`, and that entry; `None`: there is no such entry.
    pub fn fork_with(
        &self,
        id: &str,
        header: SessionHeader,
        stamp: Stamp,
        random: &mut fastrand::Rng,
    ) -> Option<Self> {
        Some(self.copy(&self.path_to(Some(self.index_of(id)?)), header, stamp, random))
    }

    /// A new session that holds the branch of the leaf.
    ///
    /// Entries keep their ids, parents and times. Labels are left out, and written anew after the rest where what they
    /// mark was copied. What followed a label follows the nearest copied entry before it; the originals leave such a
    /// parent dangling, which cuts the conversation (source: pi source, observed).
    pub fn copy_branch(&self, header: SessionHeader, stamp: Stamp, random: &mut fastrand::Rng) -> Self {
        self.copy(&self.path(), header, stamp, random)
    }

    fn copy(&self, path: &[&Entry], header: SessionHeader, stamp: Stamp, random: &mut fastrand::Rng) -> Self {
        let mut tree = Self::new(header);
        // The parent that stands in for a label.
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

    /// Everything under another header. The leaf is the last entry.
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

fn head(entry: &Entry, parent: Option<Arc<str>>) -> Head {
    Head {
        id: entry.id().clone(),
        parent,
        kind: entry.kind(),
        role: entry.role(),
        at: entry.at(),
        plain: None,
    }
}

/// The text of a user's message, its blocks joined; `None`: the entry is none.
fn user_text(entry: &Entry) -> Option<String> {
    if entry.kind() != Some(SessionEntryKind::Message) || entry.role() != Some(AgentMessageKind::User) {
        return None;
    }
    let Some(UserEntryText { message }) = entry.read() else { return Some(repaired_text(entry)) };
    Some(match message.content {
        ContentText::Text(text) => text,
        ContentText::Blocks(blocks) => blocks.into_iter().map(|block| block.text).collect(),
    })
}

/// The text of a message that has to be mended to be read.
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

/// The part of a user's entry that is text.
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

/// Blocks of other kinds have no text.
#[derive(Deserialize)]
struct BlockText {
    #[serde(default)]
    text: String,
}
