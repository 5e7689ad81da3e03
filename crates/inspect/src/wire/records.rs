//! Records, moments and findings.

use super::{CommandState, Figures, Request, StateView, Transition};
use pi_rpc_recording::Direction;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A record of the list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordRow {
    /// The number, from 1.
    pub record: u32,
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The last of the updates that the row stands for, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u32>,
    /// The source of the line.
    pub dir: Direction,
    /// Beginning and end of the line, or of the text that the updates made, without characters that do harm.
    pub text: String,
    /// Length of the line in bytes.
    pub length: u32,
    /// Whether `text` is the whole line.
    pub whole: bool,
    /// The `type` of the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// The kind of the frame in the machine.
    pub kind: String,
    /// The `id` of the frame, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The session, on a wire of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The state after it.
    pub state: String,
    /// The state of the flow before it, if it has changed that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Numbers of findings about it.
    pub findings: Vec<u32>,
    /// The item of the conversation that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The record that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<u32>,
}

/// A page of records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordPage {
    /// The records, in ascending order.
    pub rows: Vec<RecordRow>,
    /// The `from` of the next page in the same direction; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// The position of the first row in the filtered list, from 0.
    pub position: u32,
    /// Matches known so far.
    pub matches: u32,
    /// Whether the whole recording was scanned; if not, ask again.
    pub complete: bool,
    /// Records of the recording.
    pub total: u32,
}

/// How many records match a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchCount {
    /// Matches.
    pub matches: u32,
    /// The first 10,000 of them.
    pub numbers: Vec<u32>,
    /// The first record that was not scanned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// A record with everything that is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordDetail {
    /// The record as in the list.
    pub row: RecordRow,
    /// The exact line, up to 1 MiB.
    pub text: String,
    /// Whether the line is longer.
    pub cut: bool,
    /// The line for people: indented, without characters that do harm.
    pub shown: String,
    /// Whether the recorder shortened long strings.
    pub shortened: bool,
    /// The state before it.
    pub before: StateView,
    /// The state after it.
    pub after: StateView,
    /// The transition of the flow that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<Transition>,
    /// Findings about it.
    pub findings: Vec<FindingView>,
}

/// The moment after a record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// The record; 0: before the first.
    pub record: u32,
    /// Its time.
    pub t: f64,
    /// The state.
    pub state: StateView,
    /// The last transition at or before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<Transition>,
    /// Open dialogs.
    pub dialogs: Vec<Dialog>,
    /// Commands without a response.
    pub outstanding: Vec<Request>,
    /// What becomes of each command.
    pub commands: Vec<CommandState>,
    /// Figures so far.
    pub figures: Figures,
}

/// An open dialog.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dialog {
    /// The record of the request.
    pub record: u32,
    /// Its item.
    pub item: u32,
    /// The id.
    pub id: String,
    /// The method.
    pub method: String,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// The hint of an empty input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The text that the user begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<String>,
    /// Milliseconds until it closes by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// The definition of the response that has the choice.
    pub definition: String,
    /// The definitions of all its responses.
    pub definitions: Vec<String>,
    /// The member of a response that has the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// All members of the request.
    pub request: Map<String, Value>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Finding")]
pub struct FindingView {
    /// The number, from 0.
    pub finding: u32,
    /// The record.
    pub record: u32,
    /// Its time.
    pub t: f64,
    /// The rule.
    pub rule: String,
    /// The tier of the rule.
    pub tier: String,
    /// The rule in one sentence.
    pub text: String,
    /// The documents that specify it.
    pub source: String,
    /// Whose fault it is: `server` or `host`.
    pub side: String,
    /// The kind of the frame.
    pub kind: String,
    /// The state before the frame.
    pub state: String,
    /// What the rule expected.
    pub expected: String,
    /// The member that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What came: its value, or the kind of the frame and the state.
    pub got: String,
    /// The value that was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// The record that caused it, of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<u32>,
    /// The session, on a wire of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A page of findings.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingPage {
    /// The findings.
    pub findings: Vec<FindingView>,
    /// The `from` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// Findings that are kept.
    pub total: u32,
    /// Counts of all findings, kept or not.
    pub by_rule: Vec<RuleCount>,
}

/// Findings of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleCount {
    /// The rule.
    pub rule: String,
    /// Its tier.
    pub tier: String,
    /// Findings.
    pub count: u32,
}

/// A record in another form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// The form.
    pub r#as: String,
    /// The text.
    pub text: String,
    /// The language of the text, as its files end.
    pub language: String,
}
