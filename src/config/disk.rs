//! Reads all configuration files.

use super::{
    Directories, Environment, Keys, Settings,
    approval::{Approval, DECISIONS, ProjectCode, WithheldCode},
    auth::{self, Login},
    credential_database::StoredCredentials,
    credential_order::CredentialFiles,
    credential_source::is_renewed,
    directory::{first_of, profile_warning},
    models_file::{self, Providers},
    pattern::ModelFilter,
    settings::settings_object,
};
use crate::{
    protocol::{Dialect, DialectExtensionApi, JsonObject},
    regular_files::{self, CONFIGURATION},
    secrets::Secrets,
};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The sources of configuration.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The dialect, whose record names the directories.
    pub dialect: Dialect,
    /// The working directory: an absolute path.
    pub working_directory: PathBuf,
    /// Environment variables, which may name other directories and hold keys.
    pub environment: Environment,
    /// Whether the project may run code, if the command line decides it.
    pub approve: Option<bool>,
}

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The dialect, whose record holds the defaults.
    pub dialect: Dialect,
    /// The directories of the files.
    pub directories: Directories,
    /// The settings of the project over those of the user.
    pub settings: Settings,
    /// The same settings as written, with unknown members.
    pub written_settings: JsonObject,
    /// Providers of the models file.
    pub(super) configured: Providers,
    /// Providers that extensions have registered.
    pub(super) registered: Providers,
    /// Whether only models of registered providers exist.
    pub(super) only_registered: bool,
    /// The only models that there are; `None`: all.
    pub model_filter: Option<ModelFilter>,
    /// Keys and logins.
    pub keys: Keys,
    /// Whether the project's code may run.
    pub approval: Approval,
    /// The folder of programs for commands.
    pub programs: Option<PathBuf>,
    /// Code of the settings, and programs, that were left out without approval.
    pub withheld_code: Vec<WithheldCode>,
    /// Configuration files that exist.
    pub files: Vec<PathBuf>,
    /// Warnings about the files, for stderr.
    pub warnings: Vec<String>,
}

/// Reads the configuration. A missing file counts as empty; an unusable one is left out with a warning.
pub fn load(sources: Sources) -> Config {
    load_with_secrets(sources, Secrets::default())
}

/// Like [`load`]; `secrets` learns all credentials besides those that it knows.
pub fn load_with_secrets(sources: Sources, secrets: Secrets) -> Config {
    let Sources { dialect, working_directory, environment, approve } = sources;
    let directories = Directories::new(dialect, &working_directory, &environment);
    let mut files = ConfigFiles::default();
    let names = dialect.record().directories.settings_files;
    let paths = [&directories.agent, &directories.project].map(|folder| first_of(folder, names));
    let [mut user, mut project] = paths.each_ref().map(|path| files.settings(path));
    let decisions = files.text(&directories.agent.join(DECISIONS));
    let (approval, warning) = Approval::new(dialect, &directories, &working_directory).with_decision(
        approve,
        decisions.as_deref(),
        user.0.default_project_trust.as_deref(),
    );
    files.warnings.extend(warning);
    files.warnings.extend(profile_warning(dialect, &environment));
    let mut written = JsonObject::new();
    let mut withheld_code = Vec::new();
    for (path, (settings, own)) in paths.iter().zip([&mut user, &mut project]) {
        withheld_code.extend(approval.withhold(path, settings, own));
        merge_over(&mut written, std::mem::take(own));
    }
    let (programs, withheld) = approval.programs();
    withheld_code.extend(withheld);
    let mut keys = Keys::default();
    keys.secrets = secrets;
    let mut config = Config {
        dialect,
        settings: project.0.over(user.0),
        written_settings: written,
        keys,
        configured: Providers::new(),
        registered: Providers::new(),
        only_registered: false,
        model_filter: None,
        approval,
        programs,
        withheld_code,
        directories,
        files: files.read,
        warnings: files.warnings,
    };
    let read = config.read_models(environment);
    config.files.extend(read.read);
    config.warnings.extend(read.warnings);
    config
}

impl Config {
    /// Whether the user's models file has the provider.
    pub fn has_provider(&self, provider: &str) -> bool {
        self.configured.iter().any(|(name, _)| name == provider)
    }

