//! The thinking levels that a model supports, as far as the model's members show them.

use pi_rpc_protocol::{
    Base, DialectLevelWithoutThinking, DialectRecord, Model, RpcCommandKind, ThinkingLevel,
};

/// The thinking levels of a model: those that it certainly supports, and those that it may support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Certainly supported, in order.
    certain: Vec<ThinkingLevel>,
    /// Possibly supported, in order.
    possible: Vec<ThinkingLevel>,
}

impl Levels {
    /// Creates levels from a complete list.
    pub fn exactly(list: &[ThinkingLevel]) -> Self {
        Self { certain: list.to_vec(), possible: Vec::new() }
    }

    /// The levels of `model` by its members, in a dialect built on `base`. If models do not report their levels, each may be
    /// missing.
    pub fn of(model: &Model, base: Base) -> Self {
        if !model.reasoning {
            return Self::exactly(&[ThinkingLevel::Off]);
        }
        let all = ThinkingLevel::ALL.into_iter().filter(|level| level.is_in(base));
        if let Some(efforts) = model.thinking.as_ref().and_then(|thinking| thinking.efforts.as_ref()) {
            let takes = |level: &ThinkingLevel| *level == ThinkingLevel::Off || efforts.contains(level);
            return Self { certain: all.filter(takes).collect(), possible: Vec::new() };
        }
        if let Some(thinking) = &model.thinking
            && let (Some(least), Some(most)) = (thinking.min_level, thinking.max_level)
        {
            let thinks =
                |level: &ThinkingLevel| *level == ThinkingLevel::Off || (least..=most).contains(level);
            let is_told = |level: &ThinkingLevel| [ThinkingLevel::Off, least, most].contains(level);
            let (certain, possible) = all.filter(thinks).partition(is_told);
            return Self { certain, possible };
        }
        let map = model.thinking_level_map.as_ref();
        if map.is_none() && !RpcCommandKind::GetAvailableThinkingLevels.is_in(base) {
            return Self { certain: Vec::new(), possible: all.collect() };
        }
        let takes = |level: &ThinkingLevel| match map.and_then(|map| map.get(level.as_str())) {
            Some(word) => word.is_some(),
            None => *level < ThinkingLevel::Xhigh,
        };
        Self { certain: all.filter(takes).collect(), possible: Vec::new() }
    }

    /// The complete list, if it is certain.
    pub fn list(&self) -> Option<&[ThinkingLevel]> {
        self.possible.is_empty().then_some(self.certain.as_slice())
    }

    /// Marks a level that was in effect as certainly supported.
    pub fn confirm(&mut self, level: ThinkingLevel) {
        if self.possible.contains(&level) {
            self.possible.retain(|other| *other != level);
            self.certain.push(level);
            self.certain.sort_unstable();
        }
    }

    /// The levels that `wanted` can become: the next higher supported level, else the next lower.
    pub fn clamp(&self, wanted: ThinkingLevel) -> Vec<ThinkingLevel> {
        let higher = self.certain.iter().copied().find(|level| *level >= wanted);
        let mut results: Vec<_> = self.possible.iter().copied().filter(|level| *level >= wanted).collect();
        match higher {
            Some(certain) => {
                results.retain(|level| *level < certain);
                results.push(certain);
            }
            // No level as high is certain, so it may be any lower one.
            None => {
                let lower = self.certain.last().copied();
                results.extend(
                    self.possible
                        .iter()
                        .filter(|level| **level < wanted && lower.is_none_or(|it| **level > it)),
                );
                results.extend(lower);
            }
        }
        results
    }

    /// The levels that can follow `current` when cycling.
    pub fn next(&self, current: ThinkingLevel) -> Vec<ThinkingLevel> {
        let mut all: Vec<_> = self.certain.iter().chain(&self.possible).copied().collect();
        all.sort_unstable();
        let split = all.partition_point(|level| *level <= current);
        let round = all[split..].iter().chain(&all[..split]);
        let mut results = Vec::new();
        for level in round.filter(|level| **level != current) {
            results.push(*level);
            if self.certain.contains(level) {
                break;
            }
        }
        if results.is_empty() { vec![current] } else { results }
    }
}

/// The level of a model without thinking.
pub const fn without_thinking(record: &DialectRecord) -> Option<ThinkingLevel> {
    match record.level_without_thinking {
        DialectLevelWithoutThinking::Off => Some(ThinkingLevel::Off),
        DialectLevelWithoutThinking::Unset => None,
    }
}
