//! Selects the models that a session offers, and the one it starts with.

use super::{
    Config, Keys,
    catalogue::BUILT_IN,
    directory::first_of,
    named_model::named_model,
    pattern::{self, Suffix, full_id},
    reference::{ModelMatch, Reference, Resolution, resolve},
    thinking::clamp,
};
use pi_rpc_model::request::Endpoint;
use pi_rpc_protocol::{Model, ThinkingLevel};
use std::collections::BTreeSet;

/// Options of the command line for the selection of models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectionOptions {
    /// `--provider`: the provider to search for `--model`; alone, the provider whose default model is used.
    pub provider: Option<String>,
    /// `--model`: a pattern for the start model.
    pub model: Option<String>,
    /// `--models`: patterns for the scope.
    pub models: Option<Vec<String>>,
    /// `--thinking`.
    pub thinking: Option<ThinkingLevel>,
    /// `--api-key`: a key for the provider of the start model.
    pub api_key: Option<String>,
}

/// The models of a session.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Models for hosts, in order: the [listed](OfferedModel::listed) ones, and the start model.
    pub offers: Vec<OfferedModel>,
    /// Index of the start model in `offers`.
    pub start: usize,
    /// The start level, one of the start model's.
    pub level: ThinkingLevel,
    /// The level that was named with the model; it prevails over that of a resumed session.
    pub named_level: Option<ThinkingLevel>,
    /// The models that `cycle_model` goes through, if they are limited.
    pub scope: Option<Vec<ScopedModel>>,
    /// Credentials, with `--api-key`.
    pub keys: Keys,
    /// Warnings for the user, for stderr.
    pub warnings: Vec<String>,
}

/// A model that hosts can choose.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedModel {
    /// The model.
    pub endpoint: Endpoint,
    /// Whether its provider is configured, so that `get_available_models`, `set_model` and `cycle_model` include it.
    /// Only the start model may be unlisted.
    pub listed: bool,
    /// `Err`: why requests to it would fail, as far as known in advance.
    pub usable: Result<(), String>,
}

/// A model of the scope of `cycle_model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopedModel {
    /// Index in [`Selection::offers`].
    pub at: usize,
    /// The level that the scope sets for it.
    pub level: Option<ThinkingLevel>,
}

/// Why no session can start, or why it starts without a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No model can be used.
    #[error(
        "No models available.\n\n{unusable}Set an API key environment variable:\n  \
         ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, etc.\n\nOr create {models_file}"
    )]
    NoModels {
        /// What is configured, and why it cannot be used: lines, or nothing.
        unusable: String,
        /// The file that may define models.
        models_file: String,
    },
    /// `--provider` is unknown.
    #[error("Unknown provider \"{0}\". Use --list-models to see available providers/models.")]
    UnknownProvider(String),
    /// `--provider` alone names a provider without credentials.
    #[error("--provider {provider}: {reason}")]
    NoCredentials {
        /// The provider.
        provider: String,
        /// What is missing, and what would help.
        reason: String,
    },
    /// The provider of `--provider` or `--model` is known, but has no models of its own.
    #[error(
        "Provider \"{provider}\" has no models here.\n\
         Models of your own can be defined for it in models.json; its API is {api}."
    )]
    WithoutModels {
        /// The provider.
        provider: String,
        /// The API of its models.
        api: String,
    },
    /// The API of the model that is named is not supported.
    #[error("Model \"{model}\" cannot be used. {reason}")]
    Unsupported {
        /// The model's full name.
        model: String,
        /// Which APIs are.
        reason: String,
    },
    /// `--model` names a provider without credentials that does not list the model, and another provider lists all of
    /// the text as an id.
    #[error(
        "Model \"{model}\" cannot be used: provider \"{provider}\" does not list it and has no credentials. Another \
             configured provider has that id: --model {other}"
    )]
    OtherProvider {
        /// The text of `--model`.
        model: String,
        /// The provider that it names.
        provider: String,
        /// Full name of the other provider's model.
        other: String,
    },
    /// `--model` matches nothing.
    #[error("Model \"{0}\" not found. Use --list-models to see available models.")]
    NotFound(String),
    /// `--model` matches models of several providers.
    #[error(
        "Model \"{pattern}\" is ambiguous across providers: {matches}. {hint} Use --provider or provider/model."
    )]
    Ambiguous {
        /// The pattern.
        pattern: String,
        /// Full names of the models.
        matches: String,
        /// Why nothing decides between them.
        hint: &'static str,
    },
    /// `--api-key` has no provider.
    #[error("--api-key requires a model to be specified via --model, --provider/--model, or --models")]
    KeyWithoutModel,
}

