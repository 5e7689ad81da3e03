//! The providers of the catalogue.

use super::{code, codes, table};
use pi_rpc_config::catalogue::{BUILT_IN, Provider};
use pi_rpc_model::api::Api;

/// What is asked of whom, with which key.
pub(super) fn all() -> String {
    let rows = BUILT_IN.providers.iter().filter_map(row);
    table(["Provider", "APIs and their models", "Default model", "Key or login"], rows)
}

/// `None`: the provider has no models in the catalogue.
fn row(provider: &Provider) -> Option<[String; 4]> {
    let models = BUILT_IN.models(|name| name == provider.id);
    let mut apis: Vec<&str> = models.iter().map(|it| it.model.api.as_str()).collect();
    apis.sort_unstable();
    apis.dedup();
    let counts = apis.iter().map(|api| {
        let count = models.iter().filter(|it| it.model.api == *api).count();
        let note = if Api::parse(api).is_some() { "" } else { ", not spoken" };
        format!("{} ({count}{note})", code(api))
    });
    let key = match provider.env {
        [] => "a login in `auth.json`".to_owned(),
        names => names.iter().map(|name| code(name)).collect::<Vec<_>>().join(" or "),
    };
    let needs =
        if provider.needs.is_empty() { String::new() } else { format!(", with {}", codes(provider.needs)) };
    let default = provider.defaults.first().map_or_else(String::new, |id| code(id));
    let counts = counts.collect::<Vec<_>>().join(", ");
    (!models.is_empty()).then(|| [code(provider.id), counts, default, format!("{key}{needs}")])
}
