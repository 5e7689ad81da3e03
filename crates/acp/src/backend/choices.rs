//! Models and thinking levels that the agent lets its client choose: options of a session, and modes with names of levels.

use super::connection::Connection;
use agent_client_protocol::v1::schema::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption,
    SessionConfigSelectOptions, SessionModeState,
};
use pi_rpc_engine::ModelChoice;
use pi_rpc_protocol::{InputKind, Model, ModelThinking, ThinkingLevel};

/// The API of the agent's models, by which the answers of agents are known.
pub const API: &str = "acp";

/// The provider of models that the agent names without one.
const PROVIDER: &str = "acp";

/// The id of the model that stands for the agent's own choice.
const OWN_CHOICE: &str = "agent";

/// The settings of a session of the agent.
#[derive(Clone, Debug, Default)]
pub struct AgentSettings {
    /// Its options.
    pub options: Vec<SessionConfigOption>,
    /// Its modes.
    pub modes: Option<SessionModeState>,
}

/// A change of a setting that brings a session to the model or the level of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// `session/set_config_option`.
    Option {
        /// The option.
        id: String,
        /// Its value.
        value: String,
    },
    /// `session/set_mode`.
    Mode(String),
}

/// The models of the agent, and the place of the current one.
pub fn models(connection: &Connection, settings: &AgentSettings) -> (Vec<ModelChoice>, usize) {
    let sees_images = connection.capabilities.prompt_capabilities.image;
    let levels = levels(settings);
    let choice = |value: &str, name: &str| ModelChoice {
        model: model(value, name, sees_images, &levels),
        levels: levels.clone(),
        preferred: None,
        unusable: None,
    };
    let Some((option, current)) = select(settings, &SessionConfigOptionCategory::Model) else {
        return (vec![choice(OWN_CHOICE, &connection.name)], 0);
    };
    let values = values(option);
    let choices = values.iter().map(|value| choice(&value.value.0, &value.name)).collect();
    let place = values.iter().position(|value| *value.value.0 == *current).unwrap_or(0);
    (choices, place)
}

/// The level that a session begins with; `None`: the agent has no levels.
pub fn current_level(settings: &AgentSettings) -> Option<ThinkingLevel> {
    if let Some((_, current)) = select(settings, &SessionConfigOptionCategory::ThoughtLevel) {
        return ThinkingLevel::parse(current);
    }
    ThinkingLevel::parse(&settings.modes.as_ref()?.current_mode_id.0)
}

/// The changes that are needed before a prompt to this model at this level.
pub fn changes(settings: &AgentSettings, model: &Model, level: Option<ThinkingLevel>) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut set = |category, is_wanted: &dyn Fn(&str) -> bool| {
        let Some((option, current)) = select(settings, &category) else { return false };
        let wanted = values(option).into_iter().map(|value| &*value.value.0).find(|value| is_wanted(value));
        if let Some(wanted) = wanted.filter(|wanted| *wanted != current) {
            changes.push(Change::Option { id: option.id.0.to_string(), value: wanted.to_owned() });
        }
        true
    };
    set(SessionConfigOptionCategory::Model, &|value| {
        provider_and_id(value) == (model.provider.as_str(), model.id.as_str())
    });
    let Some(level) = level.map(ThinkingLevel::as_str) else { return changes };
    if set(SessionConfigOptionCategory::ThoughtLevel, &|value| value == level) {
        return changes;
    }
    if let Some(modes) = &settings.modes
        && *modes.current_mode_id.0 != *level
        && modes.available_modes.iter().any(|mode| *mode.id.0 == *level)
    {
        changes.push(Change::Mode(level.to_owned()));
    }
    changes
}

/// The levels that the agent offers; only `off` if it has none.
fn levels(settings: &AgentSettings) -> Vec<ThinkingLevel> {
    let names: Vec<String> = match select(settings, &SessionConfigOptionCategory::ThoughtLevel) {
        Some((option, _)) => values(option).iter().map(|value| value.value.0.to_string()).collect(),
        None => {
            let modes = settings.modes.iter().flat_map(|modes| &modes.available_modes);
            modes.map(|mode| mode.id.0.to_string()).collect()
        }
    };
    let mut levels: Vec<ThinkingLevel> = names.iter().filter_map(|name| ThinkingLevel::parse(name)).collect();
    levels.sort_unstable();
    levels.dedup();
    if levels.is_empty() {
        levels.push(ThinkingLevel::Off);
    }
    levels
}

/// The option of a category in which one value is selected, and that value.
fn select<'a>(
    settings: &'a AgentSettings,
    category: &SessionConfigOptionCategory,
) -> Option<(&'a SessionConfigOption, &'a str)> {
    let option = settings.options.iter().find(|option| option.category.as_ref() == Some(category))?;
    match &option.kind {
        SessionConfigKind::Select(select) => Some((option, &select.current_value.0)),
        _ => None,
    }
}

fn values(option: &SessionConfigOption) -> Vec<&SessionConfigSelectOption> {
    let SessionConfigKind::Select(select) = &option.kind else { return Vec::new() };
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(values) => values.iter().collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).collect()
        }
        _ => Vec::new(),
    }
}

/// The provider and the id of a model, as agents of many providers join them.
fn provider_and_id(value: &str) -> (&str, &str) {
    match value.split_once('/') {
        Some((provider, id)) if !provider.is_empty() && !id.is_empty() => (provider, id),
        _ => (PROVIDER, value),
    }
}

/// The record of a model for hosts. The agent names neither prices nor the size of the context window.
fn model(value: &str, name: &str, sees_images: bool, levels: &[ThinkingLevel]) -> Model {
    let (provider, id) = provider_and_id(value);
    let reasoning = levels.len() > 1;
    // Hosts take a model without a map for one that has nothing above `high`.
    let above_high = levels.iter().filter(|level| **level > ThinkingLevel::High);
    let above_high: Vec<String> = above_high.map(|level| level.as_str().to_owned()).collect();
    Model {
        base_url: "acp:".to_owned(),
        reasoning,
        thinking: reasoning.then(|| ModelThinking {
            mode: "effort".to_owned(),
            min_level: levels.iter().copied().find(|level| *level != ThinkingLevel::Off),
            max_level: levels.last().copied(),
            efforts: Some(levels.iter().copied().filter(|level| *level != ThinkingLevel::Off).collect()),
        }),
        input: if sees_images { vec![InputKind::Text, InputKind::Image] } else { vec![InputKind::Text] },
        thinking_level_map: reasoning
            .then(|| above_high.into_iter().map(|level| (level.clone(), Some(level))).collect()),
        ..Model::named(provider, id, name, API)
    }
}
