//! A model of which only the names are known.

use super::{Model, ModelPrice};

impl Model {
    /// A model that costs nothing and has no sizes, no kinds of input and no thinking: what makes one by hand fills in the rest.
    pub fn named(
        provider: impl Into<String>,
        id: impl Into<String>,
        name: impl Into<String>,
        api: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            api: api.into(),
            provider: provider.into(),
            base_url: String::new(),
            reasoning: false,
            thinking: None,
            input: Vec::new(),
            cost: ModelPrice {
                input: 0.into(),
                output: 0.into(),
                cache_read: 0.into(),
                cache_write: 0.into(),
                tiers: None,
            },
            context_window: 0,
            max_tokens: 0,
            headers: None,
            compat: None,
            premium_multiplier: None,
            prefer_websockets: None,
            context_promotion_target: None,
            priority: None,
            thinking_level_map: None,
            input_limits: None,
            prompt_cache: None,
            sampling_params: None,
            sampling_params_by_thinking_level: None,
            identity: None,
            is_o_auth: None,
            requires_glyph_tokenization: None,
            supports_computer_use: None,
        }
    }
}
