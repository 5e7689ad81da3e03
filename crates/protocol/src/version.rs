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
}

impl DialectVersion {
    /// Parses the name of a dialect, with `@` and a version if its versions are told apart, such as `pi-1@0.84`.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(dialect) = Dialect::parse(name) {
            return Some(dialect.into());
        }
        let (dialect, version) = name.split_once('@')?;
        let (dialect, version) = (Dialect::parse(dialect)?, Version::parse(version)?);
        let first = dialect.record().versions_from.and_then(Version::parse)?;
        (version >= first).then_some(Self { dialect, version: Some(version) })
    }

    /// The dialect that defines the frames.
    pub const fn base(self) -> Base {
        self.dialect.base()
    }
}

impl From<Dialect> for DialectVersion {
    fn from(dialect: Dialect) -> Self {
        Self { dialect, version: None }
    }
}

impl fmt::Display for DialectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{}@{version}", self.dialect),
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
        for refused in ["pi-1@0.52", "pi-1@", "pi-1@1.2.3.4", "pi-1@new", "xcsh@19", "py"] {
            assert_eq!(parsed(refused), None, "{refused}");
        }
    }
}
