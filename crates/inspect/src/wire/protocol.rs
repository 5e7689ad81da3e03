//! What a dialect has and allows.

use schemars::JsonSchema;
use serde::Serialize;

/// What does not change while a dialect is inspected.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Protocol {
    /// The dialect.
    pub dialect: String,
    /// Its name for people.
    pub title: String,
    /// The version of its schema.
    pub version: String,
    /// The states of the flow.
    pub states: Vec<StateAbout>,
    /// Transitions of the flow.
    pub arrows: Vec<ArrowAbout>,
    /// The other regions.
    pub regions: Vec<RegionAbout>,
    /// Every command.
    pub commands: Vec<CommandAbout>,
    /// Inbound frames that are no commands.
    pub others: Vec<OtherFrame>,
    /// The rules of the dialect.
    pub rules: Vec<RuleAbout>,
    /// Types of frames, for the filter.
    pub kinds: Vec<String>,
}

/// A state of the flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateAbout {
    /// The name.
    pub name: String,
    /// The meaning.
    pub description: String,
    /// The states that contain it, innermost first.
    pub superstates: Vec<String>,
}

/// Transitions from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArrowAbout {
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// Whether a run ends without closing events.
    pub cut: bool,
    /// The kinds of frames that take it.
    pub kinds: Vec<String>,
    /// The kinds as text.
    pub label: String,
}

/// A region beside the flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionAbout {
    /// The name.
    pub name: String,
    /// The states.
    pub states: Vec<String>,
    /// The state of a new process.
    pub initial: String,
    /// The transitions.
    pub transitions: Vec<RegionStep>,
}

/// A transition of a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionStep {
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// The frames that take it, in words.
    pub on: String,
}

/// A command of the dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandAbout {
    /// The `type`.
    pub r#type: String,
    /// The purpose.
    pub description: String,
    /// The name of its definition in the schema.
    pub definition: String,
    /// Whether it only reads.
    pub reads: bool,
}

/// An inbound frame that is no command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherFrame {
    /// The `type`.
    pub r#type: String,
    /// The name of its definition in the schema.
    pub definition: String,
    /// The purpose.
    pub description: String,
}

/// A rule of the dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleAbout {
    /// The name.
    pub id: String,
    /// The tier.
    pub tier: String,
    /// The area.
    pub area: String,
    /// The rule in one sentence.
    pub text: String,
    /// The documents that specify it.
    pub source: String,
}

/// What becomes of a command in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandState {
    /// The `type`.
    pub r#type: String,
    /// `run`, `queue`, `preempt`, `noop`, `control` or `reject`; `depends` if members of the command decide.
    pub disposition: String,
    /// Whether it is not refused, whatever its members are.
    pub allowed: bool,
    /// What the disposition means, or why the command is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The error text of a refusal, with placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The cases, if members of the command decide: the first that holds applies.
    pub cases: Vec<CommandCase>,
}

/// A case of a command whose members decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandCase {
    /// The condition, as `streamingBehavior = steer`; empty: otherwise.
    pub when: String,
    /// The disposition.
    pub disposition: String,
    /// Whether it is not refused.
    pub allowed: bool,
    /// The error text of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
