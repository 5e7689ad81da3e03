//! A user's home with pi's files in it, and the configuration that is read there.

use pi_rpc::{
    config::{Config, Sources, load, pattern::full_id},
    model::request::Endpoint,
    protocol::Dialect,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Home of a user, which is the project, too.
pub struct Home(tempfile::TempDir);

impl Home {
    /// Creates a home with these files in the user's directory.
    pub fn new<const N: usize>(files: [(&str, &str); N]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.agent()).unwrap();
        for (name, text) in files {
            home.write(name, text);
        }
        home
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The user's directory.
    pub fn agent(&self) -> PathBuf {
        self.path().join(".pi/agent")
    }

    /// Writes a file of the user's directory.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.agent().join(name), text).unwrap();
    }

    /// Loads the configuration with these environment variables.
    pub fn load(&self, environment: &[(&str, &str)]) -> Config {
        self.load_as(Dialect::Pi, environment)
    }

    /// The same for a dialect that shares the user's directory.
    pub fn load_as(&self, dialect: Dialect, environment: &[(&str, &str)]) -> Config {
        let home = [("HOME", self.path().to_str().unwrap())];
        load(Sources {
            dialect,
            working_directory: self.path().to_owned(),
            environment: environment.iter().copied().chain(home).collect(),
            approve: None,
        })
    }
}

/// Loads a configuration of these `models.json` and `auth.json`, with these environment variables.
pub fn configured(models: &Value, auth: &Value, environment: &[(&str, &str)]) -> Config {
    let (models, auth) = (models.to_string(), auth.to_string());
    Home::new([("models.json", &models), ("auth.json", &auth)]).load(environment)
}

/// The model of that name.
pub fn endpoint(config: &Config, name: &str) -> Endpoint {
    let endpoint = config.models().into_iter().find(|endpoint| full_id(&endpoint.model) == name);
    endpoint.unwrap_or_else(|| panic!("{name}"))
}
