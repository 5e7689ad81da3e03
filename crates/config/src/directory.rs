//! Directories of configuration files and sessions.

use super::{Environment, Settings};
use pi_rpc_protocol::{Dialect, DialectDirectories};
use std::path::{Path, PathBuf};

/// The directories that hold configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The user's directory: settings, models, `auth.json`.
    pub agent: PathBuf,
    /// The project's directory, inside the working directory: settings.
    pub project: PathBuf,
    /// The directory of sessions and of the database of credentials: the user's, unless the environment names another.
    pub data: PathBuf,
    /// The environment variable that moves the user's directory.
    pub variable: Option<&'static str>,
}

impl Directories {
    /// Determines the directories of `dialect` for a process in `working`. The environment may name another agent
    /// directory (pi: `PI_CODING_AGENT_DIR`), where a leading `~` is the home directory and a relative path begins at
    /// `working`; in omp it may also name the folder that the agent directory lies in, a profile, and a directory of
    /// data.
    ///
    /// Source: omp source (`dirs.ts`).
    pub fn new(dialect: Dialect, working: &Path, environment: &Environment) -> Self {
        let record = &dialect.record().directories;
        let profile = profile(record.profile_variables, environment).unwrap_or_default();
        let usual = usual_directory(record, profile.map(|(_, name)| name), environment);
        // A profile's directory that a parent process has named does not count for the default profile.
        let of_other_profile = profile_name(record.profile_variables.last(), environment)
            .map(|name| usual_directory(record, Some(name), environment));
        let named = environment
            .get(record.agent_variable)
            .filter(|_| profile.is_none())
            .map(|path| expand_home(path, environment))
            .filter(|path| Some(path) != of_other_profile.as_ref());
        let agent = working.join(named.as_ref().unwrap_or(&usual));
        let data = record.data.filter(|_| agent == working.join(&usual));
        let data = data.and_then(|data| data_directory(data, profile.map(|(_, name)| name), environment));
        let variable = named
            .map(|_| record.agent_variable)
            .or(record.root_variable.filter(|name| environment.get(name).is_some()))
            .or(profile.map(|(variable, _)| variable));
        Self {
            data: data.map_or_else(|| agent.clone(), |folder| working.join(folder)),
            agent,
            project: working.join(record.project),
            variable,
        }
    }

    /// Whether a variable places the user's directory: one that names a profile does not.
    pub(super) fn is_placed(&self, dialect: Dialect) -> bool {
        let record = &dialect.record().directories;
        self.variable.is_some_and(|name| name == record.agent_variable || record.root_variable == Some(name))
    }
}

/// The user's directory where no variable names it as such.
fn usual_directory(record: &DialectDirectories, profile: Option<&str>, environment: &Environment) -> PathBuf {
    let usual = expand_home(record.agent, environment);
    let (Some(root), Some(name)) = (usual.parent(), usual.file_name()) else { return usual };
    let root = match record.root_variable.and_then(|variable| environment.get(variable)) {
        Some(folder) => expand_home(&format!("~/{folder}"), environment),
        None => root.to_owned(),
    };
    match profile {
        Some(profile) => root.join(PROFILES).join(profile).join(name),
        None => root.join(name),
    }
}

/// The folder of all profiles.
const PROFILES: &str = "profiles";

/// The folder that `$VARIABLE/NAME` stands for, if it exists.
fn data_directory(data: &str, profile: Option<&str>, environment: &Environment) -> Option<PathBuf> {
    let (variable, name) = data.strip_prefix('$')?.split_once('/')?;
    let folder = Path::new(environment.get(variable)?).join(name);
    let folder = profile.map_or(folder.clone(), |profile| folder.join(PROFILES).join(profile));
    folder.exists().then_some(folder)
}

/// The variable that names a profile, and its name; `None`: it is the default one.
fn profile<'a>(
    variables: &[&'static str],
    environment: &'a Environment,
) -> Result<Option<(&'static str, &'a str)>, InvalidProfile> {
    let set = |variable: &&'static str| Some((*variable, environment.given(variable)?.trim()));
    match variables.iter().find_map(set) {
        None | Some((_, "" | "default")) => Ok(None),
        Some((variable, name)) if is_profile_name(name) => Ok(Some((variable, name))),
        Some((variable, name)) => Err(InvalidProfile { place: variable, name: name.to_owned() }),
    }
}

/// The name of a profile in one variable, if there is a valid one.
fn profile_name<'a>(variable: Option<&&'static str>, environment: &'a Environment) -> Option<&'a str> {
    let variables = [*variable?];
    profile(&variables, environment).ok().flatten().map(|(_, name)| name)
}

/// A text that is no name of a profile.
#[derive(Debug, thiserror::Error)]
#[error(
    "{place}: expected the name of a profile (up to 64 of a-z, 0-9, `.`, `_` and `-`; a letter or digit first, no `.` last, no \
     name of a device of Windows, such as con), got {name:?}"
)]
pub struct InvalidProfile {
    /// The variable or the option.
    place: &'static str,
    /// The name as given.
    name: String,
}

/// A warning for an environment whose profile has no valid name.
pub(super) fn profile_warning(dialect: Dialect, environment: &Environment) -> Option<String> {
    let variables = dialect.record().directories.profile_variables;
    profile(variables, environment).err().map(|error| format!("{error}; the default profile is used"))
}

/// The environment with the profile that `option` of the command line names. A dialect without profiles ignores it, as it does
/// other options that it has not.
///
/// # Errors
///
/// The name is invalid, or empty.
pub fn with_profile(
    dialect: Dialect,
    option: &'static str,
    name: &str,
    environment: &Environment,
) -> Result<Environment, InvalidProfile> {
    let Some(variable) = dialect.record().directories.profile_variables.first() else {
        return Ok(environment.clone());
    };
    let environment = environment.with(&[((*variable).to_owned(), name.to_owned())].into());
    match profile(&[variable], &environment) {
        Ok(_) if !name.trim().is_empty() => Ok(environment),
        _ => Err(InvalidProfile { place: option, name: name.to_owned() }),
    }
}

fn is_profile_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let stem = name.split('.').next().unwrap_or_default();
    // Names of devices in Windows, which omp refuses everywhere.
    let is_device = matches!(stem, "con" | "prn" | "aux" | "nul")
        || (stem.len() == 4
            && (stem.starts_with("com") || stem.starts_with("lpt"))
            && stem.ends_with(|c: char| c.is_ascii_digit()));
    name.len() <= 64
        && name.starts_with(is_first)
        && name.chars().all(|c| is_first(c) || matches!(c, '.' | '_' | '-'))
        && !name.ends_with('.')
        && !is_device
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
