//! A request to a model, from what is asked to what has come of it.

use crate::{
    conventions::{
        ABORTED, CONVERSATION, FINISH_REASONS, FIRST_CHUNK, OPERATION, PROVIDER, PURPOSE, REASONING_LEVEL,
        REQUEST_MODEL, REQUEST_STREAM, RESPONSE_ID, RESPONSE_MODEL, failure_class, finish_reason,
        provider_name, server, stop_reason, usage,
    },
    span::{Attribute, AttributeValue, Failure, SpanNumber},
    texts::{AnswerText, Texts},
};
use pi_rpc_engine::{CallId, ModelCall, Purpose};
use pi_rpc_model::types::{StreamEvent, TokenCounts};
use pi_rpc_protocol::{AssistantMessage, ExtensionModelCall, JsonObject, Model, ThinkingLevel};
use std::time::Duration;

/// Names an outstanding request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModelKey {
    /// One of the server.
    Call(CallId),
    /// One that an extension performs: its process, and the id in the frames.
    Extension(CallId, String),
}

/// An outstanding request.
#[derive(Debug)]
pub struct ModelRequest {
    /// Its span.
    pub number: SpanNumber,
    /// The name of the span.
    pub name: String,
    /// When it was sent.
    pub begun: Duration,
    /// What is known at its beginning.
    pub attributes: Vec<Attribute>,
    /// Whether its answer is the next message of the conversation.
    pub is_turn: bool,
    /// What the answer has used so far.
    pub tokens: TokenCounts,
    first_chunk: Option<Duration>,
    response_id: Option<String>,
    response_model: Option<String>,
    end: Option<End>,
    /// The answer so far, where texts are recorded.
    answer: Option<AnswerText>,
}

/// How a request has ended.
#[derive(Debug)]
enum End {
    /// For this reason, in the convention's words.
    Finished(&'static str),
    /// With this text.
    Failed(String),
    /// It was cancelled.
    Cut,
}

impl ModelRequest {
    /// A request of the server.
    pub fn of_call(call: &ModelCall, texts: Option<&Texts>) -> Self {
        let purpose = match call.purpose {
            Purpose::Turn => None,
            Purpose::Summary => Some("summary"),
            Purpose::Extension(_) => Some("extension"),
            Purpose::Warming => Some("cache_warming"),
        };
        let mut request = Self::new(&call.model, call.level, Some(&call.session_id), texts.is_some());
        request.is_turn = purpose.is_none();
        request.attributes.extend(purpose.map(|purpose| (PURPOSE, purpose.into())));
        let messages = call.messages.iter().map(|message| &**message);
        let text = texts.into_iter().flat_map(|texts| texts.request(&call.system_prompt, messages.clone()));
        request.attributes.extend(text);
        request
    }

    /// A request that an extension performs.
    pub fn of_extension(call: &ExtensionModelCall, texts: Option<&Texts>) -> Self {
        let mut request = Self::new(&call.model, call.level, call.session_id.as_deref(), texts.is_some());
        let instructions = call.system_prompt.as_deref().unwrap_or_default();
        let text = texts.into_iter().flat_map(|texts| texts.request(instructions, call.messages.iter()));
        request.attributes.extend(text);
        request
    }

    fn new(model: &Model, level: Option<ThinkingLevel>, session: Option<&str>, records_text: bool) -> Self {
        let mut attributes: Vec<Attribute> = vec![
            (OPERATION, "chat".into()),
            (PROVIDER, provider_name(&model.provider).into()),
            (REQUEST_MODEL, model.id.as_str().into()),
            (REQUEST_STREAM, true.into()),
        ];
        attributes.extend(session.map(|session| (CONVERSATION, session.into())));
        let level = level.filter(|level| *level != ThinkingLevel::Off);
        attributes.extend(level.map(|level| (REASONING_LEVEL, level.as_str().into())));
        attributes.extend(server(&model.base_url));
        Self {
            number: 0,
            name: format!("chat {}", model.id),
            begun: Duration::ZERO,
            attributes,
            is_turn: true,
            tokens: TokenCounts::default(),
            first_chunk: None,
            response_id: None,
            response_model: None,
            end: None,
            answer: records_text.then(AnswerText::default),
        }
    }

