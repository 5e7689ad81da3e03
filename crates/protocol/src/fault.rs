//! Faults of a value under the schema of a dialect, and evidence of the version of pi that wrote it.

use super::Version;
use serde_json::{Number, Value};
use std::fmt;

/// A place where a value violates its dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    path: String,
    kind: FaultKind,
}

/// Kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FaultKind {
    Missing(&'static str),
    Foreign(&'static str),
    NotAString,
    WrongType(ValueType),
}

/// Type that a member has in a dialect, where other dialects have a wider one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// An integer from the first to the second bound.
    Whole(i64, i64),
    /// A number, or null.
    NumberOrNull,
    /// Any value.
    Any,
}

impl ValueType {
    /// Whether the value has the type.
    pub(super) fn allows(self, value: &impl TypedValue) -> bool {
        value.has_type(self)
    }
}

/// Value of a member whose type depends on the dialect.
pub(super) trait TypedValue {
    /// Whether the value has the type.
    fn has_type(&self, expected: ValueType) -> bool;
}

impl TypedValue for Number {
    fn has_type(&self, expected: ValueType) -> bool {
        match expected {
            ValueType::Any | ValueType::NumberOrNull => true,
            ValueType::Text | ValueType::Texts => false,
            ValueType::Whole(least, most) => {
                // Both bounds are exact in a double, so a whole double inside them converts exactly.
                let whole = self.as_i64().or_else(|| {
                    self.as_f64()
                        .filter(|it| it.fract() == 0.0 && it.abs() <= most as f64)
                        .map(|it| it as i64)
                });
                whole.is_some_and(|whole| (least..=most).contains(&whole))
            }
        }
    }
}

impl TypedValue for Value {
    fn has_type(&self, expected: ValueType) -> bool {
        match (self, expected) {
            (_, ValueType::Any)
            | (Self::String(_), ValueType::Text)
            | (Self::Null, ValueType::NumberOrNull) => true,
            (Self::Array(items), ValueType::Texts) => items.iter().all(Self::is_string),
            (Self::Number(number), expected) => number.has_type(expected),
            _ => false,
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a string"),
            Self::Texts => f.write_str("a list of strings"),
            Self::Whole(least, most) => write!(f, "an integer from {least} to {most}"),
            Self::NumberOrNull => f.write_str("a number or null"),
            Self::Any => f.write_str("any value"),
        }
    }
}

impl Fault {
    /// Fault of a member that must be a string.
    pub(super) fn not_a_string(path: &str) -> Self {
        Self { path: path.to_owned(), kind: FaultKind::NotAString }
    }

    fn within(&mut self, step: &str) {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{joint}{}", self.path);
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        match self.kind {
            FaultKind::Missing(field) => write!(f, "missing field `{field}`"),
            FaultKind::Foreign(value) => write!(f, "`{value}` does not exist in this dialect"),
            FaultKind::NotAString => f.write_str("expected a string"),
            FaultKind::WrongType(expected) => write!(f, "expected {expected}"),
        }
    }
}

/// A missing member that a version after the first one added as required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateMember {
    /// Version that added the member.
    pub since: Version,
    /// Fault that the absence is, if the version has the member.
    pub fault: Fault,
}

/// Everything that the schema of a dialect refuses in a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    found: Vec<Fault>,
    /// Missing members that were added later; whether they are faults depends on the version.
    later: Vec<LateMember>,
    /// Latest version of which the value has a member.
    newest: Option<Version>,
}

/// Numbers of faults before a member or an element was checked.
#[derive(Clone, Copy)]
pub struct Mark(usize, usize);

impl Faults {
    /// Adds a missing required member; `since` is the version that added it, if that is not the first.
    pub(super) fn missing(&mut self, field: &'static str, since: Option<Version>) {
        let fault = Fault { path: String::new(), kind: FaultKind::Missing(field) };
        match since {
            Some(since) => self.later.push(LateMember { since, fault }),
            None => self.found.push(fault),
        }
    }