/// A model and the level that was named with it.
type Leveled<'a> = (&'a Endpoint, Option<ThinkingLevel>);

/// Selects the start model of a session, and the models that it offers.
///
/// Source: behaviour of pi 1.5.2, observed; its published `models.md` and `settings.md`. Own: `--provider` alone.
///
/// # Errors
///
/// A requested model does not exist, or there is no model to start with.
pub fn select(config: &Config, wanted: &SelectionOptions) -> Result<Selection, SelectionError> {
    let mut warnings = Vec::new();
    let available = offered_models(config, &config.keys);
    let available: Vec<&Endpoint> = available.iter().collect();
    let saved = saved_model(config, &mut warnings);

    let patterns = wanted.models.as_ref().or(config.settings.enabled_models.as_ref());
    let scope = scope(patterns.map_or(&[], Vec::as_slice), &available, &mut warnings);
    let pattern = wanted.model.as_deref().filter(|pattern| !pattern.is_empty());
    let chosen = match (pattern, wanted.provider.as_deref()) {
        (Some(pattern), provider) => {
            let named = named_model(pattern, provider, wanted, config)?;
            warnings.extend(named.warning);
            Some((named.endpoint, named.level))
        }
        (None, Some(provider)) => Some((provider_start(provider, saved.as_ref(), wanted, config)?, None)),
        (None, None) => from_scope(saved.as_ref(), &scope).map(|(endpoint, level)| (endpoint.clone(), level)),
    };
    let mut keys = config.keys.clone();
    match (&wanted.api_key, &chosen) {
        (Some(_), None) => return Err(SelectionError::KeyWithoutModel),
        (Some(key), Some((endpoint, _))) => keys = keys.with_cli_key(&endpoint.model.provider, key),
        (None, _) => {}
    }
    let first = || automatic_start(saved.as_ref(), &available, config).map(|it| (it.clone(), None));
    let (start, named_level) = chosen.or_else(first).ok_or_else(|| no_models(config))?;

    let default = ThinkingLevel::parse(config.dialect.record().defaults.thinking_level.as_str());
    let own = match config.dialect.record().level_follows_model {
        true => config.settings.level_of(&start.model),
        false => config.settings.default_thinking_level,
    };
    let level = wanted.thinking.or(named_level).or(own).or(default);
    let level = clamp(&start.levels, level.unwrap_or(ThinkingLevel::Off));

    let offer = |endpoint: &Endpoint, listed| OfferedModel {
        usable: keys.check(&endpoint.model).map_err(|error| error.to_string()),
        endpoint: endpoint.clone(),
        listed,
    };
    let mut offers: Vec<OfferedModel> = match wanted.api_key {
        None => available.iter().map(|endpoint| offer(endpoint, true)).collect(),
        // The key may make further models available.
        Some(_) => offered_models(config, &keys).iter().map(|endpoint| offer(endpoint, true)).collect(),
    };
    let place = |offers: &[OfferedModel], model: &Model| {
        offers.iter().position(|offer| is_same(&offer.endpoint.model, model))
    };
    let scope = scope
        .into_iter()
        .filter_map(|(endpoint, level)| Some(ScopedModel { at: place(&offers, &endpoint.model)?, level }));
    let scope: Vec<ScopedModel> = scope.collect();
    let start = place(&offers, &start.model).unwrap_or_else(|| {
        offers.push(offer(&start, false));
        offers.len() - 1
    });
    // Patterns that match nothing leave no model, not all of them.
    let scope = patterns.is_some_and(|patterns| !patterns.is_empty()).then_some(scope);
    Ok(Selection { offers, start, level, named_level, scope, keys, warnings })
}

fn is_same(a: &Model, b: &Model) -> bool {
    a.provider == b.provider && a.id == b.id
}

