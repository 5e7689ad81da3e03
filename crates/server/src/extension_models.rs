//! Models that extensions add to the [`ModelLibrary`] while the server runs.
//!
//! A model keeps its position in the library for good: one whose provider is removed stays there and cannot be called.

use super::{
    models::{Backend, ModelLibrary, public_model, script_model},
    provider_call::ProviderAccess,
    sent_images::ImageFitter,
};
use pi_rpc_config::{
    self as config, Config, Environment, Keys, OtherModels, RegisteredProvider, RegisteredProviders,
    SelectionError, SelectionOptions, SharedOtherModels, VirtualModel, catalogue::BUILT_IN, pattern::full_id,
};
use pi_rpc_engine::{ModelChoice, ModelSelection, ReloadedModels};
use pi_rpc_model::{anthropic::Threads, request::Endpoint, scripted::Script};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::{
    ExtensionRegisterVirtualModel, JsonObject, Model, QueriedModel, QueriedModels, errors,
};
use serde_json::Value;
use std::{sync::Arc, vec};

/// Configuration that the list of models is built from, and rebuilt when an extension or the user changes it.
pub struct ModelSource {
    config: Config,
    /// The model that the command line names; `None`: a script, and no configured model counts.
    wanted: Option<SelectionOptions>,
    environment: Environment,
    http: Arc<Http>,
    threads: Arc<Threads>,
    /// Credentials without those of extensions, with the key of the command line.
    keys: Keys,
    registered: RegisteredProviders,
    /// Virtual models of extensions.
    virtual_models: Vec<VirtualModel>,
    /// The models that scripts run, where something runs scripts.
    other_models: Option<SharedOtherModels>,
    /// Whether a thinking level behind a model's name applies; a resumed session has its own.
    pub names_level: bool,
}

impl ModelSource {
    /// The configuration with what extensions have registered.
    fn whole_config(&self) -> Config {
        self.config.with_registered(&self.registered).with_virtual_models(&self.virtual_models)
    }

    /// The credentials of all providers, registered ones included.
    fn all_keys(&self) -> Keys {
        let mut keys = self.keys.clone();
        for (name, provider) in &self.registered {
            keys.add(name, &provider.keys, provider.streams);
        }
        let config = self.config.with_registered(&self.registered);
        config.keys_with_virtual_models(keys, &self.virtual_models)
    }

    /// Access to the providers, with the credentials of extensions.
    fn access(&self) -> ProviderAccess {
        ProviderAccess {
            http: self.http.clone(),
            threads: self.threads.clone(),
            keys: self.all_keys(),
            options: self.config.settings.request_options(&self.environment),
            http_options: self.config.settings.http_options(),
            images: ImageFitter::new(self.config.settings.resizes_images.unwrap_or(true)),
        }
    }
}

impl ModelLibrary {
    /// A library without a usable model: prompts are refused with `why` until an extension adds one.
    pub fn unchosen(why: String) -> Self {
        Self {
            choices: vec![ModelChoice::none(why, script_model("none", &Script::demo()))],
            backends: vec![Backend::Unavailable],
            start: 0,
            level: None,
            scope: None,
            source: None,
        }
    }

