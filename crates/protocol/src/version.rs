//! Versions of pi: a server of an older one does not say what came later.

use super::{Base, Dialect};
use std::fmt;

/// A version of pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

impl Version {
    /// The version that a text names: one to three numbers; those that it leaves out are 0.
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

/// A dialect and, where it is known, the version that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DialectVersion {
    /// The dialect.
    pub dialect: Dialect,
    /// The version; members that came later need not be there.
    pub version: Option<Version>,
}

impl DialectVersion {
    /// What a name says: a dialect, or one whose versions are told apart with `@` and a version, as `pi-1@0.84`.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(dialect) = Dialect::parse(name) {
            return Some(dialect.into());
        }
        let (dialect, version) = name.split_once('@')?;
        let (dialect, version) = (Dialect::parse(dialect)?, Version::parse(version)?);
        let first = dialect.record().versions_from.and_then(Version::parse)?;
        (version >= first).then_some(Self { dialect, version: Some(version) })
    }

    /// The dialect whose frames are spoken.
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
    fn names_say_dialect_and_version() {
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
