//! The models and providers that are known without any file: `data/models.json` and `data/providers.json`.

use super::{models_file::ModelKeys, thinking::LevelMap};
use crate::protocol::{Model, ModelPrice};
use serde::Deserialize;
use serde_json::{Map, Value};

const MODELS: &str = include_str!("../../data/models.json");
const PROVIDERS: &str = include_str!("../../data/providers.json");

/// What is known of models and providers.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The day on which the list of models was published.
    pub date: String,
    /// Where the list of models is from.
    pub source: String,
    /// The models, by provider.
    pub models: Vec<Entry>,
    /// Every provider that pi knows, in the order in which a default is looked for.
    pub providers: Vec<Provider>,
}

/// A model and the levels that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As hosts see it.
    pub model: Model,
    /// What is said of its thinking levels.
    pub levels: LevelMap,
}

/// A provider that pi knows.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// Its name.
    #[serde(skip)]
    pub id: String,
    /// The environment variables that may hold its key; the first that is set wins.
    pub env: Vec<String>,
    /// The ids of the models to start with where none is asked for; the first that exists.
    pub defaults: Vec<String>,
    /// The API of custom models that name none.
    pub api: String,
    /// The address of custom models that name none.
    pub base_url: Option<String>,
    /// Its key always goes into `Authorization: Bearer`.
    #[serde(default)]
    pub bearer: bool,
}

impl Catalogue {
    /// The one that is compiled in. What cannot be read of it is left out; the tests hold that nothing is.
    pub fn built_in() -> Self {
        let Models { date, source, providers } = serde_json::from_str(MODELS).unwrap_or_default();
        let models = providers.into_iter().flat_map(|(provider, list)| {
            let list: Vec<ModelKeys> = serde_json::from_value(list).unwrap_or_default();
            list.into_iter().filter_map(move |keys| Entry::new(&provider, keys, None, None))
        });
        let known: Providers = serde_json::from_str(PROVIDERS).unwrap_or_default();
        let providers = known
            .providers
            .into_iter()
            .filter_map(|(id, keys)| Some(Provider { id, ..serde_json::from_value(keys).ok()? }));
        Self { date, source, models: models.collect(), providers: providers.collect() }
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
        let free =
            || ModelPrice { input: 0.into(), output: 0.into(), cache_read: 0.into(), cache_write: 0.into() };
        let cost = keys.cost.map_or_else(free, |cost| ModelPrice {
            input: cost.input,
            output: cost.output,
            cache_read: cost.cache_read,
            cache_write: cost.cache_write,
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

#[derive(Default, Deserialize)]
struct Models {
    date: String,
    source: String,
    providers: Map<String, Value>,
}

#[derive(Default, Deserialize)]
struct Providers {
    providers: Map<String, Value>,
}
