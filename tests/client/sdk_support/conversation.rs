//! Format of the files in `sdk/conversations`.

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
    /// Promise that the conversation shows, in one sentence.
    #[allow(dead_code, reason = "for people")]
    pub title: String,
    /// Dialects of the conversation; absent: all that are no version of another.
    pub dialects: Option<Vec<String>>,
    /// Script of the model, which is written to `script.json`. Absent: the demo.
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
    /// Steps, in order. The last one is `close` or `kill`; absent: closed, with status 0.
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

/// An action or an expectation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Step {
    /// Calls a command.
    Call(Call),
    /// Awaits a started call.
    Await(Await),
    /// Plays a prompt to its end.
    Prompt(Prompt),
    /// Awaits an event.
    Event(Event),
    /// Awaits the end of all work.
    Idle(#[allow(dead_code, reason = "always true")] Idle),
    /// Steers a message.
    Steer(Steer),
    /// Queues a message.
    FollowUp(FollowUp),
    /// Sets the answers to dialogs.
    Dialogs(Dialogs),
    /// Expects a dialog.
    Asked(Asked),
    /// Sets the tools of the host.
    HostTools(HostTools),
    /// Expects a call of a tool.
    Called(Called),
    /// Expects the cancellation of a call.
    Cancelled(Cancelled),
    /// Expects the SDK to refuse a command.
    Refused(Refused),
    /// Kills the server.
    Kill(#[allow(dead_code, reason = "always true")] Kill),
    /// Ends the server.
    Close(Close),
}

/// Calls a command by the SDK's own method for it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The command's `type`.
    pub call: String,
    /// Other members of the command.
    #[serde(default)]
    pub with: Fields,
    /// Number of concurrent calls.
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

/// Deserializes a member, of which null is a value, too.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The words of an error.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// The whole text.
    Are(String),
    /// A part of the text.
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
    /// Expectation as in `call`.
    #[serde(default, deserialize_with = "given")]
    pub returns: Option<Value>,
    /// Expectation as in `call`.
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
    /// A literal text.
    Plain(String),
    /// A long text.
    Repeated {
        /// Text that is repeated.
        repeat: String,
        /// Number of repetitions.
        times: usize,
    },
}

/// Waits for the next event of this type that fits; passes over others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// `type` of the event.
    pub event: String,
    /// Other members of the event.
    #[serde(default)]
    pub having: Fields,
}

/// Waits for the end of all work, as `prompt` does.
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

/// Answers dialogs from now on. A dialog of another method is cancelled.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dialogs {
    /// Answers by method.
    pub dialogs: BTreeMap<String, Answer>,
}

/// The answer to a dialog.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// Answer to `select`, `input` and `editor`.
    Value {
        /// The text.
        value: String,
    },
    /// Answer to `confirm`.
    Confirmed {
        /// Whether it was confirmed.
        confirmed: bool,
    },
    /// Cancellation.
    Cancelled {
        /// Always true.
        #[allow(dead_code, reason = "always true")]
        cancelled: bool,
    },
}

/// Expects that an earlier dialog has these members.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The members.
    pub asked: Fields,
}

/// Replaces the tools of the host.
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
    /// Member of `set_host_tools`.
    pub name: String,
    /// Member of `set_host_tools`.
    pub label: Option<String>,
    /// Member of `set_host_tools`.
    pub description: String,
    /// Member of `set_host_tools`.
    pub parameters: Fields,
    /// Steps of a call, in order.
    pub answers: Vec<ToolStep>,
}

/// Step of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolStep {
    /// Reports progress.
    Update {
        /// The text.
        update: String,
    },
    /// Returns the result.
    Result {
        /// The text.
        result: String,
    },
    /// Fails.
    Error {
        /// The text.
        error: String,
    },
    /// Hangs until the call is cancelled.
    Hang {
        /// Always true.
        #[allow(dead_code, reason = "always true")]
        hang: bool,
    },
}

/// Waits for a call of a tool.
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

/// Waits for the cancellation of a call of this tool.
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
    /// Other members of the command.
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
    /// Expected end.
    pub close: Ending,
}

/// End of the server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Exit status.
    pub status: i32,
}
