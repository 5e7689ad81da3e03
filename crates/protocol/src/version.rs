//! Versions of pi within a dialect: members that a later version added are not required of an older server.

use super::{Base, Dialect};
use std::fmt;

/// A version of pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl Version {
    /// Parses one to three numbers separated by dots; missing ones are 0.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for (at, number) in numbers.iter_mut().enumerate() {
            match parts.next() {
                Some(part) => *number = part.parse().ok()?,
                None if at == 0 => return None,
                None => {}
            }
        }
        let [major, minor, patch] = numbers;
        parts.next().is_none().then_some(Self(major, minor, patch))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A dialect and, if known, the version of pi that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DialectVersion {
    /// The dialect.
    pub dialect: Dialect,
    /// Version, which need not have members that were added later; `None`: unknown.
    pub version: Option<Version>,
    /// Whether frames alone have shown the dialect, so that any dialect with the same frames may be spoken.
    pub any_version: bool,
}

impl DialectVersion {
    /// Parses the name of a dialect, with `@` and a version if its versions are told apart, such as `pi-1@0.84`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::parse_version(name).or_else(|| Dialect::parse(name).map(Self::from))
    }

    /// The last dialect called `name`, or that and an `@`, that begins no later than the version.
    fn parse_version(name: &str) -> Option<Self> {
        let (name, version) = name.split_once('@')?;
        let version = Version::parse(version)?;
        let begun = Dialect::ALL.into_iter().filter(|dialect| dialect.name() == name).filter_map(|dialect| {
            let first = dialect.first_version().filter(|first| *first <= version)?;
            Some((first, dialect))
        });
        let (_, dialect) = begun.max_by_key(|(first, _)| *first)?;
        Some(Self { dialect, version: Some(version), any_version: false })
    }

    /// The dialect that defines the frames.
    pub const fn base(self) -> Base {
        self.dialect.base()
    }
}

impl Dialect {
    /// The name without what stands behind `@`.
    fn name(self) -> &'static str {
        self.as_str().split_once('@').map_or(self.as_str(), |(name, _)| name)
    }

    /// The first version of pi that speaks the dialect, if versions are told apart.
    fn first_version(self) -> Option<Version> {
        self.record().versions_from.and_then(Version::parse)
    }

    /// The first version that stands behind the name of the dialect and an `@`, if versions are told apart.
    pub fn earliest_version(self) -> Option<Version> {
        let is_named = |other: &Self| other.name() == self.name();
        Self::ALL.into_iter().filter(is_named).filter_map(Self::first_version).min()
    }
}

impl From<Dialect> for DialectVersion {
    fn from(dialect: Dialect) -> Self {
        Self { dialect, version: None, any_version: false }
    }
}

impl fmt::Display for DialectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{}@{version}", self.dialect.name()),
            None => self.dialect.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialect_names_have_optional_version() {
        let parsed = |name: &str| DialectVersion::parse(name).map(|spoken| spoken.to_string());
        assert_eq!(parsed("pi-1").as_deref(), Some("pi-1"));
        assert_eq!(parsed("pi-1@0.84").as_deref(), Some("pi-1@0.84.0"));
        assert_eq!(parsed("pi-1@1.5.2").as_deref(), Some("pi-1@1.5.2"));
        assert_eq!(parsed("pi@0.73").as_deref(), Some("pi@0.73"));
        assert_eq!(DialectVersion::parse("pi@0.73").and_then(|spoken| spoken.version), None);
        assert_eq!(parsed("pi-1@1.5").as_deref(), Some("pi-1@1.5.0"));
        for refused in ["pi-1@0.52", "pi-1@", "pi-1@1.2.3.4", "pi-1@new", "xcsh@19", "py"] {
            assert_eq!(parsed(refused), None, "{refused}");
        }
    }

    #[test]
    fn version_selects_newest_overlay_begun() {
        let dialect = |name: &str| DialectVersion::parse(name).map(|spoken| spoken.dialect);
        for name in ["pi-1@0.80", "pi-1@0.84", "pi-1@1.5", "pi-1@1.5.2"] {
            assert_eq!(dialect(name), Some(Dialect::Pi115), "{name}");
        }
        for name in ["pi-1", "pi-1@1.6", "pi-1@2"] {
            assert_eq!(dialect(name), Some(Dialect::Pi1), "{name}");
        }
        assert_eq!(dialect("pi-1@login"), Some(Dialect::Pi1Login));
    }
}
