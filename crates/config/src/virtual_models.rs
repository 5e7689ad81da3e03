//! Virtual models that extensions register: they are listed like others, and their requests are routed to others.
//!
//! Source: pi 1.6.0 source.

use super::{
    Config, Keys,
    catalogue::{BUILT_IN, CatalogueEntry},
    thinking::LevelMap,
};
use pi_rpc_protocol::{ExtensionRegisterVirtualModel, InputKind, Model, ThinkingLevel};
use serde_json::Map;

/// A virtual model.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualModel {
    /// The model as hosts see it.
    pub model: Model,
    /// The thinking levels to choose from.
    levels: Vec<ThinkingLevel>,
}

impl VirtualModel {
    /// The model that an extension defines; `api`: what the dialect calls the API of virtual models.
    ///
    /// # Errors
    ///
    /// The provider or the id is empty.
    pub fn new(definition: ExtensionRegisterVirtualModel, api: &str) -> Result<Self, String> {
        let ExtensionRegisterVirtualModel {
            provider,
            model_id,
            name,
            thinking_levels,
            context_window,
            max_tokens,
            input,
            ..
        } = definition;
        if provider.trim().is_empty() || model_id.trim().is_empty() {
            return Err("Virtual model provider and id must not be empty.".to_owned());
        }
        let levels = thinking_levels.unwrap_or_else(|| vec![ThinkingLevel::Off]);
        let model = Model {
            reasoning: levels.iter().any(|level| *level != ThinkingLevel::Off),
            input: input.unwrap_or_else(|| vec![InputKind::Text, InputKind::Image]),
            context_window: context_window.unwrap_or(0),
            max_tokens: max_tokens.unwrap_or(0),
            ..Model::named(provider, model_id, name, api)
        };
        Ok(Self { model, levels })
    }

    /// The model with all its levels.
    pub(super) fn entry(&self) -> CatalogueEntry {
        let word = |level: ThinkingLevel| match self.levels.contains(&level) {
            true => level.as_str().into(),
            false => serde_json::Value::Null,
        };
        let map: Map<_, _> =
            ThinkingLevel::ALL.iter().map(|level| (level.as_str().to_owned(), word(*level))).collect();
        CatalogueEntry { model: self.model.clone(), levels: LevelMap::new(&map) }
    }
}

impl Config {
    /// Adds the virtual models. One of a provider that has no other models needs no credentials.
    #[must_use]
    pub fn with_virtual_models(&self, added: &[VirtualModel]) -> Self {
        let mut config = self.clone();
        config.virtual_models = added.to_vec();
        config.keys = self.keys_with_virtual_models(config.keys, added);
        config
    }

    /// Adds the virtual models to credentials: none needs a supported API, and one of a provider without other models
    /// needs no key.
    #[must_use]
    pub fn keys_with_virtual_models(&self, mut keys: Keys, added: &[VirtualModel]) -> Keys {
        for VirtualModel { model, .. } in added {
            keys.add_virtual(model, !self.has_physical_models(&model.provider));
        }
        keys
    }

    /// Whether a provider has models that are not virtual.
    pub fn has_physical_models(&self, provider: &str) -> bool {
        BUILT_IN.provider(provider).is_some()
            || self.configured.iter().chain(&self.registered).any(|(name, _)| name == provider)
    }
}
