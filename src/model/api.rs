//! The supported APIs, by the names in a model's `api`.

use super::{
    anthropic, google, mistral, openai_completions, openai_responses,
    request::{HttpRequest, ModelRequest, Reader},
};

/// An API of real models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `anthropic-messages`.
    AnthropicMessages,
    /// `google-generative-ai`.
    GoogleGenerativeAi,
    /// `mistral-conversations`.
    MistralConversations,
    /// `openai-completions`.
    OpenaiCompletions,
    /// `openai-responses`.
    OpenaiResponses,
}

impl Api {
    /// Every API, in the order in which users see them.
    pub const ALL: [Self; 5] = [
        Self::AnthropicMessages,
        Self::GoogleGenerativeAi,
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
            Self::MistralConversations => "mistral-conversations",
            Self::OpenaiCompletions => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
        }
    }

    /// Builds an HTTP request in the form of the API.
    pub fn request(self, request: &ModelRequest<'_>) -> HttpRequest {
        match self {
            Self::AnthropicMessages => anthropic::request(request),
            Self::GoogleGenerativeAi => google::request(request),
            Self::MistralConversations => mistral::request(request),
            Self::OpenaiCompletions => openai_completions::request(request),
            Self::OpenaiResponses => openai_responses::request(request),
        }
    }

    /// Creates the reader of one answer.
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::AnthropicMessages => anthropic::reader(),
            Self::GoogleGenerativeAi => google::reader(),
            Self::MistralConversations => mistral::reader(),
            Self::OpenaiCompletions => openai_completions::reader(),
            Self::OpenaiResponses => openai_responses::reader(),
        }
    }
}
