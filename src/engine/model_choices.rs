//! Models to choose from, the thinking levels of each, and which of them is used.

use crate::{
    protocol::{Model, ThinkingLevel},
    session::Session,
};

/// The models of a conversation, and the one that is asked.
#[derive(Debug)]
pub struct Models {
    /// All models; each keeps its place.
    pub all: Vec<ModelChoice>,
    /// Place of the model that is asked.
    pub current: usize,
    /// The thinking level; `None`: none is set.
    pub level: Option<ThinkingLevel>,
    /// What `cycle_model` goes round, with the levels that were named; `None`: all models.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// The choice of the first model, while extensions may still add models.
    pub first: FirstModel,
}

/// A model that the session may use.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelChoice {
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

impl ModelChoice {
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

impl Models {
    /// The model that is asked.
    pub fn choice(&self) -> &ModelChoice {
        &self.all[self.current]
    }
}

/// The choice of the first model, until the host is greeted.
#[derive(Debug, Default)]
pub struct FirstModel {
    /// The model is to be chosen, or chosen again.
    pub is_open: bool,
    /// The session before it had a model.
    pub beginning: Option<Box<(Session, InitialModel)>>,
}

/// How a session gets its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialModel {
    /// It was there before, and may name its model.
    pub is_resumed: bool,
    /// The model was asked for: the session does not choose another.
    pub chosen: bool,
    /// The level that was asked for.
    pub level: Option<ThinkingLevel>,
}
