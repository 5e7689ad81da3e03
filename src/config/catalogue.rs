//! The models and providers that are known without any file: `data/models.json` and `data/providers.json`.

use super::{models_file::ModelKeys, thinking::LevelMap};
use crate::protocol::{Model, ModelPrice};

/// What is known of models and providers.
#[derive(Debug)]
pub struct Catalogue {
    /// The day on which the list of models was published.
    pub date: &'static str,
    /// Where the list of models is from.
    pub source: &'static str,
    /// The models by provider, as JSON: most servers need those of one or two.
    lists: &'static [(&'static str, &'static str)],
    /// Every provider that pi knows, in the order in which a default is looked for.
    pub providers: &'static [Provider],
}

/// The one that is compiled in.
pub static BUILT_IN: Catalogue = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// A model and the levels that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As hosts see it.
    pub model: Model,
    /// What is said of its thinking levels.
    pub levels: LevelMap,
}

/// A provider that pi knows.
#[derive(Debug)]
pub struct Provider {
    /// Its name.
    pub id: &'static str,
    /// The environment variables that may hold its key; the first that is set wins.
    pub env: &'static [&'static str],
    /// The ids of the models to start with where none is asked for; the first that exists.
    pub defaults: &'static [&'static str],
    /// The API of custom models that name none.
    pub api: &'static str,
    /// The address of custom models that name none.
    pub base_url: Option<&'static str>,
    /// Its key always goes into `Authorization: Bearer`.
    pub bearer: bool,
}

impl Catalogue {
    /// The models of the providers that are `wanted`, in order, read anew each time. What cannot be read is left out; the
    /// tests hold that nothing is.
    pub fn models(&self, wanted: impl Fn(&str) -> bool) -> Vec<Entry> {
        let lists = self.lists.iter().filter(|(provider, _)| wanted(provider));
        let models = lists.flat_map(|(provider, list)| {
            let list: Vec<ModelKeys> = serde_json::from_str(list).unwrap_or_default();
            list.into_iter().filter_map(|keys| Entry::new(provider, keys, None, None))
        });
        models.collect()
    }

    /// What is known of the provider `id`.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.id == id)
    }
}

impl Entry {
    /// The model that `keys` describe, with pi's defaults for what they do not say; `api` and `base_url` are the
    /// provider's. `None` where it has no API or no address.
    pub fn new(provider: &str, keys: ModelKeys, api: Option<&str>, base_url: Option<&str>) -> Option<Self> {
        let free = || ModelPrice {
            input: 0.into(),
            output: 0.into(),
            cache_read: 0.into(),
            cache_write: 0.into(),
            tiers: None,
        };
        let cost = keys.cost.map_or_else(free, |cost| ModelPrice {
            input: cost.input,
            output: cost.output,
            cache_read: cost.cache_read,
            cache_write: cost.cache_write,
            tiers: cost.tiers,
        });
        let model = Model {
            name: keys.name.unwrap_or_else(|| keys.id.clone()),
            id: keys.id,
            api: keys.api.or_else(|| api.map(str::to_owned))?,
            provider: provider.to_owned(),
            base_url: keys.base_url.or_else(|| base_url.map(str::to_owned))?,
            reasoning: keys.reasoning.unwrap_or(false),
            thinking: None,
            input: keys.input.unwrap_or_else(|| vec![crate::protocol::InputKind::Text]),
            cost,
            context_window: keys.context_window.map_or(CONTEXT_WINDOW, whole),
            max_tokens: keys.max_tokens.map_or(MAX_TOKENS, whole),
            headers: None,
            compat: keys.compat,
            premium_multiplier: None,
            prefer_websockets: None,
            context_promotion_target: None,
            priority: None,
            thinking_level_map: None,
            input_limits: keys.input_limits,
            prompt_cache: keys.prompt_cache,
            sampling_params: keys.sampling_params,
            sampling_params_by_thinking_level: keys.sampling_params_by_thinking_level,
        };
        let levels = keys.thinking_level_map.as_ref().map(LevelMap::new).unwrap_or_default();
        Some(Self { model, levels })
    }
}

/// Tokens that fit into the context of a model that does not say. Source: pi's `models.md`.
const CONTEXT_WINDOW: u64 = 128_000;

/// Tokens that a model writes at most if it does not say. Source: pi's `models.md`.
const MAX_TOKENS: u64 = 16_384;

/// The most that JSON numbers hold exactly, which is what the wire allows.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A number of tokens as the wire has it: whole.
pub fn whole(tokens: f64) -> u64 {
    tokens.clamp(0.0, MOST) as u64
}
