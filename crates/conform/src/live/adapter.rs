//! The adapter file: how to start one kind of server, with its model, configuration and extension.

use pi_rpc_protocol::Dialect;
use pi_rpc_scenario::{Capability, embedded};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;
use std::{collections::BTreeMap, fs, io, path::PathBuf};

/// Describes how pi-rpc starts a kind of server for its scenarios. Texts may hold `${home}`, `${agentDir}`, `${cwd}`,
/// `${baseUrl}`, `${apiKey}`, `${dialect}`, `${extension}` (the folder with the files of `extension`), and, of the scripted
/// model, `${contextWindow}`, `${maxTokens}` and `${reasoning}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "pi-rpc adapter")]
pub struct Adapter {
    /// The schema of this file, for editors; not read.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The name of the adapter, and of the programs that it is for.
    pub name: String,
    /// What the adapter is for, in one sentence.
    pub title: String,
    /// The dialect of the server, unless the command line names another.
    #[serde(deserialize_with = "dialect")]
    #[schemars(with = "String")]
    pub dialect: Dialect,
    /// The directory of the server's configuration: `${agentDir}`.
    pub agent_dir: String,
    /// Options after the command, including the RPC mode.
    pub args: Vec<String>,
    /// Options after the command that have it print its version and end; without them a report names no version.
    #[serde(default)]
    pub version_args: Vec<String>,
    /// Variables of the environment, besides `PATH`, `LANG`, `TERM`, `HOME` and `TMPDIR`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files to create before the start: path, and content as a text or as JSON.
    #[serde(default)]
    pub files: BTreeMap<String, Value>,
    /// The path in `files` of the settings file that scenarios may extend.
    pub settings: Option<String>,
    /// The path of the `mcp.json` that scenarios write; absent if the server connects no servers of the Model Context Protocol.
    pub mcp: Option<String>,
    /// How the test extension is loaded; absent if the server has no extensions.
    pub extension: Option<Extension>,
    /// Whether the server stores sessions in files, and has the options `--session` and `--continue`.
    #[serde(default)]
    pub sessions: bool,
    /// Milliseconds until the first output that are allowed in addition to the time of a step.
    pub start_within_ms: u64,
    /// Milliseconds that the server may take to exit after the end of its input, and again after a signal.
    pub end_within_ms: u64,
    /// The folder with the files of `extension`; `None` for files embedded in the binary.
    #[serde(skip)]
    folder: Option<PathBuf>,
}

/// How the test extension is loaded.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// Files to copy to `${extension}`, from beside the adapter's file or from those that come with pi-rpc.
    pub copy: Vec<String>,
    /// Options that load the extension.
    pub args: Vec<String>,
}

/// An adapter cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The name is neither that of an adapter nor of a file.
    #[error("there is no adapter {0:?}; known: {known}", known = Adapter::names().join(", "))]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// The path of the file.
        path: String,
        /// Why the file cannot be read.
        error: io::Error,
    },
    /// The file has the wrong shape.
    #[error("adapter {name}: {place}: {error}")]
    Shape {
        /// The name or the path of the adapter.
        name: String,
        /// The place in the file.
        place: String,
        /// What was expected there.
        error: serde_json::Error,
    },
}

impl Adapter {
    /// Loads the adapter called `name`, or the one in the file `name`.
    ///
    /// # Errors
    ///
    /// When there is none, or it has the wrong shape.
    pub fn find(name: &str) -> Result<Self, AdapterError> {
        if let Some(text) = built_in(&format!("{name}.json")) {
            return Self::read(name, text);
        }
        if !name.ends_with(".json") {
            return Err(AdapterError::Unknown(name.to_owned()));
        }
        let path = PathBuf::from(name);
        let text =
            fs::read_to_string(&path).map_err(|error| AdapterError::File { path: name.to_owned(), error })?;
        let folder = path.parent().map(PathBuf::from);
        Self::read(name, &text).map(|adapter| Self { folder, ..adapter })
    }

    /// The names of the adapters that come with pi-rpc.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<_> =
            embedded::ADAPTERS.iter().filter_map(|(name, _)| name.strip_suffix(".json")).collect();
        names.sort_unstable();
        names
    }

    /// Whether the adapter has the capability.
    pub const fn offers(&self, capability: Capability) -> bool {
        match capability {
            Capability::Extension => self.extension.is_some(),
            Capability::Sessions => self.sessions,
            Capability::Settings => self.settings.is_some(),
            Capability::Mcp => self.mcp.is_some(),
        }
    }

    /// The text of a file of the extension.
    ///
    /// # Errors
    ///
    /// When there is no such file.
    pub fn extension_file(&self, name: &str) -> io::Result<String> {
        match (&self.folder, built_in(name)) {
            (Some(folder), _) if folder.join(name).exists() => fs::read_to_string(folder.join(name)),
            (_, Some(text)) => Ok(text.to_owned()),
            (_, None) => Err(io::Error::new(io::ErrorKind::NotFound, format!("extension file {name}"))),
        }
    }

    fn read(name: &str, text: &str) -> Result<Self, AdapterError> {
        let mut json = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut json).map_err(|error| AdapterError::Shape {
            name: name.to_owned(),
            place: error.path().to_string(),
            error: error.into_inner(),
        })
    }
}

/// A file that is embedded in the binary.
fn built_in(name: &str) -> Option<&'static str> {
    embedded::ADAPTERS.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
}

fn dialect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dialect, D::Error> {
    let name = String::deserialize(deserializer)?;
    Dialect::parse(&name).ok_or_else(|| D::Error::custom(format_args!("unknown dialect {name:?}")))
}

/// The JSON Schema (2020-12) of an adapter file, for editors.
pub fn adapter_schema() -> Value {
    schema_for!(Adapter).to_value()
}
