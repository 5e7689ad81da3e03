//! Message threads: Anthropic keeps a conversation for some minutes, so that the next request sends only what is new.
//!
//! [`Threads`] remembers where each session can go on. A request goes on only if everything that the vendor holds is what the
//! whole request would say; else it begins a new thread. What the vendor refuses is sent again whole, once.
//!
//! Source: pi 1.6.0 (`anthropic-messages`).

use super::{features::Features, messages::answer_block};
use crate::{
    api::Api,
    followed_answer::FollowedAnswer,
    held_prefix::HeldPrefix,
    request::{HttpRequest, Reader, StreamFormat},
    types::{AnswerDiagnostic, StreamEvent},
};
use indexmap::IndexMap;
use pi_rpc_protocol::{JsonObject, Model};
use serde_json::{Value, json};
use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// Sessions that are remembered; the one that was used longest ago is forgotten, and begins a new thread.
const MOST_SESSIONS: usize = 1000;

/// Refusals after which a new thread helps.
const NEW_THREAD_CODES: [&str; 4] = [
    "thread_not_found",
    "thread_already_continued",
    "thread_continue_in_flight",
    "thread_fingerprint_mismatch",
];

/// Refusal of a request that cannot be part of a thread.
const NO_THREAD_CODE: &str = "thread_unsupported_request";

/// The kind of the diagnostic that tells of a refused thread.
const THREAD_FALLBACK: &str = "anthropic_thread_fallback";

/// Members of a request that stay the same in a thread.
const FIXED_MEMBERS: [&str; 7] =
    ["model", "system", "tools", "thinking", "output_config", "tool_choice", "fallbacks"];

/// Where the threads of all sessions can go on.
#[derive(Debug, Default)]
pub struct Threads(Mutex<IndexMap<String, Thread>>);

/// The thread of a session.
#[derive(Clone, Debug, PartialEq)]
enum Thread {
    /// The server takes none.
    Off,
    /// The vendor holds the conversation up to the answer with this id.
    Open { prefix: HeldPrefix, answer: String },
}

impl Threads {
    /// Makes `request` of `session` a part of a thread, if the server of `model` keeps any. The answer is to be read by the
    /// reader that is returned.
    pub fn join(
        self: &Arc<Self>,
        session: &str,
        model: &Model,
        mut request: HttpRequest,
        reader: Box<dyn Reader>,
    ) -> (HttpRequest, Box<dyn Reader>) {
        let features = Features::of(model);
        let known = self.lock().get(session).cloned();
        let has_threads = features.threads && model.api == Api::AnthropicMessages.as_str();
        if !has_threads || session.is_empty() || known == Some(Thread::Off) {
            return (request, reader);
        }
        let settings = Settings::of(model, &request);
        let whole = request.body.clone();
        request.body = self.continued(session, known, &settings, &whole).unwrap_or_else(|| created(&whole));
        let reader = ThreadReader {
            reader,
            threads: self.clone(),
            session: session.to_owned(),
            model: model.id.clone(),
            features,
            settings,
            whole,
            state: Sent::InThread,
            refusal: None,
            answer: FollowedAnswer::default(),
        };
        (request, Box::new(reader))
    }

    /// The body that goes on with the thread; `None`: it does not fit.
    fn continued(
        &self,
        session: &str,
        known: Option<Thread>,
        settings: &Settings,
        whole: &Value,
    ) -> Option<Value> {
        let Some(Thread::Open { prefix, answer }) = known else { return None };
        let messages = whole["messages"].as_array()?;
        if messages.len() <= prefix.count || !prefix.begins(&settings.0, &plain_all(messages)) {
            return None;
        }
        // An answer can be continued once.
        self.lock().shift_remove(session);
        let mut body = whole.clone();
        let members = body.as_object_mut()?;
        members.shift_remove("system");
        members.shift_remove("tools");
        body["messages"] = messages[prefix.count..].into();
        body["thread"] = json!({ "type": "continue", "previous_message_id": answer });
        Some(body)
    }

