//! Providers that extensions register at run time.
//!
//! They are laid over the providers of the files, in the order of registration. Source: pi source.

use super::{
    Config,
    models_file::{ProviderKeys, of_json},
};
use pi_rpc_protocol::JsonObject;
use serde_json::Value;

/// Registered providers by name, in the order of registration.
pub type RegisteredProviders = Vec<(String, RegisteredProvider)>;

/// A provider that an extension has registered.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredProvider {
    /// Its keys, in the form of `models.json`.
    pub keys: ProviderKeys,
    /// Whether the extension itself answers for its models.
    pub streams: bool,
    /// The registration, for merging a later one over it.
    config: JsonObject,
}

impl RegisteredProvider {
    /// Merges a registration of the provider `name` over an earlier one.
    ///
    /// # Errors
    ///
    /// The registration lacks something or has the wrong shape.
    pub fn new(name: &str, config: JsonObject, streams: bool, before: Option<&Self>) -> Result<Self, String> {
        let mut whole = before.map(|before| before.config.clone()).unwrap_or_default();
        whole.extend(config.into_iter().filter(|(_, value)| !value.is_null()));
        let keys =
            of_json(&Value::Object(whole.clone())).map_err(|error| format!("Provider {name}: {error}"))?;
        let streams = streams || before.is_some_and(|before| before.streams);
        check(name, &keys, streams, whole.contains_key("oauth"))?;
        Ok(Self { keys, streams, config: whole })
    }
}

/// Checks that a registration is complete.
fn check(name: &str, keys: &ProviderKeys, streams: bool, logs_in: bool) -> Result<(), String> {
    if streams && keys.api.is_none() {
        return Err(format!("Provider {name}: \"api\" is required when registering streamSimple."));
    }
    if keys.models.is_empty() {
        return Ok(());
    }
    if keys.base_url.is_none() {
        return Err(format!("Provider {name}: \"baseUrl\" is required when defining models."));
    }
    if keys.api_key.is_none() && !logs_in {
        return Err(format!("Provider {name}: \"apiKey\" or \"oauth\" is required when defining models."));
    }
    match keys.models.iter().find(|model| model.api.is_none() && keys.api.is_none()) {
        Some(model) => Err(format!("Provider {name}, model {}: no \"api\" specified.", model.id)),
        None => Ok(()),
    }
}

impl Config {
    /// Removes all models but those of registered providers.
    #[must_use]
    pub fn without_catalogue(self) -> Self {
        Self { only_registered: true, ..self }
    }

    /// Adds the registered providers.
    #[must_use]
    pub fn with_registered(&self, registered: &RegisteredProviders) -> Self {
        let mut config = self.clone();
        config.registered =
            registered.iter().map(|(name, provider)| (name.clone(), provider.keys.clone())).collect();
        for (name, provider) in registered {
            config.keys.add(name, &provider.keys, provider.streams);
        }
        config
    }
}
