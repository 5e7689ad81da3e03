//! The APIs of real models, by the names that a model's `api` has.

use super::{
    anthropic, openai_completions, openai_responses,
    request::{HttpRequest, ModelRequest, Reader},
};

/// How a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `anthropic-messages`.
    AnthropicMessages,
    /// `openai-completions`.
    OpenaiCompletions,
    /// `openai-responses`.
    OpenaiResponses,
}

impl Api {
    /// Every API, in the order in which people are told.
    pub const ALL: [Self; 3] = [Self::AnthropicMessages, Self::OpenaiCompletions, Self::OpenaiResponses];

    /// The API called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// Its name, as a model's `api` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiCompletions => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
        }
    }

    /// The request in its words.
    pub fn request(self, request: &ModelRequest<'_>) -> HttpRequest {
        match self {
            Self::AnthropicMessages => anthropic::request(request),
            Self::OpenaiCompletions => openai_completions::request(request),
            Self::OpenaiResponses => openai_responses::request(request),
        }
    }

    /// A reader of one answer.
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::AnthropicMessages => anthropic::reader(),
            Self::OpenaiCompletions => openai_completions::reader(),
            Self::OpenaiResponses => openai_responses::reader(),
        }
    }
}
