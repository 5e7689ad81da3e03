//! Whether a project may bring code along, where pi asks that. Blocks on the disk.

use crate::config::Config;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// Whether the extensions and packages of the project in `working` count: what the command line says, else what was saved
/// for the nearest folder, else what the user's settings say. Nobody is there to be asked. Source: pi 1.5's `security.md`.
pub fn is_trusted(config: &Config, said: Option<bool>, working: &Path) -> bool {
    let saved = || {
        let text = fs::read_to_string(config.directories.agent.join("trust.json")).ok()?;
        let saved: BTreeMap<String, Value> = serde_json::from_str(&text).ok()?;
        let working = working.canonicalize().ok()?;
        working.ancestors().find_map(|folder| saved.get(folder.to_str()?)?.as_bool())
    };
    said.or_else(saved).unwrap_or(config.settings.default_project_trust.as_deref() == Some("always"))
}
