//! Times and figures.

use super::Tokens;
use schemars::JsonSchema;
use serde::Serialize;

/// Figures of a recording up to a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The model of the last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Runs that have begun.
    pub runs: u32,
    /// Turns that have begun.
    pub turns: u32,
    /// Messages that have ended.
    pub messages: u32,
    /// Tool calls that have begun.
    pub tools: u32,
    /// Tokens of all answers.
    pub tokens: Tokens,
    /// Their cost in dollars.
    pub cost: f64,
}

/// Times of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// Latencies by command.
    pub commands: Vec<CommandTiming>,
    /// The latest runs.
    pub runs: Vec<Run>,
    /// Deltas.
    pub deltas: Deltas,
    /// Figures of the whole recording.
    pub figures: Figures,
    /// Servers of the Model Context Protocol, as far as frames show them.
    pub servers: Vec<McpServer>,
}

/// A server of the Model Context Protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// The name, as names of tools have it.
    pub name: String,
    /// The latest state that frames show: `connected`, or what a notice says.
    pub state: String,
    /// The tools that lead to its own, where those are not declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_by: Option<String>,
    /// Names of its tools that were declared or called.
    pub tools: Vec<String>,
    /// Calls of its tools.
    pub calls: u32,
    /// Calls that failed.
    pub failed: u32,
    /// The latest error of a call or the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The record that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_record: Option<u32>,
}

/// Milliseconds from a command to its response.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandTiming {
    /// The `type`.
    pub r#type: String,
    /// Commands.
    pub count: u32,
    /// Commands without a response.
    pub outstanding: u32,
    /// Commands that failed.
    pub failed: u32,
    /// The least latency.
    pub least: f64,
    /// The median, of the latest 1,000.
    pub median: f64,
    /// The greatest latency.
    pub most: f64,
}

/// Deltas a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deltas {
    /// In the last second of the recording in which there were some.
    pub now: f64,
    /// At most.
    pub most: f64,
    /// Deltas in all.
    pub total: u32,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The record of the prompt; absent if the run began by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// The record of its start.
    pub start: u32,
    /// The record of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<u32>,
    /// Milliseconds from the prompt to its response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<f64>,
    /// Milliseconds from the prompt, else the start, to the first delta.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_delta: Option<f64>,
    /// Milliseconds from start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// Deltas.
    pub deltas: u32,
    /// Deltas a second, from the first to the last.
    pub deltas_per_second: f64,
    /// Turns.
    pub turns: u32,
    /// Tool calls.
    pub tools: u32,
    /// Tokens.
    pub tokens: Tokens,
    /// Cost in dollars.
    pub cost: f64,
}

/// A command with its response.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The record of the command.
    pub record: u32,
    /// The record of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<u32>,
    /// The `type`.
    pub r#type: String,
    /// The `id` of the command, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The time of the command.
    pub t: f64,
    /// Milliseconds to the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// Whether it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// The error text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A page of commands with their responses.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPage {
    /// The commands.
    pub requests: Vec<Request>,
    /// The `from` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// Commands of the recording.
    pub total: u32,
}
