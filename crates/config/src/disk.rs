//! Reads all configuration files.

use super::{
    Directories, Environment, Keys, Settings,
    approval::{Approval, ExtensionDecision, ProjectCode, WithheldCode},
    auth::{self, Login},
    credential_database::StoredCredentials,
    credential_order::CredentialFiles,
    credential_places::credential_places,
    credential_source::is_renewed,
    decisions::DECISIONS,
    directory::{first_of, profile_warning},
    models_file::{self, Providers},
    pattern::ModelFilter,
    settings::settings_object,
    virtual_models::VirtualModel,
};
use pi_rpc_files::{confinement::Confinement, regular_files::CONFIGURATION, secrets::Secrets};
use pi_rpc_protocol::{Dialect, DialectExtensionApi, JsonObject};
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

/// What a process lets projects do, beyond what its command line decides about them.
#[derive(Clone, Debug, Default)]
pub struct ProjectPolicy {
    /// Whether links of a project may lead out of it.
    pub follows_links: bool,
    /// The dialect of the host that has the session: no code runs there without an approval, and a session in another
    /// dialect may do no more.
    pub host: Option<Dialect>,
    /// What an extension of the user's has decided.
    pub extension: Option<ExtensionDecision>,
    /// Further files with credentials, which are never instructions.
    pub credentials: Vec<PathBuf>,
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
    /// Whether the project's settings name the folder of sessions.
    pub session_dir_is_of_project: bool,
    /// Providers of the models file.
    pub(super) configured: Providers,
    /// Providers that extensions have registered.
    pub(super) registered: Providers,
    /// Virtual models that extensions have registered.
    pub(super) virtual_models: Vec<VirtualModel>,
    /// Whether only models of registered providers exist.
    pub(super) only_registered: bool,
    /// The only models that there are; `None`: all.
    pub model_filter: Option<ModelFilter>,
    /// Keys and logins.
    pub keys: Keys,
    /// Whether the project's code may run, and its texts may be read.
    pub approval: Approval,
    /// Where the files of the project may be, and which files are no instructions.
    pub confinement: Confinement,
    /// The folder of programs for commands.
    pub programs: Option<PathBuf>,
    /// Code of the settings, and programs, that were left out without approval.
    pub withheld_code: Vec<WithheldCode>,
    /// Which texts of the project were left out without approval, and how to approve it.
    pub withheld_texts: Option<String>,
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
    load_with_policy(sources, secrets, ProjectPolicy::default())
}

/// Like [`load_with_secrets`], with what the process lets projects do.
pub fn load_with_policy(sources: Sources, secrets: Secrets, policy: ProjectPolicy) -> Config {
    let Sources { dialect, ref working_directory, ref environment, .. } = sources;
    let directories = Directories::new(dialect, working_directory, environment);
    let home = environment.get("HOME").map(PathBuf::from);
    let mut files = ConfigFiles::default();
    let names = dialect.record().directories.settings_files;
    let user_path = first_of(&directories.agent, names);
    let mut user = files.settings(&user_path, &Confinement::default());
    let mut approval = approval(&sources, &directories, &user.0, policy.extension.as_ref(), &mut files);
    if let Some(host) = policy.host {
        let sources = Sources { dialect: host, ..sources.clone() };
        let directories = Directories::new(host, working_directory, environment);
        // What is wrong with these files is told where the host starts.
        let mut files = ConfigFiles::default();
        let user = files.settings(
            &first_of(&directories.agent, host.record().directories.settings_files),
            &Confinement::default(),
        );
        let own = self::approval(&sources, &directories, &user.0, policy.extension.as_ref(), &mut files);
        approval = approval.on_host(own);
    }
    let of_user = Some(directories.agent.clone()).filter(|agent| !approval.is_of_project(agent));
    let shared = home.as_ref().map(|home| home.join(".agents"));
    let of_user = of_user.into_iter().chain(shared).collect();
    let mut credentials = credential_places(working_directory, environment);
    credentials.extend(policy.credentials);
    let confinement = Confinement::new(working_directory, of_user, credentials, policy.follows_links);
    let project_path = first_of(&directories.project, names);
    let mut project = files.settings(&project_path, &confinement);
    if !approval.admits_texts() {
        files.read.retain(|path| *path != project_path);
    }
    let withheld_texts = approval.withheld_texts(home.as_deref());
    let paths = [user_path, project_path];
    let environment = sources.environment;
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
        session_dir_is_of_project: project.0.session_dir.is_some(),
        settings: project.0.over(user.0),
        written_settings: written,
        keys,
        configured: Providers::new(),
        registered: Providers::new(),
        virtual_models: Vec::new(),
        only_registered: false,
        model_filter: None,
        approval,
        confinement,
        programs,
        withheld_code,
        withheld_texts,
        directories,
        files: files.read,
        warnings: files.warnings,
    };
    let read = config.read_models(environment);
    config.files.extend(read.read);
    config.warnings.extend(read.warnings);
    config
}

/// The approval of a project by the command line, an extension, or the files of the user.
fn approval(
    sources: &Sources,
    directories: &Directories,
    user: &Settings,
    extension: Option<&ExtensionDecision>,
    files: &mut ConfigFiles,
) -> Approval {
    let decisions = files.text(&directories.agent.join(DECISIONS), &Confinement::default());
    let (approval, warning) = Approval::new(sources.dialect, directories, &sources.working_directory)
        .with_decision(
            sources.approve,
            extension,
            decisions.as_deref(),
            user.default_project_trust.as_deref(),
        );
    files.warnings.extend(warning);
    approval
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
        let read = files
            .text(&path_of_models, &self.confinement)
            .map(|text| models_file::read(&text, &path_of_models));
        self.configured = read.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
            files.warnings.push(error.to_string());
            Vec::new()
        });
        let path = agent.join("auth.json");
        let read = files.text(&path, &self.confinement);
        let (logins, warnings) = read.map(|text| auth::read(&text, &path)).unwrap_or_default();
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
    fn settings(&mut self, path: &Path, confinement: &Confinement) -> (Settings, JsonObject) {
        let Some(text) = self.text(path, confinement) else { return Default::default() };
        let (settings, warnings) = Settings::read(&text, path);
        self.warnings.extend(warnings);
        (settings, settings_object(&text, path).unwrap_or_default())
    }

    /// Reads the text of a file; `None`: there is none, or it is unreadable.
    fn text(&mut self, path: &Path, confinement: &Confinement) -> Option<String> {
        match confinement.read_configuration(path, CONFIGURATION) {
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
