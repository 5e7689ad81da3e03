//! Values of the members that a model's `compat` does not state: `data/compat-defaults.json`, of the version of pi whose
//! models are listed in `data/models.json`.

use pi_rpc_protocol::{JsonObject, Model};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::LazyLock};

/// Contents of the file.
#[derive(Default, Deserialize)]
struct Defaults {
    apis: BTreeMap<String, ApiDefaults>,
}

#[derive(Default, Deserialize)]
struct ApiDefaults {
    /// Of every server.
    compat: JsonObject,
    /// Servers that differ; the first that has the member counts.
    #[serde(default)]
    servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    #[serde(default)]
    providers: Vec<String>,
    /// Parts of addresses, in lower case.
    #[serde(default)]
    addresses: Vec<String>,
    /// What the ids of its models begin with.
    #[serde(default)]
    models: String,
    compat: JsonObject,
}

impl Server {
    fn has(&self, model: &Model) -> bool {
        let address = model.base_url.to_lowercase();
        let is_here = self.providers.contains(&model.provider)
            || self.addresses.iter().any(|part| address.contains(part.as_str()));
        is_here && model.id.starts_with(&self.models)
    }
}

/// Tests ensure that the file is readable.
static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/compat-defaults.json")).unwrap_or_default()
});

/// The value of the member `key` for a model that does not state it; `None`: it has none.
pub fn default_member(model: &Model, key: &str) -> Option<&'static Value> {
    let api = DEFAULTS.apis.get(&model.api)?;
    let servers = api.servers.iter().filter(|server| server.compat.contains_key(key));
    let mut servers = servers.filter(|server| server.has(model));
    servers.next().and_then(|server| server.compat.get(key)).or_else(|| api.compat.get(key))
}

/// The members that have a value in some API, by API.
pub fn defaulted_members() -> impl Iterator<Item = (&'static str, &'static str)> {
    DEFAULTS.apis.iter().flat_map(|(api, defaults)| {
        let servers = defaults.servers.iter().flat_map(|server| server.compat.keys());
        defaults.compat.keys().chain(servers).map(move |key| (api.as_str(), key.as_str()))
    })
}
