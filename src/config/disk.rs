//! Reads the files.

use super::{Directories, Environment, Keys, Settings, auth, catalogue::Catalogue, models_file, registry};
use crate::{model::request::Endpoint, protocol::Dialect};
use std::{
    fs, io,
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
    /// What is known without any file.
    pub catalogue: Catalogue,
    /// Every model there is, with or without a key, in the order in which hosts see them.
    pub models: Vec<Endpoint>,
    /// What proves who asks.
    pub keys: Keys,
    /// The files that exist.
    pub files: Vec<PathBuf>,
    /// What is wrong in the files, for stderr.
    pub warnings: Vec<String>,
}

/// Reads what is configured. A file that is missing says nothing; one that cannot be used is left out, with a warning.
pub fn load(sources: Sources) -> Config {
    let Sources { dialect, working_directory, environment } = sources;
    let directories = Directories::new(dialect, &working_directory, &environment);
    let mut files = Files::default();
    let user = files.settings(&directories.agent.join("settings.json"));
    let project = files.settings(&directories.project.join("settings.json"));
    let catalogue = Catalogue::built_in();

    let path = directories.agent.join("models.json");
    let read = files.text(&path).map(|text| models_file::read(&text, &path, &catalogue));
    let configured = read.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
        files.warnings.push(error.to_string());
        Vec::new()
    });

    let path = directories.agent.join("auth.json");
    let (logins, warnings) = files.text(&path).map(|text| auth::read(&text, &path)).unwrap_or_default();
    files.warnings.extend(warnings);

    Config {
        dialect,
        settings: project.over(user),
        models: registry::models(&catalogue, &configured),
        keys: Keys::new(&catalogue, &configured, logins, environment, directories.agent.clone()),
        catalogue,
        directories,
        files: files.read,
        warnings: files.warnings,
    }
}

/// The files that were read, and what was wrong with them.
#[derive(Default)]
struct Files {
    read: Vec<PathBuf>,
    warnings: Vec<String>,
}

impl Files {
    fn settings(&mut self, path: &Path) -> Settings {
        let Some(text) = self.text(path) else { return Settings::default() };
        let (settings, warnings) = Settings::read(&text, path);
        self.warnings.extend(warnings);
        settings
    }

    /// The text of a file, if there is one that can be read.
    fn text(&mut self, path: &Path) -> Option<String> {
        match fs::read_to_string(path) {
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
