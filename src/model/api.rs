//! The supported APIs, by the names in a model's `api`.

use super::{
    anthropic, google, mistral, openai_completions, openai_responses, provider,
    request::{Credentials, HttpRequest, ModelRequest, Reader},
};

/// An API of real models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `anthropic-messages`.
    AnthropicMessages,
    /// `google-generative-ai`.
    GoogleGenerativeAi,
    /// `google-vertex`.
    GoogleVertex,
    /// `mistral-conversations`.
    MistralConversations,
    /// `openai-completions`.
    OpenaiCompletions,
    /// `openai-responses`.
    OpenaiResponses,
}

impl Api {
    /// Every API, in the order in which users see them.
    pub const ALL: [Self; 6] = [
        Self::AnthropicMessages,
        Self::GoogleGenerativeAi,
        Self::GoogleVertex,
        Self::MistralConversations,
        Self::OpenaiCompletions,
        Self::OpenaiResponses,
    ];

    /// Parses the name of an API.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// The name in a model's `api`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::GoogleVertex => "google-vertex",
            Self::MistralConversations => "mistral-conversations",
            Self::OpenaiCompletions => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
        }
    }

    /// Environment variables beside the key's that a request depends on: [`Credentials::variables`].
    pub const fn variables(self) -> &'static [&'static str] {
        match self {
            Self::GoogleVertex => &google::vertex::VARIABLES,
            _ => &[],
        }
    }

    /// The file of the Google account that authorizes a request; `None`: the key does.
    ///
    /// # Errors
    ///
    /// What is missing, and where it can be set.
    pub fn account_file(self, credentials: &Credentials) -> Result<Option<String>, String> {
        match self {
            Self::GoogleVertex => google::vertex::account_file(credentials),
            _ => Ok(None),
        }
    }

    /// Builds an HTTP request in the form of the API.
    pub fn request(self, request: &ModelRequest<'_>) -> HttpRequest {
        let mut built = match self {
            Self::AnthropicMessages => anthropic::request(request),
            Self::GoogleGenerativeAi => google::request(request),
            Self::GoogleVertex => google::vertex::request(request),
            Self::MistralConversations => mistral::request(request),
            Self::OpenaiCompletions => openai_completions::request(request),
            Self::OpenaiResponses => openai_responses::request(request),
        };
        provider::add_headers(self, request, &mut built.headers);
        built
    }

    /// Creates the reader of one answer.
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::AnthropicMessages => anthropic::reader(),
            Self::GoogleGenerativeAi | Self::GoogleVertex => google::reader(),
            Self::MistralConversations => mistral::reader(),
            Self::OpenaiCompletions => openai_completions::reader(),
            Self::OpenaiResponses => openai_responses::reader(),
        }
    }
}
