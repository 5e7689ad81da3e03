//! Reads script files; their errors and their schema.

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

use super::{check::check, demo, turn::Turn};

/// A script, ready to be played.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "ScriptFile")]
#[schemars(with = "ScriptFile")]
pub struct Script {
    /// The model that the script pretends to be.
    pub model: ModelCard,
    pub(super) source: TurnSource,
}

impl Script {
    /// Reads the text of a script file.
    ///
    /// # Errors
    ///
    /// The text is not JSON, has the wrong shape, or combines settings that exclude each other. The error names the
    /// place and the expectation.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let file: ScriptFile = serde_path_to_error::deserialize(&mut json).map_err(ScriptError::from)?;
        json.end().map_err(ScriptError::NotJson)?;
        Self::try_from(file)
    }

    /// The built-in demo: it answers any prompt, lists the working directory with a read-only tool if there is one,
    /// and introduces itself.
    pub fn demo() -> Self {
        Self { model: demo::card(), source: TurnSource::Demo }
    }

    /// The turns of the file; empty for the demo, which computes its turns.
    pub fn turns(&self) -> &[Turn] {
        match &self.source {
            TurnSource::Turns(turns) => turns,
            TurnSource::Demo => &[],
        }
    }
}

impl TryFrom<ScriptFile> for Script {
    type Error = ScriptError;

    fn try_from(file: ScriptFile) -> Result<Self, ScriptError> {
        check(&file.turns)?;
        Ok(Self { model: file.model, source: TurnSource::Turns(file.turns) })
    }
}

/// Where the turns come from.
#[derive(Debug, Clone)]
pub(super) enum TurnSource {
    Turns(Vec<Turn>),
    Demo,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The text is not JSON.
    #[error("the script is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The text is JSON, but not a script.
    #[error("script error at {path}: {reason}")]
    Invalid {
        /// Place in the file, such as `turns[3].fail.status`; `.` is the whole file.
        path: String,
        /// The fault, and the expectation.
        reason: String,
    },
}

impl From<serde_path_to_error::Error<serde_json::Error>> for ScriptError {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        if error.inner().is_data() {
            Self::Invalid { path: error.path().to_string(), reason: error.into_inner().to_string() }
        } else {
            Self::NotJson(error.into_inner())
        }
    }
}

/// The JSON Schema (2020-12) of a script file, for editors and for the reference page.
pub fn script_schema() -> Value {
    schema_for!(ScriptFile).to_value()
}

/// A script for pi-rpc's scripted model: its answers, turn by turn.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "pi-rpc script")]
struct ScriptFile {
    /// The schema of this file, for editors; not read.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The model that the script pretends to be.
    #[serde(default)]
    model: ModelCard,
    /// The model's answers. Each call of the model takes the first turn that is left and fits.
    turns: Vec<Turn>,
}

/// The description of the scripted model. Omitted members are as in pi's `models.json`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelCard {
    /// The name to show; by default the model's id.
    pub name: Option<String>,
    /// Whether the model can think (default no). Thinking in the script is played in any case.
    pub reasoning: bool,
    /// Context window in tokens (default 128000).
    pub context_window: u64,
    /// Output limit in tokens (default 16384).
    pub max_tokens: u64,
    /// Kinds of content in prompts (default text).
    pub input: Vec<Input>,
    /// Prices; free by default.
    pub cost: Cost,
}

impl Default for ModelCard {
    fn default() -> Self {
        Self {
            name: None,
            reasoning: false,
            context_window: 128_000,
            max_tokens: 16_384,
            input: vec![Input::Text],
            cost: Cost::default(),
        }
    }
}

/// A kind of content that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// Text.
    Text,
    /// Images.
    Image,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cost {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
}
