//! Finds the fault for which a request's body does not fit its schema, as precisely as a person would.
//!
//! For a union JSON Schema reports only that no branch fits. Here the intended branch is found by its `type` or
//! `role`, and the fault is the one inside of it.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::LocationSegment,
};
use serde_json::Value;

/// Properties that distinguish the branches of unions.
const TAGS: [&str; 2] = ["type", "role"];

/// A fault and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// Path of the field.
    pub path: Vec<PathStep>,
    /// The kind of fault.
    pub problem: Problem,
    /// The value found; null if there is none.
    pub found: Value,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    /// A property.
    Key(String),
    /// An element, from 0.
    Index(usize),
    /// The intended branch of a union, by its tag. Not a step in the JSON.
    Branch(String),
}

/// A kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Problem {
    /// A required field is missing.
    Missing,
    /// The field is unknown.
    Unknown,
    /// The value has none of these JSON types.
    Type(Vec<String>),
    /// The value is none of these.
    NoneOf(Vec<Value>),
    /// The tag of a union is none of these.
    Tag(Vec<Value>),
    /// The number is below this one.
    Below(Value),
    /// The number is above this one.
    Above(Value),
    /// The string has fewer characters.
    Shorter(u64),
    /// The string has more characters.
    Longer(u64),
    /// The array has fewer elements.
    Fewer(u64),
    /// The array or object has more elements.
    More(u64),
    /// The string does not match this pattern.
    Pattern(String),
    /// Anything else, in the validator's words.
    Other(String),
}

/// Finds the first fault of `body`.
pub(super) fn find(schema: &Validator, body: &Value) -> Option<Fault> {
    schema.iter_errors(body).next().map(|error| fault(&error, body))
}

fn fault(error: &ValidationError<'_>, body: &Value) -> Fault {
    let mut path = places(error);
    let found = error.instance().as_ref().clone();
    let problem = match error.kind() {
        Kind::AnyOf { context } => return union_fault(path, context, &found, body),
        Kind::Required { property } => {
            path.push(PathStep::Key(property.as_str().unwrap_or_default().to_owned()));
            return Fault { path, problem: Problem::Missing, found: Value::Null };
        }
        Kind::AdditionalProperties { unexpected } => {
            let name = unexpected.first().cloned().unwrap_or_default();
            let found = found[&name].clone();
            path.push(PathStep::Key(name));
            return Fault { path, problem: Problem::Unknown, found };
        }
        Kind::Type { kind } => Problem::Type(types(kind)),
        Kind::Enum { options } => Problem::NoneOf(options.as_array().cloned().unwrap_or_default()),
        Kind::Constant { expected_value } => Problem::NoneOf(vec![expected_value.as_ref().clone()]),
        Kind::Minimum { limit } => Problem::Below(limit.clone()),
        Kind::Maximum { limit } => Problem::Above(limit.clone()),
        Kind::MinLength { limit } => Problem::Shorter(*limit),
        Kind::MaxLength { limit } => Problem::Longer(*limit),
        Kind::MinItems { limit } => Problem::Fewer(*limit),
        Kind::MaxItems { limit } | Kind::MaxProperties { limit } => Problem::More(*limit),
        Kind::Pattern { pattern } => Problem::Pattern(pattern.clone()),
        _ => Problem::Other(error.to_string()),
    };
    Fault { path, problem, found }
}

/// Finds the fault in a union at `base`, none of whose branches fits `found`.
fn union_fault(
    base: Vec<PathStep>,
    branches: &[Vec<ValidationError<'static>>],
    found: &Value,
    body: &Value,
) -> Fault {
    let meant = branches.iter().filter(|errors| !errors.iter().any(|error| excludes_branch(error, &base)));
    let faults = meant.filter_map(|errors| errors.first().map(|error| fault(error, body)));
    // Of branches with the same tag, the one that fits furthest was intended.
    let best = faults.reduce(|best, next| if depth(&next) > depth(&best) { next } else { best });
    if let Some(mut fault) = best {
        if found.is_object() {
            // Only tools of Anthropic's own may lack a tag.
            let tag = found["type"].as_str().unwrap_or("custom");
            fault.path.insert(base.len().min(fault.path.len()), PathStep::Branch(tag.to_owned()));
        }
        return fault;
    }
    if !found.is_object() {
        let expected = branches.iter().flatten().filter_map(|error| match error.kind() {
            Kind::Type { kind } if places(error) == base => Some(types(kind)),
            _ => None,
        });
        let problem = Problem::Type(unique(expected.flatten()));
        return Fault { path: base, problem, found: found.clone() };
    }
    let tells = |error: &ValidationError<'_>, tag: &str| match error.kind() {
        Kind::Required { property } => property == tag && places(error) == base,
        _ => is_at(error, &base, tag),
    };
    let tag = TAGS.into_iter().find(|tag| branches.iter().flatten().any(|error| tells(error, tag)));
    let tag = tag.unwrap_or(TAGS[0]);
    let options = branches.iter().flatten().filter(|error| is_at(error, &base, tag)).flat_map(|error| {
        match error.kind() {
            Kind::Constant { expected_value } => vec![expected_value.as_ref().clone()],
            Kind::Enum { options } => options.as_array().cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    });
    let problem = if found[tag].is_null() { Problem::Missing } else { Problem::Tag(unique(options)) };
    let path = base.into_iter().chain([PathStep::Key(tag.to_owned())]).collect();
    Fault { path, problem, found: found[tag].clone() }
}

/// Whether `error` shows that the branch was not intended: another tag, no tag, or another JSON type.
fn excludes_branch(error: &ValidationError<'_>, base: &[PathStep]) -> bool {
    let tag_is_missing = |property: &Value| TAGS.into_iter().any(|tag| property == tag);
    match error.kind() {
        Kind::Type { .. } => places(error) == base,
        Kind::Required { property } => places(error) == base && tag_is_missing(property),
        Kind::Constant { .. } | Kind::Enum { .. } | Kind::Pattern { .. } => {
            TAGS.into_iter().any(|tag| is_at(error, base, tag))
        }
        _ => false,
    }
}

fn is_at(error: &ValidationError<'_>, base: &[PathStep], tag: &str) -> bool {
    matches!(places(error).split_last(), Some((PathStep::Key(key), rest)) if key == tag && rest == base)
}

/// The depth of a fault; an unknown tag ranks below any other fault at its place.
fn depth(fault: &Fault) -> (usize, bool) {
    (fault.path.len(), !matches!(fault.problem, Problem::Tag(_)))
}

fn places(error: &ValidationError<'_>) -> Vec<PathStep> {
    let place = |segment| match segment {
        LocationSegment::Property(key) => PathStep::Key(key.into_owned()),
        LocationSegment::Index(index) => PathStep::Index(index),
    };
    error.instance_path().iter().map(place).collect()
}

fn types(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(many) => many.iter().map(|one| one.to_string()).collect(),
    }
}

fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}
