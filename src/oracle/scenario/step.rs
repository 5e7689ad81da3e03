//! The steps of a scenario. Each is told by one key: `send`, `expect`, ….

use super::{Pattern, file::dialects};
use crate::protocol::Dialect;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One thing that the host does or waits for.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Step {
    /// Writes a frame.
    Send(Send),
    /// Writes bytes.
    SendRaw(SendRaw),
    /// Writes a command and waits for its response.
    Ask(Ask),
    /// Waits for frames.
    Expect(Expect),
    /// Waits until the server has nothing more to do.
    Idle(Idle),
    /// Puts a file somewhere.
    Put(Put),
    /// Waits for a file.
    ExpectFile(ExpectFile),
    /// Sends a signal.
    Signal(SignalStep),
    /// Ends the server's input.
    CloseInput(CloseInput),
    /// Closes the host's end of the server's output.
    CloseOutput(CloseOutput),
    /// Stops to read the server's output, or goes on.
    Reading(Reading),
    /// Waits for the end of the process.
    ExpectExit(ExpectExit),
    /// Ends the process if it runs, and starts another in the same home.
    Restart(Restart),
    /// Steps for some dialects only.
    Only(Only),
}

/// Writes a frame as one line.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The frame. Strings may hold `${name}`.
    pub send: Map<String, Value>,
}

/// Writes bytes as they are; nothing is added, not even a line feed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendRaw {
    /// The bytes, each chunk in a write of its own.
    pub send_raw: Vec<Chunk>,
}

/// Some bytes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum Chunk {
    /// Text as UTF-8. It may hold `${name}`.
    Text(String),
    /// Any bytes.
    Base64 {
        /// In the standard alphabet, with padding.
        base64: String,
    },
    /// A text again and again.
    Repeat {
        /// The text.
        repeat: String,
        /// How often.
        times: usize,
    },
}

/// Writes a command and waits for its response. Other frames that come meanwhile are kept for the steps behind it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ask {
    /// The command; one without an `id` is given one. Strings may hold `${name}`.
    pub ask: Map<String, Value>,
    /// What the response has to be like; by default `{"success": true}`.
    pub response: Option<Pattern>,
    /// Names for parts of the response: a JSON pointer for each.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Waits for a frame; those before it are passed over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// What the frame is like; of several patterns each has to find a frame of its own, in any order.
    pub expect: Patterns,
    /// A frame of this kind that comes first is a failure; `{}`: no frame may be passed over.
    pub without: Option<Pattern>,
    /// A frame of this kind that comes first ends the scenario as *not exercised*: what it is for was not reached.
    pub unless: Option<Pattern>,
    /// Nothing is wrong if it does not come in time: the steps behind go on.
    #[serde(default)]
    pub optional: bool,
    /// Names for parts of the frame: a JSON pointer for each. Where there are several patterns, it begins with the number
    /// of the pattern, from 0.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// One pattern or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(untagged)]
pub enum Patterns {
    /// One frame.
    One(Pattern),
    /// Several, in any order.
    All(Vec<Pattern>),
}

/// Waits until no run, compaction, retry, dialog and request is open, and the server's state says so. All frames up to
/// there are passed over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Idle {
    /// `true`.
    pub idle: True,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Puts a file somewhere, for the server or its tools to find.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Its path, seen from the working directory. It may hold `${name}`.
    pub put: String,
    /// What is in it (default nothing).
    #[serde(default)]
    pub text: String,
}

/// Waits for a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectFile {
    /// Its path, seen from the working directory. It may hold `${name}`.
    pub expect_file: String,
    /// A text that is in it.
    pub contains: Option<String>,
    /// What some of its lines are like, in this order; each line is a JSON value.
    #[serde(default)]
    pub lines: Vec<Pattern>,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Sends a signal to the server and what it has started.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalStep {
    /// Which.
    pub signal: SignalName,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalName {
    /// Please end.
    Term,
    /// Interrupted.
    Int,
    /// The terminal is gone.
    Hup,
    /// End.
    Kill,
}

/// Ends the server's input.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseInput {
    /// `true`.
    pub close_input: True,
}

/// Closes the host's end of the server's output.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseOutput {
    /// `true`.
    pub close_output: True,
}

/// Stops to read the server's output, or goes on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Whether it is read from now on.
    pub reading: bool,
}

/// Waits for the end of the process; frames up to there are passed over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectExit {
    /// What the status is like, such as `0`; 128 and the number of the signal for one that was killed.
    pub expect_exit: Pattern,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Ends the process if it runs, and starts another in the same home.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// Options to start with, such as `--continue`, besides those of the adapter. They may hold `${name}`.
    pub restart: Vec<String>,
}

/// Steps for some dialects only.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// The dialects; a base stands for all that are built on it.
    #[serde(deserialize_with = "dialects")]
    #[schemars(with = "Vec<String>")]
    pub only: Vec<Dialect>,
    /// What is done in them.
    pub steps: Vec<Step>,
}

/// Nothing but `true`: what is asked for by being there.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "bool")]
#[schemars(with = "bool", extend("const" = true))]
pub struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(flag: bool) -> Result<Self, Self::Error> {
        flag.then_some(Self).ok_or("expected true")
    }
}

impl TryFrom<Value> for Patterns {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Array(list) if list.is_empty() => Err("expected at least one pattern".to_owned()),
            Value::Array(list) => {
                list.into_iter().map(Pattern::try_from).collect::<Result<_, _>>().map(Self::All)
            }
            value => Pattern::try_from(value).map(Self::One),
        }
    }
}

const KEYS: [&str; 14] = [
    "send",
    "sendRaw",
    "ask",
    "expect",
    "idle",
    "put",
    "expectFile",
    "signal",
    "closeInput",
    "closeOutput",
    "reading",
    "expectExit",
    "restart",
    "only",
];

/// A step is what its telling key says. (A derived untagged enum could only say that nothing fits.)
impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        match KEYS.into_iter().find(|key| map.contains_key(*key)) {
            Some("send") => rest(map).map(Self::Send),
            Some("sendRaw") => rest(map).map(Self::SendRaw),
            Some("ask") => rest(map).map(Self::Ask),
            Some("expect") => rest(map).map(Self::Expect),
            Some("idle") => rest(map).map(Self::Idle),
            Some("put") => rest(map).map(Self::Put),
            Some("expectFile") => rest(map).map(Self::ExpectFile),
            Some("signal") => rest(map).map(Self::Signal),
            Some("closeInput") => rest(map).map(Self::CloseInput),
            Some("closeOutput") => rest(map).map(Self::CloseOutput),
            Some("reading") => rest(map).map(Self::Reading),
            Some("expectExit") => rest(map).map(Self::ExpectExit),
            Some("restart") => rest(map).map(Self::Restart),
            Some("only") => rest(map).map(Self::Only),
            _ => Err(D::Error::custom(format_args!("expected one of the keys {}", KEYS.join(", ")))),
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