    /// Lets extensions add models. `wanted`: the model that the command line names; `None`: a script, and no configured
    /// model counts.
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
        let proxy = config.settings.http_proxy.clone();
        let masking = || Arc::new(Http::with_secrets(config.keys.secrets().clone()).with_proxy(proxy));
        let threads = access.as_ref().map(|access| access.threads.clone()).unwrap_or_default();
        let http = access.map_or_else(masking, |access| access.http.clone());
        let registered = RegisteredProviders::new();
        self.source = Some(ModelSource {
            config,
            wanted,
            environment,
            http,
            threads,
            keys,
            registered,
            virtual_models: Vec::new(),
            other_models: None,
            names_level: true,
        });
        self
    }

    /// The models that scripts run, which follow what extensions and the user change from now on; `None`: the model of the session is
    /// a script, beside which no provider is reached.
    pub fn share_other_models(&mut self) -> Option<SharedOtherModels> {
        let source = self.source.as_mut().filter(|source| source.wanted.is_some())?;
        let models = OtherModels::new(&source.whole_config(), source.all_keys());
        Some(source.other_models.insert(SharedOtherModels::new(models)).clone())
    }

    /// Adds or changes the provider `name` of an extension; without a `config`, removes it. Returns all models, the earlier
    /// ones at their old positions.
    ///
    /// # Errors
    ///
    /// The configuration of the provider is invalid.
    pub fn provide(
        &mut self,
        name: &str,
        config: Option<JsonObject>,
        streams: bool,
    ) -> Result<Vec<ModelChoice>, String> {
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

    /// Adds or changes the virtual model `id` of `provider`; without a `definition`, removes it. Returns all models, the
    /// earlier ones at their old positions.
    ///
    /// # Errors
    ///
    /// The definition is invalid, or another model has the id.
    pub fn provide_virtual(
        &mut self,
        provider: &str,
        id: &str,
        definition: Option<ExtensionRegisterVirtualModel>,
    ) -> Result<Vec<ModelChoice>, String> {
        if let Some(source) = &mut self.source {
            let api = source.config.dialect.record().virtual_model_api;
            let api = api.ok_or("There are no virtual models in this dialect.")?;
            let added = definition.map(|definition| VirtualModel::new(definition, api)).transpose()?;
            let physical =
                source.config.with_registered(&source.registered).models_of(|name| name == provider);
            if added.is_some() && physical.iter().any(|it| it.model.id == id) {
                return Err(format!("Virtual model {provider}/{id} conflicts with a physical model."));
            }
            let is_it = |it: &VirtualModel| it.model.provider == provider && it.model.id == id;
            source.virtual_models.retain(|it| !is_it(it));
            source.virtual_models.extend(added);
        }
        self.refresh(Some(provider));
        Ok(self.choices.clone())
    }

    /// Chooses the first model of the session among configured and added ones.
    ///
    /// # Errors
    ///
    /// The command line names a model that does not exist; the text is for people.
    pub fn choose(&mut self) -> Result<ModelSelection, String> {
        let configured = self.source.as_ref().and_then(|it| Some((it.whole_config(), it.wanted.clone()?)));
        if let Some((config, wanted)) = configured {
            let selection = match config::select(&config, &wanted) {
                Ok(selection) => selection,
                // The session begins without one.
                Err(SelectionError::NoModels { .. }) => {
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

    /// Whether [`ModelLibrary::reload`] may find further models.
    pub fn reloads(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.wanted.is_some())
    }

    /// Reads the configuration of models and credentials again, and finds the model with this provider and id. One that
    /// its provider does not list is taken where `--model` takes it, too.
    pub fn reload(&mut self, wanted: Option<(&str, &str)>) -> ReloadedModels {
        if let Some(source) = &mut self.source {
            for warning in source.config.reload_models() {
                tracing::warn!("{warning}");
            }
            source.keys = source.config.keys.clone().with_cli_key_of(&source.keys);
        }
        self.refresh(None);
        let found = wanted.ok_or(None).and_then(|(provider, id)| self.find(provider, id));
        ReloadedModels { models: self.choices.clone(), found }
    }

    /// Finds the position of a model; `Err`: why it cannot be used, where that is known.
    fn find(&mut self, provider: &str, id: &str) -> Result<usize, Option<String>> {
        let source = self.source.as_ref().ok_or(None)?;
        let config = source.whole_config();
        let known = config.models_of(|name| name == provider);
        let listed = known.iter().find(|endpoint| endpoint.model.id == id).cloned();
        let mut warning = None;
        let endpoint = match listed {
            Some(endpoint) => endpoint,
            // Lists of vendors grow older than their models; the user's own lists are complete.
            None if BUILT_IN.provider(provider).is_some() && !known.is_empty() => {
                let named = config::named_model(id, Some(provider), &SelectionOptions::default(), &config);
                let named = named.map_err(|refused| Some(refused.to_string()))?;
                if named.endpoint.model.id != id {
                    return Err(Some(format!("Did you mean {}?", full_id(&named.endpoint.model))));
                }
                warning = named.warning;
                named.endpoint
            }
            None => return Err(None),
        };
        self.keys().check(&endpoint.model).map_err(|reason| Some(reason.to_string()))?;
        warning.into_iter().for_each(|warning| tracing::warn!("{warning}"));
        if let Some(at) = self.position_of(&endpoint.model).filter(|at| self.choices[*at].unusable.is_none())
        {
            return Ok(at);
        }
        Ok(self.add(endpoint, None))
    }

    fn selected(&self) -> ModelSelection {
        ModelSelection {
            models: self.choices.clone(),
            start: self.start,
            level: self.level,
            scope: self.scope.clone(),
        }
    }

    /// Answers an extension's query for all models, those without a credential included.
    pub fn queried_models(&self) -> QueriedModels {
        let all: Vec<QueriedModel> = match &self.source {
            Some(source) if source.wanted.is_some() => {
                let keys = source.all_keys();
                let models = source.whole_config().models().into_iter();
                let queried = |Endpoint { model, .. }| QueriedModel {
                    usable: keys.is_configured(&model.provider),
                    model: public_model(&model),
                };
                models.map(queried).collect()
            }
            _ => {
                let queried = |choice: &ModelChoice| QueriedModel {
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

    /// The merged settings of user and project, as written in their files.
    pub fn settings(&self) -> Value {
        self.source.as_ref().map(|source| source.config.written_settings.clone()).unwrap_or_default().into()
    }

    /// The credentials of all providers, added ones included.
    pub fn keys(&self) -> Keys {
        self.source.as_ref().map(ModelSource::all_keys).unwrap_or_default()
    }

    /// The connections that calls of models share.
    pub fn http(&self) -> Arc<Http> {
        self.source.as_ref().map(|source| source.http.clone()).unwrap_or_default()
    }

    /// Rebuilds the models from configured and added providers. Models that the provider `changed` no longer has become
    /// unusable.
    fn refresh(&mut self, changed: Option<&str>) {
        let Some(source) = &self.source else { return };
        let (config, keys) = (source.whole_config(), source.all_keys());
        if let Some(shared) = &source.other_models {
            shared.replace(OtherModels::new(&config, keys.clone()));
        }
        let follows = config.dialect.record().level_follows_model;
        let settings = &config.settings;
        let access = Arc::new(source.access());
        for (choice, backend) in self.choices.iter_mut().zip(&mut self.backends) {
            if let Backend::Provider(_, own) = backend {
                *own = access.clone();
                if changed == Some(&choice.model.provider) {
                    let Model { provider, id, .. } = &choice.model;
                    choice.unusable = Some(errors::model_not_found(config.dialect.base(), provider, id));
                }
            }
        }
        for endpoint in config::offered_models(&config, &keys) {
            let preferred = follows.then(|| settings.level_of(&endpoint.model)).flatten();
            let (model, levels) = (public_model(&endpoint.model), endpoint.levels.clone());
            let choice = ModelChoice { model, levels, preferred, unusable: None };
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

    /// Adds a first model that hosts are not offered, and returns its position.
    fn add_unlisted(&mut self, endpoint: Endpoint) -> usize {
        let unusable = self.keys().check(&endpoint.model).err().map(|error| error.to_string());
        self.add(endpoint, unusable)
    }

    /// Adds a model, in place of one of its name, and returns its position.
    fn add(&mut self, endpoint: Endpoint, unusable: Option<String>) -> usize {
        let (model, levels) = (public_model(&endpoint.model), endpoint.levels.clone());
        let choice = ModelChoice { model, levels, preferred: None, unusable };
        let backend = match self.source.as_ref().filter(|_| choice.unusable.is_none()) {
            Some(source) => Backend::Provider(Arc::new(endpoint), Arc::new(source.access())),
            None => Backend::Unavailable,
        };
        match self.position_of(&choice.model) {
            Some(at) => {
                (self.choices[at], self.backends[at]) = (choice, backend);
                at
            }
            None => {
                self.choices.push(choice);
                self.backends.push(backend);
                self.choices.len() - 1
            }
        }
    }

    fn position_of(&self, model: &Model) -> Option<usize> {
        let is_it = |own: &Model| own.provider == model.provider && own.id == model.id;
        self.choices.iter().position(|choice| is_it(&choice.model))
    }
}
