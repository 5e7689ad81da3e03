//! All models: the catalogue, with `models.json` and registered providers laid over it.

use super::{
    Config,
    catalogue::{BUILT_IN, CatalogueEntry, whole},
    models_file::{ModelKeys, Override, ProviderKeys, Providers},
    thinking::{LevelMap, is_adaptive},
};
use pi_rpc_model::{
    other_models::{OtherModel, Purpose},
    request::Endpoint,
};
use pi_rpc_protocol::{Base, JsonObject, Model, ModelThinking, PromptCache, ThinkingLevel};
use serde_json::Value;

/// Members of `compat` that are merged key by key, too.
const MERGED: [&str; 4] =
    ["openRouterRouting", "vercelGatewayRouting", "chatTemplateKwargs", "chatTemplateArgs"];

impl Config {
    /// All models, with or without a key, in the order of hosts. Computed at each call.
    pub fn models(&self) -> Vec<Endpoint> {
        self.models_of(|_| true)
    }

    /// All models of the `wanted` providers: a session needs few.
    pub fn models_of(&self, wanted: impl Fn(&str) -> bool) -> Vec<Endpoint> {
        let base = self.dialect.base();
        let mut models = match self.only_registered {
            true => Vec::new(),
            false => models(&self.configured, base, &wanted),
        };
        apply_registered(&mut models, &self.registered, base, &wanted);
        for own in self.virtual_models.iter().filter(|own| wanted(&own.model.provider)) {
            let is_hidden =
                |it: &Endpoint| it.model.provider == own.model.provider && it.model.id == own.model.id;
            models.retain(|it| !is_hidden(it));
            models.push(endpoint(own.entry(), base));
        }
        if let Some(filter) = &self.model_filter {
            models.retain(|endpoint| filter.admits(&endpoint.model));
        }
        models
    }
}

impl Config {
    /// The models that answer no prompts, with or without a key, at the addresses of the file of models and of registered providers.
    /// A registration with models replaces those of its provider, these included. Source: pi 1.6.0's `custom-provider.md`.
    pub fn other_models(&self) -> Vec<OtherModel> {
        let mut models = Vec::new();
        let catalogue = if self.only_registered { &[][..] } else { BUILT_IN.others };
        for (kind, lists) in catalogue {
            let Some(purpose) = Purpose::ALL.into_iter().find(|it| it.as_str() == *kind) else { continue };
            for list in *lists {
                let facts: Vec<JsonObject> = serde_json::from_str(list.json).unwrap_or_default();
                models
                    .extend(facts.into_iter().filter_map(|it| OtherModel::read(purpose, list.provider, it)));
            }
        }
        let is_replaced = |model: &OtherModel| {
            self.registered.iter().any(|(name, keys)| *name == model.provider && !keys.models.is_empty())
        };
        models.retain(|model| !is_replaced(model));
        let configured = self.configured.iter().chain(&self.registered);
        for (name, base_url) in configured.filter_map(|(name, keys)| Some((name, keys.base_url.as_ref()?))) {
            for model in models.iter_mut().filter(|model| model.provider == *name) {
                model.base_url.clone_from(base_url);
            }
        }
        if let Some(filter) = &self.model_filter {
            models.retain(|model| filter.admits_named(&model.provider, &model.id));
        }
        models
    }
}

/// Models of the catalogue, changed by `configured`, then its custom models. A custom model with provider and id of a
/// built-in one takes its place and inherits nothing of it but API and address. Thinking levels are those of `base`.
///
/// Source: pi's `models.md`, merge semantics; pi source.
fn models(configured: &Providers, base: Base, wanted: impl Fn(&str) -> bool) -> Vec<Endpoint> {
    let mut entries = BUILT_IN.models(&wanted);
    let configured = || configured.iter().filter(|(name, _)| wanted(name));
    for (name, keys) in configured() {
        for entry in entries.iter_mut().filter(|entry| entry.model.provider == *name) {
            apply_provider(entry, keys);
        }
    }
    for (name, keys) in configured() {
        for model in &keys.models {
            let same = |entry: &CatalogueEntry| entry.model.provider == *name && entry.model.id == model.id;
            let Some(place) = entries.iter().position(same) else {
                entries.extend(custom_model(name, keys, model));
                continue;
            };
            let built_in = &entries[place].model;
            let mut model = model.clone();
            let own_api = model.api.clone().or(keys.api.clone());
            model.api = own_api.or(Some(built_in.api.clone()));
            let own_address = model.base_url.take().or(keys.base_url.clone());
            model.base_url = own_address.or(Some(built_in.base_url.clone()));
            if let Some(custom) = custom_model(name, keys, &model) {
                entries[place] = custom;
            }
        }
    }
    entries.into_iter().map(|entry| endpoint(entry, base)).collect()
}

