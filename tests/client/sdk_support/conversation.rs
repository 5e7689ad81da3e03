//! What a file of `sdk/conversations` may hold.

use pi_rpc::model::scripted::Script;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The members of a frame, without `type` and `id`.
pub type Fields = serde_json::Map<String, Value>;

/// A conversation that every SDK must be able to have with `pi-rpc serve`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "pi-rpc conversation")]
pub struct Conversation {
    /// The schema of this file, for editors; not read.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// What it shows, in one sentence.
    #[allow(dead_code, reason = "for people")]
    pub title: String,
    /// The base dialects that it is for; absent: all.
    pub dialects: Option<Vec<String>>,
    /// What the model says, as a script file does: it is written to `script.json`. Absent: the demo.
    #[schemars(with = "Option<Script>")]
    pub script: Option<ScriptText>,
    /// Further options of `pi-rpc serve`.
    #[serde(default)]
    pub options: Vec<String>,
    /// Files in the working directory: path below it, and text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The server's hazards, as `--hazard` takes them; empty: none.
    #[serde(default = "all")]
    pub hazards: String,
    /// What is done, one after another. The last one is `close` or `kill`; absent: closed, with status 0.
    pub steps: Vec<Step>,
}

fn all() -> String {
    "all".to_owned()
}

/// A script that can be played, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub struct ScriptText(pub String);

impl TryFrom<Value> for ScriptText {
    type Error = String;
    fn try_from(script: Value) -> Result<Self, String> {
        let text = script.to_string();
        Script::from_json(&text).map_err(|error| error.to_string())?;
        Ok(Self(text))
    }
}

/// One thing that is done or expected.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Step {
    /// A command is called.
    Call(Call),
    /// A call that was started is waited for.
    Await(Await),
    /// A prompt is played to its end.
    Prompt(Prompt),
    /// An event comes.
    Event(Event),
    /// Whatever goes on comes to its end.
    Idle(#[allow(dead_code, reason = "always true")] Idle),
    /// A message is steered.
    Steer(Steer),
    /// A message is queued.
    FollowUp(FollowUp),
    /// Dialogs are answered.
    Dialogs(Dialogs),
    /// A dialog was asked.
    Asked(Asked),
    /// Tools are lent.
    HostTools(HostTools),
    /// A tool was called.
    Called(Called),
    /// A call of a tool was called off.
    Cancelled(Cancelled),
    /// A command is refused by the SDK.
    Refused(Refused),
    /// The server is killed.
    Kill(#[allow(dead_code, reason = "always true")] Kill),
    /// The server is ended.
    Close(Close),
}

/// Calls a command by the SDK's own method for it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The command's `type`.
    pub call: String,
    /// Its other members.
    #[serde(default)]
    pub with: Fields,
    /// So many times at once.
    pub times: Option<u32>,
    /// Send it although the SDK knows that it is illegal here.
    #[serde(default)]
    pub anyway: bool,
    /// Do not wait for the answer: `await` does, by this name.
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// It succeeds, with data that fit this; null: with none. With neither this nor `fails`: with any.
    #[serde(default, deserialize_with = "given")]
    pub returns: Option<Value>,
    /// The server refuses it, with these words.
    pub fails: Option<Words>,
}

/// Null, too, is something that was given.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The words of an error.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// These.
    Are(String),
    /// These, among others.
    Contain {
        /// The part.
        contains: String,
    },
}

/// Waits for the answers of a call that was started `as` this.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Await {
    /// The name.
    #[serde(rename = "await")]
    pub name: String,
    /// As in `call`.
    #[serde(default, deserialize_with = "given")]
    pub returns: Option<Value>,
    /// As in `call`.
    pub fails: Option<Words>,
}

/// Prompts by the SDK's own method, and waits until the run and what follows it by itself are over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// The user's text.
    pub prompt: Text,
    /// The images beside it, as the command takes them.
    pub images: Option<Vec<Value>>,
    /// Send it although the SDK knows that it is illegal here.
    #[serde(default)]
    pub anyway: bool,
    /// The text of the last assistant message, as the SDK has it.
    pub says: Option<Text>,
    /// The server refuses it, with these words.
    pub fails: Option<Words>,
}

/// A text.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Text {
    /// As it is.
    Plain(String),
    /// A long one.
    Repeated {
        /// What it is made of.
        repeat: String,
        /// How many times over.
        times: usize,
    },
}

/// Waits for the next event of this type that fits; passes over others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its `type`.
    pub event: String,
    /// What else it has.
    #[serde(default)]
    pub having: Fields,
}

/// Waits until nothing goes on any more, as `prompt` does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    /// Always true.
    #[serde(rename = "idle")]
    _idle: bool,
}

/// Calls `steer` by the SDK's own method.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steer {
    /// The text.
    pub steer: String,
}

/// Calls `follow_up` by the SDK's own method.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowUp {
    /// The text.
    pub follow_up: String,
}

/// From now on dialogs are answered so. One of a method that is not named is cancelled.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dialogs {
    /// By method.
    pub dialogs: BTreeMap<String, Answer>,
}

/// The answer to a dialog.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// To `select`, `input` and `editor`.
    Value {
        /// The text.
        value: String,
    },
    /// To `confirm`.
    Confirmed {
        /// Whether it was confirmed.
        confirmed: bool,
    },
    /// None.
    Cancelled {
        /// Always true.
        #[allow(dead_code, reason = "always true")]
        cancelled: bool,
    },
}

/// Some dialog that was asked so far has these members.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The members.
    pub asked: Fields,
}

/// Lends these tools, in place of those before.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostTools {
    /// The tools.
    pub host_tools: Vec<Tool>,
}

/// A tool of the host, and what it does whenever it is called.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// As `set_host_tools` takes it.
    pub name: String,
    /// As `set_host_tools` takes it.
    pub label: Option<String>,
    /// As `set_host_tools` takes it.
    pub description: String,
    /// As `set_host_tools` takes it.
    pub parameters: Fields,
    /// One after another.
    pub answers: Vec<ToolStep>,
}

/// One thing that a tool does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolStep {
    /// Tells how far it is.
    Update {
        /// The text.
        update: String,
    },
    /// Is done.
    Result {
        /// The text.
        result: String,
    },
    /// Fails.
    Error {
        /// The text.
        error: String,
    },
    /// Never ends, unless it is called off.
    Hang {
        /// Always true.
        #[allow(dead_code, reason = "always true")]
        hang: bool,
    },
}

/// Waits until a tool has been called so.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// The call.
    pub called: ToolCall,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// All of its arguments.
    pub arguments: Fields,
}

/// Waits until a call of this tool has been called off.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancelled {
    /// The tool.
    pub cancelled: String,
}

/// The SDK does not send this command, because it is illegal in the present state.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The command's `type`.
    pub refused: String,
    /// Its other members.
    #[serde(default)]
    pub with: Fields,
}

/// Kills the server. What waits for it fails with the SDK's own error, and so does what is asked afterwards; the events end.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// Always true.
    #[serde(rename = "kill")]
    _kill: bool,
}

/// Ends the server, and checks that nothing of it is left.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// How.
    pub close: Ending,
}

/// How the server ends.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Its exit status.
    pub status: i32,
}
