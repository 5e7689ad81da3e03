//! The models that this server can ask, and who answers for each: a script, or a provider.

use super::{
    asking::{Asking, Vendors},
    heard::Heard,
    roster::Source,
};
use crate::{
    config::{Environment, Selection, Settings},
    engine::{Choice, ModelCall, Purpose},
    model::{
        http::Http,
        request::Endpoint,
        scripted::{Input, Player, Script, ScriptError, ScriptedCall, Step, StepAction},
        types::StreamEvent,
    },
    protocol::{InputKind, Model, ModelPrice, ModelThinking, ThinkingLevel, number},
    regular_files::{self, SCRIPT},
    secrets::redact_url,
};
use std::{path::PathBuf, sync::Arc};

/// The provider of the scripted models.
pub const SCRIPTED: &str = "scripted";

/// The model that needs nothing.
const DEMO: &str = "demo";

/// The models to choose from, and who answers for each.
pub struct Library {
    pub(super) choices: Vec<Choice>,
    pub(super) voices: Vec<Voice>,
    pub(super) start: usize,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// For what extensions add.
    pub(super) source: Option<Source>,
}

/// Who answers for a model.
pub(super) enum Voice {
    Script(Box<Player>, Heard),
    Provider(Arc<Endpoint>, Arc<Vendors>),
    /// It cannot be asked, or an extension is.
    Nobody,
}

/// An answer that is to be performed.
pub enum Answer {
    /// Played from a script.
    Played(Vec<Step>),
    /// Asked of a provider.
    Asked(Asking),
}

/// Why the script that was asked for cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    /// The script file cannot be read.
    #[error("Cannot read the script {0}: {1}")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The script file is not a script.
    #[error("{0}: {1}")]
    Invalid(PathBuf, #[source] ScriptError),
}

/// The name of a scripted model, if that is what `--provider` and `--model` ask for: `scripted/demo` or
/// `scripted/<file>`, with an optional `:<level>` behind it; the demo where only the provider is named.
pub fn scripted_name<'a>(provider: Option<&str>, pattern: Option<&'a str>) -> Option<&'a str> {
    let Some(pattern) = pattern else { return (provider == Some(SCRIPTED)).then_some(DEMO) };
    match (pattern.strip_prefix("scripted/"), provider) {
        (Some(name), None | Some(SCRIPTED)) => Some(name),
        (None, Some(SCRIPTED)) => Some(pattern),
        _ => None,
    }
}

impl Library {
    /// The demo, and the script file `name` unless it is `demo`; a level may stand behind it. The user's own models are
    /// left out: a test with a script must not reach a provider.
    pub fn scripted(name: &str) -> Result<Self, BadScript> {
        let (name, level) =
            match name.rsplit_once(':').map(|(name, level)| (name, ThinkingLevel::parse(level))) {
                Some((name, Some(level))) => (name, Some(level)),
                _ => (name, None),
            };
        let mut library =
            Self { choices: Vec::new(), voices: Vec::new(), start: 0, level, scope: None, source: None };
        library.add_script(DEMO, Script::demo());
        if name != DEMO {
            let path = PathBuf::from(name);
            let text = regular_files::read_to_string(&path, SCRIPT)
                .map_err(|error| BadScript::Unreadable(path.clone(), error))?;
            let script = Script::from_json(&text).map_err(|error| BadScript::Invalid(path, error))?;
            library.add_script(name, script);
            library.start = 1;
        }
        Ok(library)
    }

    /// The models that the user has configured. `follows`: another model brings the level that the settings name.
    pub fn configured(
        selection: Selection,
        settings: &Settings,
        environment: &Environment,
        follows: bool,
    ) -> Self {
        let vendors = Arc::new(Vendors {
            http: Arc::new(Http::with_secrets(selection.keys.secrets().clone())),
            keys: selection.keys,
            options: settings.request_options(environment),
            http_options: settings.http_options(),
        });
        let scope = selection.scope.map(|scope| scope.iter().map(|it| (it.at, it.level)).collect());
        let (choices, voices) = selection
            .offers
            .into_iter()
            .map(|offer| {
                let unusable = offer.usable.err().filter(|_| !offer.listed);
                let Endpoint { model, levels, .. } = &offer.endpoint;
                let preferred = follows.then(|| settings.level_of(model)).flatten();
                let choice = Choice { model: told(model), levels: levels.clone(), preferred, unusable };
                (choice, Voice::Provider(Arc::new(offer.endpoint), vendors.clone()))
            })
            .unzip();
        Self { choices, voices, start: selection.start, level: selection.named_level, scope, source: None }
    }

