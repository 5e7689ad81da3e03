//! The shape of the meta file. Doc comments become descriptions in its schema.

use crate::protocol::FlowState;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What JSON Schema cannot say of a dialect: legality, order, texts, defaults.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The `$id` of the schema of this file.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// The dialect: `pi`, `xcsh`, or a base, an `@` and a version.
    pub dialect: &'static str,
    /// The dialect whose frames it speaks: itself, or what it differs from.
    pub base: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Whose dialect it is.
    pub description: &'static str,
    /// The version of the frames' schema, by semantic versioning.
    pub version: &'static str,
    /// The `$id` of the frames' schema; names of defs in this file are keys of its `$defs`.
    pub frames: String,
    /// Every command that a host may send.
    pub commands: Vec<CommandAbout>,
    /// Every frame that a server says by itself: all but responses and requests of extensions to the user.
    pub events: Vec<EventAbout>,
    /// Everything that an extension may ask of the user, or show.
    pub dialogs: Vec<DialogAbout>,
    /// The states and what leads from one to another.
    pub chart: Chart,
    /// The state of a session, as frames tell it.
    pub session: SessionAbout,
    /// The texts of errors, by the names that outcomes use.
    pub errors: BTreeMap<String, ErrorAbout>,
    /// The version of pi that brought something, by def, by `def.member` and by `def.value`; what is not here was there from
    /// the start, or nobody knows.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub since: BTreeMap<String, String>,
    /// The rules that the oracle judges by, by their names.
    pub rules: BTreeMap<String, RuleInMeta>,
    /// What holds where no setting says otherwise.
    #[schemars(with = "Map<String, Value>")]
    pub defaults: Value,
    /// The bounds of what is accepted, kept and retried.
    pub limits: Limits,
    /// Everything that makes the dialect differ, as its record has it.
    #[schemars(with = "Map<String, Value>")]
    pub record: Value,
}

/// A command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandAbout {
    /// The `type` of the frame.
    pub r#type: String,
    /// The def of the frame.
    pub request: String,
    /// The def of the success response.
    pub response: String,
    /// The def of the error response.
    pub error: String,
    /// The schema of the success response's `data`; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What it does.
    pub description: String,
    /// It overtakes the commands before it where commands are served one by one.
    pub control: bool,
    /// It changes nothing: it is answered at once, also where commands are served one by one.
    pub reads: bool,
    /// No document has it; it was only seen.
    pub observed: bool,
    /// Whether `pi-rpc serve` does it.
    pub served: bool,
    /// Types of events that it brings about by itself, `extension_ui_request` for any of the dialogs; what follows them is
    /// in the chart.
    pub causes: Vec<String>,
    /// What becomes of it in each state: the first outcome whose condition holds.
    #[serde(serialize_with = "by_state")]
    #[schemars(with = "BTreeMap<String, Vec<Outcome>>")]
    pub states: Vec<(FlowState, Vec<Outcome>)>,
    /// The state that its success response leads to, by the state that it meets; absent: none changes.
    #[serde(serialize_with = "by_state")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub leads_to: Vec<(FlowState, &'static str)>,
    /// The same for the error response to the very request that led there.
    #[serde(serialize_with = "by_state")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub fails_to: Vec<(FlowState, &'static str)>,
    /// What its success changes of the session's state, in order.
    pub effects: Vec<EffectAbout>,
    /// The members of the session's state that its success response tells, each with the path to its value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tells: BTreeMap<String, String>,
    /// Where it is written.
    pub sources: Vec<String>,
}

/// What becomes of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    /// Only where this holds of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// `run`, `queue`, `preempt`, `noop`, `control` or `reject`.
    pub disposition: &'static str,
    /// The name of the text that a rejection carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}

/// A condition on a member of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct When {
    /// The member; of an event that carries a `message`, `role` and `stopReason` are the message's.
    pub field: &'static str,
    /// The values of which it has one; `true` and `false` stand for the booleans.
    pub is: Vec<&'static str>,
}

/// A frame that the server says by itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventAbout {
    /// The `type` of the frame.
    pub r#type: String,
    /// Its def.
    pub def: String,
    /// The branch of `Outbound` that it belongs to.
    pub family: String,
    /// What it tells.
    pub description: String,
    /// No document has it; it was only seen.
    pub observed: bool,
    /// Where it may be said.
    pub cases: Vec<EventCase>,
    /// What it changes of the session's state, in order.
    pub effects: Vec<EffectAbout>,
    /// Where it is written.
    pub sources: Vec<String>,
}

/// Where an event may be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventCase {
    /// Only where this holds of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The states in which it may be said.
    pub r#in: Vec<&'static str>,
    /// The state that it leads to; absent: none changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'static str>,
    /// The types of events without which no state of `in` is reached; they came before, in the same run or at its side.
    pub after: Vec<String>,
}