/// The models that hosts may choose: of configured providers, with a supported API.
pub fn offered_models(config: &Config, keys: &Keys) -> Vec<Endpoint> {
    let mut models = config.models_of(|provider| keys.is_configured(provider));
    models.retain(|endpoint| keys.is_offered(&endpoint.model));
    models
}

/// Resolves the patterns of `--models` or `enabledModels`: in the patterns' order, then the registry's; each model
/// once.
fn scope<'a>(
    patterns: &[String],
    available: &[&'a Endpoint],
    warnings: &mut Vec<String>,
) -> Vec<Leveled<'a>> {
    let mut scope: Vec<Leveled<'a>> = Vec::new();
    for pattern in patterns {
        let (found, level) = match pattern::is_glob(pattern) {
            true => scope_of_glob(pattern, available, warnings),
            false => scope_of_name(pattern, available, warnings),
        };
        if found.is_empty() {
            warnings.push(format!("No models match pattern \"{pattern}\""));
        }
        for endpoint in found {
            if !scope.iter().any(|(known, _)| is_same(&known.model, &endpoint.model)) {
                scope.push((endpoint, level));
            }
        }
    }
    scope
}

/// The models that a glob matches, and the level behind it. Ids may look like globs.
fn scope_of_glob<'a>(
    pattern: &str,
    available: &[&'a Endpoint],
    warnings: &mut Vec<String>,
) -> (Vec<&'a Endpoint>, Option<ThinkingLevel>) {
    let (glob, level) = pattern::without_level(pattern);
    let reference = Reference { text: glob, provider: None, suffix: Suffix::None, matches_parts: false };
    match resolve(reference, available, &|_| true) {
        Resolution::Model(found) => (vec![found.endpoint], level),
        Resolution::Ambiguous { candidates, .. } => {
            warnings.push(several_providers(pattern, &candidates));
            (candidates, level)
        }
        Resolution::NotFound(_) => (pattern::match_glob(glob, available), level),
    }
}

/// The models that a name matches, and the level behind it. All are configured, so that nothing decides between
/// providers.
fn scope_of_name<'a>(
    pattern: &str,
    available: &[&'a Endpoint],
    warnings: &mut Vec<String>,
) -> (Vec<&'a Endpoint>, Option<ThinkingLevel>) {
    let reference =
        Reference { text: pattern, provider: None, suffix: Suffix::Anything, matches_parts: true };
    let (found, level, invalid) = match resolve(reference, available, &|_| true) {
        Resolution::NotFound(_) => return (Vec::new(), None),
        Resolution::Model(ModelMatch { endpoint, level, not_a_level }) => {
            (vec![endpoint], level, not_a_level)
        }
        Resolution::Ambiguous { candidates, level, not_a_level, .. } => (candidates, level, not_a_level),
    };
    if let Some(suffix) = invalid {
        warnings.push(format!(
            "Invalid thinking level \"{suffix}\" in pattern \"{pattern}\". Using default instead."
        ));
    }
    if found.len() > 1 {
        warnings.push(several_providers(pattern, &found));
    }
    (found, level)
}

fn several_providers(pattern: &str, candidates: &[&Endpoint]) -> String {
    let providers: BTreeSet<&str> = candidates.iter().map(|it| it.model.provider.as_str()).collect();
    let providers = providers.into_iter().collect::<Vec<_>>().join(", ");
    format!("Pattern \"{pattern}\" matches several providers: {providers}. Use provider/id to choose one.")
}

/// The saved default if it is in the scope, else the scope's first model.
fn from_scope<'a>(saved: Option<&Endpoint>, scope: &[Leveled<'a>]) -> Option<Leveled<'a>> {
    let is_saved =
        |(endpoint, _): &&Leveled<'a>| saved.is_some_and(|saved| is_same(&saved.model, &endpoint.model));
    scope.iter().find(is_saved).or(scope.first()).copied()
}

/// The default model of the settings, with or without a key, if its API is supported.
fn saved_model(config: &Config, warnings: &mut Vec<String>) -> Option<Endpoint> {
    let provider = config.settings.default_provider.as_ref()?;
    let id = config.settings.default_model.as_ref()?;
    let found = config.models_of(|name| name == provider).into_iter().find(|it| it.model.id == *id);
    let Some(found) = found else {
        warnings.push(format!("The default model {provider}/{id} of the settings is not known here"));
        return None;
    };
    if let Err(reason) = config.keys.check_api(&found.model) {
        warnings.push(format!("The default model {provider}/{id} of the settings cannot be used: {reason}"));
        return None;
    }
    Some(found)
}

