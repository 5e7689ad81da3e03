//! What answers cost: by the prices of a model, and whether what a server reports agrees.
//!
//! Grows with the number of models, up to [`MAX_MODELS`].

use super::digest::{pair, text_digest};
use pi_rpc_protocol::{AssistantMessage, Model, ModelPrice, Usage};
use std::collections::HashMap;

/// The most models that are kept.
const MAX_MODELS: usize = 4096;

/// The prices of each model; `None` if they are not certain.
#[derive(Clone, Debug, Default)]
pub struct Prices(HashMap<u64, Option<ModelPrice>>);

/// US dollars by kind of tokens: input, output, cache read, cache write.
pub type Costs = [f64; 4];

/// Tokens of one answer, by class of price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PricedTokens {
    /// Input, without what was read from the cache or written to it.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// How many of `cache_write` are kept for an hour.
    pub cache_write_1h: u64,
}

/// No model has a tier of prices for requests of so few tokens.
const LOWEST_TIER: u64 = 31_999;
/// The number of tokens that a price is for.
const PER: f64 = 1e6;
/// Writing to the cache for an hour costs so many times the price of the input, at every provider that offers it.
const HOUR_FACTOR: f64 = 2.0;
/// The tolerated rounding error, in dollars and relative to a cost.
const ROUNDED: f64 = 1e-9;
/// The APIs whose answers cost what the other side names: a gateway, or an agent of the Agent Client Protocol.
const BILLED: [&str; 2] = ["pi-messages", "acp"];
/// The APIs without service tiers: an answer costs exactly the prices of its model.
const PLAIN: [&str; 2] = ["anthropic-messages", "openai-completions"];

/// What `tokens` cost by the prices of their model, in US dollars. A request with more input than a tier's
/// `inputTokensAbove` costs the prices of the highest such tier, all of it.
///
/// Source: `calculateCost` of pi 1.5 and 1.6, with its order of operations.
pub fn costs(price: &ModelPrice, tokens: &PricedTokens) -> Costs {
    let tiers = price.tiers.iter().flatten().filter(|tier| tokens.asked() > tier.input_tokens_above);
    let [input, output, read, write] = match tiers.max_by_key(|tier| tier.input_tokens_above) {
        Some(tier) => [&tier.input, &tier.output, &tier.cache_read, &tier.cache_write],
        None => [&price.input, &price.output, &price.cache_read, &price.cache_write],
    }
    .map(|price| price.as_f64().unwrap_or(0.0));
    let hour = tokens.cache_write_1h as f64;
    let short = tokens.cache_write.saturating_sub(tokens.cache_write_1h) as f64;
    [
        input / PER * tokens.input as f64,
        output / PER * tokens.output as f64,
        read / PER * tokens.cache_read as f64,
        (write * short + input * HOUR_FACTOR * hour) / PER,
    ]
}

impl PricedTokens {
    /// All tokens of the request.
    const fn asked(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

impl Prices {
    /// Learns the prices of a model. If they differ from earlier ones, the prices are no longer certain.
    pub fn learn(&mut self, model: &Model) {
        let price = &model.cost;
        if self.0.len() == MAX_MODELS {
            self.0.clear();
        }
        let known = self.0.entry(name(&model.provider, &model.id)).or_insert_with(|| Some(price.clone()));
        if known.as_ref() != Some(price) {
            *known = None;
        }
    }

    /// The costs of an assistant message by the prices of its model; `None` if they are not certain.
    pub fn costs_of(&self, message: &AssistantMessage) -> Option<Costs> {
        let price = self.0.get(&name(&message.provider, &message.model))?.as_ref()?;
        let tokens = priced(&message.usage);
        match message.usage.cost.total_from_provider {
            _ if BILLED.contains(&message.api.as_str()) => None,
            Some(true) => None,
            Some(false) => Some(costs(price, &tokens)),
            // A dialect that tells neither tiers nor what is cached for an hour.
            None if tokens.asked() > LOWEST_TIER => None,
            None => {
                let [input, output, read, short] = costs(price, &tokens);
                let [.., hour] = costs(price, &PricedTokens { cache_write_1h: tokens.cache_write, ..tokens });
                let told = message.usage.cost.cache_write.as_f64().unwrap_or_default();
                let write = if (short..=hour).contains(&told) { told } else { short };
                Some([input, output, read, write])
            }
        }
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

fn priced(usage: &Usage) -> PricedTokens {
    PricedTokens {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        cache_write_1h: usage.cache_write1h.unwrap_or(0),
    }
}

fn name(provider: &str, model: &str) -> u64 {
    pair(text_digest(provider), text_digest(model))
}
