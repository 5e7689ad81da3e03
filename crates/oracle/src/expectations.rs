//! The expectations file: known failures, each with the reason why it may stay.

use super::report::{ReportedFinding, Subject};
use globset::{Glob, GlobMatcher};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::Tier;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// The known failures of a server or host. The default: none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "pi-rpc expectations")]
pub struct Expectations {
    /// The schema of this file, for editors; not read.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The failures, in any order. A finding belongs to the first one that fits.
    expected: Vec<ExpectedFailure>,
}

/// One known failure.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFailure {
    /// The broken rule.
    #[serde(deserialize_with = "rule")]
    #[schemars(with = "String")]
    pub rule: Rule,
    /// A glob over the names of scenarios or recordings, with or without their directory and their
    /// extension; all by default.
    #[serde(default, alias = "scenario", deserialize_with = "glob")]
    #[schemars(with = "String")]
    trace: Option<GlobMatcher>,
    /// The kind of frame that breaks the rule, as reports print it; any by default.
    #[serde(default)]
    pub kind: Option<String>,
    /// The reason why the failure may stay.
    #[serde(deserialize_with = "reason")]
    #[schemars(length(min = 1))]
    pub why: String,
}

/// A text is not an expectations file.
#[derive(Debug, thiserror::Error)]
#[error("expectations, {path}: {reason}")]
pub struct ExpectationsError {
    path: String,
    reason: String,
}

impl Expectations {
    /// Reads the text of an expectations file.
    ///
    /// # Errors
    ///
    /// When the text is not JSON or has another shape; the error names the place.
    pub fn from_json(text: &str) -> Result<Self, ExpectationsError> {
        let error =
            |path: String, error: &serde_json::Error| ExpectationsError { path, reason: error.to_string() };
        let mut json = serde_json::Deserializer::from_str(text);
        let read: Self = serde_path_to_error::deserialize(&mut json)
            .map_err(|wrong| error(wrong.path().to_string(), wrong.inner()))?;
        json.end().map_err(|wrong| error("the end".to_owned(), &wrong))?;
        Ok(read)
    }

    /// The failures, in the order of the file.
    pub fn failures(&self) -> &[ExpectedFailure] {
        &self.expected
    }

    /// Drops failures of rules whose tier is below `least` for every subject: their findings are left out of the report.
    pub fn retain_tiers(&mut self, least: Tier, subjects: &[Subject]) {
        let tier_of = |failure: &ExpectedFailure| {
            subjects.iter().filter_map(|s| failure.rule.tier(s.dialect.base())).min()
        };
        self.expected.retain(|failure| tier_of(failure).is_none_or(|tier| tier <= least));
    }

    /// Drops failures that apply to none of `names`: scenarios that were not selected cannot make them stale.
    pub fn retain_for(&mut self, names: &[&str]) {
        self.expected.retain(|failure| names.iter().any(|name| failure.applies_to(name)));
    }
}

impl ExpectedFailure {
    /// The glob over names, as in the file.
    pub fn trace(&self) -> &str {
        self.trace.as_ref().map_or("*", |trace| trace.glob().glob())
    }

    /// Whether the glob matches the scenario or recording called `name`.
    pub fn applies_to(&self, name: &str) -> bool {
        let last = name.rsplit('/').next().unwrap_or(name);
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        self.trace
            .as_ref()
            .is_none_or(|trace| [name, last, stem].into_iter().any(|name| trace.is_match(name)))
    }

    /// Whether this is the known failure behind a finding in the subject called `name`.
    pub fn explains(&self, name: &str, found: &ReportedFinding) -> bool {
        self.rule == found.rule
            && self.kind.as_ref().is_none_or(|kind| *kind == found.kind)
            && self.applies_to(name)
    }
}

/// The JSON Schema (2020-12) of an expectations file.
pub fn expectations_schema() -> Value {
    schema_for!(Expectations).to_value()
}

fn rule<'de, D: Deserializer<'de>>(from: D) -> Result<Rule, D::Error> {
    let name = String::deserialize(from)?;
    Rule::parse(&name).ok_or_else(|| D::Error::custom(format_args!("no rule is called `{name}`")))
}

fn glob<'de, D: Deserializer<'de>>(from: D) -> Result<Option<GlobMatcher>, D::Error> {
    let text = String::deserialize(from)?;
    Glob::new(&text).map(|glob| Some(glob.compile_matcher())).map_err(D::Error::custom)
}

fn reason<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let why = String::deserialize(from)?;
    match why.trim().is_empty() {
        true => Err(D::Error::custom("expected a reason")),
        false => Ok(why),
    }
}
