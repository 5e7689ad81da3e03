//! The APIs that are spoken, and their dispatch.

use super::{
    answer::AnswerWriter, anthropic, bedrock, completions, fault, google, mistral, pi_messages,
    prompt_context::PromptContext, refusal::VendorRefusal, responses, wording,
};
use axum::http::{HeaderMap, Uri};
use jsonschema::Validator;
use serde_json::Value;
use std::sync::LazyLock;

/// An API of a vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Completions,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Responses at Azure.
    Azure,
    /// OpenAI Responses with the login of a ChatGPT account.
    Codex,
    /// Google's Gemini API.
    Google,
    /// Mistral's chat completions.
    Mistral,
    /// Amazon Bedrock's Converse API.
    Bedrock,
    /// The messages of pi's gateway.
    PiMessages,
}

static ANTHROPIC: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/anthropic-messages.json")));
static COMPLETIONS: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/openai-completions.json")));
static RESPONSES: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/openai-responses.json")));

static CODEX: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/openai-codex-responses.json")));
static BEDROCK: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/bedrock-converse-stream.json")));
static GOOGLE: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/google-generative-ai.json")));

static MISTRAL: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/mistral-conversations.json")));

static PI_MESSAGES: LazyLock<Validator> =
    LazyLock::new(|| compile(include_str!("../../../schema/vendors/pi-messages.json")));

fn compile(text: &str) -> Validator {
    let schema: Value = serde_json::from_str(text).expect("our own schema is JSON");
    jsonschema::draft202012::new(&schema).expect("our own schema is one")
}

