//! Selects the models that a session offers, and the one it starts with.

use super::{
    Config, Keys, Settings,
    catalogue::BUILT_IN,
    pattern::{self, PatternMatch, Suffix, full_id},
    thinking::{clamp, is_adaptive},
};
use crate::{
    model::request::Endpoint,
    protocol::{Model, ThinkingLevel},
};

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

/// Why no session can start. The texts are pi's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No model is configured.
    #[error(
        "No models available.\n\nSet an API key environment variable:\n  \
         ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, etc.\n\nOr create {0}"
    )]
    NoModels(String),
    /// `--provider` is unknown.
    #[error("Unknown provider \"{0}\". Use --list-models to see available providers/models.")]
    UnknownProvider(String),
    /// The provider of `--provider` or `--model` is known, but its models are not supported.
    #[error(
        "Provider \"{provider}\" has no models here: this version cannot ask them ({api}).\n\
         Models of your own can be defined for it in models.json, with another api."
    )]
    WithoutModels {
        /// The provider.
        provider: String,
        /// The API of its models.
        api: String,
    },
    /// `--model` matches nothing.
    #[error("Model \"{0}\" not found. Use --list-models to see available models.")]
    NotFound(String),
    /// `--api-key` has no provider.
    #[error("--api-key requires a model to be specified via --model, --provider/--model, or --models")]
    KeyWithoutModel,
}

/// A model and the level that was named with it.
type Leveled<'a> = (&'a Endpoint, Option<ThinkingLevel>);

/// Selects the start model of a session, and the models that it offers.
///
/// Source: behaviour of pi 0.73.1, observed; its published `models.md` and `settings.md`.
///
/// # Errors
///
/// A requested model does not exist, or there is no model to start with.
pub fn select(config: &Config, wanted: &SelectionOptions) -> Result<Selection, SelectionError> {
    let mut warnings = Vec::new();
    let saved = saved_model(config);
    if let Settings { default_provider: Some(provider), default_model: Some(id), .. } = &config.settings
        && saved.is_none()
    {
        warnings.push(format!("The default model {provider}/{id} of the settings is not known here"));
    }
    let available = config.models_of(|provider| config.keys.is_configured(provider));
    let available: Vec<&Endpoint> = available.iter().collect();

    let patterns = wanted.models.as_ref().or(config.settings.enabled_models.as_ref());
    let scope = scope(patterns.map_or(&[], Vec::as_slice), &available, &mut warnings);
    let pattern = wanted.model.as_deref().filter(|pattern| !pattern.is_empty());
    let chosen = match (pattern, wanted.provider.as_deref()) {
        (Some(pattern), _) => {
            let named = named_model(pattern, wanted.provider.as_deref(), config)?;
            warnings.extend(named.warning);
            Some((named.endpoint, named.level))
        }
        (None, Some(provider)) => Some((provider_start(provider, saved.as_ref(), config)?, None)),
        (None, None) => from_scope(saved.as_ref(), &scope).map(|(endpoint, level)| (endpoint.clone(), level)),
    };
    let mut keys = config.keys.clone();
    match (&wanted.api_key, &chosen) {
        (Some(_), None) => return Err(SelectionError::KeyWithoutModel),
        (Some(key), Some((endpoint, _))) => keys = keys.with_cli_key(&endpoint.model.provider, key),
        (None, _) => {}
    }
    let first = || automatic_start(saved.as_ref(), &available).map(|endpoint| (endpoint.clone(), None));
    let models_file = || config.directories.agent.join("models.json").display().to_string();
    let (start, named_level) =
        chosen.or_else(first).ok_or_else(|| SelectionError::NoModels(models_file()))?;

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
        Some(_) => {
            let listed = config.models_of(|provider| keys.is_configured(provider));
            listed.iter().map(|endpoint| offer(endpoint, true)).collect()
        }
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
    let scope = Some(scope).filter(|it| !it.is_empty());
    Ok(Selection { offers, start, level, named_level, scope, keys, warnings })
}

