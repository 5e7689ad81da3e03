//! Models to choose from, each with its backend: a script or a provider.

use super::{
    extension_models::ModelSource,
    provider_call::{ProviderAccess, ProviderCall},
    script_context::ScriptContext,
    sent_images::ImageFitter,
};
use pi_rpc_config::{Environment, ModelFilter, Selection, Settings};
use pi_rpc_engine::{ModelCall, ModelChoice, Purpose};
use pi_rpc_files::{
    regular_files::{self, SCRIPT},
    secrets::redact_url,
};
use pi_rpc_model::{
    request::Endpoint,
    scripted::{Input, Player, Script, ScriptError, ScriptedCall, Step, StepAction},
    types::StreamEvent,
};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::{InputKind, Model, ModelPrice, ModelThinking, ThinkingLevel, number};
use std::{path::PathBuf, sync::Arc};

/// The provider of the scripted models.
pub const SCRIPTED: &str = "scripted";

/// The id of the built-in scripted model.
const DEMO: &str = "demo";

/// Models to choose from, and the backend of each.
pub struct ModelLibrary {
    pub(super) choices: Vec<ModelChoice>,
    pub(super) backends: Vec<Backend>,
    pub(super) start: usize,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// The configuration, if extensions may add models.
    pub(super) source: Option<ModelSource>,
}

/// Whether one of the globs matches a model, as [`ModelFilter`] has it.
pub fn admits_model(globs: &[String], provider: &str, id: &str) -> bool {
    ModelFilter::new(globs).admits_named(provider, id)
}

/// Runs the calls of one model.
pub(super) enum Backend {
    Script(Box<Player>, ScriptContext),
    Provider(Arc<Endpoint>, Arc<ProviderAccess>),
    /// No backend here: the model cannot be called, or an extension streams it.
    Unavailable,
}

/// A model call, ready to be run by [`Tasks`](super::tasks::Tasks).
pub enum PreparedCall {
    /// The steps of a script.
    Script(Vec<Step>),
    /// A request to a provider.
    Provider(ProviderCall),
}

/// Why a script file cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptFileError {
    /// Reading failed.
    #[error("Cannot read the script {0}: {1}")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The file is not a script.
    #[error("{0}: {1}")]
    Invalid(PathBuf, #[source] ScriptError),
}

/// The name of the scripted model that `--provider` and `--model` select, if any: `scripted/demo` or `scripted/<file>`, with
/// an optional `:<level>`; the demo if only the provider is given.
pub fn scripted_name<'a>(provider: Option<&str>, pattern: Option<&'a str>) -> Option<&'a str> {
    let Some(pattern) = pattern else { return (provider == Some(SCRIPTED)).then_some(DEMO) };
    match (pattern.strip_prefix("scripted/"), provider) {
        (Some(name), None | Some(SCRIPTED)) => Some(name),
        (None, Some(SCRIPTED)) => Some(pattern),
        _ => None,
    }
}

impl ModelLibrary {
    /// The demo, and the script file `name` unless that is `demo`; a level may follow the name. Configured models are left
    /// out: a test with a script must not reach a provider.
    pub fn scripted(name: &str) -> Result<Self, ScriptFileError> {
        let (name, level) =
            match name.rsplit_once(':').map(|(name, level)| (name, ThinkingLevel::parse(level))) {
                Some((name, Some(level))) => (name, Some(level)),
                _ => (name, None),
            };
        let mut library =
            Self { choices: Vec::new(), backends: Vec::new(), start: 0, level, scope: None, source: None };
        library.add_script(DEMO, Script::demo());
        if name != DEMO {
            let path = PathBuf::from(name);
            let text = regular_files::read_to_string(&path, SCRIPT)
                .map_err(|error| ScriptFileError::Unreadable(path.clone(), error))?;
            let script = Script::from_json(&text).map_err(|error| ScriptFileError::Invalid(path, error))?;
            library.add_script(name, script);
            library.start = 1;
        }
        Ok(library)
    }

    /// Models of an agent, which answers itself.
    pub fn of_agent(choices: Vec<ModelChoice>, start: usize) -> Self {
        let backends = choices.iter().map(|_| Backend::Unavailable).collect();
        Self { choices, backends, start, level: None, scope: None, source: None }
    }

    /// Models of the user's configuration. `follows`: with another model comes the level that the settings give it.
    pub fn configured(
        selection: Selection,
        settings: &Settings,
        environment: &Environment,
        follows: bool,
    ) -> Self {
        let access = Arc::new(ProviderAccess {
            http: Arc::new(
                Http::with_secrets(selection.keys.secrets().clone()).with_proxy(settings.http_proxy.clone()),
            ),
            threads: Arc::default(),
            keys: selection.keys,
            options: settings.request_options(environment),
            http_options: settings.http_options(),
            images: ImageFitter::new(settings.resizes_images.unwrap_or(true)),
        });
        let scope = selection.scope.map(|scope| scope.iter().map(|it| (it.at, it.level)).collect());
        let (choices, backends) = selection
            .offers
            .into_iter()
            .map(|offer| {
                let unusable = offer.usable.err().filter(|_| !offer.listed);
                let Endpoint { model, levels, .. } = &offer.endpoint;
                let preferred = follows.then(|| settings.level_of(model)).flatten();
                let choice =
                    ModelChoice { model: public_model(model), levels: levels.clone(), preferred, unusable };
                (choice, Backend::Provider(Arc::new(offer.endpoint), access.clone()))
            })
            .unzip();
        Self { choices, backends, start: selection.start, level: selection.named_level, scope, source: None }
    }

