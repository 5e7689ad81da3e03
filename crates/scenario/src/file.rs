//! The scenario file: reading it, its errors, its schema.

use super::{Step, step::Only};
use pi_rpc_model::scripted::Script;
use pi_rpc_protocol::Dialect;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// A scenario of pi-rpc: a conversation with a server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "pi-rpc scenario")]
pub struct Scenario {
    /// The schema of this file, for editors; not read.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The name for options and reports: `area-what`, in small letters.
    pub name: String,
    /// What the scenario shows, in one sentence.
    pub title: String,
    /// The dialects of the scenario; a base covers all its overlays, and `!` leaves one out. By default all.
    #[serde(default, deserialize_with = "dialects")]
    #[schemars(with = "Vec<String>")]
    pub dialects: Vec<Dialect>,
    /// The capabilities that the adapter must have; without them the scenario is *not supported*.
    #[serde(default)]
    pub needs: BTreeSet<Capability>,
    /// The script of the server's model. By default it answers `Yes.` to everything.
    #[serde(default = "yes")]
    pub script: Script,
    /// Files to create before the start: path, relative to the working directory, and content as a text or as JSON. Both may
    /// hold `${name}`.
    #[serde(default)]
    pub files: BTreeMap<String, Value>,
    /// Scripted servers of the Model Context Protocol that the server connects to over HTTP, by their names.
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Members to add to the adapter's settings file.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Options to start with, besides those of the adapter. They may hold `${name}`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Whether to go on when the server does not know a command, instead of ending as *not supported*.
    #[serde(default)]
    pub tolerates_unknown: bool,
    /// Whether the host answers every dialog at once: with the first choice, yes, or a text.
    #[serde(default)]
    pub answers_dialogs: bool,
    /// The steps. After the last one the input is closed, and the server has to exit.
    pub steps: Vec<Step>,
}

/// A scripted server of the Model Context Protocol.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServer {
    /// Members of its entry besides `url`.
    #[serde(default)]
    pub entry: Map<String, Value>,
    /// What it does, as `pi-rpc mock-mcp` reads it.
    pub script: Value,
}

/// A capability of an adapter that a scenario may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Loading the test extension: the commands `dlg`, `fire`, `boom` and `usermsg`, the tool `asker`, and a hook that blocks
    /// a bash command with the word `forbidden`.
    Extension,
    /// Storing sessions in files, and opening one by `--session` or `--continue`.
    Sessions,
    /// Reading settings from a file.
    Settings,
    /// Connecting the servers of an `mcp.json`.
    Mcp,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Extension => "extension",
            Self::Sessions => "sessions",
            Self::Settings => "settings",
            Self::Mcp => "mcp",
        })
    }
}

/// A text is not a scenario file.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is not JSON.
    #[error("the scenario is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The text is JSON, but not a scenario.
    #[error("scenario error at {path}: {reason}")]
    Invalid {
        /// The place in the file, such as `steps[3]`; `.` is the whole file.
        path: String,
        /// What was expected there.
        reason: String,
    },
}

impl Scenario {
    /// Parses a scenario file.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or has the wrong shape. The error names the place and what was expected there.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let read = serde_path_to_error::deserialize(&mut json).map_err(ScenarioError::from)?;
        json.end().map_err(ScenarioError::NotJson)?;
        Ok(read)
    }

    /// Whether the scenario is for this dialect.
    pub fn is_for(&self, dialect: Dialect) -> bool {
        self.dialects.is_empty() || self.dialects.contains(&dialect)
    }

    /// The steps for this dialect, each with its place in the file.
    pub fn steps_for(&self, dialect: Dialect) -> Vec<(String, &Step)> {
        let mut flat = Vec::new();
        flatten(&self.steps, "", dialect, &mut flat);
        flat
    }
}

fn flatten<'a>(steps: &'a [Step], place: &str, dialect: Dialect, flat: &mut Vec<(String, &'a Step)>) {
    for (index, step) in steps.iter().enumerate() {
        let place = format!("{place}steps[{index}]");
        match step {
            Step::Only(Only { only, steps }) => {
                if only.contains(&dialect) {
                    flatten(steps, &format!("{place}."), dialect, flat);
                }
            }
            step => flat.push((place, step)),
        }
    }
}

/// Whether `listed` is the dialect or its base.
fn covers(listed: Dialect, dialect: Dialect) -> bool {
    let is_base = Dialect::ALL.into_iter().find(|first| first.base() == listed.base()) == Some(listed);
    listed == dialect || is_base && listed.base() == dialect.base()
}

/// Reads names of dialects: a base stands for all dialects with its frames, and a `!` leaves a dialect out.
pub(super) fn dialects<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Dialect>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let parse = |name: &str| {
        let known = || Dialect::ALL.map(Dialect::as_str).join(", ");
        Dialect::parse(name)
            .ok_or_else(|| D::Error::custom(format_args!("unknown dialect {name:?}; known: {}", known())))
    };
    let left_out = |name: &String| name.starts_with('!');
    let mut listed = Vec::new();
    for name in names.iter().filter(|name| !left_out(name)) {
        let dialect = parse(name)?;
        listed.extend(Dialect::ALL.into_iter().filter(|other| covers(dialect, *other)));
    }
    for name in names.iter().filter(|name| left_out(name)) {
        let dialect = parse(&name[1..])?;
        listed.retain(|other| *other != dialect);
    }
    Ok(listed)
}

/// The script of a model that answers `Yes.` to everything.
fn yes() -> Script {
    let script = Script::from_json(r#"{"turns": [{"repeat": true, "say": [{"text": "Yes."}]}]}"#);
    script.unwrap_or_else(|_| Script::demo())
}

impl From<serde_path_to_error::Error<serde_json::Error>> for ScenarioError {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        if error.inner().is_data() {
            Self::Invalid { path: error.path().to_string(), reason: error.into_inner().to_string() }
        } else {
            Self::NotJson(error.into_inner())
        }
    }
}

/// The JSON Schema (2020-12) of a scenario file, for editors.
pub fn scenario_schema() -> Value {
    schema_for!(Scenario).to_value()
}