fn is_same(a: &Model, b: &Model) -> bool {
    a.provider == b.provider && a.id == b.id
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
        let (found, level) = if pattern::is_glob(pattern) {
            pattern::match_glob(pattern, available)
        } else {
            let found = pattern::find_model(pattern, available, Suffix::Anything);
            if let Some(PatternMatch { not_a_level: Some(suffix), .. }) = &found {
                warnings.push(format!(
                    "Invalid thinking level \"{suffix}\" in pattern \"{pattern}\". Using default instead."
                ));
            }
            (found.iter().map(|found| found.endpoint).collect(), found.and_then(|found| found.level))
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

/// The saved default if it is in the scope, else the scope's first model.
fn from_scope<'a>(saved: Option<&Endpoint>, scope: &[Leveled<'a>]) -> Option<Leveled<'a>> {
    let is_saved =
        |(endpoint, _): &&Leveled<'a>| saved.is_some_and(|saved| is_same(&saved.model, &endpoint.model));
    scope.iter().find(is_saved).or(scope.first()).copied()
}

/// The default model of the settings, with or without a key.
fn saved_model(config: &Config) -> Option<Endpoint> {
    let wanted = config.settings.default_provider.as_ref()?;
    let id = config.settings.default_model.as_ref()?;
    config.models_of(|provider| provider == wanted).into_iter().find(|it| it.model.id == *id)
}

/// The start model without options: the saved one; else the default of the first provider that has one; else the
/// first.
fn automatic_start<'a>(saved: Option<&'a Endpoint>, available: &[&'a Endpoint]) -> Option<&'a Endpoint> {
    let default = || {
        let mut defaults =
            BUILT_IN.providers.iter().flat_map(|it| it.defaults.iter().map(move |id| (it.id, *id)));
        defaults.find_map(|(provider, id)| {
            available.iter().find(|it| it.model.provider == provider && it.model.id == id).copied()
        })
    };
    saved.or_else(default).or(available.first().copied())
}

/// The start model for `--provider`: the saved one if it is that provider's, else the provider's default, else its
/// first.
fn provider_start(name: &str, saved: Option<&Endpoint>, config: &Config) -> Result<Endpoint, SelectionError> {
    let ProviderModels { provider, models } = match ProviderModels::of(name, config) {
        Some(own) => own,
        None => {
            return Err(unsupported_provider(name)
                .unwrap_or_else(|| SelectionError::UnknownProvider(name.to_owned())));
        }
    };
    let saved = saved.filter(|saved| saved.model.provider == provider);
    let start = saved.or_else(|| default_of(&provider, &models)).or(models.first());
    start.cloned().ok_or_else(|| SelectionError::UnknownProvider(name.to_owned()))
}

/// The error for a provider whose models are not supported; `None`: it is unknown.
fn unsupported_provider(name: &str) -> Option<SelectionError> {
    let known = BUILT_IN.provider(&name.to_lowercase())?;
    Some(SelectionError::WithoutModels { provider: known.id.to_owned(), api: known.api.to_owned() })
}

/// The model of `--model`.
struct NamedModel {
    endpoint: Endpoint,
    level: Option<ThinkingLevel>,
    warning: Option<String>,
}

/// Resolves `--model` and `--provider`, with or without a key.
fn named_model(name: &str, provider: Option<&str>, config: &Config) -> Result<NamedModel, SelectionError> {
    let front = provider.or_else(|| Some(name.split_once('/')?.0));
    let own = front.and_then(|name| ProviderModels::of(name, config));
    // Ids of routers begin with names of providers: they must not match here.
    let lacks = front.filter(|_| own.is_none());
    if let Some(refused) = lacks.and_then(unsupported_provider) {
        return Err(refused);
    }
    let taken = |found: PatternMatch<'_>| (found.endpoint.clone(), found.level);
    let anywhere = || {
        let all = config.models();
        let all: Vec<&Endpoint> = all.iter().collect();
        let leveled = || {
            let (id, level) = name.rsplit_once(':')?;
            let level = ThinkingLevel::parse(level)?;
            Some((exact_match(id, &all, config)?, Some(level)))
        };
        let unleveled = exact_match(name, &all, config).map(|endpoint| (endpoint, None));
        match unleveled.or_else(leveled) {
            Some((endpoint, level)) => Some((endpoint.clone(), level)),
            None => pattern::find_model(name, &all, Suffix::Level).map(taken),
        }
    };
    let (pattern, found) = match (provider, &own) {
        (Some(name), None) => return Err(SelectionError::UnknownProvider(name.to_owned())),
        (Some(_), Some(own)) => {
            let pattern = without_provider(name, &own.provider);
            (pattern, own.find(pattern).map(taken))
        }
        (None, Some(own)) => {
            let rest = name.split_once('/').map_or(name, |(_, rest)| rest);
            // The apparent provider may be the first part of an id.
            (rest, own.find(rest).map(taken).or_else(anywhere))
        }
        (None, None) => (name, anywhere()),
    };
    match (found, own) {
        (Some((endpoint, level)), _) => Ok(NamedModel { endpoint, level, warning: None }),
        (None, Some(own)) => {
            let ProviderModels { provider, models } = own;
            let endpoint = unknown_model(pattern, &provider, &models)
                .ok_or_else(|| SelectionError::NotFound(format!("{provider}/{pattern}")))?;
            let warning =
                format!("Model \"{pattern}\" not found for provider \"{provider}\". Using custom model id.");
            Ok(NamedModel { endpoint, level: None, warning: Some(warning) })
        }
        (None, None) => Err(SelectionError::NotFound(name.to_owned())),
    }
}

/// Finds the model of an id or full name; of several, one that is configured.
fn exact_match<'a>(id: &str, among: &[&'a Endpoint], config: &Config) -> Option<&'a Endpoint> {
    let text = id.to_lowercase();
    let is_it = |it: &Model| it.id.to_lowercase() == text || full_id(it).to_lowercase() == text;
    let same: Vec<&Endpoint> = among.iter().filter(|it| is_it(&it.model)).copied().collect();
    let configured = same.iter().find(|it| config.keys.is_configured(&it.model.provider));
    configured.or(same.first()).copied()
}

