//! Blocks of a scripted answer: text, thinking, tool calls, and generated text for benchmarks.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The text that [`Filler`] repeats.
const FILLER: &str = "The quick brown fox jumps over the lazy dog. ";

/// A block of an answer.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Block {
    /// Text for the user.
    Text(TextBlock),
    /// Thinking.
    Thinking(ThinkingBlock),
    /// A tool call.
    Tool(ToolBlock),
    /// Thinking that the provider hides.
    Redacted(RedactedBlock),
    /// Text of a given length, for benchmarks.
    Filler(Filler),
}

impl Block {
    /// The text to stream, in deltas of `delta_chars` characters.
    pub(super) fn text(&self, delta_chars: u32) -> Cow<'_, str> {
        match self {
            Self::Text(block) => generate(&block.text, block.times, block.deltas, delta_chars),
            Self::Thinking(block) => generate(&block.thinking, block.times, block.deltas, delta_chars),
            Self::Tool(block) => block.argument_text(),
            Self::Redacted(_) => Cow::Borrowed(""),
            Self::Filler(block) => generate(FILLER, None, Some(block.deltas), delta_chars),
        }
    }

    /// Characters of a delta, if set for the block.
    pub(super) fn size(&self) -> Option<u32> {
        match self {
            Self::Text(block) => block.size,
            Self::Thinking(block) => block.size,
            Self::Tool(block) => block.size,
            Self::Redacted(_) => None,
            Self::Filler(block) => block.size,
        }
    }

    /// Milliseconds before each delta, if set for the block.
    pub(super) fn delay_ms(&self) -> Option<u64> {
        match self {
            Self::Text(block) => block.delay_ms,
            Self::Thinking(block) => block.delay_ms,
            Self::Tool(block) => block.delay_ms,
            Self::Redacted(_) => None,
            Self::Filler(block) => block.delay_ms,
        }
    }

    /// Milliseconds before the block opens.
    pub(super) fn first_delay_ms(&self) -> u64 {
        match self {
            Self::Text(block) => block.first_delay_ms,
            Self::Thinking(block) => block.first_delay_ms,
            Self::Tool(block) => block.first_delay_ms,
            Self::Redacted(block) => block.first_delay_ms,
            Self::Filler(block) => block.first_delay_ms,
        }
    }
}

/// Repeats `text` `times` times, or until it fills `deltas` deltas. A script sets at most one of the two.
fn generate(text: &str, times: Option<u32>, deltas: Option<u32>, delta_chars: u32) -> Cow<'_, str> {
    match (times, deltas) {
        (_, Some(deltas)) => {
            let chars = u64::from(deltas) * u64::from(delta_chars);
            let chars = usize::try_from(chars).unwrap_or(usize::MAX);
            Cow::Owned(text.chars().cycle().take(chars).collect())
        }
        (Some(times), None) => Cow::Owned(text.repeat(usize::try_from(times).unwrap_or(usize::MAX))),
        (None, None) => Cow::Borrowed(text),
    }
}

/// A block is distinguished by one key: `text`, `thinking`, `tool`, `redacted`, or `deltas` alone. (A derived
/// untagged enum could only report that nothing fits.)
impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        if map.contains_key("tool") {
            rest(map).map(Self::Tool)
        } else if map.contains_key("thinking") {
            rest(map).map(Self::Thinking)
        } else if map.contains_key("text") {
            rest(map).map(Self::Text)
        } else if map.contains_key("redacted") {
            rest(map).map(Self::Redacted)
        } else if map.contains_key("deltas") {
            rest(map).map(Self::Filler)
        } else {
            Err(D::Error::custom("expected one of the keys `text`, `thinking`, `tool`, `redacted`, `deltas`"))
        }
    }
}

fn rest<T: DeserializeOwned, E: Error>(map: Map<String, Value>) -> Result<T, E> {
    serde_path_to_error::deserialize(Value::Object(map)).map_err(|error| {
        match error.path().to_string().as_str() {
            "." => E::custom(error.into_inner()),
            path => E::custom(format_args!("`{path}`: {}", error.into_inner())),
        }
    })
}

/// Text for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Number of repetitions of the text.
    pub times: Option<u32>,
    /// Repeat the text until it fills this number of deltas of `size` characters.
    pub deltas: Option<u32>,
    /// Characters of a delta; 0: the whole block in one.
    pub size: Option<u32>,
    /// Milliseconds before each delta.
    pub delay_ms: Option<u64>,
    /// Milliseconds before the block opens (default 0).
    #[serde(default)]
    pub first_delay_ms: u64,
}

/// The model's thinking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThinkingBlock {
    /// The thinking.
    pub thinking: String,
    /// The provider's signature of the thinking, sent at the block's end.
    pub signature: Option<String>,
    /// Number of repetitions of the thinking.
    pub times: Option<u32>,
    /// Repeat the thinking until it fills this number of deltas of `size` characters.
    pub deltas: Option<u32>,
    /// Characters of a delta; 0: the whole block in one.
    pub size: Option<u32>,
    /// Milliseconds before each delta.
    pub delay_ms: Option<u64>,
    /// Milliseconds before the block opens (default 0).
    #[serde(default)]
    pub first_delay_ms: u64,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolBlock {
    /// The tool's name; it need not exist.
    pub tool: String,
    /// The call's id; by default `call_<call>_<n>`, the n-th tool call of that model call, from 1.
    pub id: Option<String>,
    /// The arguments (default none); streamed as compact JSON text in this order.
    pub arguments: Option<Map<String, Value>>,
    /// The arguments as the text to be streamed, instead of `arguments`; it need not be JSON.
    pub raw_arguments: Option<String>,
    /// Characters of a delta; 0: all arguments in one.
    pub size: Option<u32>,
    /// Milliseconds before each delta.
    pub delay_ms: Option<u64>,
    /// Milliseconds before the block opens (default 0).
    #[serde(default)]
    pub first_delay_ms: u64,
}

impl ToolBlock {
    fn argument_text(&self) -> Cow<'_, str> {
        match (&self.raw_arguments, &self.arguments) {
            (Some(raw), _) => Cow::Borrowed(raw),
            (None, Some(arguments)) => Cow::Owned(Value::Object(arguments.clone()).to_string()),
            (None, None) => Cow::Borrowed("{}"),
        }
    }
}

/// Thinking that the provider hides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RedactedBlock {
    /// The provider's opaque data.
    pub redacted: String,
    /// Milliseconds before the block opens (default 0).
    #[serde(default)]
    pub first_delay_ms: u64,
}

/// Filler text of `deltas` × `size` characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filler {
    /// Number of deltas.
    pub deltas: u32,
    /// Characters of a delta.
    pub size: Option<u32>,
    /// Milliseconds before each delta.
    pub delay_ms: Option<u64>,
    /// Milliseconds before the block opens (default 0).
    #[serde(default)]
    pub first_delay_ms: u64,
}
