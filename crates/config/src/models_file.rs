//! Reads and checks `models.json`, in omp `models.yml`.

use super::{
    catalogue::BUILT_IN,
    object_file::{is_yaml, parse_yaml, plain_json},
    quick_check::certainly_fits,
};
use jsonschema::{
    Draft, ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use pi_rpc_protocol::{InputKind, JsonObject, PriceTier, PromptCache};
use serde::Deserialize;
use serde_json::{Number, Value};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// JSON Schema 2020-12 of the file, for the check and for editors.
pub const SCHEMA: &str = include_str!("../../../data/models-file.schema.json");

/// Configured providers, in the order of the file.
pub type Providers = Vec<(String, ProviderKeys)>;

/// One provider of the file.
///
/// Source: pi's `models.md`; pi 0.73.1 observed.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderKeys {
    /// Address of custom models; also replaces that of built-in ones.
    pub base_url: Option<String>,
    /// The key as configured: `!command`, the name of a variable, or the key itself.
    pub api_key: Option<String>,
    /// Default API of custom models.
    pub api: Option<String>,
    /// HTTP headers with configured values.
    pub headers: JsonObject,
    /// Whether the key goes into `Authorization: Bearer`.
    pub auth_header: bool,
    /// Compatibility: laid over that of built-in models and under that of custom ones.
    pub compat: Option<JsonObject>,
    /// Custom models.
    pub models: Vec<ModelKeys>,
    /// Changes to built-in models, by id: [`Override`].
    pub model_overrides: JsonObject,
}

// Keys must not reach logs, and any header may hold one.
impl fmt::Debug for ProviderKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderKeys").finish_non_exhaustive()
    }
}

/// A model of the file or the catalogue. A member that is `None` has a default.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelKeys {
    /// The provider's id.
    pub id: String,
    /// The display name.
    pub name: Option<String>,
    /// The API.
    pub api: Option<String>,
    /// The address.
    pub base_url: Option<String>,
    /// Whether the model can think.
    pub reasoning: Option<bool>,
    /// The provider's word for each level, or null for a level that it does not have.
    pub thinking_level_map: Option<JsonObject>,
    /// Kinds of input.
    pub input: Option<Vec<InputKind>>,
    /// Limits by kind of input. Source: pi 1.5.2's `models.md`.
    pub input_limits: Option<JsonObject>,
    /// US dollars per million tokens.
    pub cost: Option<ModelCost>,
    /// How long the provider caches prompts. Source: pi 1.5.2's `models.md`.
    pub prompt_cache: Option<PromptCache>,
    /// Context window in tokens.
    pub context_window: Option<f64>,
    /// Output limit in tokens.
    pub max_tokens: Option<f64>,
    /// Sampling parameters. Source: pi 1.5.2's `models.md`.
    pub sampling_params: Option<JsonObject>,
    /// Sampling parameters by thinking level.
    pub sampling_params_by_thinking_level: Option<JsonObject>,
    /// HTTP headers with configured values.
    #[serde(default)]
    pub headers: JsonObject,
    /// Differences of its API from the usual.
    pub compat: Option<JsonObject>,
}

/// Prices of a model, in US dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    /// Input.
    pub input: Number,
    /// Output.
    pub output: Number,
    /// Input from the cache.
    pub cache_read: Number,
    /// Input written to the cache.
    pub cache_write: Number,
    /// Prices for large contexts. Source: pi 1.5.2's `models.md`.
    pub tiers: Option<Vec<PriceTier>>,
}

/// Changes to a built-in model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Override {
    /// Replaces the name.
    pub name: Option<String>,
    /// Replaces whether the model can think.
    pub reasoning: Option<bool>,
    /// Merged over the model's map, level by level.
    pub thinking_level_map: Option<JsonObject>,
    /// Replaces the kinds of input.
    pub input: Option<Vec<InputKind>>,
    /// Replaces single prices.
    pub cost: PartialCost,
    /// Replaces single lifetimes of the provider's cache.
    pub prompt_cache: Option<PromptCache>,
    /// Merged over the parameters of sampling.
    pub sampling_params: Option<JsonObject>,
    /// Merged over the parameters of each thinking level.
    pub sampling_params_by_thinking_level: Option<JsonObject>,
    /// Replaces the context window.
    pub context_window: Option<f64>,
    /// Replaces the output limit.
    pub max_tokens: Option<f64>,
    /// HTTP headers with configured values.
    pub headers: JsonObject,
    /// Merged over the model's compatibility, key by key.
    pub compat: Option<JsonObject>,
}

/// Single prices, in US dollars per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PartialCost {
    /// Input.
    pub input: Option<Number>,
    /// Output.
    pub output: Option<Number>,
    /// Input from the cache.
    pub cache_read: Option<Number>,
    /// Input written to the cache.
    pub cache_write: Option<Number>,
    /// Prices for large contexts.
    pub tiers: Option<Vec<PriceTier>>,
}

