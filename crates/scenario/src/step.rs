//! The steps of a scenario. One key determines the kind of step: `send`, `expect`, ….

use super::{Pattern, file::dialects};
use pi_rpc_protocol::Dialect;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An action of the host, or something to wait for.
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
    /// Waits until the server is idle.
    Idle(Idle),
    /// Writes a file.
    Put(Put),
    /// Waits for a file.
    ExpectFile(ExpectFile),
    /// Sends a signal.
    Signal(SignalStep),
    /// Closes the server's input.
    CloseInput(CloseInput),
    /// Closes the host's end of the server's output.
    CloseOutput(CloseOutput),
    /// Stops or resumes reading the server's output.
    Reading(Reading),
    /// Waits for the exit of the process.
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

/// Bytes to write.
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
    /// A text, repeated.
    Repeat {
        /// The text.
        repeat: String,
        /// The number of repetitions.
        times: usize,
    },
}

/// Writes a command and waits for its response. Other frames that come meanwhile are kept for the following steps.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ask {
    /// The command; without an `id` it is given one. Strings may hold `${name}`.
    pub ask: Map<String, Value>,
    /// The pattern that the response has to fit; by default `{"success": true}`.
    pub response: Option<Pattern>,
    /// Names for parts of the response: a JSON pointer for each.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Waits for a frame; frames before it are skipped.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// The pattern of the frame; of several patterns each has to fit a frame of its own, in any order.
    pub expect: Patterns,
    /// A frame that fits this pattern and comes first is a failure; with `{}` no frame may be skipped.
    pub without: Option<Pattern>,
    /// A frame that fits this pattern and comes first ends the scenario as *not exercised*.
    pub unless: Option<Pattern>,
    /// Whether the scenario goes on if the frame does not come in time.
    #[serde(default)]
    pub optional: bool,
    /// Names for parts of the frame: a JSON pointer for each. With several patterns the pointer begins with the number of the
    /// pattern, from 0.
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

/// Waits until no run, compaction, retry, dialog or command is outstanding, and `get_state` shows the same. All frames up to
/// then are skipped.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Idle {
    /// `true`.
    pub idle: True,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Writes a file for the server or its tools.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The path, relative to the working directory. It may hold `${name}`.
    pub put: String,
    /// The content (default empty).
    #[serde(default)]
    pub text: String,
}

/// Waits for a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectFile {
    /// The path, relative to the working directory. It may hold `${name}`.
    pub expect_file: String,
    /// A text that the file contains.
    pub contains: Option<String>,
    /// Patterns that lines of the file have to fit, in this order; each line is a JSON value.
    #[serde(default)]
    pub lines: Vec<Pattern>,
    /// Milliseconds to wait at most (default 15000).
    pub within_ms: Option<u64>,
}

/// Sends a signal to the server's process group.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalStep {
    /// The signal.
    pub signal: SignalName,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalName {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGHUP.
    Hup,
    /// SIGKILL.
    Kill,
}

/// Closes the server's input.
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

/// Stops or resumes reading the server's output.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Whether output is read from now on.
    pub reading: bool,
}

/// Waits for the exit of the process; frames up to then are skipped.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectExit {
    /// The pattern of the exit status, such as `0`; 128 plus the number of the signal for a killed process.
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
    /// The dialects; a base covers all its overlays, and `!` leaves one out.
    #[serde(deserialize_with = "dialects")]
    #[schemars(with = "Vec<String>")]
    pub only: Vec<Dialect>,
    /// The steps for these dialects.
    pub steps: Vec<Step>,
}

/// The value `true`, for steps that have no other parameter.
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

/// Deserializes a step by its determining key. (The errors of a derived untagged enum would not name the place.)
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
