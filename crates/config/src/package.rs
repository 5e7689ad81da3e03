//! Packages in the settings.

use serde::Deserialize;
use std::path::PathBuf;

/// A package, and the parts of it that are used. Source: pi's `packages.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenPackage")]
pub struct Package {
    /// `npm:name@version`, `git:…`, or a path.
    pub source: String,
    /// Patterns of its extensions; empty: none; `None`: all.
    pub extensions: Option<Vec<String>>,
    /// Patterns of its skills, likewise.
    pub skills: Option<Vec<String>>,
    /// Patterns of its prompt templates, likewise.
    pub prompts: Option<Vec<String>>,
    /// `Some(false)`: only matches of the patterns are used, in addition to the user's settings. Source: pi 1.5.
    pub autoload: Option<bool>,
    /// Whether it is written as an object, which pi filters more strictly.
    is_object: bool,
}

/// The packages of one settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPackages {
    /// Directory of the file, the base of relative paths.
    pub directory: PathBuf,
    /// The packages, in order.
    pub entries: Vec<Package>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenPackage {
    Source(String),
    Object {
        source: String,
        extensions: Option<Vec<String>>,
        skills: Option<Vec<String>>,
        prompts: Option<Vec<String>>,
        autoload: Option<bool>,
    },
}

impl Package {
    /// Uses all parts of a package.
    pub fn new(source: &str) -> Self {
        Self { source: source.to_owned(), ..Self::default() }
    }

    /// Whether the settings name more than its source.
    pub const fn is_filtered(&self) -> bool {
        self.is_object
    }

    /// Patterns for the package's folder of that name; `None`: everything in it is used.
    pub fn of(&self, folder: &str) -> Option<&[String]> {
        match folder {
            "extensions" => self.extensions.as_deref(),
            "skills" => self.skills.as_deref(),
            "prompts" => self.prompts.as_deref(),
            _ => None,
        }
    }
}

impl From<WrittenPackage> for Package {
    fn from(written: WrittenPackage) -> Self {
        match written {
            WrittenPackage::Source(source) => Self::new(&source),
            WrittenPackage::Object { source, extensions, skills, prompts, autoload } => {
                Self { source, extensions, skills, prompts, autoload, is_object: true }
            }
        }
    }
}
