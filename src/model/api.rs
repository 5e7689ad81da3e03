//! The APIs of real models, by the names that a model's `api` has.

use super::{
    anthropic,
    request::{HttpRequest, ModelRequest, Reader},
};

/// How a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `anthropic-messages`.
    AnthropicMessages,
}

impl Api {
    /// Every API, in the order in which people are told.
    pub const ALL: [Self; 1] = [Self::AnthropicMessages];

    /// The API called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// Its name, as a model's `api` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
        }
    }

    /// The request in its words.
    pub fn request(self, request: &ModelRequest<'_>) -> HttpRequest {
        match self {
            Self::AnthropicMessages => anthropic::request(request),
        }
    }

    /// A reader of one answer.
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::AnthropicMessages => anthropic::reader(),
        }
    }
}
