//! Reads the files.

use super::{
    Directories, Environment, Keys, Settings,
    approval::{Approval, DECISIONS, ProjectCode, WithheldCode},
    auth,
    models_file::{self, Providers},
};
use crate::{
    protocol::{Dialect, DialectExtensionApi, JsonObject},
    regular_files::{self, CONFIGURATION},
};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Where configuration is looked for.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Its record names the directories.
    pub dialect: Dialect,
    /// Where the process works: an absolute path.
    pub working_directory: PathBuf,
    /// Names other directories, and holds keys.
    pub environment: Environment,
    /// Whether the project may run code, where the command line says so.
    pub approve: Option<bool>,
}

/// Everything that is configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// The dialect, whose record holds the defaults of what the settings leave open.
    pub dialect: Dialect,
    /// Where the files are.
    pub directories: Directories,
    /// The settings of the project over those of the user.
    pub settings: Settings,
    /// The same as they are written, with what is not known here.
    pub written_settings: JsonObject,
    /// What `models.json` says of providers.
    pub(super) configured: Providers,
    /// What extensions have registered of them.
    pub(super) registered: Providers,
    /// No models but those that extensions have registered.
    pub(super) only_registered: bool,
    /// What proves who asks.
    pub keys: Keys,
    /// Which code of the project may run.
    pub approval: Approval,
    /// The folder of programs that commands find before others.
    pub programs: Option<PathBuf>,
    /// What of the settings, and of programs, was left out, as it could have run.
    pub withheld_code: Vec<WithheldCode>,
    /// The files that exist.
    pub files: Vec<PathBuf>,
    /// What is wrong in the files, for stderr.
    pub warnings: Vec<String>,
}

/// Reads what is configured. A file that is missing says nothing; one that cannot be used is left out, with a warning.
pub fn load(sources: Sources) -> Config {
    let Sources { dialect, working_directory, environment, approve } = sources;
    let directories = Directories::new(dialect, &working_directory, &environment);
    let mut files = ConfigFiles::default();
    let paths = [&directories.agent, &directories.project].map(|folder| folder.join("settings.json"));
    let [mut user, mut project] = paths.each_ref().map(|path| files.settings(path));
    let decisions = files.text(&directories.agent.join(DECISIONS));
    let (approval, warning) = Approval::new(dialect, &directories, &working_directory, &environment)
        .with_decision(approve, decisions.as_deref(), user.0.default_project_trust.as_deref());
    files.warnings.extend(warning);
    let mut written = JsonObject::new();
    let mut withheld_code = Vec::new();
    for (path, (settings, own)) in paths.iter().zip([&mut user, &mut project]) {
        withheld_code.extend(approval.withhold(path, settings, own));
        merge_over(&mut written, std::mem::take(own));
    }
    let (programs, withheld) = approval.programs();
    withheld_code.extend(withheld);
    let path = directories.agent.join("models.json");
    let read = files.text(&path).map(|text| models_file::read(&text, &path));
    let configured = read.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
        files.warnings.push(error.to_string());
        Vec::new()
    });

    let path = directories.agent.join("auth.json");
    let (logins, warnings) = files.text(&path).map(|text| auth::read(&text, &path)).unwrap_or_default();
    files.warnings.extend(warnings);

    Config {
        dialect,
        settings: project.0.over(user.0),
        written_settings: written,
        keys: Keys::new(&configured, logins, environment, directories.agent.clone())
            .with_interpolation(dialect.record().extension_api == DialectExtensionApi::V15)
            .with_key_commands(approval.admits(&directories.agent, ProjectCode::KeyCommand)),
        configured,
        registered: Providers::new(),
        only_registered: false,
        approval,
        programs,
        withheld_code,
        directories,
        files: files.read,
        warnings: files.warnings,
    }
}

/// The files that were read, and what was wrong with them.
#[derive(Default)]
struct ConfigFiles {
    read: Vec<PathBuf>,
    warnings: Vec<String>,
}

impl ConfigFiles {
    /// The settings in a file, and the same as they are written.
    fn settings(&mut self, path: &Path) -> (Settings, JsonObject) {
        let Some(text) = self.text(path) else { return Default::default() };
        let (settings, warnings) = Settings::read(&text, path);
        self.warnings.extend(warnings);
        (settings, serde_json::from_str(&text).unwrap_or_default())
    }

    /// The text of a file, if there is one that can be read.
    fn text(&mut self, path: &Path) -> Option<String> {
        match regular_files::read_to_string(path, CONFIGURATION) {
            Ok(text) => {
                self.read.push(path.to_owned());
                Some(text)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.warnings.push(format!("{}: {error}; the file is left out", path.display()));
                None
            }
        }
    }
}

/// Lays settings over others: what both have as an object is laid over each other key by key (source: pi source).
fn merge_over(settings: &mut JsonObject, over: JsonObject) {
    for (key, value) in over {
        match (settings.get_mut(&key), value) {
            (Some(Value::Object(under)), Value::Object(value)) => under.extend(value),
            (_, value) => drop(settings.insert(key, value)),
        }
    }
}
