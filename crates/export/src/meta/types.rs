//! The shape of the meta file. Doc comments become descriptions in its schema.

use pi_rpc_protocol::FlowState;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Properties of a dialect that JSON Schema cannot express: legality, order, texts, defaults.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The `$id` of the schema of this file.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// The dialect: `pi`, `xcsh`, or a base, an `@` and a version.
    pub dialect: &'static str,
    /// The dialect whose frames it has: itself, or its base.
    pub base: &'static str,
    /// The dialect's name for people.
    pub title: &'static str,
    /// The program and versions that speak the dialect.
    pub description: &'static str,
    /// The version of the frames' schema, by semantic versioning.
    pub version: &'static str,
    /// The `$id` of the frames' schema; names of definitions in this file are keys of its `$defs`.
    pub frames: String,
    /// Every command that a host may send.
    pub commands: Vec<CommandAbout>,
    /// Every event: all frames of a server except responses and dialogs.
    pub events: Vec<EventAbout>,
    /// Every dialog and notice of extensions.
    pub dialogs: Vec<DialogAbout>,
    /// The states and their transitions.
    pub chart: Chart,
    /// The session's state, as it follows from the frames.
    pub session: SessionAbout,
    /// The texts of errors, by the names that outcomes use.
    pub errors: BTreeMap<String, ErrorAbout>,
    /// The version of pi that introduced something, by definition, `definition.member` and `definition.value`. Absent: in
    /// the first version, or unknown.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub since: BTreeMap<String, String>,
    /// The rules that the oracle judges by, by their names.
    pub rules: BTreeMap<String, RuleInMeta>,
    /// The defaults of the settings.
    #[schemars(with = "Map<String, Value>")]
    pub defaults: Value,
    /// The limits of frames, retries and shell commands.
    pub limits: Limits,
    /// The dialect's record: all differences besides the frames.
    #[schemars(with = "Map<String, Value>")]
    pub record: Value,
}

/// A command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandAbout {
    /// The `type` of the frame.
    pub r#type: String,
    /// The definition of the frame.
    pub request: String,
    /// The definition of the success response.
    pub response: String,
    /// The definition of the error response.
    pub error: String,
    /// The schema of the success response's `data`; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The purpose of the command.
    pub description: String,
    /// Whether it overtakes earlier commands in dialects that serve commands one by one.
    pub control: bool,
    /// Whether it only reads: it is answered at once, also in dialects that serve commands one by one.
    pub reads: bool,
    /// Whether it is only observed and not documented.
    pub observed: bool,
    /// Whether `pi-rpc serve` implements it.
    pub served: bool,
    /// Types of events that it causes directly, with `extension_ui_request` for any dialog; further ones are in the chart.
    pub causes: Vec<String>,
    /// The outcomes in each state; the first whose condition holds applies.
    #[serde(serialize_with = "by_state")]
    #[schemars(with = "BTreeMap<String, Vec<Outcome>>")]
    pub states: Vec<(FlowState, Vec<Outcome>)>,
    /// The state after its success response, by the state before; absent: unchanged.
    #[serde(serialize_with = "by_state")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub leads_to: Vec<(FlowState, &'static str)>,
    /// The state after its error response, by the state that its own success has led to.
    #[serde(serialize_with = "by_state")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub fails_to: Vec<(FlowState, &'static str)>,
    /// The effects of its success on the session's state, in order.
    pub effects: Vec<EffectAbout>,
    /// The members of the session's state in its success response, each with the path to its value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tells: BTreeMap<String, String>,
    /// The documents or sources that specify it.
    pub sources: Vec<String>,
}

/// An outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    /// The condition on the command; absent: always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// `run`, `queue`, `preempt`, `noop`, `control` or `reject`.
    pub disposition: &'static str,
    /// The name of the error text of a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}

/// A condition on a member of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct When {
    /// The member; for events with a `message`, `role` and `stopReason` are the message's.
    pub field: &'static str,
    /// The values of which it has one; booleans are `true` and `false`.
    pub is: Vec<&'static str>,
}

/// An event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventAbout {
    /// The `type` of the frame.
    pub r#type: String,
    /// The definition of the frame.
    pub def: String,
    /// The branch of `Outbound` that has it.
    pub family: String,
    /// The meaning of the event.
    pub description: String,
    /// Whether it is only observed and not documented.
    pub observed: bool,
    /// The cases in which it may occur.
    pub cases: Vec<EventCase>,
    /// The effects of the event on the session's state, in order.
    pub effects: Vec<EffectAbout>,
    /// The documents or sources that specify it.
    pub sources: Vec<String>,
}

/// A case in which an event may occur.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventCase {
    /// The condition on the event; absent: always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The states in which it may occur.
    pub r#in: Vec<&'static str>,
    /// The state after it; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'static str>,
    /// The types of events that must have come before, in the same run or beside it, to reach a state of `in`.
    pub after: Vec<String>,
}

