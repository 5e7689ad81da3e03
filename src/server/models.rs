//! The models that this server can ask: the scripted ones.

use crate::{
    engine::{Choice, ModelCall},
    model::scripted::{Ask, Input, Player, Script, ScriptError, Step, ToolText},
    protocol::{
        AgentMessage, InputKind, MessageContent, Model, ModelPrice, ModelThinking, ThinkingLevel,
        UserContent, number,
    },
};
use std::{collections::HashMap, fs, path::PathBuf};

/// The provider of the scripted models.
const PROVIDER: &str = "scripted";

/// The model that needs nothing.
const DEMO: &str = "demo";

/// The models to choose from, and what plays each.
pub struct Library {
    choices: Vec<Choice>,
    players: HashMap<String, Player>,
    start: usize,
}

/// Why the model that was asked for cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum UnknownModel {
    /// No such model.
    #[error(
        "Model \"{0}\" not found.\n\
         This version of pi-rpc has scripted models only: scripted/demo, or scripted/<file> for a script of your own."
    )]
    NotFound(String),
    /// The script file cannot be read.
    #[error("Cannot read the script {0}: {1}")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The script file is not a script.
    #[error("{0}: {1}")]
    Invalid(PathBuf, #[source] ScriptError),
}

impl Library {
    /// The demo, and the script that `pattern` names: `scripted/demo` or `scripted/<file>`, with an optional
    /// `:<level>` behind it. `provider`: the pattern may then leave out the `scripted/`. Gives the level, too.
    pub fn open(
        provider: Option<&str>,
        pattern: Option<&str>,
    ) -> Result<(Self, Option<ThinkingLevel>), UnknownModel> {
        let mut library = Self { choices: Vec::new(), players: HashMap::new(), start: 0 };
        library.add(DEMO, Script::demo());
        let Some(pattern) = pattern else { return Ok((library, None)) };
        let not_found = || UnknownModel::NotFound(pattern.to_owned());
        let name = match (pattern.strip_prefix("scripted/"), provider) {
            (Some(name), None | Some(PROVIDER)) => name,
            (None, Some(PROVIDER)) => pattern,
            (None, None) if pattern == DEMO => pattern,
            _ => return Err(not_found()),
        };
        let (name, level) =
            match name.rsplit_once(':').map(|(name, level)| (name, ThinkingLevel::parse(level))) {
                Some((name, Some(level))) => (name, Some(level)),
                _ => (name, None),
            };
        if name != DEMO {
            let path = PathBuf::from(name);
            let text =
                fs::read_to_string(&path).map_err(|error| UnknownModel::Unreadable(path.clone(), error))?;
            let script = Script::from_json(&text).map_err(|error| UnknownModel::Invalid(path, error))?;
            library.start = library.add(name, script);
        }
        Ok((library, level))
    }

    /// The models, in the registry's order.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Where in the list a session starts.
    pub const fn start(&self) -> usize {
        self.start
    }

    /// The steps of the answer to one call; none for a model that this library does not have.
    pub fn answer(&mut self, call: &ModelCall) -> Vec<Step> {
        let Some(player) = self.players.get_mut(&call.model.id) else { return Vec::new() };
        let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
        let newest =
            call.messages.iter().rposition(|message| matches!(message.as_ref(), AgentMessage::User(_)));
        let prompt = newest.map(|at| text_of(&call.messages[at])).unwrap_or_default();
        let since = &call.messages[newest.unwrap_or(0)..];
        let results: Vec<ToolText> = since.iter().filter_map(|message| result_of(message)).collect();
        let input_chars = call.messages.iter().map(|message| text_of(message).chars().count()).sum();
        player.answer(&Ask {
            prompt: &prompt,
            call: call.count,
            results: &results,
            tools: &tools,
            input_chars,
        })
    }

    fn add(&mut self, id: &str, script: Script) -> usize {
        let card = &script.model;
        let thinking = card.reasoning.then(|| ModelThinking {
            mode: "effort".to_owned(),
            min_level: ThinkingLevel::Minimal,
            max_level: ThinkingLevel::Xhigh,
        });
        let model = Model {
            id: id.to_owned(),
            name: card.name.clone().unwrap_or_else(|| id.to_owned()),
            api: PROVIDER.to_owned(),
            provider: PROVIDER.to_owned(),
            base_url: "scripted:".to_owned(),
            reasoning: card.reasoning,
            thinking,
            input: card.input.iter().map(input_kind).collect(),
            cost: ModelPrice {
                input: number(card.cost.input),
                output: number(card.cost.output),
                cache_read: number(card.cost.cache_read),
                cache_write: number(card.cost.cache_write),
            },
            context_window: card.context_window,
            max_tokens: card.max_tokens,
            headers: None,
            compat: None,
            premium_multiplier: None,
            prefer_websockets: None,
            context_promotion_target: None,
            priority: None,
        };
        self.players.insert(id.to_owned(), Player::new(script));
        let levels = if model.reasoning { ThinkingLevel::ALL.to_vec() } else { vec![ThinkingLevel::Off] };
        self.choices.push(Choice { model, levels, unusable: None });
        self.choices.len() - 1
    }
}

const fn input_kind(input: &Input) -> InputKind {
    match input {
        Input::Text => InputKind::Text,
        Input::Image => InputKind::Image,
    }
}

fn text_of(message: &AgentMessage) -> String {
    let join = |blocks: &[UserContent]| {
        let texts = blocks.iter().filter_map(|block| match block {
            UserContent::Text(text) => Some(text.text.as_str()),
            UserContent::Image(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    match message {
        AgentMessage::User(user) => match &user.content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Blocks(blocks) => join(blocks),
        },
        AgentMessage::ToolResult(result) => join(&result.content),
        AgentMessage::BashExecution(bash) => bash.output.clone(),
        _ => String::new(),
    }
}

fn result_of(message: &AgentMessage) -> Option<ToolText> {
    match message {
        AgentMessage::ToolResult(result) => Some(ToolText {
            name: result.tool_name.clone(),
            text: text_of(message),
            is_error: result.is_error,
        }),
        _ => None,
    }
}
