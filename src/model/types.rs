//! What every model, real or scripted, says to the engine.
//!
//! An answer is a sequence of [`StreamEvent`]s: blocks are opened, grow by deltas and are ended, one
//! at a time or interleaved by `index`; [`StreamEvent::Finish`] or [`StreamEvent::Fail`] comes last.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// One step of a model's answer, as the engine takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The provider's id of this answer.
    ResponseId(String),
    /// The provider's name of the model that answers.
    Model(String),
    /// A block opens.
    Start {
        /// The block's place in the message, from 0.
        index: usize,
        /// What kind of block it is.
        block: BlockStart,
    },
    /// An open block grows.
    Delta {
        /// The block's place in the message.
        index: usize,
        /// More text, more thinking, or more raw JSON of a tool call's arguments.
        delta: String,
    },
    /// A block is complete.
    End {
        /// The block's place in the message.
        index: usize,
        /// The provider's opaque proof of the block, to be sent back with it.
        signature: Option<String>,
    },
    /// The provider's opaque proof of a block that has begun, and may have ended: to be sent back with it.
    Signature {
        /// The block's place in the message.
        index: usize,
        /// Replaces what was known before.
        signature: String,
    },
    /// Tokens used so far by this answer; each event replaces the one before.
    Usage(TokenCounts),
    /// The provider's own word for why the answer ends; [`Finish`](Self::Finish) follows.
    ProviderReason(String),
    /// The answer is complete. Nothing follows.
    Finish(Finish),
    /// The answer failed. Nothing follows; blocks may still be open.
    Fail {
        /// The text for the message's `errorMessage`.
        message: String,
        /// How long the provider asks to be left alone.
        retry_after: Option<Duration>,
    },
}

/// How a block begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockStart {
    /// Text for the user.
    Text,
    /// The model's visible thinking.
    Thinking,
    /// Thinking that the provider hides; it has no deltas.
    Redacted {
        /// The provider's opaque form of it.
        data: String,
    },
    /// A call of a tool; its deltas are the arguments' JSON text.
    ToolCall {
        /// The id by which the tool's result refers to the call.
        id: String,
        /// The tool's name.
        name: String,
    },
}

/// Tokens by class of price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Read by the model, without those from or to its cache.
    pub input: u64,
    /// Emission by the model.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// Those among `cache_write` that the cache keeps for an hour, where providers tell them apart.
    pub cache_write_1h: Option<u64>,
    /// Those among `output` that were thinking, where providers tell them apart.
    pub reasoning: Option<u64>,
}

/// Why a complete answer ended; in JSON the names of pi's `stopReason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// The model had said everything.
    Stop,
    /// The model reached its output limit.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
}

impl Finish {
    /// As scripts write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolUse => "toolUse",
        }
    }
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// What the model calls it by.
    pub name: String,
    /// What it is for, in the model's words.
    pub description: String,
    /// JSON schema of the arguments: an object.
    pub parameters: Value,
    /// It runs alone in dialects that run other tools side by side.
    pub exclusive: bool,
}

impl ToolSpec {
    /// A tool that takes `Arguments`, whose doc comments are what the model reads about each of them.
    pub fn of<Arguments: JsonSchema>(name: &str, description: &str, exclusive: bool) -> Self {
        let parameters = schema_of::<Arguments>();
        Self { name: name.to_owned(), description: description.to_owned(), parameters, exclusive }
    }
}

/// The schema of `T`, without what no model needs to read.
fn schema_of<T: JsonSchema>() -> Value {
    let bare = RecursiveTransform(|schema: &mut Schema| {
        let members = schema.as_object_mut().into_iter();
        members.for_each(|members| {
            members.retain(|key, _| !["title", "format", "default"].contains(&key.as_str()))
        });
    });
    // Some vendors take `properties` and `required` only: what they refer to must be in them.
    let settings = SchemaSettings::draft2020_12().with_transform(bare).with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