/// The start model without options, of those that can be chosen: the saved one; else the default of the first provider
/// that has one; else the first.
fn automatic_start<'a>(
    saved: Option<&'a Endpoint>,
    available: &[&'a Endpoint],
    config: &Config,
) -> Option<&'a Endpoint> {
    let can_ask = |endpoint: &&Endpoint| config.keys.check(&endpoint.model).is_ok();
    let default = || {
        let mut defaults =
            BUILT_IN.providers.iter().flat_map(|it| it.defaults.iter().map(move |id| (it.id, *id)));
        defaults.find_map(|(provider, id)| {
            let mut models = available.iter().copied().filter(can_ask);
            models.find(|it| it.model.provider == provider && it.model.id == id)
        })
    };
    saved.filter(can_ask).or_else(default).or_else(|| available.iter().copied().find(can_ask))
}

/// The error for a configuration without a model that can be chosen: names what is configured, and why it is of no use.
fn no_models(config: &Config) -> SelectionError {
    let mut lines = String::new();
    let mut listed = BTreeSet::new();
    for endpoint in config.models_of(|provider| config.keys.is_configured(provider)) {
        let model = &endpoint.model;
        let (Some(source), Err(reason)) = (config.keys.source(&model.provider), config.keys.check(model))
        else {
            continue;
        };
        if listed.insert(model.provider.clone()) {
            let reason = reason.to_string();
            let reason = reason.lines().next().unwrap_or_default();
            lines += &format!("  {} ({source}): {reason}\n", model.provider);
        }
    }
    let unusable = match lines.is_empty() {
        true => lines,
        false => format!("Configured, but unusable:\n{lines}\n"),
    };
    let models_file = first_of(&config.directories.agent, config.dialect.record().directories.models_files)
        .display()
        .to_string();
    SelectionError::NoModels { unusable, models_file }
}

/// The start model for `--provider`: the saved one if it is that provider's, else the provider's default, else its
/// first.
fn provider_start(
    name: &str,
    saved: Option<&Endpoint>,
    wanted: &SelectionOptions,
    config: &Config,
) -> Result<Endpoint, SelectionError> {
    let models = models_of_provider(name, config)?;
    let models: Vec<&Endpoint> = models.iter().collect();
    let provider = &models[0].model.provider;
    let saved = saved.filter(|saved| saved.model.provider == *provider);
    let start = saved.or_else(|| default_of(&models)).unwrap_or(models[0]);
    supported(start, config)?;
    if wanted.api_key.is_none()
        && let Err(reason) = config.keys.check(&start.model)
    {
        let provider = provider.clone();
        return Err(SelectionError::NoCredentials { provider, reason: reason.to_string() });
    }
    Ok(start.clone())
}

/// The models of the first provider called `name`, in any case; at least one.
pub(super) fn models_of_provider(name: &str, config: &Config) -> Result<Vec<Endpoint>, SelectionError> {
    let lower = name.to_lowercase();
    let mut models = config.models_of(|provider| provider.to_lowercase() == lower);
    let Some(first) = models.first() else {
        return Err(match BUILT_IN.provider(&lower) {
            Some(known) => {
                SelectionError::WithoutModels { provider: known.id.to_owned(), api: known.api.to_owned() }
            }
            None => SelectionError::UnknownProvider(name.to_owned()),
        });
    };
    let provider = first.model.provider.clone();
    models.retain(|endpoint| endpoint.model.provider == provider);
    Ok(models)
}

pub(super) fn supported(endpoint: &Endpoint, config: &Config) -> Result<(), SelectionError> {
    config.keys.check_api(&endpoint.model).map_err(|reason| SelectionError::Unsupported {
        model: full_id(&endpoint.model),
        reason: reason.to_string(),
    })
}

/// The default model of the provider of these models.
pub(super) fn default_of<'a>(models: &[&'a Endpoint]) -> Option<&'a Endpoint> {
    let defaults = BUILT_IN.provider(&models.first()?.model.provider).map_or(&[][..], |known| known.defaults);
    defaults.iter().find_map(|id| models.iter().copied().find(|it| it.model.id == *id))
}
