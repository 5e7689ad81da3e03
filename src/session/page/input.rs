//! What a page is made from.

use std::sync::Arc;

use serde_json::Value;

use crate::protocol::AgentMessage;

use super::document::document;

/// A session, ready to be shown to people.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The session's name; a page without one is headed by its first prompt.
    pub name: Option<String>,
    /// The session's id.
    pub session: String,
    /// The working directory that the session was begun in.
    pub cwd: String,
    /// When the session was begun, in milliseconds since 1970, if that is known.
    pub created: Option<u64>,
    /// What writes the page: a program and its version, told at the page's end.
    pub written_by: String,
    /// What the model was told before the conversation, if the reader is to see it.
    pub instructions: Option<String>,
    /// Every entry of every branch, in the order of the file.
    pub entries: Vec<PageEntry>,
    /// The id of the entry where the conversation stands; the newest entry if there is none of that id.
    pub leaf: Option<String>,
}

/// One entry of the session's tree.
#[derive(Clone, Debug)]
pub struct PageEntry {
    /// Shown to readers who look for the entry in the file; of two entries with one id, later ones mean the later.
    pub id: String,
    /// The id of the entry before this one. A parent that comes nowhere earlier makes a root.
    pub parent: Option<String>,
    /// When the entry was made, in milliseconds since 1970.
    pub at: u64,
    /// What it says.
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Debug)]
pub enum Body {
    /// A message of any role; custom messages and branch summaries too.
    Message(Arc<AgentMessage>),
    /// Another model answers from here on: `provider/id`.
    Model(String),
    /// How long the model thinks from here on; absent when it was set to nothing.
    Level(Option<String>),
    /// The model is told a summary in place of what came before.
    Compaction {
        /// The summary, as Markdown.
        summary: String,
        /// How many tokens the context held before.
        tokens_before: u64,
        /// The id of the oldest entry that the model is still told as it was.
        first_kept: Option<String>,
    },
    /// A bookmark on another entry.
    Label {
        /// The id of the entry that it marks.
        target: String,
        /// Absent when the bookmark was taken away.
        label: Option<String>,
    },
    /// The session's name.
    Name(String),
    /// What an extension keeps, and every entry that is not known or not readable.
    Other {
        /// What it calls itself.
        kind: String,
        /// Its own members.
        data: Value,
    },
}

impl Page {
    /// The page: one HTML document, in time and size linear in the session's.
    pub fn html(&self) -> String {
        document(self)
    }
}
