//! The data of a page.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use pi_rpc_protocol::AgentMessage;

use super::document::document;

/// A session to be rendered.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The session's name; a page without one is headed by its first prompt.
    pub name: Option<String>,
    /// The session's id.
    pub session: String,
    /// The working directory in which it was begun.
    pub cwd: String,
    /// Time of its beginning in milliseconds since 1970, if known.
    pub created: Option<u64>,
    /// Program and version that write the page, for its footer.
    pub written_by: String,
    /// The system prompt, if the reader is to see it.
    pub instructions: Option<String>,
    /// Every entry of every branch, in the order of the file.
    pub entries: Vec<PageEntry>,
    /// The lines of the session file, line feeds included, for readers to keep; empty: the page offers no file.
    pub file: Vec<Bytes>,
    /// Id of the leaf; `None` or an unknown id: the newest entry.
    pub leaf: Option<String>,
}

/// One entry of the session's tree.
#[derive(Clone, Debug)]
pub struct PageEntry {
    /// The entry's id; of a repeated id, later references mean the later entry.
    pub id: String,
    /// Id of the parent; an entry whose parent is not earlier in the list is a root.
    pub parent: Option<String>,
    /// Time in milliseconds since 1970.
    pub at: u64,
    /// Index of its line in the page's file, if that is there.
    pub line: Option<usize>,
    /// Its content.
    pub body: Body,
}

/// The content of an entry.
#[derive(Clone, Debug)]
pub enum Body {
    /// A message of any role; custom messages and branch summaries too.
    Message(Arc<AgentMessage>),
    /// Another model answers from here on: `provider/id`.
    Model(String),
    /// The thinking level from here on; `None`: none is set.
    Level(Option<String>),
    /// A summary that replaces the earlier messages in the context.
    Compaction {
        /// The summary, as Markdown.
        summary: String,
        /// Tokens in the context before.
        tokens_before: u64,
        /// Id of the first entry that stays in the context.
        first_kept: Option<String>,
    },
    /// A label on another entry.
    Label {
        /// Id of the labelled entry.
        target: String,
        /// The label; `None`: it is removed.
        label: Option<String>,
    },
    /// The session's name.
    Name(String),
    /// State of an extension, and every unknown or unreadable entry.
    Other {
        /// Its type.
        kind: String,
        /// Its members.
        data: Value,
    },
}

impl Page {
    /// Renders the page as one HTML document, in time and size linear in the session's.
    pub fn html(&self) -> String {
        document(self)
    }
}
