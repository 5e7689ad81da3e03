//! Models that extensions bring while the server runs.
//!
//! A model that was there once keeps its place in the [`ModelLibrary`] for good: one that is taken back cannot be asked any more.

use super::{
    models::{Backend, ModelLibrary, public_model, script_model},
    provider_call::ProviderAccess,
};
use crate::{
    config::{
        self, Config, Environment, Keys, RegisteredProvider, RegisteredProviders, SelectionError,
        SelectionOptions,
    },
    engine::{Choice, Selected},
    model::{http::Http, request::Endpoint, scripted::Script},
    protocol::{JsonObject, Model, QueriedModel, QueriedModels, errors},
};
use serde_json::Value;
use std::{sync::Arc, vec};

/// What the models of a session are made of.
pub struct ModelSource {
    config: Config,
    /// What the command line asks for; `None`: a script, whatever else there is.
    wanted: Option<SelectionOptions>,
    environment: Environment,
    http: Arc<Http>,
    /// What is known without extensions, with the key of the command line.
    keys: Keys,
    registered: RegisteredProviders,
    /// A level that is named with a model counts: the session does not bring its own.
    pub names_level: bool,
}

impl ModelLibrary {
    /// No model, and `why`, which refuses prompts; an extension may bring one before the session begins.
    pub fn unchosen(why: String) -> Self {
        Self {
            choices: vec![Choice::none(why, script_model("none", &Script::demo()))],
            backends: vec![Backend::Unavailable],
            start: 0,
            level: None,
            scope: None,
            source: None,
        }
    }

    /// The same, to which extensions may add. `wanted`: what the command line asks for; `None`: a script, beside which
    /// nothing counts that is configured.
    #[must_use]
    pub fn extendable(
        mut self,
        mut config: Config,
        wanted: Option<SelectionOptions>,
        environment: Environment,
    ) -> Self {
        if wanted.is_none() {
            config = config.without_catalogue();
        }
        let access = self.backends.iter().find_map(|backend| match backend {
            Backend::Provider(_, access) => Some(access.clone()),
            Backend::Script(..) | Backend::Unavailable => None,
        });
        let keys = access.as_ref().map_or_else(|| config.keys.clone(), |access| access.keys.clone());
        let masking = || Arc::new(Http::with_secrets(config.keys.secrets().clone()));
        let http = access.map_or_else(masking, |access| access.http.clone());
        let registered = RegisteredProviders::new();
        self.source =
            Some(ModelSource { config, wanted, environment, http, keys, registered, names_level: true });
        self
    }

    /// An extension adds a provider or changes one; without a `config` it takes back what it has added. Gives all models,
    /// those that there were before at the same places.
    ///
    /// # Errors
    ///
    /// What is wrong with the provider.
    pub fn provide(
        &mut self,
        name: &str,
        config: Option<JsonObject>,
        streams: bool,
    ) -> Result<Vec<Choice>, String> {
        if let Some(source) = &mut self.source {
            let at = source.registered.iter().position(|(own, _)| own == name);
            let before = at.map(|at| &source.registered[at].1);
            let provider =
                config.map(|config| RegisteredProvider::new(name, config, streams, before)).transpose()?;
            match (at, provider) {
                (Some(at), Some(provider)) => source.registered[at].1 = provider,
                (Some(at), None) => drop(source.registered.remove(at)),
                (None, Some(provider)) => source.registered.push((name.to_owned(), provider)),
                (None, None) => {}
            }
        }
        self.refresh(Some(name));
        Ok(self.choices.clone())
    }

    /// Chooses the model to begin with among all that there are now.
    ///
    /// # Errors
    ///
    /// Why there is none, for people.
    pub fn choose(&mut self) -> Result<Selected, String> {
        let asked = self
            .source
            .as_ref()
            .and_then(|it| Some((it.config.with_registered(&it.registered), it.wanted.clone()?)));
        if let Some((config, wanted)) = asked {
            let selection = match config::select(&config, &wanted) {
                Ok(selection) => selection,
                // The session begins without one.
                Err(SelectionError::NoModels(_)) => {
                    if let Some(why) = &self.choices[self.start].unusable {
                        tracing::warn!("{why}");
                    }
                    return Ok(self.selected());
                }
                Err(refused) => return Err(refused.to_string()),
            };
            for warning in &selection.warnings {
                tracing::warn!("{warning}");
            }
            let start = selection.offers[selection.start].endpoint.clone();
            if let Some(source) = &mut self.source {
                let keys = source.config.keys.clone();
                source.keys = match &wanted.api_key {
                    Some(key) => keys.with_cli_key(&start.model.provider, key),
                    None => keys,
                };
                self.level = wanted.thinking.or(selection.named_level.filter(|_| source.names_level));
            }
            self.refresh(None);
            self.start = self.position_of(&start.model).unwrap_or_else(|| self.add_unlisted(start));
            let scoped = |it: &config::ScopedModel| {
                Some((self.position_of(&selection.offers[it.at].endpoint.model)?, it.level))
            };
            self.scope = selection.scope.map(|scope| scope.iter().filter_map(scoped).collect());
        }
        Ok(self.selected())
    }

