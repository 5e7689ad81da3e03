//! Models and thinking levels of a session, as modes and options of ACP.

use super::mapping::mapping;
use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use pi_rpc_client::{Client, Error};
use pi_rpc_protocol::{
    GetAvailableModelsCommand, GetAvailableThinkingLevelsCommand, GetStateCommand, Model, RpcCommandKind,
    SetModelCommand, SetThinkingLevelCommand, ThinkingLevel,
};

/// The id of the option with the model.
const MODEL: &str = "model";

/// The id of the option with the thinking level.
const THOUGHT_LEVEL: &str = "thought_level";

/// What a client may choose in a session, and what is chosen.
pub struct Choices {
    models: Vec<Model>,
    model: Option<Model>,
    levels: Vec<ThinkingLevel>,
    level: Option<ThinkingLevel>,
}

impl Choices {
    /// Reads them from the server.
    ///
    /// # Errors
    ///
    /// A command fails.
    pub async fn read(client: &Client) -> Result<Self, Error> {
        let dialect = client.session(|session| session.dialect());
        let state = client.call(GetStateCommand::default()).await?;
        let models = client.call(GetAvailableModelsCommand::default()).await?.models;
        let levels = match RpcCommandKind::GetAvailableThinkingLevels.is_in(dialect.base()) {
            true => client.call(GetAvailableThinkingLevelsCommand::default()).await?.levels,
            false => levels_of(state.model.as_ref()),
        };
        Ok(Self { models, model: state.model, levels, level: state.thinking_level })
    }

    /// The thinking levels as modes; `None`: there is no choice.
    pub fn modes(&self) -> Option<SessionModeState> {
        let level = self.level.filter(|level| self.levels.contains(level))?;
        let modes = self.levels.iter().map(|level| {
            SessionMode::new(level.as_str(), level_name(*level)).description(LEVEL_DESCRIPTION.to_owned())
        });
        Some(SessionModeState::new(level.as_str(), modes.collect()))
    }

    /// Model and thinking level as options.
    pub fn options(&self) -> Vec<SessionConfigOption> {
        let mut options = Vec::new();
        if let Some(model) = &self.model {
            let values: Vec<SessionConfigSelectOption> = self
                .models
                .iter()
                .map(|model| {
                    SessionConfigSelectOption::new(key(model), model.name.clone())
                        .description(model.provider.clone())
                })
                .collect();
            if values.iter().any(|value| *value.value.0 == *key(model)) {
                let option = SessionConfigOption::select(MODEL, "Model", key(model), values);
                options.push(option.category(SessionConfigOptionCategory::Model));
            }
        }
        if let Some(level) = self.level.filter(|level| self.levels.contains(level)) {
            let values: Vec<SessionConfigSelectOption> = self
                .levels
                .iter()
                .map(|level| SessionConfigSelectOption::new(level.as_str(), level_name(*level)))
                .collect();
            let option = SessionConfigOption::select(THOUGHT_LEVEL, "Thinking", level.as_str(), values);
            options.push(option.category(SessionConfigOptionCategory::ThoughtLevel));
        }
        options
    }
}

const LEVEL_DESCRIPTION: &str = "How much the model thinks before it answers";

/// Sets an option to the value of this id.
///
/// # Errors
///
/// There is no such option or value, or the server refuses it.
pub async fn set_option(client: &Client, option: &str, value: &str) -> Result<(), String> {
    match option {
        MODEL => {
            let unknown = || format!("value: expected the provider and the id of a model, got {value:?}");
            let (provider, id) = value.split_once('/').ok_or_else(unknown)?;
            let command = SetModelCommand { id: None, provider: provider.into(), model_id: id.into() };
            client.call(command).await.map(drop).map_err(|error| error.to_string())
        }
        THOUGHT_LEVEL => set_level(client, "value", value).await,
        other => Err(format!("configId: expected {MODEL} or {THOUGHT_LEVEL}, got {other:?}")),
    }
}

/// Sets the thinking level of this name, which `field` has.
///
/// # Errors
///
/// There is no such level, or the server refuses it.
pub async fn set_level(client: &Client, field: &str, name: &str) -> Result<(), String> {
    let known = ThinkingLevel::ALL.map(ThinkingLevel::as_str).join(", ");
    let level = ThinkingLevel::parse(name);
    let level = level.ok_or_else(|| format!("{field}: expected one of {known}, got {name:?}"))?;
    let command = SetThinkingLevelCommand { id: None, level };
    client.call(command).await.map(drop).map_err(|error| error.to_string())
}

/// The levels of a model in dialects that do not list them.
fn levels_of(model: Option<&Model>) -> Vec<ThinkingLevel> {
    match model.is_some_and(|model| model.reasoning) {
        true => ThinkingLevel::ALL.into_iter().filter(|level| *level <= ThinkingLevel::High).collect(),
        false => vec![ThinkingLevel::Off],
    }
}

fn level_name(level: ThinkingLevel) -> String {
    mapping().thinking_levels.get(level.as_str()).cloned().unwrap_or_else(|| level.as_str().to_owned())
}

/// The id of a model among the values of the option.
fn key(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}
