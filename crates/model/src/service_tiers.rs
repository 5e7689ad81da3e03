//! What a server's service tiers cost, in percent of the model's prices: `data/service-tiers.json`, of the version of pi whose
//! models are listed in `data/models.json`.

use pi_rpc_protocol::Model;
use serde::Deserialize;
use std::{collections::BTreeMap, sync::LazyLock};

/// Contents of the file.
#[derive(Default, Deserialize)]
struct Tiers {
    apis: BTreeMap<String, ApiTiers>,
}

#[derive(Deserialize)]
struct ApiTiers {
    /// Percent by tier.
    percent: BTreeMap<String, u32>,
    /// Models that differ, by id.
    models: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Tests ensure that the file is readable.
static TIERS: LazyLock<Tiers> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/service-tiers.json")).unwrap_or_default()
});

/// What an answer of `model` costs in each tier of its server, in percent of its prices; in other tiers: its prices.
pub fn percents(model: &Model) -> BTreeMap<&'static str, u32> {
    let api = TIERS.apis.get(&model.api);
    let own = api.and_then(|api| api.models.get(&model.id));
    let tiers = api.map(|api| &api.percent).into_iter().chain(own).flatten();
    // What the model has of its own comes last and counts.
    tiers.map(|(tier, percent)| (tier.as_str(), *percent)).collect()
}