    /// Removes the models that `is_admitted` refuses, but for the one that a session starts with.
    pub fn retain(&mut self, is_admitted: impl Fn(&Model) -> bool) {
        let start = self.start;
        let kept: Vec<bool> =
            (0..self.choices.len()).map(|at| at == start || is_admitted(&self.choices[at].model)).collect();
        self.start = kept[..start].iter().filter(|is_kept| **is_kept).count();
        let mut flags = kept.iter();
        self.choices.retain(|_| flags.next() == Some(&true));
        let mut flags = kept.iter();
        self.backends.retain(|_| flags.next() == Some(&true));
    }

    /// The models, in the registry's order.
    pub fn choices(&self) -> &[ModelChoice] {
        &self.choices
    }

    /// The position of the model that a session starts with.
    pub const fn start(&self) -> usize {
        self.start
    }

    /// The level that a session starts with, where one was chosen with the model.
    pub const fn level(&self) -> Option<ThinkingLevel> {
        self.level
    }

    /// The models that `cycle_model` is limited to, with their levels.
    pub fn scope(&self) -> Option<&[(usize, Option<ThinkingLevel>)]> {
        self.scope.as_deref()
    }

    /// Prepares a call of one of the [`choices`](Self::choices).
    pub fn prepare(&mut self, call: Box<ModelCall>) -> PreparedCall {
        match &mut self.backends[call.place] {
            Backend::Script(player, context) => PreparedCall::Script(play_script(player, context, &call)),
            Backend::Provider(endpoint, access) => {
                let (endpoint, access) = (endpoint.clone(), access.clone());
                PreparedCall::Provider(ProviderCall { access, endpoint, call })
            }
            Backend::Unavailable => PreparedCall::Script(vec![Step {
                delay_ms: 0,
                action: StepAction::Event(StreamEvent::Fail {
                    message: "No provider is configured for this model.".to_owned(),
                    retry_after: None,
                }),
            }]),
        }
    }

    fn add_script(&mut self, id: &str, script: Script) {
        let model = script_model(id, &script);
        // The levels of every dialect.
        let levels = ThinkingLevel::ALL.into_iter().filter(|level| *level < ThinkingLevel::Max);
        let levels = if model.reasoning { levels.collect() } else { vec![ThinkingLevel::Off] };
        self.choices.push(ModelChoice { model, levels, preferred: None, unusable: None });
        self.backends.push(Backend::Script(Box::new(Player::new(script)), ScriptContext::default()));
    }
}

fn play_script(player: &mut Player, context: &mut ScriptContext, call: &ModelCall) -> Vec<Step> {
    let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
    context.update(call);
    player.answer(&ScriptedCall {
        prompt: &context.prompt,
        call: call.count,
        results: &context.results,
        tools: &tools,
        summary: matches!(call.purpose, Purpose::Summary),
        input_chars: context.chars,
    })
}

/// The model for hosts and extensions: keys in its address are redacted.
pub(super) fn public_model(model: &Model) -> Model {
    Model { base_url: redact_url(&model.base_url), ..model.clone() }
}

/// Thinking levels of a scripted model that thinks, besides `off`.
const SCRIPT_EFFORTS: [ThinkingLevel; 5] = [
    ThinkingLevel::Minimal,
    ThinkingLevel::Low,
    ThinkingLevel::Medium,
    ThinkingLevel::High,
    ThinkingLevel::Xhigh,
];

/// The model record of a script.
pub(super) fn script_model(id: &str, script: &Script) -> Model {
    let card = &script.model;
    let thinking = card.reasoning.then(|| ModelThinking {
        mode: "effort".to_owned(),
        min_level: Some(ThinkingLevel::Minimal),
        max_level: Some(ThinkingLevel::Xhigh),
        efforts: Some(SCRIPT_EFFORTS.to_vec()),
    });
    let above_high = ThinkingLevel::Xhigh.as_str().to_owned();
    Model {
        base_url: "scripted:".to_owned(),
        reasoning: card.reasoning,
        thinking,
        input: card.input.iter().map(input_kind).collect(),
        cost: ModelPrice {
            input: number(card.cost.input),
            output: number(card.cost.output),
            cache_read: number(card.cost.cache_read),
            cache_write: number(card.cost.cache_write),
            tiers: None,
        },
        context_window: card.context_window,
        max_tokens: card.max_tokens,
        // Hosts take a model without a map for one that has nothing above `high`.
        thinking_level_map: card
            .reasoning
            .then(|| [(above_high.clone(), Some(above_high))].into_iter().collect()),
        ..Model::named(SCRIPTED, id, card.name.as_deref().unwrap_or(id), SCRIPTED)
    }
}

const fn input_kind(input: &Input) -> InputKind {
    match input {
        Input::Text => InputKind::Text,
        Input::Image => InputKind::Image,
    }
}