    /// Reads `models.json` and `auth.json` again, which the user may have changed; the settings stay. Returns warnings
    /// for the user.
    pub fn reload_models(&mut self) -> Vec<String> {
        self.read_models(self.keys.environment.clone()).warnings
    }

    fn read_models(&mut self, environment: Environment) -> ConfigFiles {
        let mut files = ConfigFiles::default();
        let agent = &self.directories.agent;
        let path_of_models = first_of(agent, self.dialect.record().directories.models_files);
        let read = files.text(&path_of_models).map(|text| models_file::read(&text, &path_of_models));
        self.configured = read.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
            files.warnings.push(error.to_string());
            Vec::new()
        });
        let path = agent.join("auth.json");
        let (logins, warnings) = files.text(&path).map(|text| auth::read(&text, &path)).unwrap_or_default();
        files.warnings.extend(warnings);
        let (sources, database) = self.read_database(path_of_models, &mut files, &environment);
        let secrets = self.keys.secrets().clone();
        self.keys = Keys::new(&self.configured, logins, environment, agent.clone(), secrets)
            .with_interpolation(self.dialect.record().extension_api == DialectExtensionApi::V15)
            .with_key_commands(self.approval.admits(agent, ProjectCode::KeyCommand))
            .with_files(sources, database);
        files
    }

    /// Reads the dialect's database of credentials, if it has one.
    fn read_database(
        &self,
        models: PathBuf,
        files: &mut ConfigFiles,
        environment: &Environment,
    ) -> (CredentialFiles, StoredCredentials) {
        let record = &self.dialect.record().credentials;
        let path = record.database.map(|name| self.directories.data.join(name));
        let sources = CredentialFiles {
            models,
            models_first: record.models_file_first,
            database: path.clone(),
            renewed: record.renewed,
        };
        let Some(path) = path else { return (sources, StoredCredentials::default()) };
        if let Some(name) = self.names_broker(environment) {
            let path = path.display();
            files.warnings.push(format!(
                "{name} names a broker, whose keys and logins this program cannot get; those in {path} are left out, as \
                 in omp"
            ));
            return (sources, StoredCredentials::default());
        }
        let is_renewable = |provider: &str, login: &Login| match login {
            Login::Oauth { refresh, .. } => {
                record.renewed.contains(&provider) && is_renewed(provider, refresh)
            }
            Login::ApiKey { .. } => false,
        };
        let (stored, warning) = StoredCredentials::read(&path, is_renewable);
        match warning {
            Some(warning) => files.warnings.push(warning),
            None if path.exists() => files.read.push(path),
            None => {}
        }
        (sources, stored)
    }

    /// The variable or the setting that has omp take all credentials from a broker. Source: omp source
    /// (`auth-broker/discover.ts`).
    fn names_broker(&self, environment: &Environment) -> Option<&'static str> {
        const SETTING: &str = "auth.broker.url";
        let written = &self.written_settings;
        let nested = || written.get("auth")?.get("broker")?.get("url")?.as_str();
        let flat = written.get(SETTING).and_then(Value::as_str);
        let is_set = flat.or_else(nested).is_some_and(|url| !url.trim().is_empty());
        environment.get(BROKER_VARIABLE).map(|_| BROKER_VARIABLE).or(is_set.then_some(SETTING))
    }
}

/// The variable with the address of a broker of credentials, in omp.
const BROKER_VARIABLE: &str = "OMP_AUTH_BROKER_URL";

/// Files that were read, and warnings about them.
#[derive(Default)]
struct ConfigFiles {
    read: Vec<PathBuf>,
    warnings: Vec<String>,
}

impl ConfigFiles {
    /// Reads the settings in a file, parsed and as written.
    fn settings(&mut self, path: &Path) -> (Settings, JsonObject) {
        let Some(text) = self.text(path) else { return Default::default() };
        let (settings, warnings) = Settings::read(&text, path);
        self.warnings.extend(warnings);
        (settings, settings_object(&text, path).unwrap_or_default())
    }

    /// Reads the text of a file; `None`: there is none, or it is unreadable.
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

/// Merges settings over others; objects are merged key by key (source: pi source).
fn merge_over(settings: &mut JsonObject, over: JsonObject) {
    for (key, value) in over {
        match (settings.get_mut(&key), value) {
            (Some(Value::Object(under)), Value::Object(value)) => under.extend(value),
            (_, value) => drop(settings.insert(key, value)),
        }
    }
}