/// What an extension asks of the user, or shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DialogAbout {
    /// The `method` of the frame.
    pub method: String,
    /// Its def.
    pub def: String,
    /// The member that an answer carries; absent: nothing is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The defs of the answers that it takes.
    pub answers: Vec<String>,
    /// What it is for.
    pub description: String,
    /// No document has it; it was only seen.
    pub observed: bool,
    /// Where it is written.
    pub sources: Vec<String>,
}

/// The state of a session, as frames tell it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionAbout {
    /// What it is.
    pub description: String,
    /// Its members.
    pub members: Vec<MemberAbout>,
    /// What the vocabulary of effects cannot say, by the names that effects use.
    pub codes: BTreeMap<String, String>,
}

/// A member of the session's state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemberAbout {
    /// Its name.
    pub name: String,
    /// What its value is.
    pub description: String,
    /// The schema of its value.
    #[schemars(with = "Map<String, Value>")]
    pub schema: Value,
    /// It may have no value: frames leave it out then.
    pub absent: bool,
    /// An extension may change it without a frame that says so.
    pub silent: bool,
    /// A new process begins with its first value.
    pub fresh: bool,
    /// `value`; `list` or `sum`: what most effects tell is one more item, or a summand.
    pub kept: String,
}

/// What a frame changes of the session's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EffectAbout {
    /// Only where this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<EffectCondition>,
    /// `set`, `next`, `clamp`, `append`, `add`, `reset`, `forget` or `code`.
    pub effect: String,
    /// The members that it changes: one, but for `code`.
    pub members: Vec<String>,
    /// The path to what the frame tells: it begins with `command`, `data` (of the response) or `event`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The member, a list, that `next` goes round and `clamp` picks from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#in: Option<String>,
    /// The code that says what becomes of the members, or, beside `set`, of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A condition on what stands at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EffectCondition {
    /// The path.
    pub field: String,
    /// The values of which it has one; `true` and `false` stand for the booleans.
    pub is: Vec<String>,
}

/// The states: regions that stand side by side, each in one of its states at a time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Chart {
    /// The regions, that of the conversation first.
    pub regions: Vec<Region>,
}

/// A region.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// The state that a new process is in.
    pub initial: String,
    /// Its states; a state that is another's parent is never alone.
    pub states: Vec<StateAbout>,
    /// What leads from one to another. A step without frames is taken by the server alone.
    pub transitions: Vec<FlowStep>,
}

/// A state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StateAbout {
    /// Its name, as reports print it: `streaming.tools`.
    pub name: String,
    /// The state that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What goes on in it.
    pub description: String,
}

/// What leads from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlowStep {
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// The frames that do it, in words.
    pub label: String,
    /// The frames that do it, each alone.
    pub on: Vec<Trigger>,
    /// It ends a run without the events that close it: observed of the originals.
    pub cut: bool,
}

/// A frame that changes the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trigger {
    /// The `type` of the frame, of a host's or a server's; `end of input` and `exit` for what is none.
    pub r#type: String,
    /// What more must hold of it: member → value; `role` and `stopReason` are the message's, `disposition` is the
    /// data's.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub r#where: Map<String, Value>,
}

/// A text of an error.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorAbout {
    /// The text; `{name}` stands for what it is about.
    pub text: String,
    /// When it is said.
    pub description: String,
    /// Where it is written.
    pub sources: Vec<String>,
}

/// A rule.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RuleInMeta {
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// How much it asks: `MUST`, `SHOULD` or `OBSERVED`.
    pub tier: &'static str,
    /// Whose frames it judges: `server` or `host`.
    pub side: &'static str,
    /// What it is about.
    pub area: &'static str,
    /// What has to be seen besides the server's frames to judge it.
    pub needs: Vec<&'static str>,
    /// Where it is written.
    pub sources: Vec<&'static str>,
}

/// Bounds. Times are milliseconds, sizes bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The largest number that a frame holds exactly, in either direction from 0.
    pub integer: u64,
    /// The longest line that our server reads, unless `--max-frame` says otherwise.
    pub frame: u64,
    /// How many times a failed answer is asked for again.
    pub retries: u64,
    /// The first wait before that; each further one is twice as long.
    pub retry_delay: u64,
    /// The longest wait that a provider may ask for; beyond it the request is not tried again; 0: any.
    pub retry_delay_cap: u64,
    /// How much output of a shell command is kept, in bytes.
    pub bash_bytes: u64,
    /// How much output of a shell command is kept, in lines; 2^53 - 1: any number.
    pub bash_lines: u64,
    /// How long a shell command may take; absent: any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bash_time: Option<u64>,
}

fn by_state<T: Serialize, S: Serializer>(rows: &[(FlowState, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(rows.iter().map(|(state, value)| (state.as_str(), value)))
}