/// A dialog or notice of an extension.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DialogAbout {
    /// The `method` of the frame.
    pub method: String,
    /// The definition of the frame.
    pub def: String,
    /// The member of a response that has the user's choice; absent: no response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The definitions of valid responses.
    pub answers: Vec<String>,
    /// The purpose of the dialog.
    pub description: String,
    /// Whether it is only observed and not documented.
    pub observed: bool,
    /// The documents or sources that specify it.
    pub sources: Vec<String>,
}

/// The session's state, as it follows from the frames.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionAbout {
    /// The meaning of the state.
    pub description: String,
    /// The members of the state.
    pub members: Vec<MemberAbout>,
    /// Effects that the vocabulary cannot express, by their names.
    pub codes: BTreeMap<String, String>,
}

/// A member of the session's state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemberAbout {
    /// The name.
    pub name: String,
    /// The meaning of the value.
    pub description: String,
    /// The schema of its value.
    #[schemars(with = "Map<String, Value>")]
    pub schema: Value,
    /// Whether it may have no value, which frames express by leaving it out.
    pub absent: bool,
    /// Whether an extension may change it without a frame.
    pub silent: bool,
    /// Whether a new process begins with its first value.
    pub fresh: bool,
    /// `value`, or `list` or `sum`, to which most effects add an item or a summand.
    pub kept: String,
}

/// An effect of a frame on the session's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EffectAbout {
    /// The condition; absent: always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<EffectCondition>,
    /// `set`, `next`, `clamp`, `append`, `add`, `reset`, `forget` or `code`.
    pub effect: String,
    /// The members that it changes: one, except for `code`.
    pub members: Vec<String>,
    /// The path to the value in the frame: it begins with `command`, `data` (of the response) or `event`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The list member that `next` cycles through and `clamp` chooses from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#in: Option<String>,
    /// The code that computes the members, or, beside `set`, the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A condition on the value at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EffectCondition {
    /// The path.
    pub field: String,
    /// The values of which it has one; booleans are `true` and `false`.
    pub is: Vec<String>,
}

/// The state chart: concurrent regions, each in one of its states at a time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Chart {
    /// The regions, the flow of the conversation first.
    pub regions: Vec<Region>,
}

/// A region.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Region {
    /// The name.
    pub name: String,
    /// The meaning of the region.
    pub description: String,
    /// The state of a new process.
    pub initial: String,
    /// The states of the region; a parent is never active without one of its inner states.
    pub states: Vec<StateAbout>,
    /// The transitions of the region; one without frames is an unannounced step of the server.
    pub transitions: Vec<FlowStep>,
}

/// A state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StateAbout {
    /// The name, as reports print it: `streaming.tools`.
    pub name: String,
    /// The state that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The meaning of the state.
    pub description: String,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlowStep {
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// The triggering frames, in words.
    pub label: String,
    /// The triggering frames, each of which suffices.
    pub on: Vec<Trigger>,
    /// Whether it ends a run without the closing events, as observed in the originals.
    pub cut: bool,
}

/// A frame that changes the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trigger {
    /// The `type` of the frame, inbound or outbound; also `end of input` and `exit`, which are no frames.
    pub r#type: String,
    /// Further conditions: member → value; `role` and `stopReason` are the message's, `disposition` is the data's.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub r#where: Map<String, Value>,
}

/// A text of an error.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorAbout {
    /// The text, with placeholders such as `{name}`.
    pub text: String,
    /// When the server answers with it.
    pub description: String,
    /// The documents or sources that specify it.
    pub sources: Vec<String>,
}

/// A rule.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RuleInMeta {
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// The tier: `MUST`, `SHOULD` or `OBSERVED`.
    pub tier: &'static str,
    /// The side whose frames it judges: `server` or `host`.
    pub side: &'static str,
    /// The area of the rule.
    pub area: &'static str,
    /// What a recording needs besides the server's frames to judge it.
    pub needs: Vec<&'static str>,
    /// The documents or sources that specify it.
    pub sources: Vec<&'static str>,
}

/// Limits. Times are milliseconds, sizes bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The largest integer that frames represent exactly, positive or negative.
    pub integer: u64,
    /// The default limit of lines that `pi-rpc serve` reads.
    pub frame: u64,
    /// Most retries of a failed model call.
    pub retries: u64,
    /// Delay of the first retry; each further one is twice as long.
    pub retry_delay: u64,
    /// Longest delay that a provider may request; a longer one prevents the retry; 0: no limit.
    pub retry_delay_cap: u64,
    /// Output of a shell command that is kept, in bytes.
    pub bash_bytes: u64,
    /// Output of a shell command that is kept, in lines; 2^53 - 1: no limit.
    pub bash_lines: u64,
    /// Timeout of a shell command; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash_time: Option<u64>,
}

fn by_state<T: Serialize, S: Serializer>(rows: &[(FlowState, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(rows.iter().map(|(state, value)| (state.as_str(), value)))
}