    fn set(&self, session: &str, thread: Thread) {
        let mut sessions = self.lock();
        sessions.shift_remove(session);
        sessions.insert(session.to_owned(), thread);
        if sessions.len() > MOST_SESSIONS {
            sessions.shift_remove_index(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, IndexMap<String, Thread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body that begins a thread.
fn created(whole: &Value) -> Value {
    let mut body = whole.clone();
    body["thread"] = json!({ "type": "create" });
    body
}

/// What stays the same in a thread, as text.
struct Settings(String);

impl Settings {
    fn of(model: &Model, request: &HttpRequest) -> Self {
        let betas = request.headers.iter().find(|(name, _)| name == "anthropic-beta");
        let fixed: Vec<&Value> = FIXED_MEMBERS.iter().map(|name| &request.body[*name]).collect();
        let betas = betas.map(|(_, betas)| betas);
        Self(json!([model.provider, request.url, betas, fixed]).to_string())
    }
}

fn plain_all(messages: &[Value]) -> Vec<Value> {
    messages.iter().map(plain).collect()
}

/// A message without marks of the cache, which move from request to request, and with its text as a block.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| match value {
                Value::String(text) if name == "content" => {
                    (name.clone(), json!([{ "type": "text", "text": text }]))
                }
                value => (name.clone(), plain(value)),
            };
            let kept = members.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(kept.map(member).collect())
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        value => value.clone(),
    }
}

/// How the request was sent that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// In a thread.
    InThread,
    /// As the beginning of a new thread, after a refusal.
    InNewThread,
    /// Without a thread, as the server takes none.
    Alone,
}

/// Reads an answer in a thread, and remembers it.
struct ThreadReader {
    reader: Box<dyn Reader>,
    threads: Arc<Threads>,
    session: String,
    model: String,
    features: Features,
    settings: Settings,
    /// The body of the request with the whole conversation.
    whole: Value,
    state: Sent,
    /// The refusal of the thread, for the answer's diagnostics.
    refusal: Option<StreamEvent>,
    answer: FollowedAnswer,
}

impl ThreadReader {
    fn follow(&mut self, events: &[StreamEvent]) {
        for event in events {
            if self.state == Sent::Alone {
                return self.threads.set(&self.session, Thread::Off);
            }
            match event {
                StreamEvent::Finish(_) => self.remember(),
                event => self.answer.follow(event),
            }
        }
    }

    /// Remembers where the session goes on behind this answer. One of another model is not kept by the vendor.
    fn remember(&mut self) {
        let mut answer = mem::take(&mut self.answer);
        if answer.model.take().is_some_and(|model| model != self.model) {
            return;
        }
        let (Some(id), Some(blocks)) = (answer.id.take(), answer.blocks()) else { return };
        let blocks: Vec<Value> =
            blocks.iter().filter_map(|block| answer_block(block, self.features)).collect();
        let mut messages = self.whole["messages"].as_array().cloned().unwrap_or_default();
        if !blocks.is_empty() {
            messages.push(json!({ "role": "assistant", "content": blocks }));
        }
        let prefix = HeldPrefix::of(&self.settings.0, &plain_all(&messages));
        self.threads.set(&self.session, Thread::Open { prefix, answer: id });
    }
}

impl Reader for ThreadReader {
    fn stream_format(&self) -> StreamFormat {
        self.reader.stream_format()
    }

    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent> {
        let events = self.reader.event(name, data);
        self.follow(&events);
        self.refusal.take().into_iter().chain(events).collect()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        let events = self.reader.end();
        self.follow(&events);
        self.refusal.take().into_iter().chain(events).collect()
    }

    fn is_complete(&self) -> bool {
        self.reader.is_complete()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        self.reader.refusal(body)
    }

    fn usage_limit(&self, body: &Value, now: SystemTime) -> Option<String> {
        self.reader.usage_limit(body, now)
    }

    fn error_kind_header(&self) -> Option<&'static str> {
        self.reader.error_kind_header()
    }

    fn retry_after(&self, body: &Value) -> Option<Duration> {
        self.reader.retry_after(body)
    }

    fn body_instead(&mut self, status: u16, body: &Value) -> Option<Value> {
        if self.state != Sent::InThread {
            return None;
        }
        let code = body["error"]["details"]["error_code"].as_str();
        let names_threads =
            || status == 400 && body["error"]["message"].as_str().is_some_and(|text| text.contains("thread"));
        self.state = match code {
            Some(code) if NEW_THREAD_CODES.contains(&code) => Sent::InNewThread,
            Some(NO_THREAD_CODE) => Sent::Alone,
            // A server that does not know the member.
            None if names_threads() => Sent::Alone,
            _ => return None,
        };
        let reason = code.map_or_else(|| status.to_string(), str::to_owned);
        self.refusal = Some(StreamEvent::Diagnostic(Box::new(AnswerDiagnostic {
            kind: THREAD_FALLBACK,
            error: Some(format!("{status} {body}")),
            details: JsonObject::from_iter([("reason".to_owned(), reason.into())]),
        })));
        Some(if self.state == Sent::Alone { self.whole.clone() } else { created(&self.whole) })
    }
}
