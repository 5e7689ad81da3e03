//! The thinking that a request asks for: a number of tokens before the third generation of Gemini, a word since then.

use crate::request::ModelRequest;
use pi_rpc_protocol::{Model, ThinkingLevel};
use serde_json::{Value, json};

/// The thinking that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// None, as the model cannot think.
    Never,
    /// As little as the model can; the answer has no summaries of it.
    Least(Amount),
    /// The amount of a level; the answer has summaries of it.
    Full(Amount),
}

/// An amount of thinking, in one of the API's two measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// `thinkingBudget`, in tokens.
    Tokens(u64),
    /// `thinkingBudget` of -1: the model decides.
    Dynamic,
    /// `thinkingLevel`.
    Level(String),
}

impl Thinking {
    /// Encodes the request's `thinkingConfig`.
    pub fn config(&self) -> Option<Value> {
        let (amount, has_summaries) = match self {
            Self::Never => return None,
            Self::Least(amount) => (amount, false),
            Self::Full(amount) => (amount, true),
        };
        let mut config = match amount {
            Amount::Tokens(tokens) => json!({"thinkingBudget": tokens}),
            Amount::Dynamic => json!({"thinkingBudget": -1}),
            Amount::Level(level) => json!({"thinkingLevel": level}),
        };
        if has_summaries {
            config["includeThoughts"] = true.into();
        }
        Some(config)
    }

    /// The most tokens that the thinking may take; `None`: unknown.
    pub fn tokens(&self) -> Option<u64> {
        match self {
            Self::Never => Some(0),
            Self::Least(Amount::Tokens(tokens)) | Self::Full(Amount::Tokens(tokens)) => Some(*tokens),
            Self::Least(_) | Self::Full(_) => None,
        }
    }
}

/// Selects the thinking for the model and the level of `request`.
pub fn thinking(request: &ModelRequest<'_>) -> Thinking {
    let model = &request.endpoint.model;
    if !model.reasoning {
        return Thinking::Never;
    }
    let by_word = takes_levels(&model.id);
    match request.level {
        ThinkingLevel::Off if by_word => Thinking::Least(least_level(request)),
        ThinkingLevel::Off => Thinking::Least(Amount::Tokens(least_budget(model))),
        level if by_word => Thinking::Full(Amount::Level(word(request, level))),
        level => Thinking::Full(budget(request, level)),
    }
}

/// Whether the model takes `thinkingLevel`: Gemini from the third generation on, and Gemma from the fourth.
fn takes_levels(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let latest = ["gemini-flash-latest", "gemini-flash-lite-latest", "gemini-pro-latest"];
    generation(&id, "gemini-").is_some_and(|generation| generation >= 3)
        || ["gemma-", "gemma"].iter().any(|name| generation(&id, name).is_some_and(|number| number >= 4))
        || latest.contains(&id.as_str())
}

/// Parses the number behind `name` in a model's id.
pub fn generation(id: &str, name: &str) -> Option<u64> {
    let (_, rest) = id.split_once(name)?;
    let end = rest.find(|found: char| !found.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The lowest of the model's levels; no tokens if that is `off`.
fn least_level(request: &ModelRequest<'_>) -> Amount {
    match request.endpoint.levels.first() {
        None | Some(ThinkingLevel::Off) => Amount::Tokens(0),
        Some(level) => Amount::Level(word(request, *level)),
    }
}

/// The vendor's word for a level: the model's own, else the level's name.
fn word(request: &ModelRequest<'_>, level: ThinkingLevel) -> String {
    let usual = if level > ThinkingLevel::High { ThinkingLevel::High } else { level };
    let own = request.endpoint.efforts.get(&level).map_or(usual.as_str(), String::as_str);
    own.to_ascii_uppercase()
}

/// The smallest budget that the service accepts: this model cannot be kept from thinking.
fn least_budget(model: &Model) -> u64 {
    if model.id.contains("2.5-pro") { 128 } else { 0 }
}

/// The budget of a level: the user's, else the usual one of the model, else as much as the model wants.
fn budget(request: &ModelRequest<'_>, level: ThinkingLevel) -> Amount {
    let own = request
        .endpoint
        .efforts
        .get(&level)
        .and_then(|word| ThinkingLevel::parse(&word.to_ascii_lowercase()));
    let level = own.unwrap_or(level).min(ThinkingLevel::High);
    if let Some(tokens) = request.options.budgets.get(&level) {
        return Amount::Tokens(*tokens);
    }
    let known = BUDGETS.iter().find(|(name, _)| request.endpoint.model.id.contains(name));
    let Some((_, [minimal, low, medium, high])) = known else { return Amount::Dynamic };
    Amount::Tokens(match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => *minimal,
        ThinkingLevel::Low => *low,
        ThinkingLevel::Medium => *medium,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => *high,
    })
}

/// The usual budgets from `minimal` to `high`, by a part of the model's id; the first match counts. Source: pi source.
const BUDGETS: [(&str, [u64; 4]); 3] = [
    ("2.5-pro", [128, 2048, 8192, 32_768]),
    ("2.5-flash-lite", [512, 2048, 8192, 24_576]),
    ("2.5-flash", [128, 2048, 8192, 24_576]),
];
