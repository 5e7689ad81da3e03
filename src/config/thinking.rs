//! Which thinking levels a model takes.

use crate::protocol::{Model, ThinkingLevel};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The level above `xhigh` in newer lists of models; here it is offered as `xhigh`.
const ABOVE: &str = "max";

/// Ids of models that decide by themselves how long to think, by a part of the id.
/// Source: pi 0.73.1 observed.
const ADAPTIVE: [&str; 3] = ["opus-4-6", "opus-4-7", "sonnet-4-6"];

/// What `thinkingLevelMap` says of a model: for each level that it names, the provider's word, or `None` where the model
/// does not take the level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelMap(BTreeMap<ThinkingLevel, Option<String>>);

impl LevelMap {
    /// Reads the object of the file; names that are no levels are left out.
    pub fn new(map: &Map<String, Value>) -> Self {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let named = map.iter().filter_map(|(name, value)| Some((ThinkingLevel::parse(name)?, word(value))));
        let mut levels: BTreeMap<_, _> = named.collect();
        if let Some(above) = map.get(ABOVE).and_then(word)
            && levels.get(&ThinkingLevel::Xhigh).is_none_or(Option::is_none)
        {
            levels.insert(ThinkingLevel::Xhigh, Some(above));
        }
        Self(levels)
    }

    /// Adds what `over` says; it wins.
    pub fn extend(&mut self, over: &Self) {
        self.0.extend(over.0.clone());
    }

    /// The levels that a model of this map takes, in order: all but those that it says do not exist; `xhigh` only where
    /// it has a word for it. A model that does not think takes `off` alone.
    pub fn levels(&self, reasoning: bool) -> Vec<ThinkingLevel> {
        if !reasoning {
            return vec![ThinkingLevel::Off];
        }
        let takes = |level: &ThinkingLevel| match self.0.get(level) {
            Some(word) => word.is_some(),
            None => *level != ThinkingLevel::Xhigh,
        };
        ThinkingLevel::ALL.into_iter().filter(takes).collect()
    }

    /// The provider's words for levels.
    pub fn efforts(&self) -> BTreeMap<ThinkingLevel, String> {
        self.0.iter().filter_map(|(level, word)| Some((*level, word.clone()?))).collect()
    }
}

/// The level nearest to `wanted` of `levels`: the next higher one, else the next lower.
pub fn clamp(levels: &[ThinkingLevel], wanted: ThinkingLevel) -> ThinkingLevel {
    let higher = levels.iter().find(|level| **level >= wanted);
    higher.or(levels.last()).copied().unwrap_or(ThinkingLevel::Off)
}

/// Whether the model decides by itself how long to think: its `compat` says so (`forceAdaptiveThinking`), or its id.
pub fn is_adaptive(model: &Model) -> bool {
    let told = model.compat.as_ref().and_then(|compat| compat.get("forceAdaptiveThinking")?.as_bool());
    let id = model.id.replace('.', "-");
    model.api == "anthropic-messages"
        && model.reasoning
        && told.unwrap_or_else(|| ADAPTIVE.iter().any(|part| id.contains(part)))
}