    /// The models, in the registry's order.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Where in the list a session starts.
    pub const fn start(&self) -> usize {
        self.start
    }

    /// The level that a session starts with, where one was chosen with the model.
    pub const fn level(&self) -> Option<ThinkingLevel> {
        self.level
    }

    /// What `cycle_model` goes round, where it is limited.
    pub fn scope(&self) -> Option<&[(usize, Option<ThinkingLevel>)]> {
        self.scope.as_deref()
    }

    /// The answer to one call of the models that [`choices`](Self::choices) gives, to be performed.
    pub fn answer(&mut self, call: Box<ModelCall>) -> Answer {
        match &mut self.voices[call.place] {
            Voice::Script(player, heard) => Answer::Played(play(player, heard, &call)),
            Voice::Provider(endpoint, vendors) => {
                let (endpoint, vendors) = (endpoint.clone(), vendors.clone());
                Answer::Asked(Asking { vendors, endpoint, call })
            }
            Voice::Nobody => Answer::Played(vec![Step {
                delay_ms: 0,
                action: StepAction::Event(StreamEvent::Fail {
                    message: "Nobody answers for this model.".to_owned(),
                    retry_after: None,
                }),
            }]),
        }
    }

    fn add_script(&mut self, id: &str, script: Script) {
        let model = card(id, &script);
        // Those that every dialect has.
        let levels = ThinkingLevel::ALL.into_iter().filter(|level| *level < ThinkingLevel::Max);
        let levels = if model.reasoning { levels.collect() } else { vec![ThinkingLevel::Off] };
        self.choices.push(Choice { model, levels, preferred: None, unusable: None });
        self.voices.push(Voice::Script(Box::new(Player::new(script)), Heard::default()));
    }
}

fn play(player: &mut Player, heard: &mut Heard, call: &ModelCall) -> Vec<Step> {
    let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
    heard.hear(call);
    player.answer(&ScriptedCall {
        prompt: &heard.prompt,
        call: call.count,
        results: &heard.results,
        tools: &tools,
        summary: matches!(call.purpose, Purpose::Summary(_)),
        input_chars: heard.chars,
    })
}

/// The model as hosts and extensions are told of it: an address may hold a key.
pub(super) fn told(model: &Model) -> Model {
    Model { base_url: redact_url(&model.base_url), ..model.clone() }
}

/// The model that a script pretends to be.
pub(super) fn card(id: &str, script: &Script) -> Model {
    let card = &script.model;
    let thinking = card.reasoning.then(|| ModelThinking {
        mode: "effort".to_owned(),
        min_level: ThinkingLevel::Minimal,
        max_level: ThinkingLevel::Xhigh,
    });
    let above_high = ThinkingLevel::Xhigh.as_str().to_owned();
    Model {
        id: id.to_owned(),
        name: card.name.clone().unwrap_or_else(|| id.to_owned()),
        api: SCRIPTED.to_owned(),
        provider: SCRIPTED.to_owned(),
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
        headers: None,
        compat: None,
        premium_multiplier: None,
        prefer_websockets: None,
        context_promotion_target: None,
        priority: None,
        // Hosts take a model without a map for one that has nothing above `high`.
        thinking_level_map: card
            .reasoning
            .then(|| [(above_high.clone(), Some(above_high))].into_iter().collect()),
        input_limits: None,
        prompt_cache: None,
        sampling_params: None,
        sampling_params_by_thinking_level: None,
    }
}

const fn input_kind(input: &Input) -> InputKind {
    match input {
        Input::Text => InputKind::Text,
        Input::Image => InputKind::Image,
    }
}
