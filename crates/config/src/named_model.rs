//! The model that `--model` and `--provider`, or a host, names.

use super::{
    Config, SelectionError, SelectionOptions,
    catalogue::BUILT_IN,
    pattern::{self, Suffix, full_id},
    reference::{ModelMatch, Reference, Resolution, UnlistedModel, resolve},
    select::{default_of, models_of_provider, supported},
    thinking::is_adaptive,
};
use pi_rpc_model::request::Endpoint;
use pi_rpc_protocol::ThinkingLevel;

/// The model that `--model` and `--provider`, or a host, names.
#[derive(Clone, Debug)]
pub struct NamedModel {
    /// The model.
    pub endpoint: Endpoint,
    /// The level behind its name.
    pub level: Option<ThinkingLevel>,
    /// A warning for the user.
    pub warning: Option<String>,
}

/// Finds the model that `--model` and `--provider`, or a host, names; with or without a key.
///
/// # Errors
///
/// Nothing is called so, several are, or the API is not supported.
pub fn named_model(
    name: &str,
    provider: Option<&str>,
    wanted: &SelectionOptions,
    config: &Config,
) -> Result<NamedModel, SelectionError> {
    // Only what the name may mean is read: the catalogue is long.
    let all = match provider {
        Some(name) => models_of_provider(name, config)?,
        None => models_of_front(name, config).unwrap_or_else(|| config.models()),
    };
    let all: Vec<&Endpoint> = all.iter().collect();
    // A key that is given goes to whichever provider is chosen: those that are stored must not choose it.
    let usable = |provider: &str| wanted.api_key.is_none() && config.keys.is_configured(provider);
    let provider = provider.and(all.first().map(|it| it.model.provider.as_str()));
    let reference = Reference { text: name, provider, suffix: Suffix::Level, matches_parts: true };
    let (endpoint, level, warning) = match resolve(reference, &all, &usable) {
        Resolution::Model(ModelMatch { endpoint, level, .. }) => (endpoint.clone(), level, None),
        Resolution::Ambiguous { candidates, usable, .. } => {
            return Err(ambiguous(name, &candidates, usable, wanted));
        }
        Resolution::NotFound(Some(unlisted)) => {
            let warning = unlisted_warning(&unlisted, wanted, name, config)?;
            let level = unlisted.level.filter(|_| wanted.thinking.is_none());
            (unlisted_model(&unlisted, wanted), level, Some(warning))
        }
        Resolution::NotFound(None) => {
            let front = name.split_once('/').and_then(|(front, _)| BUILT_IN.provider(&front.to_lowercase()));
            return Err(match front {
                Some(known) => {
                    SelectionError::WithoutModels { provider: known.id.to_owned(), api: known.api.to_owned() }
                }
                None => SelectionError::NotFound(name.to_owned()),
            });
        }
    };
    // One that its provider does not list has gone through no list.
    if config.model_filter.as_ref().is_some_and(|filter| !filter.admits(&endpoint.model)) {
        return Err(SelectionError::NotFound(name.to_owned()));
    }
    supported(&endpoint, config)?;
    Ok(NamedModel { endpoint, level, warning })
}

/// The models of the provider whose name `pattern` begins with, if it has any.
fn models_of_front(pattern: &str, config: &Config) -> Option<Vec<Endpoint>> {
    pattern.match_indices('/').rev().find_map(|(at, _)| {
        let front = pattern[..at].trim().to_lowercase();
        let models = config.models_of(|provider| provider.trim().to_lowercase() == front);
        (!models.is_empty() && !pattern[at + 1..].trim().is_empty()).then_some(models)
    })
}

fn ambiguous(
    name: &str,
    candidates: &[&Endpoint],
    usable: usize,
    wanted: &SelectionOptions,
) -> SelectionError {
    let mut names: Vec<String> = candidates.iter().map(|it| full_id(&it.model)).collect();
    names.sort_by(|a, b| pattern::collate(a, b));
    let hint = match usable {
        _ if wanted.api_key.is_some() => "--api-key does not choose a provider.",
        0 => "No matching provider is authenticated.",
        _ => "More than one matching provider is authenticated.",
    };
    SelectionError::Ambiguous { pattern: name.to_owned(), matches: names.join(", "), hint }
}

/// The id that is requested: with `--thinking`, what may be a level belongs to it.
fn unlisted_id<'u>(unlisted: &'u UnlistedModel<'_>, wanted: &SelectionOptions) -> &'u str {
    if wanted.thinking.is_some() { &unlisted.text } else { &unlisted.id }
}

/// Builds a model that its provider does not list from the provider's default, with another id.
fn unlisted_model(unlisted: &UnlistedModel<'_>, wanted: &SelectionOptions) -> Endpoint {
    let siblings = &unlisted.siblings;
    let mut endpoint = default_of(siblings).unwrap_or(siblings[0]).clone();
    let id = unlisted_id(unlisted, wanted);
    id.clone_into(&mut endpoint.model.id);
    id.clone_into(&mut endpoint.model.name);
    let thinks = wanted.thinking.or(unlisted.level).is_some_and(|level| level != ThinkingLevel::Off);
    if thinks && !endpoint.model.reasoning {
        endpoint.model.reasoning = true;
        endpoint.levels = ThinkingLevel::ALL.into_iter().filter(|it| *it <= ThinkingLevel::High).collect();
    }
    endpoint.adaptive = is_adaptive(&endpoint.model);
    endpoint
}

/// The warning about an id that its provider does not list; names a configured provider that does.
///
/// # Errors
///
/// There is such a provider, and the one that is named has no credentials.
fn unlisted_warning(
    unlisted: &UnlistedModel<'_>,
    wanted: &SelectionOptions,
    name: &str,
    config: &Config,
) -> Result<String, SelectionError> {
    let provider = &unlisted.siblings[0].model.provider;
    let id = unlisted_id(unlisted, wanted);
    let text = format!("Model \"{id}\" not found for provider \"{provider}\". Using custom model id.");
    let (whole, _) = pattern::without_level(name.trim());
    let is_called =
        |it: &Endpoint| [name.trim(), whole].iter().any(|name| it.model.id.eq_ignore_ascii_case(name));
    let others = config.models_of(|name| name != provider && config.keys.is_configured(name));
    let other = others.iter().find(|it| is_called(it));
    let Some(other) = other.map(|it| full_id(&it.model)) else { return Ok(text) };
    if wanted.api_key.is_none() && !config.keys.is_configured(provider) {
        let (model, provider) = (name.to_owned(), provider.clone());
        return Err(SelectionError::OtherProvider { model, provider, other });
    }
    Ok(format!("{text} Another configured provider has that id: {other}"))
}