/// Lays registered providers over `models`: a registration with models replaces all models of its provider; one
/// without changes only their address.
///
/// Source: pi source.
fn apply_registered(
    models: &mut Vec<Endpoint>,
    added: &Providers,
    base: Base,
    wanted: impl Fn(&str) -> bool,
) {
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
        let customs = keys.models.iter().filter_map(|model| custom_model(name, keys, model));
        models.extend(customs.map(|entry| endpoint(entry, base)));
    }
}

/// Applies its provider's keys to a built-in model.
fn apply_provider(entry: &mut CatalogueEntry, keys: &ProviderKeys) {
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
    if let Some(tiers) = over.cost.tiers {
        model.cost.tiers = Some(tiers);
    }
    if let Some(over) = over.prompt_cache {
        let cache = model.prompt_cache.get_or_insert_with(PromptCache::default);
        cache.short = over.short.or(cache.short.take());
        cache.long = over.long.or(cache.long.take());
    }
    if let Some(over) = over.sampling_params {
        model.sampling_params.get_or_insert_default().extend(over);
    }
    if let Some(over) = over.sampling_params_by_thinking_level {
        merge_levels(model.sampling_params_by_thinking_level.get_or_insert_default(), over);
    }
    if let Some(map) = &over.thinking_level_map {
        entry.levels.extend(&LevelMap::new(map));
    }
}

/// Merges the parameters of each level over those of `base`.
fn merge_levels(base: &mut JsonObject, over: JsonObject) {
    for (level, parameters) in over {
        match (base.get_mut(&level).and_then(Value::as_object_mut), parameters) {
            (Some(base), Value::Object(parameters)) => base.extend(parameters),
            (_, parameters) => drop(base.insert(level, parameters)),
        }
    }
}

/// Builds a custom model; `None`: it has no API or no address.
fn custom_model(name: &str, keys: &ProviderKeys, model: &ModelKeys) -> Option<CatalogueEntry> {
    let known = BUILT_IN.provider(name);
    let api = keys.api.as_deref().or(known.map(|known| known.api));
    let base_url = keys.base_url.as_deref().or(known.and_then(|known| known.base_url));
    let mut model = model.clone();
    let mut compat = keys.compat.clone();
    merge_compat(&mut compat, model.compat.as_ref());
    model.compat = compat;
    CatalogueEntry::new(name, model, api, base_url)
}

/// Merges `over` over `base`, key by key.
fn merge_compat(base: &mut Option<JsonObject>, over: Option<&JsonObject>) {
    let Some(over) = over else { return };
    let base = base.get_or_insert_default();
    for (key, value) in over {
        match (base.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
            (Some(under), Some(members)) if MERGED.contains(&key.as_str()) => under.extend(members.clone()),
            _ => drop(base.insert(key.clone(), value.clone())),
        }
    }
}

fn endpoint(entry: CatalogueEntry, base: Base) -> Endpoint {
    let CatalogueEntry { mut model, levels: map } = entry;
    let (levels, adaptive) = (map.levels(model.reasoning, base), is_adaptive(&model));
    model.thinking = thinking(&model, &levels, adaptive);
    model.thinking_level_map = (!map.is_empty()).then(|| map.entries().collect());
    Endpoint { levels, efforts: map.efforts(base), adaptive, model }
}

/// The description of a model's thinking in xcsh and omp: `budget` if requests name a number of tokens, else `effort`.
/// Source: xcsh observed.
fn thinking(model: &Model, levels: &[ThinkingLevel], adaptive: bool) -> Option<ModelThinking> {
    let thinks: Vec<ThinkingLevel> =
        levels.iter().copied().filter(|level| *level != ThinkingLevel::Off).collect();
    let (min_level, max_level) = (thinks.first().copied()?, thinks.last().copied());
    let mode = if model.api == "anthropic-messages" && !adaptive { "budget" } else { "effort" };
    Some(ModelThinking {
        mode: mode.to_owned(),
        min_level: Some(min_level),
        max_level,
        efforts: Some(thinks),
    })
}
