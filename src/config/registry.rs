//! Every model there is: the catalogue with `models.json` and what extensions have registered laid over it.

use super::{
    Config,
    catalogue::{BUILT_IN, Entry, whole},
    models_file::{Override, ProviderKeys, Providers},
    thinking::{LevelMap, is_adaptive},
};
use crate::{
    model::request::Endpoint,
    protocol::{Base, JsonObject, Model, ModelThinking, ThinkingLevel},
};
use serde_json::Value;

/// Parts of `compat` that are laid over each other key by key, too.
const ROUTING: [&str; 2] = ["openRouterRouting", "vercelGatewayRouting"];

impl Config {
    /// Every model there is, with or without a key, in the order in which hosts see them. Made anew each time.
    pub fn models(&self) -> Vec<Endpoint> {
        self.models_of(|_| true)
    }

    /// The same, of the providers that are `wanted` alone: a session needs few of all.
    pub fn models_of(&self, wanted: impl Fn(&str) -> bool) -> Vec<Endpoint> {
        let base = self.dialect.base();
        let mut models = match self.only_added {
            true => Vec::new(),
            false => models(&self.configured, base, &wanted),
        };
        add(&mut models, &self.added, base, &wanted);
        models
    }
}

/// The models of the catalogue, changed as `configured` says, with its custom models: in place of a built-in model of
/// the same provider and id, else behind all others. Their thinking levels are those of `base`.
///
/// Source: pi's `models.md`, merge semantics.
fn models(configured: &Providers, base: Base, wanted: impl Fn(&str) -> bool) -> Vec<Endpoint> {
    let mut entries = BUILT_IN.models(&wanted);
    let configured = || configured.iter().filter(|(name, _)| wanted(name));
    for (name, keys) in configured() {
        for entry in entries.iter_mut().filter(|entry| entry.model.provider == *name) {
            change(entry, keys);
        }
    }
    for (name, keys) in configured() {
        for custom in custom(name, keys) {
            let same = |entry: &&mut Entry| {
                entry.model.provider == custom.model.provider && entry.model.id == custom.model.id
            };
            match entries.iter_mut().find(same) {
                Some(entry) => *entry = custom,
                None => entries.push(custom),
            }
        }
    }
    entries.into_iter().map(|entry| endpoint(entry, base)).collect()
}

/// Lays over `models` what extensions have registered: models of a provider take the place of all that it had; without any
/// its address alone may change.
///
/// Source: pi source.
fn add(models: &mut Vec<Endpoint>, added: &Providers, base: Base, wanted: impl Fn(&str) -> bool) {
    for (name, keys) in added.iter().filter(|(name, _)| wanted(name)) {
        let of_it = |endpoint: &Endpoint| endpoint.model.provider == *name;
        if keys.models.is_empty() {
            let Some(base_url) = &keys.base_url else { continue };
            for endpoint in models.iter_mut().filter(|endpoint| of_it(endpoint)) {
                endpoint.model.base_url.clone_from(base_url);
            }
            continue;
        }
        models.retain(|endpoint| !of_it(endpoint));
        models.extend(custom(name, keys).into_iter().map(|entry| endpoint(entry, base)));
    }
}

/// Changes a built-in model as its provider's keys say.
fn change(entry: &mut Entry, keys: &ProviderKeys) {
    let model = &mut entry.model;
    if let Some(base_url) = &keys.base_url {
        model.base_url.clone_from(base_url);
    }
    merge_compat(&mut model.compat, keys.compat.as_ref());
    let over = keys.model_overrides.get(&model.id).cloned();
    let Some(over) = over.and_then(|over| serde_json::from_value::<Override>(over).ok()) else { return };
    merge_compat(&mut model.compat, over.compat.as_ref());
    let replace = |price: &mut serde_json::Number, with: Option<serde_json::Number>| {
        if let Some(with) = with {
            *price = with;
        }
    };
    replace(&mut model.cost.input, over.cost.input);
    replace(&mut model.cost.output, over.cost.output);
    replace(&mut model.cost.cache_read, over.cost.cache_read);
    replace(&mut model.cost.cache_write, over.cost.cache_write);
    model.name = over.name.unwrap_or_else(|| model.name.clone());
    model.reasoning = over.reasoning.unwrap_or(model.reasoning);
    model.input = over.input.unwrap_or_else(|| model.input.clone());
    model.context_window = over.context_window.map_or(model.context_window, whole);
    model.max_tokens = over.max_tokens.map_or(model.max_tokens, whole);
    if let Some(map) = &over.thinking_level_map {
        entry.levels.extend(&LevelMap::new(map));
    }
}

/// The custom models of a provider.
fn custom(name: &str, keys: &ProviderKeys) -> Vec<Entry> {
    let known = BUILT_IN.provider(name);
    let api = keys.api.as_deref().or(known.map(|known| known.api));
    let base_url = keys.base_url.as_deref().or(known.and_then(|known| known.base_url));
    let models = keys.models.iter().cloned().filter_map(|mut model| {
        let mut compat = keys.compat.clone();
        merge_compat(&mut compat, model.compat.as_ref());
        model.compat = compat;
        Entry::new(name, model, api, base_url)
    });
    models.collect()
}

/// Lays `over` over `base`, key by key.
fn merge_compat(base: &mut Option<JsonObject>, over: Option<&JsonObject>) {
    let Some(over) = over else { return };
    let base = base.get_or_insert_default();
    for (key, value) in over {
        match (base.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
            (Some(under), Some(routing)) if ROUTING.contains(&key.as_str()) => under.extend(routing.clone()),
            _ => drop(base.insert(key.clone(), value.clone())),
        }
    }
}

fn endpoint(entry: Entry, base: Base) -> Endpoint {
    let Entry { mut model, levels: map } = entry;
    let (levels, adaptive) = (map.levels(model.reasoning, base), is_adaptive(&model));
    model.thinking = thinking(&model, &levels, adaptive);
    model.thinking_level_map = (!map.is_empty()).then(|| map.shown().collect());
    Endpoint { levels, efforts: map.efforts(base), adaptive, model }
}

/// How xcsh describes the thinking of a model: `budget` where it is told a number of tokens, else `effort`.
/// Source: xcsh observed.
fn thinking(model: &Model, levels: &[ThinkingLevel], adaptive: bool) -> Option<ModelThinking> {
    let mut thinks = levels.iter().copied().filter(|level| *level != ThinkingLevel::Off);
    let min_level = thinks.next()?;
    let mode = if model.api == "anthropic-messages" && !adaptive { "budget" } else { "effort" };
    Some(ModelThinking {
        mode: mode.to_owned(),
        min_level,
        max_level: thinks.next_back().unwrap_or(min_level),
    })
}