/// A provider and its models, at least one.
struct ProviderModels {
    provider: String,
    models: Vec<Endpoint>,
}

impl ProviderModels {
    /// Finds the first provider called `name`, in any case.
    fn of(name: &str, config: &Config) -> Option<Self> {
        let name = name.to_lowercase();
        let mut models = config.models_of(|provider| provider.to_lowercase() == name);
        let provider = models.first()?.model.provider.clone();
        models.retain(|endpoint| endpoint.model.provider == provider);
        Some(Self { provider, models })
    }

    fn find(&self, pattern: &str) -> Option<PatternMatch<'_>> {
        let models: Vec<&Endpoint> = self.models.iter().collect();
        pattern::find_model(pattern, &models, Suffix::Level)
    }
}

/// `pattern` without a leading `provider/`.
fn without_provider<'a>(pattern: &'a str, provider: &str) -> &'a str {
    match pattern.split_once('/') {
        Some((front, rest)) if front.to_lowercase() == provider.to_lowercase() => rest,
        _ => pattern,
    }
}

/// Builds an unknown model from the provider's default, with another id.
fn unknown_model(id: &str, provider: &str, siblings: &[Endpoint]) -> Option<Endpoint> {
    let mut endpoint = default_of(provider, siblings).or(siblings.first())?.clone();
    id.clone_into(&mut endpoint.model.id);
    id.clone_into(&mut endpoint.model.name);
    endpoint.adaptive = is_adaptive(&endpoint.model);
    Some(endpoint)
}

/// The default model of a provider.
fn default_of<'a>(provider: &str, models: &'a [Endpoint]) -> Option<&'a Endpoint> {
    let defaults = BUILT_IN.provider(provider).map_or(&[][..], |known| known.defaults);
    defaults.iter().find_map(|id| models.iter().find(|it| it.model.id == *id))
}
