//! The built-in models and providers: `data/models.json` and `data/providers.json`.

use super::{models_file::ModelKeys, thinking::LevelMap};
use pi_rpc_protocol::{Model, ModelPrice};

/// A list of models and providers.
#[derive(Debug)]
pub struct Catalogue {
    /// Publication date of the list of models.
    pub date: &'static str,
    /// Source of the list of models.
    pub source: &'static str,
    /// Models by provider, as JSON: most servers need those of one or two.
    lists: &'static [(&'static str, &'static str)],
    /// Models that answer no prompts, by type and provider: scripts run them, hosts are not offered them.
    pub others: &'static [(&'static str, &'static [OtherModels])],
    /// All providers of pi, in the order in which a default is searched.
    pub providers: &'static [Provider],
}

/// The models of a type that a provider has.
#[derive(Debug)]
pub struct OtherModels {
    /// The provider.
    pub provider: &'static str,
    /// The ids of the models.
    pub ids: &'static [&'static str],
    /// The models as JSON, in the same order.
    pub json: &'static str,
}

/// The catalogue that is compiled in.
pub static BUILT_IN: Catalogue = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// A model with its levels.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueEntry {
    /// The model as hosts see it.
    pub model: Model,
    /// Its thinking levels.
    pub levels: LevelMap,
}

/// A provider of pi.
#[derive(Debug)]
pub struct Provider {
    /// Its name.
    pub id: &'static str,
    /// Environment variables that may hold its key; the first that is set wins.
    pub env: &'static [&'static str],
    /// Those of `env` whose value is a token for `Authorization: Bearer`, not a key.
    pub bearer_env: &'static [&'static str],
    /// Ids of its default models; the first that exists is used.
    pub defaults: &'static [&'static str],
    /// Default API of custom models.
    pub api: &'static str,
    /// Default address of custom models.
    pub base_url: Option<&'static str>,
    /// Whether its key always goes into `Authorization: Bearer`.
    pub bearer: bool,
    /// Header that has the key, as `Bearer`, in place of that of the API.
    pub key_header: Option<&'static str>,
    /// Variables whose values take the places of their names in braces in its addresses.
    pub needs: &'static [&'static str],
}

impl Catalogue {
    /// Parses the models of the `wanted` providers, in order, at each call. Unreadable ones are left out; tests
    /// ensure that there are none.
    pub fn models(&self, wanted: impl Fn(&str) -> bool) -> Vec<CatalogueEntry> {
        let lists = self.lists.iter().filter(|(provider, _)| wanted(provider));
        let models = lists.flat_map(|(provider, list)| {
            let list: Vec<ModelKeys> = serde_json::from_str(list).unwrap_or_default();
            // Azure's address is the user's own.
            list.into_iter().filter_map(|keys| {
                // Headers of the user's own models may hold keys; these are public.
                let texts = keys.headers.iter();
                let texts =
                    texts.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
                let headers = (!keys.headers.is_empty()).then(|| texts.collect());
                let mut entry = CatalogueEntry::new(provider, keys, None, Some(""))?;
                entry.model.headers = headers;
                Some(entry)
            })
        });
        models.collect()
    }

    /// Finds the provider `id`.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.id == id)
    }
}

impl CatalogueEntry {
    /// Builds a model from its `keys`, with pi's defaults for missing members; `api` and `base_url` are the
    /// provider's. `None`: it has no API or no address.
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
            input: keys.input.unwrap_or_else(|| vec![pi_rpc_protocol::InputKind::Text]),
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
            identity: None,
            is_o_auth: None,
            requires_glyph_tokenization: None,
            supports_computer_use: None,
        };
        let levels = keys.thinking_level_map.as_ref().map(LevelMap::new).unwrap_or_default();
        Some(Self { model, levels })
    }
}

/// Default context window in tokens. Source: pi's `models.md`.
const CONTEXT_WINDOW: u64 = 128_000;

/// Default output limit in tokens. Source: pi's `models.md`.
const MAX_TOKENS: u64 = 16_384;

/// Largest integer that JSON numbers hold exactly, the limit on the wire.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Converts a number of tokens to an integer for the wire.
pub fn whole(tokens: f64) -> u64 {
    tokens.clamp(0.0, MAX_SAFE_INTEGER) as u64
}
