//! The packages that the settings name.

use serde::Deserialize;
use std::path::PathBuf;

/// A package, and what of it counts. Source: pi's `packages.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenPackage")]
pub struct Package {
    /// `npm:name@version`, `git:…`, or a path.
    pub source: String,
    /// Its extensions: patterns; empty: none of them; `None`: all.
    pub extensions: Option<Vec<String>>,
    /// Its skills, likewise.
    pub skills: Option<Vec<String>>,
    /// Its prompt templates, likewise.
    pub prompts: Option<Vec<String>>,
    /// `Some(false)`: only what the patterns name is meant, on top of what the user's settings say. Source: pi 1.5.
    pub autoload: Option<bool>,
    /// It is written as an object, which pi looks at more closely.
    is_object: bool,
}

/// The packages of one settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPackages {
    /// The directory of the file: relative paths begin there.
    pub directory: PathBuf,
    /// In their order.
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
    /// All of it.
    pub fn new(source: &str) -> Self {
        Self { source: source.to_owned(), ..Self::default() }
    }

    /// Whether the settings say more of it than its name.
    pub const fn is_filtered(&self) -> bool {
        self.is_object
    }

    /// What counts of what is in the folder of that name.
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
