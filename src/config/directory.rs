//! Directories of configuration files and sessions.

use super::{Environment, Settings};
use crate::protocol::Dialect;
use std::path::{Path, PathBuf};

/// The directories that hold configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The user's directory: settings, models, `auth.json`, `sessions/`.
    pub agent: PathBuf,
    /// The project's directory, inside the working directory: settings.
    pub project: PathBuf,
}

impl Directories {
    /// Determines the directories of `dialect` for a process in `working`. The environment may name another agent
    /// directory (pi: `PI_CODING_AGENT_DIR`), where a leading `~` is the home directory and a relative path begins at
    /// `working`.
    pub fn new(dialect: Dialect, working: &Path, environment: &Environment) -> Self {
        let record = &dialect.record().directories;
        let agent = environment.get(record.agent_variable).unwrap_or(record.agent);
        Self { agent: working.join(expand_home(agent, environment)), project: working.join(record.project) }
    }
}

/// The first of these files that a directory has; the first name, if it has none.
pub(super) fn first_of(directory: &Path, names: &[&str]) -> PathBuf {
    let mut paths = names.iter().map(|name| directory.join(name));
    let first = paths.clone().next().unwrap_or_else(|| directory.to_owned());
    paths.find(|path| path.exists()).unwrap_or(first)
}

/// The variable that names the sessions' folder, as in pi from 0.73 on.
const SESSIONS_VARIABLE: &str = "PI_CODING_AGENT_SESSION_DIR";

/// The folder of all sessions, if one is configured: by `option` of the command line, else by the environment, else
/// by the settings. `None`: each working directory has its own, below the agent's `sessions`.
///
/// A leading `~` is the home directory; a relative path begins at `working`. Source: pi 0.73's `settings.md`.
pub fn sessions_folder(
    option: Option<&str>,
    settings: &Settings,
    working: &Path,
    environment: &Environment,
) -> Option<PathBuf> {
    let names = [option, environment.get(SESSIONS_VARIABLE), settings.session_dir.as_deref()];
    names
        .into_iter()
        .flatten()
        .find(|path| !path.is_empty())
        .map(|path| working.join(expand_home(path, environment)))
}

/// Replaces a leading `~` by the home directory, if that is known.
pub fn expand_home(path: &str, environment: &Environment) -> PathBuf {
    let home = environment.get("HOME").map(Path::new);
    match (home, path.strip_prefix('~')) {
        (Some(home), Some("")) => home.to_owned(),
        (Some(home), Some(rest)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}
