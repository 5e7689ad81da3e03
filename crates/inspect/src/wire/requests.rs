//! What the page asks for, and what is wrong with it.

use super::CommandState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line to send.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendRequest {
    /// The line, without a line feed.
    pub line: String,
    /// Whether to send it even if it is no frame of the dialect.
    #[serde(default)]
    pub force: bool,
}

/// A line was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// Records before it: its own number is greater.
    pub after: u32,
}

/// What is wrong with a line, and what becomes of it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problems {
    /// Errors, each at its place.
    pub problems: Vec<Problem>,
    /// What becomes of the command in the current state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandState>,
}

/// An error in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The place as a JSON pointer; empty: the line itself.
    pub pointer: String,
    /// The error.
    pub text: String,
    /// The offset in the line in bytes, if it is no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// An action on the process of the server.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessRequest {
    /// The action.
    pub action: ProcessAction,
}

/// An action on the process of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessAction {
    /// Closes its input.
    CloseInput,
    /// Sends SIGTERM.
    Terminate,
    /// Sends SIGKILL.
    Kill,
    /// Ends it if it runs, and starts it anew in the same recording.
    Restart,
}

/// The dialect to judge by from now on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DialectRequest {
    /// The dialect, as `pi-1` or `pi-1@0.84`.
    pub dialect: String,
}

/// The session of a host to inspect from now on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachRequest {
    /// The handle.
    pub session: String,
}

/// Saved scripts of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scripts {
    /// The scripts.
    pub scripts: Vec<Script>,
    /// The one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningScript>,
}

/// A saved script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// The name.
    pub name: String,
    /// Lines to send.
    pub lines: Vec<String>,
}

/// A script that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningScript {
    /// The name.
    pub name: String,
    /// Lines that were sent.
    pub line: u32,
    /// Lines in all.
    pub of: u32,
}

/// The lines of a script to save.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptBody {
    /// The lines.
    pub lines: Vec<String>,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The reason.
    pub error: String,
    /// Errors in a line that was to be sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}
