//! Models that extensions add, and the selection of the model that a session begins with.

use crate::{
    core::Engine,
    extensions::{
        host::{ChangedProvider, ProviderChange},
        process::FailureSource,
    },
    io::ModelSelection,
    model_choices::{ModelChoice, ModelPreference},
};
use pi_rpc_protocol::{DialectSessionModel, ThinkingLevel};
use pi_rpc_session::NewEntry;

impl Engine {
    /// Handles the result of adding, changing or removing a provider.
    pub(crate) fn on_provider_changed(&mut self, provided: Result<Vec<ModelChoice>, String>) {
        let change = self.extensions.take_provider_change(provided.is_ok());
        let Some(ProviderChange { process, id, path, kind, .. }) = change else { return };
        match provided {
            Ok(models) => {
                self.models.all = models;
                // The model may not support the level any more.
                let levels = &self.models.choice().levels;
                if self.models.level.is_some_and(|level| !levels.contains(&level)) {
                    self.models.level = self.models.level.and_then(|level| self.clamp_level(level));
                }
                self.models.initial.is_open |= self.models.initial.before_selection.is_some();
                self.respond(process, id, Ok(None));
            }
            Err(text) => {
                if id.is_none() {
                    let place = self.extensions.place_of(process).unwrap_or_default();
                    let event = match kind {
                        ChangedProvider::Provider { .. } => REGISTER_PROVIDER,
                        ChangedProvider::VirtualModel { .. } => REGISTER_VIRTUAL_MODEL,
                    };
                    let source = match &path {
                        Some(path) => FailureSource::File(path, event),
                        None => FailureSource::Extension(place, event),
                    };
                    self.report_failure(source, &text);
                }
                self.respond(process, id, Err(text));
            }
        }
    }

    /// Handles the selected first model; exits without one.
    pub(crate) fn on_model_selected(&mut self, selected: Result<ModelSelection, String>) {
        let Ok(ModelSelection { models, start, level, scope }) = selected else {
            return self.exit();
        };
        (self.models.all, self.models.current, self.models.scope) = (models, start, scope);
        (self.models.initial.place, self.models.initial.preference.level) = (start, level);
        if let Some(before) = self.models.initial.before_selection.take() {
            let (session, preference) = *before;
            self.store.session = session.clone();
            let preference = ModelPreference { level, ..preference };
            self.set_initial_model(preference);
            // Extensions may still add models.
            self.models.initial.before_selection = Some(Box::new((session, preference)));
        }
    }

    /// Sets the model and the level that the session begins with, from its entries or from the setup.
    pub(crate) fn set_initial_model(&mut self, preference: ModelPreference) {
        let ModelPreference { is_resumed, chosen, level } = preference;
        if is_resumed {
            if self.store.session.roles().next().is_none() && self.store.session.model().is_none() {
                self.append_model();
            }
            self.restore_model(chosen, level);
            return self.restore();
        }
        self.reset_level(level);
        self.append_model();
        self.append_deferred(NewEntry::Level(self.models.level));
    }

    /// Selects what a new session begins with, in dialects where one does not go on with the model and the level before.
    pub(crate) fn reset_model(&mut self) {
        if self.dialect.record().session_model == DialectSessionModel::Initial {
            self.models.current = self.models.initial.place;
            self.reset_level(self.models.initial.preference.level);
        }
    }

    /// Takes model and level from the session that replaces another one.
    pub(crate) fn restore_replaced_model(&mut self) {
        let ModelPreference { chosen, level, .. } = self.models.initial.preference;
        match self.dialect.record().session_model {
            DialectSessionModel::Kept => self.restore_model(false, None),
            DialectSessionModel::Initial => {
                self.models.current = self.models.initial.place;
                self.restore_model(chosen, level);
            }
        }
    }

    /// Selects the level, or the one that the model or the settings prefer.
    fn reset_level(&mut self, level: Option<ThinkingLevel>) {
        let preferred = self.models.choice().preferred;
        self.models.level = self.clamp_level(level.or(preferred).unwrap_or(self.modes.level));
    }
}

/// Stands for the event in an `extension_error`.
const REGISTER_PROVIDER: &str = "register_provider";

/// Stands for the event in an `extension_error`.
const REGISTER_VIRTUAL_MODEL: &str = "register_virtual_model";
