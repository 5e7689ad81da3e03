//! The supported APIs, by the names in a model's `api`.

use super::{
    anthropic, bedrock,
    google::{self, vertex::AccountSource},
    mistral, openai_azure, openai_codex, openai_completions, openai_responses, pi_messages, provider,
    request::{Credentials, HttpRequest, ModelRequest, Reader},
};
use pi_rpc_protocol::Model;

/// An API of real models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `anthropic-messages`.
    AnthropicMessages,
    /// `azure-openai-responses`.
    AzureOpenaiResponses,
    /// `bedrock-converse-stream`.
    BedrockConverseStream,
    /// `google-generative-ai`.
    GoogleGenerativeAi,
    /// `google-vertex`.
    GoogleVertex,
    /// `mistral-conversations`.
    MistralConversations,
    /// `openai-codex-responses`.
    OpenaiCodexResponses,
    /// `openai-completions`.
    OpenaiCompletions,
    /// `openai-responses`.
    OpenaiResponses,
    /// `pi-messages`.
    PiMessages,
}

impl Api {
    /// Every API, in the order in which users see them.
    pub const ALL: [Self; 10] = [
        Self::AnthropicMessages,
        Self::AzureOpenaiResponses,
        Self::BedrockConverseStream,
        Self::GoogleGenerativeAi,
        Self::GoogleVertex,
        Self::MistralConversations,
        Self::OpenaiCodexResponses,
        Self::OpenaiCompletions,
        Self::OpenaiResponses,
        Self::PiMessages,
    ];

    /// Parses the name of an API.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// The name in a model's `api`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::AzureOpenaiResponses => "azure-openai-responses",
            Self::BedrockConverseStream => "bedrock-converse-stream",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::GoogleVertex => "google-vertex",
            Self::MistralConversations => "mistral-conversations",
            Self::OpenaiCodexResponses => "openai-codex-responses",
            Self::OpenaiCompletions => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
            Self::PiMessages => "pi-messages",
        }
    }

    /// Environment variables beside the key's that a request to a model of `provider` depends on:
    /// [`Credentials::variables`].
    pub fn variables(self, provider: &str) -> &'static [&'static str] {
        match self {
            Self::AnthropicMessages if provider == anthropic::federation::ANTHROPIC => {
                &anthropic::federation::VARIABLES
            }
            Self::AzureOpenaiResponses => &openai_azure::VARIABLES,
            Self::GoogleVertex => &google::vertex::VARIABLES,
            Self::OpenaiCompletions if provider == AZURE => &openai_azure::VARIABLES,
            Self::OpenaiCompletions | Self::OpenaiResponses if provider == provider::OPENAI => {
                &provider::OPENAI_VARIABLES
            }
            _ => &[],
        }
    }

    /// Where the Google account is that authorizes a request; `None`: the key does.
    ///
    /// # Errors
    ///
    /// What is missing, and where it can be set.
    pub fn account_source(self, credentials: &Credentials) -> Result<Option<AccountSource>, String> {
        match self {
            Self::GoogleVertex => google::vertex::account_source(credentials),
            _ => Ok(None),
        }
    }

    /// Checks that `credentials` have what a request to `model` needs beside the key.
    ///
    /// # Errors
    ///
    /// What is missing, and where it can be set.
    pub fn check(self, model: &Model, credentials: &Credentials) -> Result<(), String> {
        match self {
            Self::AzureOpenaiResponses => openai_azure::check(model, credentials),
            Self::OpenaiCompletions if model.provider == AZURE => openai_azure::check(model, credentials),
            _ => Ok(()),
        }
    }

    /// Builds an HTTP request in the form of the API.
    pub fn request(self, request: &ModelRequest<'_>) -> HttpRequest {
        let mut built = match self {
            Self::AnthropicMessages => anthropic::request(request),
            Self::AzureOpenaiResponses => openai_azure::request(request),
            Self::BedrockConverseStream => bedrock::request(request),
            Self::GoogleGenerativeAi => google::request(request),
            Self::GoogleVertex => google::vertex::request(request),
            Self::MistralConversations => mistral::request(request),
            Self::OpenaiCodexResponses => openai_codex::request(request),
            Self::OpenaiCompletions if request.endpoint.model.provider == AZURE => {
                openai_azure::completions(request, openai_completions::request(request))
            }
            Self::OpenaiCompletions => openai_completions::request(request),
            Self::OpenaiResponses => openai_responses::request(request),
            Self::PiMessages => pi_messages::request(request),
        };
        provider::add_headers(self, request, &mut built.headers);
        built
    }

    /// The requested thinking level in the provider's words, for models whose later requests repeat it where it held.
    pub fn kept_effort<'a>(self, request: &ModelRequest<'a>) -> Option<&'a str> {
        match self {
            Self::AnthropicMessages => anthropic::kept_effort(request),
            Self::OpenaiCodexResponses => openai_codex::kept_effort(request),
            Self::OpenaiResponses => openai_responses::kept_effort(request),
            _ => None,
        }
    }

    /// Creates the reader of one answer of `model`.
    pub fn reader_for(self, model: &Model) -> Box<dyn Reader> {
        match self {
            Self::OpenaiCodexResponses => openai_codex::reader_for(model),
            Self::OpenaiCompletions => openai_completions::reader_for(model),
            Self::OpenaiResponses => openai_responses::reader_for(model),
            _ => self.reader(),
        }
    }

    /// Creates the reader of one answer of a model without peculiarities.
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::AnthropicMessages => anthropic::reader(),
            Self::BedrockConverseStream => bedrock::reader(),
            Self::GoogleGenerativeAi | Self::GoogleVertex => google::reader(),
            Self::AzureOpenaiResponses => openai_azure::reader(),
            Self::MistralConversations => mistral::reader(),
            Self::OpenaiCompletions => openai_completions::reader(),
            Self::OpenaiCodexResponses | Self::OpenaiResponses => openai_responses::reader(),
            Self::PiMessages => pi_messages::reader(),
        }
    }
}

/// The provider that has other vendors' models behind Chat Completions, too.
const AZURE: &str = "azure";
