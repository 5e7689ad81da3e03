//! Thinking levels of models.

use pi_rpc_protocol::{Base, Model, ThinkingLevel};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Parts of ids of models that decide by themselves how long to think. Source: pi 0.73.1 observed.
const ADAPTIVE: [&str; 3] = ["opus-4-6", "opus-4-7", "sonnet-4-6"];

/// The `thinkingLevelMap` of a model: the provider's word for each level in it, or `None` for a level that the model
/// does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelMap(BTreeMap<ThinkingLevel, Option<String>>);

impl LevelMap {
    /// Parses the map; unknown levels are left out.
    pub fn new(map: &Map<String, Value>) -> Self {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let named = map.iter().filter_map(|(name, value)| Some((ThinkingLevel::parse(name)?, word(value))));
        Self(named.collect())
    }

    /// Merges `over` over this map.
    pub fn extend(&mut self, over: &Self) {
        self.0.extend(over.0.clone());
    }

    /// Levels of `base` that a model with this map has, in order: all but those excluded; `xhigh` and above only with
    /// a word for them. A model that does not think has only `off`.
    pub fn levels(&self, reasoning: bool, base: Base) -> Vec<ThinkingLevel> {
        if !reasoning {
            return vec![ThinkingLevel::Off];
        }
        let takes = |level: &ThinkingLevel| match self.word_for(*level, base) {
            Some(word) => word.is_some(),
            None => *level < ThinkingLevel::Xhigh,
        };
        levels(base).filter(takes).collect()
    }

    /// The provider's words for the levels of `base`.
    pub fn efforts(&self, base: Base) -> BTreeMap<ThinkingLevel, String> {
        levels(base).filter_map(|level| Some((level, self.word_for(level, base)??.to_owned()))).collect()
    }

    /// The map as hosts see it.
    pub fn entries(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.0.iter().map(|(level, word)| (level.as_str().to_owned(), word.clone()))
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The map's value for a level. In dialects without `max`, `xhigh` stands for it.
    fn word_for(&self, level: ThinkingLevel, base: Base) -> Option<Option<&str>> {
        let word = |level| self.0.get(&level).map(Option::as_deref);
        let own = word(level);
        match level == ThinkingLevel::Xhigh && !ThinkingLevel::Max.is_in(base) && own.flatten().is_none() {
            true => word(ThinkingLevel::Max).filter(Option::is_some).or(own),
            false => own,
        }
    }
}

fn levels(base: Base) -> impl Iterator<Item = ThinkingLevel> {
    ThinkingLevel::ALL.into_iter().filter(move |level| level.is_in(base))
}

/// The level of `levels` nearest to `wanted`: the next higher one, else the next lower.
pub fn clamp(levels: &[ThinkingLevel], wanted: ThinkingLevel) -> ThinkingLevel {
    let higher = levels.iter().find(|level| **level >= wanted);
    higher.or(levels.last()).copied().unwrap_or(ThinkingLevel::Off)
}

/// Whether the model decides by itself how long to think: by its `compat` (`forceAdaptiveThinking`), or by its id.
pub fn is_adaptive(model: &Model) -> bool {
    let forced = model.compat.as_ref().and_then(|compat| compat.get("forceAdaptiveThinking")?.as_bool());
    let id = model.id.replace('.', "-");
    model.api == "anthropic-messages"
        && model.reasoning
        && forced.unwrap_or_else(|| ADAPTIVE.iter().any(|part| id.contains(part)))
}
