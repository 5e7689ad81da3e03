//! Models to choose from, and the thinking levels of each.

use crate::protocol::{Model, ThinkingLevel};

/// A model that the session may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// As the wire shows it.
    pub model: Model,
    /// The thinking levels that it takes, in order; a model that does not think takes `off` alone.
    pub levels: Vec<ThinkingLevel>,
    /// The level that it is to be asked with when it is changed to, where the user has set one and the dialect minds it.
    pub preferred: Option<ThinkingLevel>,
    /// The error of a prompt to a model that cannot be asked. Such a model is not offered, yet a session may start with
    /// it.
    pub unusable: Option<String>,
}

impl Choice {
    /// What stands for the model while there is none; `why` refuses prompts. `card`: the rest of its members.
    pub fn none(why: String, card: Model) -> Self {
        let model = Model { provider: String::new(), context_window: 0, ..card };
        Self { model, levels: vec![ThinkingLevel::Off], preferred: None, unusable: Some(why) }
    }

    /// Whether it stands for no model.
    pub fn is_none(&self) -> bool {
        self.model.provider.is_empty()
    }

    /// The level nearest to `wanted` that the model takes: the next higher one, else the next lower.
    pub fn clamp(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let higher = self.levels.iter().find(|level| **level >= wanted);
        higher.or(self.levels.last()).copied().unwrap_or(ThinkingLevel::Off)
    }
}
