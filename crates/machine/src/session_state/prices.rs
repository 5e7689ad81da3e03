//! The prices of models, as the server reports them.
//!
//! Grows with the number of models, up to [`MAX_MODELS`].

use super::digest::{pair, text_digest};
use pi_rpc_protocol::{AssistantMessage, Model, Usage};
use serde_json::Number;
use std::collections::HashMap;

/// The most models that are kept.
const MAX_MODELS: usize = 4096;

/// The prices of each model; `None` if they are not certain.
#[derive(Clone, Debug, Default)]
pub struct Prices(HashMap<u64, Option<[f64; 4]>>);

/// US dollars by kind of tokens: input, output, cache read, cache write.
pub type Costs = [f64; 4];

/// The number of tokens that a price is for.
const PER: f64 = 1e6;
/// The tolerated rounding error, in dollars and relative to a cost.
const ROUNDED: f64 = 1e-9;
/// The APIs whose answers cost what the other side names: a gateway, or an agent of the Agent Client Protocol.
const BILLED: [&str; 2] = ["pi-messages", "acp"];
/// The APIs without service tiers: an answer costs exactly the prices of its model.
const PLAIN: [&str; 2] = ["anthropic-messages", "openai-completions"];

impl Prices {
    /// Learns the prices of a model. If they differ from earlier ones, the prices are no longer certain.
    pub fn learn(&mut self, model: &Model) {
        let cost = &model.cost;
        let parts = [&cost.input, &cost.output, &cost.cache_read, &cost.cache_write].map(Number::as_f64);
        let [Some(input), Some(output), Some(read), Some(write)] = parts else { return };
        let plain = cost.tiers.as_ref().is_none_or(Vec::is_empty);
        let rates = plain.then_some([input, output, read, write]);
        if self.0.len() == MAX_MODELS {
            self.0.clear();
        }
        let known = self.0.entry(name(&model.provider, &model.id)).or_insert(rates);
        if *known != rates {
            *known = None;
        }
    }

    /// The costs of an assistant message by the prices of its model; `None` if they are not certain.
    pub fn costs_of(&self, message: &AssistantMessage) -> Option<Costs> {
        let prices = (*self.0.get(&name(&message.provider, &message.model))?)?;
        if BILLED.contains(&message.api.as_str()) {
            return None;
        }
        let Usage { cost, cache_write1h, .. } = &message.usage;
        // Longer cache retention costs more.
        let is_plain =
            cost.total_from_provider != Some(true) && cache_write1h.is_none_or(|tokens| tokens == 0);
        let tokens = counters(&message.usage);
        let at = |kind: usize| prices[kind] * tokens[kind] as f64 / PER;
        is_plain.then(|| [at(0), at(1), at(2), at(3)])
    }
}

/// Whether the reported costs are the expected ones. APIs with service tiers may scale all of them by one factor.
pub fn match_reported(api: &str, expected: &Costs, reported: &Costs) -> bool {
    let is = |one: f64, other: f64| (one - other).abs() <= ROUNDED * one.abs().max(1e-3);
    let all = |factor: f64| expected.iter().zip(reported).all(|(one, other)| is(one * factor, *other));
    if PLAIN.contains(&api) || all(1.0) {
        return all(1.0);
    }
    let (sum, of): (f64, f64) = (reported.iter().sum(), expected.iter().sum());
    of > 0.0 && sum > 0.0 && all(sum / of)
}

const fn counters(usage: &Usage) -> [u64; 4] {
    [usage.input, usage.output, usage.cache_read, usage.cache_write]
}

fn name(provider: &str, model: &str) -> u64 {
    pair(text_digest(provider), text_digest(model))
}
