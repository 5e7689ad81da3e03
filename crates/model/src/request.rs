//! Requests to models before any provider's own words, and the trait of answer readers.

use super::{
    bedrock::{AwsAccess, SignatureScope},
    types::{StreamEvent, ToolSpec},
};
use pi_rpc_protocol::{AgentMessage, Model, ThinkingLevel};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// A model and the data that a request to it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The model as hosts see it; `api`, `base_url`, `max_tokens`, `input` and `compat` shape the request.
    pub model: Model,
    /// Its thinking levels, in order; only `off` if the model does not think.
    pub levels: Vec<ThinkingLevel>,
    /// The provider's words for levels that are not the usual ones.
    pub efforts: BTreeMap<ThinkingLevel, String>,
    /// Whether the model decides by itself how long to think: requests name an effort instead of a number of tokens.
    pub adaptive: bool,
}

/// Credentials for a provider, resolved per request.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Key or token.
    pub key: Option<String>,
    /// Configured headers of provider and model, in order; later ones win.
    pub headers: Vec<(String, String)>,
    /// Whether the key goes into `Authorization: Bearer`, even where the API has its own header.
    pub bearer: bool,
    /// Values of [`Api::variables`](super::api::Api::variables): of the provider's entry in `auth.json`, else of the
    /// environment.
    pub variables: BTreeMap<&'static str, String>,
    /// Id of the account at ChatGPT that the token belongs to, for APIs that ask for it.
    pub account: Option<String>,
    /// Address of the API that the token names; it replaces the model's.
    pub base_url: Option<String>,
    /// Access to AWS, for the API that needs it.
    pub aws: Option<AwsAccess>,
}

// Keys must not reach logs, and any header may hold one.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// The variable `name`; `None`: unset or blank.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Adds the configured headers to those of the API; they replace those of the same name.
    pub fn add_headers(&self, headers: &mut Vec<(String, String)>) {
        for (name, value) in &self.headers {
            let name = name.to_ascii_lowercase();
            headers.retain(|(known, _)| *known != name);
            headers.push((name, value.clone()));
        }
    }
}

/// The user's settings for every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// Thinking budgets in tokens that the user has set, for models that take a number.
    pub budgets: BTreeMap<ThinkingLevel, u64>,
    /// Replace images by a text.
    pub blocks_images: bool,
    /// Ask the provider to cache the conversation for an hour or a day instead of minutes.
    pub caches_long: bool,
}

/// One request to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The model.
    pub endpoint: &'a Endpoint,
    /// The credentials.
    pub credentials: &'a Credentials,
    /// Token limit of the answer, thinking aside where it has a number of its own; `None`: the model's.
    pub max_answer_tokens: Option<u64>,
    /// The thinking level, one of the endpoint's.
    pub level: ThinkingLevel,
    /// The system prompt.
    pub system_prompt: &'a str,
    /// The conversation, oldest first.
    pub messages: &'a [Arc<AgentMessage>],
    /// Whether the system messages among `messages` add up to `system_prompt` and `tools`, so that they can be sent instead.
    pub has_system_messages: bool,
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// The tool that the model must call, where it can be forced; `None`: its choice.
    pub forced_tool: Option<&'a str>,
    /// Identifies the conversation, for the provider's cache; empty: nothing is cached, as no later request begins alike.
    pub session_id: &'a str,
    /// The user's settings.
    pub options: &'a RequestOptions,
}

impl<'a> ModelRequest<'a> {
    /// Whether the provider is to cache the conversation.
    pub const fn is_cached(&self) -> bool {
        !self.session_id.is_empty()
    }

    /// The forced tool, if it is offered: providers refuse any other.
    pub fn forced(&self) -> Option<&'a str> {
        self.forced_tool.filter(|name| self.tools.iter().any(|tool| tool.name == *name))
    }
}

/// The budget of a thinking level in tokens, by the user's `budgets`, else the usual ones; `xhigh` and `max` have that of `high`.
pub fn budget(level: ThinkingLevel, budgets: &BTreeMap<ThinkingLevel, u64>) -> u64 {
    let (level, usual) = match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => (ThinkingLevel::Minimal, 1024),
        ThinkingLevel::Low => (ThinkingLevel::Low, 2048),
        ThinkingLevel::Medium => (ThinkingLevel::Medium, 8192),
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => (ThinkingLevel::High, 16_384),
    };
    budgets.get(&level).copied().unwrap_or(usual)
}

/// Encoding of a body that is packed by zstd.
pub const ZSTD: &str = "zstd";

/// A request in a provider's form: a `POST` with a JSON body, packed if its `content-encoding` is [`ZSTD`].
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    /// The URL.
    pub url: String,
    /// Headers by lower-case name; each name once.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// The signature that it gets when it is sent.
    pub signing: Option<SignatureScope>,
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

/// The request for a WebSocket that takes the place of an [`HttpRequest`]: a `GET` that asks for the upgrade.
#[derive(Clone, PartialEq, Eq)]
pub struct SocketRequest {
    /// The URL, of HTTP or HTTPS.
    pub url: String,
    /// Headers by lower-case name; each name once.
    pub headers: Vec<(String, String)>,
    /// Names the connection that is kept for the next request of the session; `None`: it is closed behind the answer.
    pub key: Option<String>,
}

// Headers hold keys.
impl fmt::Debug for SocketRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketRequest").field("url", &self.url).finish_non_exhaustive()
    }
}

/// How the events of an answer are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// Server-sent events.
    ServerSentEvents,
    /// `application/vnd.amazon.eventstream`: binary frames with checksums.
    AmazonEventStream,
}

/// Reads a provider's stream of events.
///
/// The last event is [`StreamEvent::Finish`] or [`StreamEvent::Fail`]. Blocks do not overlap: each ends before the
/// next begins.
pub trait Reader: Send {
    /// How the events are framed.
    fn stream_format(&self) -> StreamFormat {
        StreamFormat::ServerSentEvents
    }

    /// Reads one event: its name (`message` if there is none) and its data.
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent>;

    /// Ends the stream, which had no connection error.
    fn end(&mut self) -> Vec<StreamEvent>;

    /// Whether the events so far are a complete answer, so that a connection error behind them loses nothing.
    fn is_complete(&self) -> bool {
        false
    }

    /// Extracts the text from the `body` of a refusal, to follow its status. `None`: use the whole body.
    fn refusal(&self, _body: &Value) -> Option<String> {
        None
    }

    /// The text for the `body` of a refusal that holds until the user's plan allows more, to replace its status: such a
    /// request is not sent again. `None`: it is no such refusal.
    fn usage_limit(&self, _body: &Value, _now: SystemTime) -> Option<String> {
        None
    }

    /// The header of a refusal that names the kind of error, where its body does not.
    fn error_kind_header(&self) -> Option<&'static str> {
        None
    }

    /// The body to send at once, instead of the one that was refused with this `status` and `body`. `None`: it stays refused.
    fn body_instead(&mut self, _status: u16, _body: &Value) -> Option<Value> {
        None
    }

    /// How long the `body` of a refusal asks to wait, where the head of the answer does not say.
    fn retry_after(&self, _body: &Value) -> Option<Duration> {
        None
    }
}
