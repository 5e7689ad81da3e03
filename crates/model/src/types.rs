//! Events of an answer and descriptions of tools, shared by real and scripted models.
//!
//! An answer is a sequence of [`StreamEvent`]s: blocks are opened, grow by deltas and are ended, one at a time or
//! interleaved by `index`; [`StreamEvent::Finish`] or [`StreamEvent::Fail`] comes last.

use pi_rpc_protocol::JsonObject;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::Deserialize;
use serde_json::Value;
use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

/// One event of a model's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The provider's id of this answer.
    ResponseId(String),
    /// The provider's name of the model that answers.
    Model(String),
    /// The requested thinking level in the provider's words, where later requests repeat it. Comes before the answer begins.
    Effort(String),
    /// Opens a block.
    Start {
        /// The block's place in the message, from 0.
        index: usize,
        /// The kind of block.
        block: BlockStart,
    },
    /// Adds to an open block.
    Delta {
        /// The block's place in the message.
        index: usize,
        /// More text, more thinking, or more raw JSON of a tool call's arguments.
        delta: String,
    },
    /// The call at `index` has no arguments, and the provider did not end it: the answer is over before it told them.
    /// [`End`](Self::End) follows.
    Unclosed {
        /// The block's place in the message.
        index: usize,
    },
    /// Ends a block.
    End {
        /// The block's place in the message.
        index: usize,
        /// The provider's opaque signature of the block, to be sent back with it.
        signature: Option<String>,
    },
    /// The provider's opaque signature of a block, which may have ended.
    Signature {
        /// The block's place in the message.
        index: usize,
        /// Replaces an earlier signature.
        signature: String,
    },
    /// Tokens used so far by this answer; each event replaces the one before.
    Usage(TokenCounts),
    /// An observation about the request, for the message's diagnostics.
    Diagnostic(Box<AnswerDiagnostic>),
    /// The provider's own reason for the end; [`Finish`](Self::Finish) or [`Fail`](Self::Fail) follows.
    ProviderReason(String),
    /// The answer is complete. Nothing follows.
    Finish(Finish),
    /// The answer failed. Nothing follows; blocks may still be open.
    Fail {
        /// The text for the message's `errorMessage`.
        message: String,
        /// The wait before a retry that the provider asks for.
        retry_after: Option<Duration>,
    },
}

/// An observation about a request, which belongs to its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerDiagnostic {
    /// The kind, as pi names it.
    pub kind: &'static str,
    /// The text of the error that was observed.
    pub error: Option<String>,
    /// What was observed.
    pub details: JsonObject,
}

impl AnswerDiagnostic {
    /// What the provider has withheld from the model, each item with these members, as it tells it; `None`: nothing.
    pub(crate) fn of_transformations(
        kind: &'static str,
        items: impl Iterator<Item = Value>,
        members: &[&str],
    ) -> Option<StreamEvent> {
        let known = |item: Value| {
            let known =
                members.iter().filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone())));
            Value::Object(known.filter(|(_, value)| !value.is_null()).collect())
        };
        let items: Vec<Value> = items.map(known).collect();
        let details = JsonObject::from_iter([("transformations".to_owned(), Value::from(items.clone()))]);
        let diagnostic = Self { kind, error: None, details };
        (!items.is_empty()).then(|| StreamEvent::Diagnostic(Box::new(diagnostic)))
    }
}

/// The kind of a block, with the data known at its start.
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
    /// Input, without tokens read from or written to the cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// Tokens of `cache_write` that are cached for an hour, where providers distinguish them.
    pub cache_write_1h: Option<u64>,
    /// Tokens of `output` that are thinking, where providers distinguish them.
    pub reasoning: Option<u64>,
    /// What the provider says of the cost; `None`: the model's prices hold.
    pub billed: Option<Bill>,
}

/// What a provider says of the cost of an answer. Costs are in millionths of a millionth of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bill {
    /// Of everything together.
    Total(u64),
    /// So many hundredths of the model's prices: of a service tier.
    Percent(u32),
    /// By class of price.
    Parts {
        /// Of the input.
        input: u64,
        /// Of the output.
        output: u64,
        /// Of what was read from the cache.
        cache_read: u64,
        /// Of what was written to the cache.
        cache_write: u64,
        /// Of everything together.
        total: u64,
    },
}

/// Why a complete answer ended; in JSON the names of pi's `stopReason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// The model was done.
    Stop,
    /// The model reached its output limit.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
}

impl Finish {
    /// The name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolUse => "toolUse",
        }
    }
}

/// A tool in a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its description for the model.
    pub description: String,
    /// JSON schema of the arguments: an object.
    pub parameters: Arc<Value>,
    /// Whether it runs alone in dialects that run other tools in parallel.
    pub exclusive: bool,
    /// JSON schema of its structured results, for tools that call it; `None`: its text is all. Models are not told.
    pub output: Option<Arc<Value>>,
}

impl ToolSpec {
    /// Describes a tool with the arguments `Arguments`, whose doc comments become their descriptions.
    pub fn of<Arguments: JsonSchema + 'static>(name: &str, description: &str, exclusive: bool) -> Self {
        let mut known = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        let parameters =
            known.entry(TypeId::of::<Arguments>()).or_insert_with(|| schema_of::<Arguments>().into());
        let parameters = parameters.clone();
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            exclusive,
            output: None,
        }
    }
}

/// Schemas of arguments, which all sessions share.
static SCHEMAS: LazyLock<Mutex<HashMap<TypeId, Arc<Value>>>> = LazyLock::new(Mutex::default);

/// The schema of `T`, without parts that no model needs.
fn schema_of<T: JsonSchema>() -> Value {
    let bare = RecursiveTransform(|schema: &mut Schema| {
        let members = schema.as_object_mut().into_iter();
        members.for_each(|members| {
            members.retain(|key, _| !["title", "format", "default"].contains(&key.as_str()))
        });
    });
    // Some vendors accept `properties` and `required` only: references are inlined.
    let settings = SchemaSettings::draft2020_12().with_transform(bare).with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
