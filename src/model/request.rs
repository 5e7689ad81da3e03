//! What a model is asked, before any provider's own words for it.

use super::types::{StreamEvent, ToolSpec};
use crate::protocol::{AgentMessage, Model, ThinkingLevel};
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// A model with everything that is needed to ask it.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// As hosts see it; `api`, `base_url`, `max_tokens`, `input` and `compat` say how to ask it.
    pub model: Model,
    /// The thinking levels that it takes, in order; of a model that does not think: `off` alone.
    pub levels: Vec<ThinkingLevel>,
    /// The provider's word for a level, where it is not the usual one.
    pub efforts: BTreeMap<ThinkingLevel, String>,
    /// It decides by itself how long to think, and is told an effort instead of a number of tokens.
    pub adaptive: bool,
}

/// What proves to the provider who asks, found out when it is asked.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The key or token.
    pub key: Option<String>,
    /// Headers of the provider's and the model's configuration, in order; later ones win.
    pub headers: Vec<(String, String)>,
    /// The key goes into `Authorization: Bearer` even where the API has a header of its own for it.
    pub bearer: bool,
}

// Keys do not belong in logs, and any header may be one.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Adds the configured headers to those of the API, in whose place they come where the name is the same.
    pub fn add_headers(&self, headers: &mut Vec<(String, String)>) {
        for (name, value) in &self.headers {
            let name = name.to_ascii_lowercase();
            headers.retain(|(known, _)| *known != name);
            headers.push((name, value.clone()));
        }
    }
}

/// The most tokens that an answer is asked to have where nothing else is said, thinking not counted.
const MAX_ANSWER_TOKENS: u64 = 32_000;

/// What the user's settings say about every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// Tokens to think with, for models that are told a number, where the user has set one.
    pub budgets: BTreeMap<ThinkingLevel, u64>,
    /// Images are replaced by a text.
    pub blocks_images: bool,
    /// Ask the provider to remember the conversation for an hour or a day instead of minutes.
    pub caches_long: bool,
}

/// One request to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// Whom to ask.
    pub endpoint: &'a Endpoint,
    /// Who asks.
    pub credentials: &'a Credentials,
    /// The most tokens that the answer may have, thinking not counted; `None`: as many as usual.
    pub max_answer_tokens: Option<u64>,
    /// How hard to think; one of the endpoint's levels.
    pub level: ThinkingLevel,
    /// The instructions that come first.
    pub system_prompt: &'a str,
    /// The conversation.
    pub messages: &'a [Arc<AgentMessage>],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// The tool that the answer is to call, where the model can be made to; `None`: it decides by itself.
    pub forced_tool: Option<&'a str>,
    /// Tells conversations apart, for the provider's cache.
    pub session_id: &'a str,
    /// The user's settings.
    pub options: &'a RequestOptions,
}

impl<'a> ModelRequest<'a> {
    /// How many tokens the answer may have, thinking not counted; the model may have fewer. 0: it does not say.
    pub fn answer_tokens(&self) -> u64 {
        self.endpoint.model.max_tokens.min(self.max_answer_tokens.unwrap_or(MAX_ANSWER_TOKENS))
    }

    /// The tool that the answer is to call, if it is offered: providers refuse any other.
    pub fn forced(&self) -> Option<&'a str> {
        self.forced_tool.filter(|name| self.tools.iter().any(|tool| tool.name == *name))
    }
}

/// A request in the provider's words: a `POST` whose body is JSON.
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    /// Where to.
    pub url: String,
    /// Names in lower case; each name once.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpRequest")
            .field("url", &self.url)
            .field("headers", &names)
            .field("body", &self.body)
            .finish()
    }
}

/// Reads a provider's stream of server-sent events.
///
/// The last of all events that it gives is [`StreamEvent::Finish`] or [`StreamEvent::Fail`]; after it, it gives none.
/// Blocks come one after another: each is ended before the next begins.
pub trait Reader: Send {
    /// What one server-sent event says: its `event` field (`message` where it has none) and its `data`.
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent>;

    /// What it means that the stream ends here, without an error of the connection.
    fn end(&mut self) -> Vec<StreamEvent>;

    /// What the `body` of a refusal says, told after its status. `None`: all of the body.
    fn refusal(&self, _body: &Value) -> Option<String> {
        None
    }
}