    /// Adds a value, or a branch of a union, that the dialect does not have.
    pub(super) fn foreign(&mut self, value: &'static str) {
        self.found.push(Fault { path: String::new(), kind: FaultKind::Foreign(value) });
    }

    /// Adds a member whose value has not the type that the dialect expects.
    pub(super) fn wrong_type(&mut self, field: &str, expected: ValueType) {
        self.found.push(Fault { path: field.to_owned(), kind: FaultKind::WrongType(expected) });
    }

    /// Notes that the value has a member that `version` added.
    pub(super) fn note_version(&mut self, version: Version) {
        self.newest = self.newest.max(Some(version));
    }

    /// Mark before the check of a member or an element.
    pub(super) const fn mark(&self) -> Mark {
        Mark(self.found.len(), self.later.len())
    }

    /// Prefixes the paths of the faults since `mark` with the name of a member.
    pub(super) fn within(&mut self, mark: Mark, field: &str) {
        if self.mark_is(mark) {
            return;
        }
        self.since(mark).for_each(|fault| fault.within(field));
    }

    /// Prefixes the paths of the faults since `mark` with the index of an element.
    pub(super) fn at(&mut self, mark: Mark, index: usize) {
        if self.mark_is(mark) {
            return;
        }
        self.since(mark).for_each(|fault| fault.within(&format!("[{index}]")));
    }

    /// Whether nothing was found since `mark`.
    pub(super) const fn mark_is(&self, mark: Mark) -> bool {
        self.found.len() == mark.0 && self.later.len() == mark.1
    }

    fn since(&mut self, Mark(found, later): Mark) -> impl Iterator<Item = &mut Fault> {
        let later = self.later.iter_mut().skip(later).map(|later| &mut later.fault);
        self.found.iter_mut().skip(found).chain(later)
    }

    /// Adds a fault.
    pub(super) fn push(&mut self, fault: Fault) {
        self.found.push(fault);
    }

    /// Turns missing members that were added up to `version`, or in any version if `None`, into faults.
    pub(super) fn require_until(&mut self, version: Option<Version>) {
        let owed = |later: &mut LateMember| version.is_none_or(|version| later.since <= version);
        self.found.extend(self.later.extract_if(.., owed).map(|later| later.fault));
    }

    /// Missing members that are no faults if the writer is older than the version that added them.
    pub fn late_members(&self) -> &[LateMember] {
        &self.later
    }

    /// Latest version of which the value has a member.
    pub const fn newest(&self) -> Option<Version> {
        self.newest
    }

    /// Whether there is no fault. Late members do not count.
    pub const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether the only fault is that the frame has the type `name`, which the dialect does not have.
    pub fn is_foreign_type(&self, name: &str) -> bool {
        let foreign = |kind: &FaultKind| matches!(kind, FaultKind::Foreign(value) if *value == name);
        matches!(&*self.found, [Fault { path, kind }] if path.is_empty() && foreign(kind))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &*self.found;
        while let Some((fault, others)) = rest.split_first() {
            let joint = if rest.len() < self.found.len() { "; " } else { "" };
            let missing =
                |other: &&Fault| other.path == fault.path && matches!(other.kind, FaultKind::Missing(_));
            let together = match fault.kind {
                FaultKind::Missing(_) => 1 + others.iter().take_while(missing).count(),
                _ => 1,
            };
            let (these, behind) = rest.split_at(together);
            let names = these.iter().filter_map(|fault| match fault.kind {
                FaultKind::Missing(name) => Some(name),
                _ => None,
            });
            match together {
                1 => write!(f, "{joint}{fault}")?,
                _ => write!(f, "{joint}{}", missing_fields(&fault.path, &names.collect::<Vec<_>>()))?,
            }
            rest = behind;
        }
        Ok(())
    }
}

/// Error text about missing members at `path`.
pub(super) fn missing_fields(path: &str, names: &[&str]) -> String {
    let at = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("{at}missing field{plural} `{}`", names.join("`, `"))
}
