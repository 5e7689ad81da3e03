//! Environment variables at the start of the process.

use std::{collections::BTreeMap, ffi::OsString, fmt};

/// Environment variables by name. An empty one counts as absent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

// Values may be keys, which must not reach logs.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// Reads the process's environment; variables that are not UTF-8 are left out.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let mut all: BTreeMap<_, _> = pairs.filter_map(text).collect();
        // Some services start without `HOME`; the system has it, too (source: pi source).
        if let Some(home) = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok()) {
            all.insert("HOME".to_owned(), home);
        }
        Self(all)
    }

    /// These variables, and `others`, which precede them.
    #[must_use]
    pub fn with(&self, others: &BTreeMap<String, String>) -> Self {
        let mut all = self.0.clone();
        all.extend(others.iter().map(|(name, value)| (name.clone(), value.clone())));
        Self(all)
    }

    /// The names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of the variable `name`, which may be empty; `None`: unset.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of the variable `name`; `None`: unset or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
