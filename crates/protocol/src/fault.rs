//! Where a value leaves its dialect, and what it tells of the version of pi that wrote it.

use super::Version;
use std::fmt;

/// One place where a value leaves its dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    path: String,
    kind: FaultKind,
}

/// What is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FaultKind {
    Missing(&'static str),
    Foreign(&'static str),
    NotAString,
}

impl Fault {
    /// The member at `path` is to be a string.
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
        }
    }
}

/// A required member that is missing, and that came with a later version than the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateMember {
    /// The version that brought it.
    pub since: Version,
    /// Where it is missing.
    pub fault: Fault,
}

/// Everything that a dialect's schema refuses in a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    found: Vec<Fault>,
    /// Members that came later and are missing: whether they had to be there depends on the version.
    later: Vec<LateMember>,
    /// The latest version of which something is there.
    newest: Option<Version>,
}

/// How many faults there were when something was entered.
#[derive(Clone, Copy)]
pub struct Mark(usize, usize);

impl Faults {
    /// A required member is missing; `since`: the version that brought it, if it came later.
    pub(super) fn missing(&mut self, field: &'static str, since: Option<Version>) {
        let fault = Fault { path: String::new(), kind: FaultKind::Missing(field) };
        match since {
            Some(since) => self.later.push(LateMember { since, fault }),
            None => self.found.push(fault),
        }
    }

    /// A value, or a branch, is none of the dialect's.
    pub(super) fn foreign(&mut self, value: &'static str) {
        self.found.push(Fault { path: String::new(), kind: FaultKind::Foreign(value) });
    }

    /// Something is there that this version brought.
    pub(super) fn note_version(&mut self, version: Version) {
        self.newest = self.newest.max(Some(version));
    }

    /// Where the faults of what is entered now will begin.
    pub(super) const fn mark(&self) -> Mark {
        Mark(self.found.len(), self.later.len())
    }

    /// Puts the name of a member before the paths of what was found since `mark`.
    pub(super) fn within(&mut self, mark: Mark, field: &str) {
        if self.mark_is(mark) {
            return;
        }
        self.since(mark).for_each(|fault| fault.within(field));
    }

    /// Puts the place of an element before the paths of what was found since `mark`.
    pub(super) fn at(&mut self, mark: Mark, index: usize) {
        if self.mark_is(mark) {
            return;
        }
        self.since(mark).for_each(|fault| fault.within(&format!("[{index}]")));
    }

    const fn mark_is(&self, mark: Mark) -> bool {
        self.found.len() == mark.0 && self.later.len() == mark.1
    }

    fn since(&mut self, Mark(found, later): Mark) -> impl Iterator<Item = &mut Fault> {
        let later = self.later.iter_mut().skip(later).map(|later| &mut later.fault);
        self.found.iter_mut().skip(found).chain(later)
    }

    /// Adds `fault`.
    pub(super) fn push(&mut self, fault: Fault) {
        self.found.push(fault);
    }

    /// Members that are missing and came later become faults, unless they came later than `version`.
    pub(super) fn require_until(&mut self, version: Option<Version>) {
        let owed = |later: &mut LateMember| version.is_none_or(|version| later.since <= version);
        self.found.extend(self.later.extract_if(.., owed).map(|later| later.fault));
    }

    /// Members that are missing, and may be, if the speaker is older.
    pub fn late_members(&self) -> &[LateMember] {
        &self.later
    }

    /// The latest version of which something is there.
    pub const fn newest(&self) -> Option<Version> {
        self.newest
    }

    /// Whether nothing is refused, but for what may be missing.
    pub const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether the frame as a whole is of a type that only other dialects have.
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

/// Fields that are missing at `path`, in words.
pub(super) fn missing_fields(path: &str, names: &[&str]) -> String {
    let at = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("{at}missing field{plural} `{}`", names.join("`, `"))
}
