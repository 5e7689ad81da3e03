//! Requests and streams for the tests of OpenAI's APIs.

use pi_rpc::{
    model::{
        request::{Credentials, Endpoint, HttpRequest, ModelRequest, Reader, RequestOptions},
        types::{BlockStart, Finish, StreamEvent, TokenCounts, ToolSpec},
    },
    protocol::{AgentMessage, Model, ThinkingLevel},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Everything that a request is made of, with the usual values.
pub struct Asked {
    pub endpoint: Endpoint,
    pub credentials: Credentials,
    pub level: ThinkingLevel,
    pub system_prompt: &'static str,
    pub messages: Vec<Arc<AgentMessage>>,
    pub tools: Vec<ToolSpec>,
    pub forced_tool: Option<&'static str>,
    pub options: RequestOptions,
}

impl Asked {
    /// A model with the members of `model` instead of the usual, and a conversation.
    pub fn new(api: &str, model: Value, messages: Value) -> Self {
        let mut whole = json!({
            "id": "gpt-5.4", "name": "GPT 5.4", "api": api, "provider": "openai",
            "baseUrl": "https://api.openai.com/v1", "reasoning": true, "input": ["text", "image"],
            "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": 200000, "maxTokens": 64000,
        });
        let members = model.as_object().unwrap().clone();
        whole.as_object_mut().unwrap().extend(members);
        let model: Model = serde_json::from_value(whole).unwrap();
        let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
        Self {
            endpoint: Endpoint {
                model,
                levels: ThinkingLevel::ALL[..5].to_vec(),
                efforts: BTreeMap::new(),
                adaptive: false,
            },
            credentials: Credentials { key: Some("key".to_owned()), ..Credentials::default() },
            level: ThinkingLevel::Off,
            system_prompt: "Be brief.",
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Vec::new(),
            forced_tool: None,
            options: RequestOptions { budgets: BTreeMap::new(), blocks_images: false, caches_long: false },
        }
    }

    /// The request as `make` puts it.
    pub fn request(&self, make: fn(&ModelRequest<'_>) -> HttpRequest) -> HttpRequest {
        make(&ModelRequest {
            endpoint: &self.endpoint,
            credentials: &self.credentials,
            most_tokens: None,
            level: self.level,
            system_prompt: self.system_prompt,
            messages: &self.messages,
            tools: &self.tools,
            forced_tool: self.forced_tool,
            session_id: "session",
            options: &self.options,
        })
    }
}

/// A tool without arguments.
pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({"type": "object", "properties": {}}),
        exclusive: false,
    }
}

/// What the user says: a text, or blocks.
pub fn user(content: Value) -> Value {
    json!({"role": "user", "content": content, "timestamp": 1})
}

/// An answer of a model, given as `provider/api/model`.
pub fn assistant(by: &str, content: Value) -> Value {
    let mut by = by.splitn(3, '/');
    let mut name = || by.next().unwrap();
    let (provider, api, model) = (name(), name(), name());
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    json!({
        "role": "assistant", "content": content, "api": api, "provider": provider, "model": model,
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost,
        },
        "stopReason": "stop", "timestamp": 2,
    })
}

/// The result of a call.
pub fn result(id: &str, content: Value) -> Value {
    json!({
        "role": "toolResult", "toolCallId": id, "toolName": "read", "content": content, "isError": false,
        "timestamp": 3,
    })
}

pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn image(data: &str) -> Value {
    json!({"type": "image", "data": data, "mimeType": "image/png"})
}

pub fn call(id: &str, path: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": path}})
}

/// What `reader` says to each of `events` and, after them, to the end of the stream, but the provider's own words.
pub fn read(reader: Box<dyn Reader>, events: &[Value]) -> Vec<StreamEvent> {
    let mut read = read_all(reader, events);
    read.retain(|event| !matches!(event, StreamEvent::Model(_) | StreamEvent::Word(_)));
    read
}

/// What `reader` says to each of `events` and, after them, to the end of the stream.
pub fn read_all(mut reader: Box<dyn Reader>, events: &[Value]) -> Vec<StreamEvent> {
    let mut said: Vec<StreamEvent> = Vec::new();
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        said.extend(reader.event(event["type"].as_str().unwrap_or("message"), &data));
    }
    said.extend(reader.end());
    said
}

pub fn start(index: usize, block: BlockStart) -> StreamEvent {
    StreamEvent::Start { index, block }
}

pub fn start_call(index: usize, id: &str, name: &str) -> StreamEvent {
    start(index, BlockStart::ToolCall { id: id.to_owned(), name: name.to_owned() })
}

pub fn delta(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::Delta { index, delta: delta.to_owned() }
}

pub fn sign(index: usize, signature: &str) -> StreamEvent {
    StreamEvent::Signature { index, signature: signature.to_owned() }
}

pub fn end(index: usize) -> StreamEvent {
    StreamEvent::End { index, signature: None }
}

pub fn end_signed(index: usize, signature: &str) -> StreamEvent {
    StreamEvent::End { index, signature: Some(signature.to_owned()) }
}

pub fn id(id: &str) -> StreamEvent {
    StreamEvent::ResponseId(id.to_owned())
}

pub fn usage(input: u64, output: u64, cache_read: u64) -> StreamEvent {
    usage_with(input, output, cache_read, 0)
}

/// Tokens, of which `reasoning` were thinking.
pub fn usage_with(input: u64, output: u64, cache_read: u64, reasoning: u64) -> StreamEvent {
    let reasoning = Some(reasoning);
    StreamEvent::Usage(TokenCounts { input, output, cache_read, reasoning, ..TokenCounts::default() })
}

pub fn finish(finish: Finish) -> StreamEvent {
    StreamEvent::Finish(finish)
}

pub fn fail(message: &str) -> StreamEvent {
    StreamEvent::Fail { message: message.to_owned(), retry_after: None }
}

/// Whether `events` are as a [`Reader`] promises: blocks one after another, one last event, nothing after it.
pub fn check_contract(events: &[StreamEvent]) -> Result<(), String> {
    let (mut open, mut next, mut over) = (None, 0, false);
    for event in events {
        let fits = !over
            && match event {
                StreamEvent::Start { index, .. } => open.replace(*index).is_none() && *index == next,
                StreamEvent::Delta { index, .. } => open == Some(*index),
                StreamEvent::End { index, .. } => open.take() == Some(*index),
                StreamEvent::Signature { index, .. } => *index < next || open == Some(*index),
                StreamEvent::Finish(_) => open.is_none(),
                StreamEvent::ResponseId(_)
                | StreamEvent::Model(_)
                | StreamEvent::Word(_)
                | StreamEvent::Usage(_)
                | StreamEvent::Fail { .. } => true,
            };
        if !fits {
            return Err(format!("{event:?} does not fit in {events:#?}"));
        }
        next += usize::from(matches!(event, StreamEvent::Start { .. }));
        over = matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. });
    }
    if over { Ok(()) } else { Err(format!("no last event in {events:#?}")) }
}

/// The last event of a stream that is cut.
pub const CUT: &str = "terminated: the stream ended before the answer was complete";
