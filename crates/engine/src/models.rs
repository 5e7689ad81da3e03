//! Commands that list and change the model and its thinking level.

use crate::{
    core::Engine,
    io::{Output, ReloadedModels},
    prompt::Recipient,
    requests::ModelsRequest,
    store::after_append::{ChangeResponse, Rollback},
};
use pi_rpc_protocol::{
    CycleModelResponse, CycleThinkingLevelResponse, DialectLevelWithoutThinking, GetAvailableModelsResponse,
    Model, ModelCycle, ModelList, RequestId, RpcCommandKind, SetModelCommand, SetModelResponse,
    SetThinkingLevelCommand, ThinkingLevel, ThinkingLevelChange, errors,
};
use pi_rpc_session::NewEntry;
use std::collections::BTreeMap;

impl Engine {
    /// The supported level of the current model nearest to `wanted`; `None` in dialects without a level for models
    /// that do not think.
    pub(crate) fn clamp_level(&self, wanted: ThinkingLevel) -> Option<ThinkingLevel> {
        self.clamp_level_of(self.models.current, wanted)
    }

    /// The supported level of the model at this place nearest to `wanted`; `None` as with [`Self::clamp_level`].
    pub(crate) fn clamp_level_of(&self, at: usize, wanted: ThinkingLevel) -> Option<ThinkingLevel> {
        let choice = &self.models.all[at];
        let unset = self.dialect.record().level_without_thinking == DialectLevelWithoutThinking::Unset;
        (choice.model.reasoning || !unset).then(|| choice.clamp(wanted))
    }

    /// Places of the usable models.
    pub(crate) fn usable_models(&self) -> impl Iterator<Item = usize> {
        (0..self.models.all.len()).filter(|at| self.models.all[*at].unusable.is_none())
    }

    /// Places of the usable models in the order in which the host gets them: by provider where extensions may add one to the models of
    /// another provider.
    fn listed_models(&self) -> Vec<usize> {
        let mut places: Vec<usize> = self.usable_models().collect();
        if self.dialect.record().virtual_model_api.is_some() {
            let mut firsts = BTreeMap::new();
            for (at, choice) in self.models.all.iter().enumerate() {
                firsts.entry(choice.model.provider.as_str()).or_insert(at);
            }
            places.sort_by_key(|at| firsts.get(self.models.all[*at].model.provider.as_str()));
        }
        places
    }

    /// Finds the place of a usable model.
    pub(crate) fn find_usable(&self, provider: &str, id: &str) -> Option<usize> {
        self.usable_models().find(|at| {
            let model = &self.models.all[*at].model;
            model.provider == provider && model.id == id
        })
    }

    /// The current model; `None`: there is none.
    pub(crate) fn current_model(&self) -> Option<Model> {
        let choice = &self.models.choice();
        (!choice.is_none()).then(|| choice.model.clone())
    }

    /// Appends an entry with the current model, if there is one.
    pub(crate) fn append_model(&mut self) {
        if !self.models.choice().is_none() {
            self.append_deferred(self.model_entry());
        }
    }

    /// The entry with the current model.
    pub(crate) fn model_entry(&self) -> NewEntry {
        let model = &self.models.choice().model;
        NewEntry::Model { provider: model.provider.clone(), id: model.id.clone() }
    }

    /// Serves `get_available_models`; without a current model, of the configuration as it is now.
    pub(crate) fn list_models(&mut self, id: Option<RequestId>) {
        let is_lacking = self.models.choice().is_none() && !self.is_disk_outstanding();
        if is_lacking && self.models.reloads {
            self.requests.files.models = Some(ModelsRequest::List(id));
            return self.push(Output::ReloadModels { wanted: None });
        }
        self.respond_with_models(id);
    }

    fn respond_with_models(&mut self, id: Option<RequestId>) {
        let models = self.listed_models().into_iter().map(|at| self.models.all[at].model.clone()).collect();
        self.succeed(GetAvailableModelsResponse { id, data: ModelList { models } });
    }

    /// Serves `set_model`. A model that is not known may be configured meanwhile.
    pub(crate) fn set_model(&mut self, command: SetModelCommand) {
        match self.find_usable(&command.provider, &command.model_id) {
            Some(at) => self.set_model_at(at, command.id),
            None if self.models.reloads => {
                let wanted = Some((command.provider.clone(), command.model_id.clone()));
                self.requests.files.models = Some(ModelsRequest::Set(command));
                self.push(Output::ReloadModels { wanted });
            }
            None => self.refuse_model(command, None),
        }
    }

