//! Where the files are.

use super::Environment;
use crate::protocol::Dialect;
use std::path::{Path, PathBuf};

/// The directories that hold configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The user's: `settings.json`, `models.json`, `auth.json`, `sessions/`.
    pub agent: PathBuf,
    /// The project's, inside the working directory: `settings.json`.
    pub project: PathBuf,
}

impl Directories {
    /// The directories of `dialect` for a process that works in `working`. The environment may name another agent
    /// directory (pi: `PI_CODING_AGENT_DIR`); `~` at its start stands for the home directory, and a relative one begins
    /// at `working`.
    pub fn new(dialect: Dialect, working: &Path, environment: &Environment) -> Self {
        let record = &dialect.record().directories;
        let agent = environment.get(record.agent_variable).unwrap_or(record.agent);
        Self { agent: working.join(expand(agent, environment)), project: working.join(record.project) }
    }
}

/// `path` with the home directory in place of a leading `~`; as it is where no home is known.
fn expand(path: &str, environment: &Environment) -> PathBuf {
    let home = environment.get("HOME").map(Path::new);
    match (home, path.strip_prefix('~')) {
        (Some(home), Some("")) => home.to_owned(),
        (Some(home), Some(rest)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}
