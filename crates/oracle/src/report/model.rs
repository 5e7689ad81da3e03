//! The data of a report, and its JSON schema.

use super::Source;
use pi_rpc_machine::Difference;
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{Dialect, Need, Tier};
use pi_rpc_recording::Direction;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::Display;

/// The result of judging scenarios or recordings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "pi-rpc report")]
pub struct Report {
    /// The program that made the report.
    pub tool: Tool,
    /// Server, command, dialects and time of what was judged.
    pub provenance: Provenance,
    /// The scenarios or recordings, in the order in which they were judged.
    pub subjects: Vec<Subject>,
    /// The rules that were exercised, and those that were not.
    pub coverage: Coverage,
    /// Known failures that did not occur.
    pub stale: Vec<StaleExpectation>,
    /// The sums.
    pub summary: Summary,
}

/// The program that made a report.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// `pi-rpc`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Server, command, dialects and time of what was judged, over all subjects; each value once.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Names of the servers, as the recordings have them.
    pub servers: Vec<String>,
    /// Versions of the servers, as they or their program gave them themselves.
    pub versions: Vec<String>,
    /// Command lines of the servers; of `conform` the one that it was given. At most [`MAX_COMMANDS`].
    pub commands: Vec<String>,
    /// Dialects that were judged by, with the version if one is known.
    pub dialects: Vec<String>,
    /// The lowest tier of the rules that were judged by.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "tier")]
    pub least_tier: Tier,
    /// When the subjects were judged: RFC 3339, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// The most command lines that a report names.
pub const MAX_COMMANDS: usize = 5;

/// What a conversation shows of its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The server's name in the recording.
    pub name: Option<String>,
    /// The version that the server gave itself.
    pub version: Option<String>,
    /// The program of the first process, with its arguments.
    pub command: Vec<String>,
}

/// A scenario or recording that was judged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The name of the scenario, or the path of the recording as given.
    pub name: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason for the outcome, if the findings do not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The dialect that the subject was judged by.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "dialects")]
    pub dialect: Dialect,
    /// The version of the server, if later members were not required: as given, or `before` the first version whose members
    /// are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the recording shows besides the frames of the server.
    #[serde(serialize_with = "all_named")]
    #[schemars(schema_with = "needs")]
    pub sees: Vec<Need>,
    /// Processes that were started.
    pub processes: u64,
    /// Frames of the host.
    pub frames_in: u64,
    /// Frames of the server.
    pub frames_out: u64,
    /// Milliseconds from the first record to the last.
    pub duration_ms: f64,
    /// The findings, in the order of the records.
    pub findings: Vec<ReportedFinding>,
    /// The rules that were exercised.
    #[serde(serialize_with = "all_named")]
    #[schemars(schema_with = "rules")]
    pub exercised: Vec<Rule>,
    /// The first ten lines that are not records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadableLine>,
    /// Remarks that are not faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The server; reports have it for all subjects together, in [`Provenance`].
    #[serde(skip)]
    pub server: ServerIdentity,
    /// The conversation, record by record, if it was kept; for the HTML page alone.
    #[serde(skip)]
    pub timeline: Vec<TimelineEntry>,
    /// The number of records after the last one of the timeline.
    #[serde(skip)]
    pub left_out: u64,
    /// The number of records of the timeline whose whole text was too much to keep.
    #[serde(skip)]
    pub shortened: u64,
}

/// The outcome of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No rule of tier MUST or SHOULD is broken, except for known failures.
    Passed,
    /// A rule of tier MUST or SHOULD is broken, or a step of the scenario failed.
    Failed,
    /// The server does not implement what the scenario needs.
    NotSupported,
    /// The conversation did not reach the situation of the scenario, because of a race.
    NotExercised,
    /// The subject could not be judged.
    Error,
}

