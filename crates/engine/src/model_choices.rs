//! The models that a conversation may use, the thinking levels of each, and the current one.

use pi_rpc_protocol::{Model, ThinkingLevel};
use pi_rpc_session::Session;

/// The models of a conversation, and which of them is current.
#[derive(Debug)]
pub struct Models {
    /// All models; the place of each is fixed.
    pub all: Vec<ModelChoice>,
    /// Place of the current model in `all`.
    pub current: usize,
    /// The current thinking level; `None`: none is set.
    pub level: Option<ThinkingLevel>,
    /// Places of the models that `cycle_model` goes round, each with the level named for it; `None`: all models.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// Whether the configuration may be read again for models that are not in `all`.
    pub reloads: bool,
    /// The model that the session names, if it cannot be used and the host has not been told.
    pub unrestored: Option<String>,
    /// The choice of the first model, while extensions may still add models.
    pub initial: InitialSelection,
}

/// A model that the session may use.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelChoice {
    /// The model as frames show it.
    pub model: Model,
    /// Supported thinking levels, in order; only `off` for a model that does not think.
    pub levels: Vec<ThinkingLevel>,
    /// The level to set when this model becomes current, where the user has set one and the dialect supports that.
    pub preferred: Option<ThinkingLevel>,
    /// Why prompts to this model fail; `None`: the model is usable. An unusable model is not offered, but a session may
    /// start with one.
    pub unusable: Option<String>,
}

impl ModelChoice {
    /// A placeholder while there is no model; prompts fail with `why`. `card`: the placeholder's members.
    pub fn none(why: String, card: Model) -> Self {
        let model = Model { provider: String::new(), context_window: 0, ..card };
        Self { model, levels: vec![ThinkingLevel::Off], preferred: None, unusable: Some(why) }
    }

    /// Whether this is the placeholder for no model.
    pub fn is_none(&self) -> bool {
        self.model.provider.is_empty()
    }

    /// The supported level nearest to `wanted`: the next higher one, else the next lower.
    pub fn clamp(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let higher = self.levels.iter().find(|level| **level >= wanted);
        higher.or(self.levels.last()).copied().unwrap_or(ThinkingLevel::Off)
    }
}

impl Models {
    /// The current model.
    pub fn choice(&self) -> &ModelChoice {
        &self.all[self.current]
    }
}

/// The choice of the model that a session begins with.
#[derive(Debug)]
pub struct InitialSelection {
    /// Place of the model of a new session.
    pub place: usize,
    /// The choices of the user that count for every session.
    pub preference: ModelPreference,
    /// Whether the model is still to be selected, or selected again.
    pub is_open: bool,
    /// The session as it was without a model, and how its model is chosen, until the host is greeted.
    pub before_selection: Option<Box<(Session, ModelPreference)>>,
}

/// The choices that decide on the model of a session at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPreference {
    /// The session is an earlier one, and may name its model.
    pub is_resumed: bool,
    /// The user has named a model, which overrides the session's.
    pub chosen: bool,
    /// The thinking level that the user has named.
    pub level: Option<ThinkingLevel>,
}