/// Name of a file, for its errors.
fn name(path: &Path) -> impl fmt::Display {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Why the whole of the file is left out. The texts are pi's, so that its documents explain them.
#[derive(Debug, thiserror::Error)]
pub enum ModelsFileError {
    /// The text cannot be parsed.
    #[error("Failed to parse {}: {reason}\n\nFile: {}", name(path), path.display())]
    Syntax {
        /// The parser's error.
        reason: String,
        /// The file.
        path: PathBuf,
    },
    /// The shape is wrong.
    #[error("Invalid {} schema:\n{}\n\nFile: {}", name(path), lines.join("\n"), path.display())]
    Shape {
        /// `  - <JSON pointer, or root>: <reason>`.
        lines: Vec<String>,
        /// The file.
        path: PathBuf,
    },
    /// Something is missing.
    #[error("Failed to load {}: {reason}\n\nFile: {}", name(path), path.display())]
    Rule {
        /// The missing part.
        reason: String,
        /// The file.
        path: PathBuf,
    },
}

/// Parses a models file: YAML by its name, else JSON, which may have comments and trailing commas.
///
/// # Errors
///
/// The text cannot be parsed, has the wrong shape, or lacks something that its models need.
pub fn read(text: &str, path: &Path) -> Result<Providers, ModelsFileError> {
    let path = || path.to_owned();
    let syntax = |reason: String| ModelsFileError::Syntax { reason, path: path() };
    let rule = |reason: String| ModelsFileError::Rule { reason, path: path() };
    let file: Value = match is_yaml(&path()) {
        true => parse_yaml(text),
        false => serde_json::from_str(&plain_json(text)).map_err(|error| error.to_string()),
    }
    .map_err(syntax)?;
    let lines = faults(&file);
    if !lines.is_empty() {
        return Err(ModelsFileError::Shape { lines, path: path() });
    }
    let providers = file.get("providers").and_then(Value::as_object).cloned().unwrap_or_default();
    let read = |(name, value): (String, Value)| {
        let keys = of_json(&value).map_err(|error| format!("Provider {name}: {error}"))?;
        check(&name, &keys, BUILT_IN.provider(&name).is_some())?;
        Ok((name, keys))
    };
    providers.into_iter().map(read).collect::<Result<_, _>>().map_err(rule)
}

/// Parses a provider's keys. The error names the fault without the value, which may be a key.
pub(super) fn of_json(value: &Value) -> Result<ProviderKeys, String> {
    serde_path_to_error::deserialize(value).map_err(|error: serde_path_to_error::Error<serde_json::Error>| {
        format!("{} has the wrong shape", error.path())
    })
}

/// Lists the faults of the shape, one line each.
fn faults(file: &Value) -> Vec<String> {
    let schema = serde_json::from_str(SCHEMA).unwrap_or(Value::Bool(true));
    if certainly_fits(file, &schema, &schema) {
        return Vec::new();
    }
    // The schema means the same in draft 7, which compiles ten times as fast.
    let Ok(validator) = jsonschema::options().with_draft(Draft::Draft7).build(&schema) else {
        return Vec::new();
    };
    validator.iter_errors(file).map(|error| line(&error)).collect()
}

fn line(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let reason = match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => format!("must be {kind}"),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
            format!("must be {}", kinds.join(" or "))
        }
        ValidationErrorKind::Required { property } => {
            format!("must have required property '{}'", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::MinLength { limit } => format!("must NOT have fewer than {limit} characters"),
        ValidationErrorKind::Enum { .. } => "must be equal to one of the allowed values".to_owned(),
        // Without the value, which may be a key.
        _ => error.masked().to_string(),
    };
    format!("  - {}: {reason}", if place.is_empty() { "root" } else { place })
}

/// Checks that a provider's entry is complete. Providers of pi have an API, an address and variables for the key
/// already.
fn check(name: &str, keys: &ProviderKeys, known: bool) -> Result<(), String> {
    let changes = keys.base_url.is_some()
        || !keys.headers.is_empty()
        || keys.compat.is_some()
        || !keys.model_overrides.is_empty();
    if keys.models.is_empty() {
        return match changes {
            true => Ok(()),
            false => Err(format!(
                "Provider {name}: must specify \"baseUrl\", \"headers\", \"compat\", \"modelOverrides\", or \"models\"."
            )),
        };
    }
    let required = |key| Err(format!("Provider {name}: \"{key}\" is required when defining custom models."));
    if !known && keys.base_url.is_none() {
        return required("baseUrl");
    }
    if !known && keys.api_key.is_none() {
        return required("apiKey");
    }
    for model in &keys.models {
        let id = &model.id;
        if !known && keys.api.is_none() && model.api.is_none() {
            return Err(format!(
                "Provider {name}, model {id}: no \"api\" specified. Set at provider or model level."
            ));
        }
        for (key, tokens) in [("contextWindow", model.context_window), ("maxTokens", model.max_tokens)] {
            if tokens.is_some_and(|tokens| tokens <= 0.0) {
                return Err(format!("Provider {name}, model {id}: invalid {key}"));
            }
        }
    }
    Ok(())
}