/// A violation of a rule. Repeated violations with one cause are one finding with a count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedFinding {
    /// The rule.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "rule")]
    pub rule: Rule,
    /// The tier of the rule in this dialect.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "tier")]
    pub tier: Tier,
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// The documents that the rule comes from.
    pub sources: Vec<Source>,
    /// How often this kind of frame broke the rule in this state.
    pub count: u64,
    /// The number of the record, from 1: its line in the recording. This and what follows is of the first occurrence.
    pub record: u64,
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The number of the process, from 1.
    pub process: u64,
    /// The handle of the session, on a connection that carries many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The kind of the frame.
    pub kind: String,
    /// The state before the frame.
    pub state: String,
    /// What the rule expected.
    pub expected: String,
    /// The member that differs, with its expected and its actual value. If the violation does not lie in one member, the whole
    /// record, shortened, with an empty pointer.
    pub difference: Difference,
    /// Other expectations of the rule, at later occurrences; at most four.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_expected: Vec<String>,
    /// The reason why the failure may stay, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// The records around the finding, and before them the record that caused it: of a response, its command.
    pub excerpt: Vec<Quote>,
}

/// A shortened record in an excerpt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quote {
    /// The number of the record.
    pub record: u64,
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The source of the record.
    pub direction: Direction,
    /// The beginning and the end of the record.
    pub text: String,
    /// The whole record, if `text` is not and the subject has a timeline; for the HTML page alone.
    #[serde(skip)]
    pub whole: Option<String>,
    /// Whether the finding is about this record.
    pub marked: bool,
    /// Whether this record caused the finding.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cause: bool,
}

/// A shortened record, with the state of the conversation after it.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEntry {
    /// The number of the record.
    pub record: u64,
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The source of the record.
    pub direction: Direction,
    /// The beginning and the end of the record.
    pub text: String,
    /// The whole record, if `text` is not.
    pub whole: Option<String>,
    /// The state after the record.
    pub state: String,
    /// The findings about the record, as indices of the subject's list.
    pub findings: Vec<usize>,
}

/// A line that is not a record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadableLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// Why the line is not a record.
    pub reason: String,
}

/// The rules that were exercised, and those that were not.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The number of rules that apply to a dialect of the subjects, and whose needs the recordings show.
    pub applicable: usize,
    /// The rules that were exercised.
    #[serde(serialize_with = "all_named")]
    #[schemars(schema_with = "rules")]
    pub exercised: Vec<Rule>,
    /// The rules of the dialects that were not exercised, applicable or not.
    pub not_exercised: Vec<NotExercised>,
}

/// A rule that was not exercised.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotExercised {
    /// The rule.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "rule")]
    pub rule: Rule,
    /// Whether the recordings show what the rule needs.
    pub applicable: bool,
    /// Why the rule was not exercised.
    pub reason: String,
}

/// A known failure that did not occur.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaleExpectation {
    /// The rule.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "rule")]
    pub rule: Rule,
    /// The glob over names.
    pub trace: String,
    /// The kind of frame, if the expectation names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The reason why the failure was expected to stay.
    pub why: String,
}

/// The sums of a report.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Subjects that passed.
    pub passed: usize,
    /// Subjects that failed.
    pub failed: usize,
    /// Scenarios that the server does not support.
    pub not_supported: usize,
    /// Scenarios whose situation was not reached.
    pub not_exercised: usize,
    /// Subjects that could not be judged.
    pub errors: usize,
    /// By tier, the strictest first.
    pub tiers: Vec<Tally>,
    /// By area.
    pub areas: Vec<Tally>,
}

/// The sums of one tier or area. A rule whose tier differs between dialects counts in the strictest.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// The name of the tier or area.
    pub name: &'static str,
    /// Applicable rules.
    pub applicable: usize,
    /// Exercised rules.
    pub exercised: usize,
    /// Broken rules, known or not.
    pub broken: usize,
    /// Findings that are not known failures.
    pub findings: usize,
    /// Findings that are known failures.
    pub known: usize,
}

/// The JSON Schema (2020-12) of a report.
pub fn report_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Report>().to_value()
}

fn named<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

fn all_named<T: Display, S: Serializer>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(T::to_string))
}

fn one_of<const N: usize>(names: [&str; N]) -> Schema {
    json_schema!({ "type": "string", "enum": names.as_slice() })
}

fn dialects(_: &mut SchemaGenerator) -> Schema {
    one_of(Dialect::ALL.map(Dialect::as_str))
}

fn tier(_: &mut SchemaGenerator) -> Schema {
    one_of(Tier::ALL.map(Tier::as_str))
}

fn rule(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

fn rules(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string" } })
}

fn needs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": one_of(Need::ALL.map(Need::as_str)) })
}
