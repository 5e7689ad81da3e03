//! Items of the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Input that was not cached.
    #[serde(default)]
    pub input: f64,
    /// Output.
    #[serde(default)]
    pub output: f64,
    /// Input from the cache.
    #[serde(default)]
    pub cache_read: f64,
    /// Input to the cache.
    #[serde(default)]
    pub cache_write: f64,
    /// All of them.
    #[serde(default, rename(deserialize = "totalTokens"))]
    pub total: f64,
}

/// Tokens of one answer, with their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Usage {
    /// The tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Dollars.
    pub cost: f64,
}

/// An item of the conversation, as people read it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The number, from 0.
    pub item: u32,
    /// What it is.
    pub kind: ItemKind,
    /// Its first record.
    pub first: u32,
    /// Its last record so far.
    pub last: u32,
    /// Whether it is under way.
    pub open: bool,
    /// Time of the first record.
    pub t: f64,
    /// Time of the last record.
    pub until: f64,
    /// A line about it, without characters that do harm.
    pub title: String,
    /// `error`, `aborted`, `refused`, `cancelled`; of a message its stop reason unless `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The session, on a wire of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The content.
    pub parts: Vec<Part>,
    /// The model of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Findings about its records.
    pub findings: Vec<u32>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemKind {
    /// A message of the user.
    User,
    /// An answer of the model.
    Assistant,
    /// A tool call.
    Tool,
    /// A shell command of the host.
    Shell,
    /// A message of an extension.
    Custom,
    /// Any other message.
    System,
    /// A dialog.
    Dialog,
    /// Something that an extension shows.
    Notice,
    /// A compaction.
    Compaction,
    /// A retry.
    Retry,
    /// A command of the host, with its response.
    Command,
    /// An error of an extension, or a line that is no frame.
    Error,
    /// Start and end of the process.
    Process,
    /// A line of the server's stderr.
    Stderr,
}

/// A part of an item.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Whether it was shortened.
        cut: bool,
        /// Whether it is Markdown.
        markdown: bool,
    },
    /// Thinking of the model.
    Thinking {
        /// The text.
        text: String,
        /// Whether it was shortened.
        cut: bool,
    },
    /// A call of a tool, within an answer.
    Call {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as indented JSON.
        text: String,
        /// Whether they were shortened.
        cut: bool,
        /// The item of the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<u32>,
    },
    /// Output of a tool or a shell command.
    Output {
        /// The text.
        text: String,
        /// Whether it was shortened.
        cut: bool,
    },
    /// A change of a file.
    Diff {
        /// The file.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Lines that begin with `+`, `-` or a blank.
        text: String,
        /// Whether they were shortened.
        cut: bool,
    },
    /// An image.
    Image {
        /// The media type.
        mime: String,
        /// The address, relative to the page.
        href: String,
        /// Its size, about.
        bytes: u32,
    },
    /// Anything else.
    Json {
        /// Indented JSON.
        text: String,
        /// Whether it was shortened.
        cut: bool,
    },
}

/// A page of items.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemPage {
    /// The items, in ascending order.
    pub items: Vec<Item>,
    /// The `from` of the next page in the same direction; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// Items of the recording.
    pub total: u32,
}