    /// Handles the models of the configuration that was read again.
    pub(crate) fn on_models_reloaded(&mut self, reloaded: ReloadedModels) {
        let Some(request) = self.requests.files.models.take() else { return };
        self.models.all = reloaded.models;
        match (request, reloaded.found) {
            (ModelsRequest::List(id), _) => self.respond_with_models(id),
            (ModelsRequest::Set(command), Ok(at)) => self.set_model_at(at, command.id),
            (ModelsRequest::Set(command), Err(reason)) => self.refuse_model(command, reason),
        }
    }

    fn refuse_model(&mut self, command: SetModelCommand, reason: Option<String>) {
        let mut error = errors::model_not_found(self.dialect.base(), &command.provider, &command.model_id);
        if let Some(reason) = reason {
            error = format!("{error}\n\n{reason}");
        }
        self.fail(command.id, RpcCommandKind::SetModel, error);
    }

    fn set_model_at(&mut self, at: usize, id: Option<RequestId>) {
        let before = self.rollback_point();
        self.switch_model(at);
        let data = self.models.all[at].model.clone();
        let response = SetModelResponse { id, data };
        self.append_model_change(before, ChangeResponse::response(response));
    }

    /// Serves `cycle_model`.
    pub(crate) fn cycle_model(&mut self, id: Option<RequestId>) {
        let is_scoped = self.models.scope.is_some();
        let round: Vec<_> = match &self.models.scope {
            Some(scope) => {
                scope.iter().filter(|(at, _)| self.models.all[*at].unusable.is_none()).copied().collect()
            }
            None => self.listed_models().into_iter().map(|at| (at, None)).collect(),
        };
        let current = round.iter().position(|(at, _)| *at == self.models.current);
        let place = match current {
            None if self.dialect.record().cycles_to_first => Some(0),
            _ if round.len() == 1 => None,
            _ => Some((current.unwrap_or(0) + 1) % round.len().max(1)),
        };
        let Some(&(next, level)) = place.and_then(|place| round.get(place)) else {
            return self.succeed(CycleModelResponse { id, data: None });
        };
        let before = self.rollback_point();
        let thought = self.models.choice().model.reasoning;
        self.switch_model(next);
        let restores = !thought && self.dialect.record().cycle_restores_level;
        if let Some(level) = level.or(restores.then_some(self.modes.level)) {
            self.models.level = self.clamp_level(level);
        }
        let data = ModelCycle {
            model: self.models.all[next].model.clone(),
            thinking_level: self.models.level,
            is_scoped,
        };
        let response = CycleModelResponse { id, data: Some(data) };
        self.append_model_change(before, ChangeResponse::response(response));
    }

    /// Serves `set_thinking_level`.
    pub(crate) fn set_level(&mut self, command: SetThinkingLevelCommand) {
        let before = self.rollback_point();
        self.models.level = self.clamp_level(command.level);
        let recipient = Recipient::Host { id: command.id, kind: RpcCommandKind::SetThinkingLevel };
        self.append_level_change(before, ChangeResponse::Success(recipient));
    }

    /// Serves `cycle_thinking_level`.
    pub(crate) fn cycle_level(&mut self, id: Option<RequestId>) {
        let choice = &self.models.choice();
        if !choice.model.reasoning {
            return self.succeed(CycleThinkingLevelResponse { id, data: None });
        }
        let levels = &choice.levels;
        let current = self.models.level.and_then(|level| levels.iter().position(|l| *l == level));
        let level = levels[current.map_or(0, |at| (at + 1) % levels.len())];
        let before = self.rollback_point();
        self.models.level = Some(level);
        let data = Some(ThinkingLevelChange { level });
        self.append_level_change(before, ChangeResponse::response(CycleThinkingLevelResponse { id, data }));
    }

    /// Switches to the model at this place, with its preferred level, else with the level of the model before, or of the
    /// settings if there was none.
    pub(crate) fn switch_model(&mut self, at: usize) {
        let before = if self.models.choice().is_none() { Some(self.modes.level) } else { self.models.level };
        self.models.current = at;
        let wanted = self.models.all[at].preferred.or(before);
        self.models.level = wanted.and_then(|level| self.clamp_level(level));
    }

    /// Appends an entry for the chosen model, and another if the level has changed with it; then responds.
    pub(crate) fn append_model_change(&mut self, mut before: Rollback, answer: ChangeResponse) {
        self.append(self.model_entry());
        before.changes += 1;
        self.append_level_change(before, answer);
    }

    /// Appends an entry for the level if it has changed; then responds.
    pub(crate) fn append_level_change(&mut self, mut before: Rollback, answer: ChangeResponse) {
        if self.models.level != before.level {
            self.append(NewEntry::Level(self.models.level));
            before.changes += 1;
        }
        self.respond_after_append(before, answer);
    }
}
