//! How often each hazard has occurred, so that a test that passes knows what it has passed.

use super::Hazard;
use std::fmt;

/// Counts of the enabled hazards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrences(Vec<(Hazard, u64)>);

impl Occurrences {
    pub(super) fn of(enabled: &[Hazard]) -> Self {
        Self(
            Hazard::ALL
                .into_iter()
                .filter(|hazard| enabled.contains(hazard))
                .map(|hazard| (hazard, 0))
                .collect(),
        )
    }

    /// Counts further ones; those that are not enabled do not count.
    pub(super) fn add(&mut self, hazard: Hazard, count: u64) {
        self.0.iter_mut().filter(|(known, _)| *known == hazard).for_each(|(_, known)| *known += count);
    }

    pub(super) fn set(&mut self, hazard: Hazard, count: u64) {
        self.0.iter_mut().filter(|(known, _)| *known == hazard).for_each(|(_, known)| *known = count);
    }
}

/// Such as `chunks 12, u2028 1; not: huge`.
impl fmt::Display for Occurrences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (none, some): (Vec<_>, Vec<_>) = self.0.iter().partition(|(_, count)| *count == 0);
        let counts: Vec<_> =
            some.iter().map(|(hazard, count)| format!("{} {count}", hazard.as_str())).collect();
        let names: Vec<_> = none.iter().map(|(hazard, _)| hazard.as_str()).collect();
        f.write_str(if counts.is_empty() { "none" } else { "" })?;
        f.write_str(&counts.join(", "))?;
        if names.is_empty() { Ok(()) } else { write!(f, "; not: {}", names.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_name_what_did_not_happen() {
        let mut occurrences = Occurrences::of(&[Hazard::Huge, Hazard::Chunks, Hazard::U2028]);
        assert_eq!(occurrences.to_string(), "none; not: chunks, u2028, huge");
        occurrences.add(Hazard::Chunks, 2);
        occurrences.add(Hazard::Dialogs, 1);
        occurrences.set(Hazard::Huge, 1);
        assert_eq!(occurrences.to_string(), "chunks 2, huge 1; not: u2028");
    }
}