    /// Adds a step of the answer; `true`: it is the last.
    pub fn add(&mut self, event: &StreamEvent, at: Duration) -> bool {
        match event {
            // Known before the answer.
            StreamEvent::Effort(_) => return false,
            StreamEvent::ResponseId(id) => self.response_id = Some(id.clone()),
            StreamEvent::Model(model) => self.response_model = Some(model.clone()),
            StreamEvent::Usage(tokens) => self.tokens = *tokens,
            StreamEvent::Finish(finish) => self.end = Some(End::Finished(finish_reason(*finish))),
            StreamEvent::Fail { message, .. } => self.end = Some(End::Failed(message.clone())),
            _ => {}
        }
        if !matches!(event, StreamEvent::Fail { .. }) {
            self.first_chunk.get_or_insert(at);
        }
        if let Some(answer) = &mut self.answer {
            answer.add(event);
        }
        self.end.is_some()
    }

    /// Adds an event of an answer that an extension streams; `true`: it is the last.
    pub fn add_of_extension(&mut self, event: &JsonObject, at: Duration) -> bool {
        let message = match event.get("type").and_then(|kind| kind.as_str()) {
            Some("done") => event.get("message"),
            Some("error") => event.get("error"),
            _ => {
                self.first_chunk.get_or_insert(at);
                return false;
            }
        };
        let message = message.and_then(|message| serde_json::from_value(message.clone()).ok());
        let Some(message): Option<AssistantMessage> = message else {
            self.end = Some(End::Failed(String::new()));
            return true;
        };
        let used = &message.usage;
        self.tokens = TokenCounts {
            input: used.input,
            output: used.output,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
            reasoning: used.reasoning,
            ..TokenCounts::default()
        };
        if let Some(answer) = &mut self.answer {
            *answer = AnswerText::of(&message.content);
        }
        (self.response_id, self.response_model) = (message.response_id, message.response_model);
        self.end = Some(match message.error_message {
            Some(text) => End::Failed(text),
            None => End::Finished(stop_reason(message.stop_reason)),
        });
        true
    }

    /// Ends it: it has failed with this text.
    pub fn fail(&mut self, text: &str) {
        self.end = Some(End::Failed(text.to_owned()));
    }

    /// Ends it: it is cancelled.
    pub fn cut(&mut self) {
        self.end = Some(End::Cut);
    }

    /// What is known at its end.
    pub fn end_attributes(&self, texts: Option<&Texts>) -> Vec<Attribute> {
        let reason = match &self.end {
            Some(End::Finished(reason)) => Some(*reason),
            Some(End::Failed(_)) => Some("error"),
            Some(End::Cut) | None => None,
        };
        let mut attributes = Vec::new();
        attributes.extend(self.response_id.as_deref().map(|id| (RESPONSE_ID, id.into())));
        attributes.extend(self.response_model.as_deref().map(|model| (RESPONSE_MODEL, model.into())));
        attributes.extend(reason.map(|reason| (FINISH_REASONS, vec![reason].into())));
        let first = self.first_chunk.map(|first| first.saturating_sub(self.begun).as_secs_f64());
        attributes.extend(first.map(|seconds| (FIRST_CHUNK, AttributeValue::Seconds(seconds))));
        attributes.extend(usage(&self.tokens));
        let answer = self.answer.as_ref().zip(texts);
        attributes.extend(answer.map(|(answer, texts)| answer.attribute(texts, reason.unwrap_or(ABORTED))));
        attributes
    }

    /// Why it has failed, if it has.
    pub fn failure(&self, texts: Option<&Texts>) -> Option<Failure> {
        match self.end.as_ref()? {
            End::Finished(_) => None,
            End::Cut => Some(Failure::of(ABORTED)),
            End::Failed(text) => {
                Some(Failure { class: failure_class(text), text: texts.map(|texts| texts.text(text)) })
            }
        }
    }
}
