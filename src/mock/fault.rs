//! Where a request's body leaves its schema, and how: one fault, as precise as a person would point at it.
//!
//! JSON Schema says of a union only that no branch fits. Here the branch is found that was meant, by its `type` or
//! `role`, and the fault is the one inside of it.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::LocationSegment,
};
use serde_json::Value;

/// Properties by which unions are told apart.
const TAGS: [&str; 2] = ["type", "role"];

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// The way to the field.
    pub path: Vec<Place>,
    /// What is wrong with it.
    pub problem: Problem,
    /// What is there; null where nothing is.
    pub found: Value,
}

/// A step on the way to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A property.
    Key(String),
    /// An element, from 0.
    Index(usize),
    /// The branch of a union that was meant, by its tag. Not a step in the JSON.
    Branch(String),
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Problem {
    /// It has to be there.
    Missing,
    /// Nobody knows it.
    Unknown,
    /// It has another JSON type than one of these.
    Type(Vec<String>),
    /// It is none of these values.
    NoneOf(Vec<Value>),
    /// It tells a union's branches apart, and is none of these.
    Tag(Vec<Value>),
    /// A number below this.
    Below(Value),
    /// A number above this.
    Above(Value),
    /// A string with fewer characters.
    Shorter(u64),
    /// A string with more characters.
    Longer(u64),
    /// An array with fewer elements.
    Fewer(u64),
    /// An array or object with more elements.
    More(u64),
    /// A string that is not like this.
    Pattern(String),
    /// Anything else, in the validator's words.
    Other(String),
}

/// The first fault of `body`.
pub(super) fn find(schema: &Validator, body: &Value) -> Option<Fault> {
    schema.iter_errors(body).next().map(|error| fault(&error, body))
}

fn fault(error: &ValidationError<'_>, body: &Value) -> Fault {
    let mut path = places(error);
    let found = error.instance().as_ref().clone();
    let problem = match error.kind() {
        Kind::AnyOf { context } => return union_fault(path, context, &found, body),
        Kind::Required { property } => {
            path.push(Place::Key(property.as_str().unwrap_or_default().to_owned()));
            return Fault { path, problem: Problem::Missing, found: Value::Null };
        }
        Kind::AdditionalProperties { unexpected } => {
            let name = unexpected.first().cloned().unwrap_or_default();
            let found = found[&name].clone();
            path.push(Place::Key(name));
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

/// The fault in a union at `base`, of which no branch fits `found`.
fn union_fault(
    base: Vec<Place>,
    branches: &[Vec<ValidationError<'static>>],
    found: &Value,
    body: &Value,
) -> Fault {
    let meant = branches.iter().filter(|errors| !errors.iter().any(|error| excludes_branch(error, &base)));
    let faults = meant.filter_map(|errors| errors.first().map(|error| fault(error, body)));
    // Of two branches with the same tag, the one that fits further was meant.
    let best = faults.reduce(|best, next| if depth(&next) > depth(&best) { next } else { best });
    if let Some(mut fault) = best {
        if found.is_object() {
            // Only Anthropic's own tools may leave out their tag.
            let tag = found["type"].as_str().unwrap_or("custom");
            fault.path.insert(base.len().min(fault.path.len()), Place::Branch(tag.to_owned()));
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
    let path = base.into_iter().chain([Place::Key(tag.to_owned())]).collect();
    Fault { path, problem, found: found[tag].clone() }
}

/// Whether `error` says that the branch was not meant at all: another tag, no tag, or another JSON type.
fn excludes_branch(error: &ValidationError<'_>, base: &[Place]) -> bool {
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

fn is_at(error: &ValidationError<'_>, base: &[Place], tag: &str) -> bool {
    matches!(places(error).split_last(), Some((Place::Key(key), rest)) if key == tag && rest == base)
}

/// How far into the JSON a fault lies; an unknown tag says less than any other fault at its place.
fn depth(fault: &Fault) -> (usize, bool) {
    (fault.path.len(), !matches!(fault.problem, Problem::Tag(_)))
}

fn places(error: &ValidationError<'_>) -> Vec<Place> {
    let place = |segment| match segment {
        LocationSegment::Property(key) => Place::Key(key.into_owned()),
        LocationSegment::Index(index) => Place::Index(index),
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