    fn selected(&self) -> Selected {
        Selected {
            models: self.choices.clone(),
            start: self.start,
            level: self.level,
            scope: self.scope.clone(),
        }
    }

    /// All models that there are, with a key or without.
    pub fn queried_models(&self) -> QueriedModels {
        let all: Vec<QueriedModel> = match &self.source {
            Some(ModelSource { config, keys, registered, wanted: Some(_), .. }) => {
                let keys = with_registered(keys, registered);
                let models = config.with_registered(registered).models().into_iter();
                let queried = |Endpoint { model, .. }| QueriedModel {
                    usable: keys.is_configured(&model.provider),
                    model: public_model(&model),
                };
                models.map(queried).collect()
            }
            _ => {
                let queried = |choice: &Choice| QueriedModel {
                    model: choice.model.clone(),
                    usable: choice.unusable.is_none(),
                };
                self.choices.iter().map(queried).collect()
            }
        };
        let scope = self.scope.as_ref();
        let scope = scope.map(|scope| scope.iter().map(|(at, _)| self.choices[*at].model.clone()).collect());
        QueriedModels { models: all, scope }
    }

    /// The settings of the user and the project, as they are written.
    pub fn settings(&self) -> Value {
        self.source.as_ref().map(|source| source.config.written_settings.clone()).unwrap_or_default().into()
    }

    /// What proves who asks.
    pub fn keys(&self) -> Keys {
        self.source
            .as_ref()
            .map(|source| with_registered(&source.keys, &source.registered))
            .unwrap_or_default()
    }

    /// Brings the models up to what is configured and added now; those of the provider `changed` that are gone cannot be
    /// asked any more.
    fn refresh(&mut self, changed: Option<&str>) {
        let Some(source) = &self.source else { return };
        let config = source.config.with_registered(&source.registered);
        let keys = with_registered(&source.keys, &source.registered);
        let follows = config.dialect.record().level_follows_model;
        let settings = &config.settings;
        let access = Arc::new(ProviderAccess {
            http: source.http.clone(),
            keys: keys.clone(),
            options: settings.request_options(&source.environment),
            http_options: settings.http_options(),
        });
        for (choice, backend) in self.choices.iter_mut().zip(&mut self.backends) {
            if let Backend::Provider(_, own) = backend {
                *own = access.clone();
                if changed == Some(&choice.model.provider) {
                    let Model { provider, id, .. } = &choice.model;
                    choice.unusable = Some(errors::model_not_found(config.dialect.base(), provider, id));
                }
            }
        }
        for endpoint in config.models_of(|provider| keys.is_configured(provider)) {
            let preferred = follows.then(|| settings.level_of(&endpoint.model)).flatten();
            let (model, levels) = (public_model(&endpoint.model), endpoint.levels.clone());
            let choice = Choice { model, levels, preferred, unusable: None };
            let backend = Backend::Provider(Arc::new(endpoint), access.clone());
            match self.position_of(&choice.model) {
                Some(at) => (self.choices[at], self.backends[at]) = (choice, backend),
                None => {
                    self.choices.push(choice);
                    self.backends.push(backend);
                }
            }
        }
    }

    /// The model to begin with is none that hosts are offered.
    fn add_unlisted(&mut self, endpoint: Endpoint) -> usize {
        let keys = self.keys();
        let unusable = keys.check(&endpoint.model).err().map(|error| error.to_string());
        let (model, levels) = (public_model(&endpoint.model), endpoint.levels);
        self.choices.push(Choice { model, levels, preferred: None, unusable });
        self.backends.push(Backend::Unavailable);
        self.choices.len() - 1
    }

    fn position_of(&self, model: &Model) -> Option<usize> {
        let is_it = |own: &Model| own.provider == model.provider && own.id == model.id;
        self.choices.iter().position(|choice| is_it(&choice.model))
    }
}

fn with_registered(keys: &Keys, registered: &RegisteredProviders) -> Keys {
    let mut keys = keys.clone();
    for (name, provider) in registered {
        keys.add(name, &provider.keys, provider.streams);
    }
    keys
}
