//! The prices of models, as the server tells them.
//!
//! It grows with the models that are told of, up to [`MOST`].

use super::digest::{pair, text_digest};
use crate::protocol::{AssistantMessage, Model, Usage};
use serde_json::Number;
use std::collections::HashMap;

/// Models that are kept.
const MOST: usize = 4096;

/// What each model costs.
#[derive(Clone, Debug, Default)]
pub struct Prices(HashMap<u64, Option<[f64; 4]>>);

/// US dollars by kind: input, output, read from and written to a cache.
pub type Costs = [f64; 4];

/// Prices are for so many tokens.
const PER: f64 = 1e6;
/// So much of a dollar, and of a cost, is lost by rounding.
const ROUNDED: f64 = 1e-9;
/// The APIs whose providers ask for nothing but the prices of the model; others have tiers of service.
const PLAIN: [&str; 2] = ["anthropic-messages", "openai-completions"];

impl Prices {
    /// The server has told of a model. One that was told with other prices before has none that are certain.
    pub fn learn(&mut self, model: &Model) {
        let cost = &model.cost;
        let parts = [&cost.input, &cost.output, &cost.cache_read, &cost.cache_write].map(Number::as_f64);
        let [Some(input), Some(output), Some(read), Some(write)] = parts else { return };
        let plain = cost.tiers.as_ref().is_none_or(Vec::is_empty);
        let told = plain.then_some([input, output, read, write]);
        if self.0.len() == MOST {
            self.0.clear();
        }
        let known = self.0.entry(name(&model.provider, &model.id)).or_insert(told);
        if *known != told {
            *known = None;
        }
    }

    /// What the answer costs by the prices of its model; `None`: they are not known, or there may be others.
    pub fn costs_of(&self, message: &AssistantMessage) -> Option<Costs> {
        let prices = (*self.0.get(&name(&message.provider, &message.model))?)?;
        let Usage { cost, cache_write1h, .. } = &message.usage;
        // What is kept for longer costs more.
        let is_plain =
            cost.total_from_provider != Some(true) && cache_write1h.is_none_or(|tokens| tokens == 0);
        let tokens = counters(&message.usage);
        let at = |kind: usize| prices[kind] * tokens[kind] as f64 / PER;
        is_plain.then(|| [at(0), at(1), at(2), at(3)])
    }
}

/// Whether an answer of that API costs what its tokens cost; elsewhere all kinds of tokens may cost the same part of it.
pub fn match_reported(api: &str, expected: &Costs, told: &Costs) -> bool {
    let is = |one: f64, other: f64| (one - other).abs() <= ROUNDED * one.abs().max(1e-3);
    let all = |factor: f64| expected.iter().zip(told).all(|(one, other)| is(one * factor, *other));
    if PLAIN.contains(&api) || all(1.0) {
        return all(1.0);
    }
    let (sum, of): (f64, f64) = (told.iter().sum(), expected.iter().sum());
    of > 0.0 && sum > 0.0 && all(sum / of)
}

/// What the usage says that its tokens cost.
pub fn costs(usage: &Usage) -> Costs {
    let cost = &usage.cost;
    [&cost.input, &cost.output, &cost.cache_read, &cost.cache_write]
        .map(|part| part.as_f64().unwrap_or_default())
}

const fn counters(usage: &Usage) -> [u64; 4] {
    [usage.input, usage.output, usage.cache_read, usage.cache_write]
}

fn name(provider: &str, model: &str) -> u64 {
    pair(text_digest(provider), text_digest(model))
}
