//! The battery of surroundings: what stands around the wire (settings, options, trust, instructions, environment, tools,
//! templates, extensions), as cases in `tests/surroundings/cases/`, one file a topic. Each is played with this program and
//! with releases of pi; what pi did is in `tests/surroundings/pi-*.json`, and `differences.json` has where ours differs.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod case;
mod compare;
mod layout;
mod observe;
mod play;

pub use case::{Run, names, runs};
pub use compare::{NEWEST, differs_as_listed};
pub use play::{Program, play};

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// What was observed, by `topic/run/case`.
pub type Observations = BTreeMap<String, Value>;

/// The folder of the cases and of what pi did.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/surroundings")
}

/// What a release of pi did, as committed.
pub fn recorded(version: &str) -> Observations {
    read(&folder().join(format!("pi-{version}.json")))
}

/// Where ours differs from the newest release: `why`, and what ours does.
pub fn differences() -> BTreeMap<String, BTreeMap<String, Value>> {
    read(&folder().join("differences.json"))
}

fn read<T: serde::de::DeserializeOwned + Default>(path: &Path) -> T {
    let Ok(text) = fs::read_to_string(path) else { return T::default() };
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes a file of observations.
pub fn write(path: &Path, value: &impl serde::Serialize) {
    let text = serde_json::to_string_pretty(value).expect("JSON") + "\n";
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