impl Vendor {
    /// The API of a request: by its path, else by its headers.
    pub fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let is_azure = headers.contains_key("api-key") || has_member(uri.query(), "api-version");
        match Self::at(uri.path()) {
            Some(Self::Responses) if is_azure => Self::Azure,
            Some(vendor) => vendor,
            None => Self::near(uri.path(), headers),
        }
    }

    /// The API of `path`, under any prefix; Mistral's and pi's are below folders of their own, as their paths are otherwise
    /// those of OpenAI and Anthropic.
    pub fn at(path: &str) -> Option<Self> {
        let endpoints = [
            ("/v1/messages", Self::Anthropic),
            ("/chat/completions", Self::Completions),
            ("/codex/responses", Self::Codex),
            ("/responses", Self::Responses),
            (":generateContent", Self::Google),
            (":streamGenerateContent", Self::Google),
            ("/converse", Self::Bedrock),
            ("/converse-stream", Self::Bedrock),
        ];
        let (_, vendor) = endpoints.into_iter().find(|(end, _)| path.ends_with(end))?;
        Some(match vendor {
            Self::Completions if path.contains(mistral::FOLDER) => Self::Mistral,
            Self::Anthropic if path.contains(pi_messages::FOLDER) => Self::PiMessages,
            vendor => vendor,
        })
    }

    /// The API of another `path`, by the folder or by the headers of its clients.
    fn near(path: &str, headers: &HeaderMap) -> Self {
        if path.contains(mistral::FOLDER) {
            return Self::Mistral;
        }
        if path.contains(pi_messages::FOLDER) {
            return Self::PiMessages;
        }
        let signs = [
            ("anthropic-version", Self::Anthropic),
            ("x-api-key", Self::Anthropic),
            ("api-key", Self::Azure),
            ("x-goog-api-key", Self::Google),
            ("x-goog-api-client", Self::Google),
            ("x-amz-date", Self::Bedrock),
        ];
        let sign = signs.into_iter().find(|(name, _)| headers.contains_key(*name));
        sign.map_or(Self::Completions, |(_, vendor)| vendor)
    }

    /// The header with a request's id.
    pub const fn request_id_header(self) -> &'static str {
        match self {
            Self::Anthropic => "request-id",
            Self::Completions | Self::Responses | Self::Codex => "x-request-id",
            Self::Azure => "apim-request-id",
            Self::Google => "x-gemini-request-id",
            Self::Mistral => "mistral-correlation-id",
            Self::Bedrock => "x-amzn-requestid",
            Self::PiMessages => "x-request-id",
        }
    }

    /// Refuses a request without a key, which Google also accepts in the `query`. Any key is accepted, but for Vertex AI's
    /// below a project, where it takes a token; signatures are checked elsewhere.
    pub fn check_key(self, path: &str, headers: &HeaderMap, query: &str) -> Result<(), VendorRefusal> {
        let value = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let bearer = value("authorization").strip_prefix("Bearer ").unwrap_or_default();
        let has_key = !bearer.trim().is_empty();
        match self {
            Self::Bedrock => Ok(()),
            Self::Anthropic if has_key || !value("x-api-key").trim().is_empty() => Ok(()),
            Self::Anthropic => {
                Err(VendorRefusal::of(401, "authentication_error", "x-api-key header is required"))
            }
            Self::Google if google::needs_account(path) && !google::tokens::is_token(bearer) => {
                Err(VendorRefusal::of(
                    401,
                    "UNAUTHENTICATED",
                    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other \
                     valid authentication credential.",
                ))
            }
            Self::Google if has_key || !value("x-goog-api-key").trim().is_empty() => Ok(()),
            Self::Google
                if query
                    .split('&')
                    .any(|member| member.strip_prefix("key=").is_some_and(|key| !key.is_empty())) =>
            {
                Ok(())
            }
            Self::Google => Err(VendorRefusal::of(
                403,
                "PERMISSION_DENIED",
                "Method doesn't allow unregistered callers (callers without established identity). Please use API Key \
                 or other form of API consumer identity to call this API.",
            )),
            Self::Completions | Self::Responses | Self::Azure | Self::Mistral | Self::PiMessages
                if has_key =>
            {
                Ok(())
            }
            Self::Codex => responses::codex::check_token(bearer, value("chatgpt-account-id")),
            Self::Completions | Self::Azure if !value("api-key").trim().is_empty() => Ok(()),
            Self::Azure => Err(responses::azure::no_access()),
            Self::Mistral => Err(VendorRefusal::of(401, "", "Unauthorized")),
            Self::PiMessages => Err(pi_messages::unauthorized()),
            Self::Completions | Self::Responses => Err(VendorRefusal::of(
                401,
                "invalid_request_error",
                "You didn't provide an API key. You need to provide your API key in an Authorization header using \
                 Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            )),
        }
    }

    /// Refuses what the vendor refuses at `path`: first by the body's shape, then by the further rules.
    pub fn check(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> Result<(), VendorRefusal> {
        match self {
            Self::Anthropic => {
                let version = anthropic::rules::version(headers)?;
                fault::find(&ANTHROPIC, body).map_or(Ok(()), |fault| Err(wording::anthropic(&fault)))?;
                anthropic::rules::check_betas(headers, body)?;
                anthropic::rules::check(version, body)
            }
            Self::Completions => {
                fault::find(&COMPLETIONS, body).map_or(Ok(()), |fault| Err(wording::openai(&fault)))?;
                completions::rules::check(body)
            }
            Self::Responses | Self::Azure | Self::Codex => {
                match self {
                    Self::Azure => responses::azure::check_version(uri)?,
                    Self::Codex => responses::codex::check(fault::find(&CODEX, body))?,
                    _ => {}
                }
                fault::find(&RESPONSES, body).map_or(Ok(()), |fault| Err(wording::openai(&fault)))?;
                responses::rules::check(body)
            }
            Self::Google => {
                let body = &google::camel_case(body);
                fault::find(&GOOGLE, body).map_or(Ok(()), |fault| Err(google::rules::wording(&fault)))?;
                google::rules::check(google::model(uri.path()), body)
            }
            Self::Mistral => {
                fault::find(&MISTRAL, body)
                    .map_or(Ok(()), |fault| Err(mistral::rules::wording(&fault, body)))?;
                mistral::rules::check(body)
            }
            Self::Bedrock => {
                fault::find(&BEDROCK, body).map_or(Ok(()), |fault| Err(bedrock::rules::wording(&fault)))?;
                bedrock::rules::check(&bedrock::model(uri.path()), body)
            }
            Self::PiMessages => {
                fault::find(&PI_MESSAGES, body).map_or(Ok(()), |fault| Err(pi_messages::invalid(&fault)))
            }
        }
    }

    /// Reads the conversation in `body`.
    pub fn prompt_context(self, body: &Value) -> PromptContext {
        match self {
            Self::Anthropic => anthropic::prompt_context(body),
            Self::Completions => completions::prompt_context(body),
            Self::Responses | Self::Azure | Self::Codex => responses::prompt_context(body),
            Self::Google => google::prompt_context(body),
            Self::Mistral => mistral::prompt_context(body),
            Self::Bedrock => bedrock::prompt_context(body),
            Self::PiMessages => pi_messages::prompt_context(body),
        }
    }

    /// Whether the request `body` to `path` asks for a stream.
    pub fn streams(self, path: &str, body: &Value) -> bool {
        match self {
            Self::Google => google::streams(path),
            Self::Anthropic
            | Self::Completions
            | Self::Responses
            | Self::Azure
            | Self::Codex
            | Self::Mistral => body["stream"] == true,
            Self::Bedrock => bedrock::streams(path),
            Self::PiMessages => true,
        }
    }

    /// The content type of a stream.
    pub const fn stream_type(self) -> &'static str {
        match self {
            Self::Bedrock => "application/vnd.amazon.eventstream",
            _ => "text/event-stream; charset=utf-8",
        }
    }

    /// Creates the writer of the answer to the request `body` to `path`.
    pub fn writer(self, path: &str, body: &Value) -> Box<dyn AnswerWriter> {
        match self {
            Self::Anthropic => Box::new(anthropic::writer::MessageWriter::new(body)),
            Self::Completions => Box::new(completions::writer::ChunkWriter::new(body)),
            Self::Responses | Self::Azure | Self::Codex => Box::new(responses::writer::ItemWriter::new(body)),
            Self::Bedrock => Box::new(bedrock::writer::FrameWriter::new()),
            Self::Google => Box::new(google::writer::PartWriter::new(google::model(path))),
            Self::Mistral => Box::new(mistral::writer::PartWriter::new(body)),
            Self::PiMessages => Box::new(pi_messages::writer::EventWriter::new(body)),
        }
    }
}

/// Whether a query has a member `name`.
pub(super) fn has_member(query: Option<&str>, name: &str) -> bool {
    query.is_some_and(|query| query.split('&').any(|member| member.split('=').next() == Some(name)))
}

/// The model in `body`; any id is repeated.
pub(super) fn model(body: &Value) -> String {
    body["model"].as_str().unwrap_or("scripted").to_owned()
}
