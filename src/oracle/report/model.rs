//! The report as data.

use crate::{
    machine::{Difference, Rule, Tier},
    oracle::Direction,
    protocol::{Dialect, Need},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::Display;

/// What was judged, and what came out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "pi-rpc report")]
pub struct Report {
    /// Who made it.
    pub tool: Tool,
    /// The scenarios or recordings, in the order in which they were judged.
    pub subjects: Vec<Subject>,
    /// Which rules were put to the test.
    pub coverage: Coverage,
    /// Known failures that did not occur.
    pub stale: Vec<StaleExpectation>,
    /// The same in sums.
    pub summary: Summary,
}

/// Who made a report.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// `pi-rpc`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// A scenario that was played, or a recording that was read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The scenario, or the recording as it was given.
    pub name: String,
    /// What came out.
    pub outcome: Outcome,
    /// Why, where the findings do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The dialect that it was judged by.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "dialects")]
    pub dialect: Dialect,
    /// The version of the server, where members that came later were not asked for: as it was given, or `before` the
    /// version whose members it lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What could be seen besides the frames of the server.
    #[serde(serialize_with = "all_named")]
    #[schemars(schema_with = "needs")]
    pub sees: Vec<Need>,
    /// Processes that were started.
    pub processes: u64,
    /// Frames of the host.
    pub frames_in: u64,
    /// Frames of the server.
    pub frames_out: u64,
    /// From the first record to the last.
    pub duration_ms: f64,
    /// What is wrong, in the order of the records.
    pub findings: Vec<ReportedFinding>,
    /// The rules that were put to the test.
    #[serde(serialize_with = "all_named")]
    #[schemars(schema_with = "rules")]
    pub exercised: Vec<Rule>,
    /// Lines that are no records; the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadableLine>,
    /// What is to be known of it and is no fault of anybody's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The conversation, record by record, where it was kept; for the page alone.
    #[serde(skip)]
    pub timeline: Vec<TimelineEntry>,
    /// Records after the last one of the timeline.
    #[serde(skip)]
    pub left_out: u64,
}

/// What came out of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing that counts is wrong, but for known failures.
    Passed,
    /// A rule that counts is broken, or a step of the scenario was in vain.
    Failed,
    /// The server does not implement what the scenario is about.
    NotSupported,
    /// A race did not reach what the scenario is about.
    NotExercised,
    /// It could not be judged.
    Error,
}

/// Something is wrong. What is the same again is counted, not repeated.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedFinding {
    /// The rule.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "rule")]
    pub rule: Rule,
    /// How much it asks in this dialect.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "tier")]
    pub tier: Tier,
    /// How often it was broken by this kind of frame in this state.
    pub count: u64,
    /// The number of the record, from 1: its line in the recording. The first, as all that follows.
    pub record: u64,
    /// When, in milliseconds since the recording began.
    pub t: f64,
    /// The number of the process, from 1.
    pub process: u64,
    /// What the frame was.
    pub kind: String,
    /// The state that it met.
    pub state: String,
    /// What the rule wanted instead.
    pub expected: String,
    /// The member that is wrong, with the values that were expected and met there, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// What it wanted instead at other times; the first four that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_expected: Vec<String>,
    /// Why it may stay, if it is a known failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// The records around it, and before them the one that it goes back to: of a response the request.
    pub excerpt: Vec<Quote>,
}

/// A record, shortened.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quote {
    /// Its number.
    pub record: u64,
    /// When, in milliseconds since the recording began.
    pub t: f64,
    /// Whose it is.
    pub direction: Direction,
    /// Its beginning and its end.
    pub text: String,
    /// The finding is about this one.
    pub marked: bool,
    /// The finding goes back to this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cause: bool,
}

/// A record, and where the conversation stood after it.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEntry {
    /// Its number.
    pub record: u64,
    /// When, in milliseconds since the recording began.
    pub t: f64,
    /// Whose it is.
    pub direction: Direction,
    /// Its beginning and its end.
    pub text: String,
    /// The state after it.
    pub state: String,
    /// The findings about it, as places in the subject's list.
    pub findings: Vec<usize>,
}

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadableLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Which rules were put to the test.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Rules that a dialect has, and whose needs could be seen.
    pub applicable: usize,
    /// Those of them that were put to the test.
    #[serde(serialize_with = "all_named")]
    #[schemars(schema_with = "rules")]
    pub exercised: Vec<Rule>,
    /// The rules of the dialects that were not, applicable or not.
    pub not_exercised: Vec<NotExercised>,
}

/// A rule that was not put to the test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotExercised {
    /// The rule.
    #[serde(serialize_with = "named")]
    #[schemars(schema_with = "rule")]
    pub rule: Rule,
    /// Whether what it needs could be seen.
    pub applicable: bool,
    /// Why it was not.
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
    /// The kind of frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Why it was to stay.
    pub why: String,
}

/// Sums.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Subjects that passed.
    pub passed: usize,
    /// Subjects that failed.
    pub failed: usize,
    /// Subjects that the server does not support.
    pub not_supported: usize,
    /// Subjects that were not reached.
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
    /// The tier or area.
    pub name: &'static str,
    /// Rules that are applicable.
    pub applicable: usize,
    /// Rules that were put to the test.
    pub exercised: usize,
    /// Rules that were broken, known or not.
    pub broken: usize,
    /// Findings that are not known.
    pub findings: usize,
    /// Findings that are known.
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
