//! Shared by the tests of real models: what a request is made of, and an answer's events in short.

use pi_rpc_model::{
    request::{Credentials, Endpoint, HttpRequest, ModelRequest, Reader, RequestOptions},
    types::{BlockStart, StreamEvent, ToolSpec},
};
use pi_rpc_protocol::{AgentMessage, Model, ThinkingLevel};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

/// Everything that a request refers to.
pub struct Asked {
    pub endpoint: Endpoint,
    pub credentials: Credentials,
    pub level: ThinkingLevel,
    pub system_prompt: &'static str,
    pub messages: Vec<Arc<AgentMessage>>,
    pub has_system_messages: bool,
    pub tools: Vec<ToolSpec>,
    pub forced_tool: Option<&'static str>,
    pub options: RequestOptions,
}

impl Asked {
    /// Model `m` of provider `p` over `api`, which thinks and sees images, with `members` instead of the usual; key
    /// `key`, level off, no instructions.
    pub fn new(api: &str, members: Value, history: Value) -> Self {
        let mut model = json!({
            "id": "m", "name": "M", "api": api, "provider": "p", "baseUrl": "https://api.example.com",
            "reasoning": true, "input": ["text", "image"],
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            "contextWindow": 200_000, "maxTokens": 64_000,
        });
        extend(&mut model, members);
        let model: Model = serde_json::from_value(model).unwrap();
        let messages: Vec<AgentMessage> = serde_json::from_value(history).unwrap();
        Self {
            endpoint: Endpoint { model, levels: Vec::new(), efforts: BTreeMap::new(), adaptive: false },
            credentials: Credentials { key: Some("key".to_owned()), ..Credentials::default() },
            level: ThinkingLevel::Off,
            system_prompt: "",
            messages: messages.into_iter().map(Arc::new).collect(),
            has_system_messages: false,
            tools: Vec::new(),
            forced_tool: None,
            options: RequestOptions { budgets: BTreeMap::new(), blocks_images: false, caches_long: false },
        }
    }

    /// GPT 5.4 of OpenAI over `api`, with `members` instead of the usual; instructions to be brief.
    pub fn openai(api: &str, members: Value, history: Value) -> Self {
        let mut model = json!({
            "id": "gpt-5.4", "name": "GPT 5.4", "provider": "openai", "baseUrl": "https://api.openai.com/v1",
        });
        extend(&mut model, members);
        let mut asked = Self::new(api, model, history);
        asked.endpoint.levels = ThinkingLevel::ALL[..5].to_vec();
        asked.system_prompt = "Be brief.";
        asked
    }

    /// The body of the request that `make` makes.
    pub fn body(&self, make: fn(&ModelRequest<'_>) -> HttpRequest) -> Value {
        make(&self.request()).body
    }

    pub fn request(&self) -> ModelRequest<'_> {
        ModelRequest {
            endpoint: &self.endpoint,
            credentials: &self.credentials,
            max_answer_tokens: None,
            level: self.level,
            system_prompt: self.system_prompt,
            messages: &self.messages,
            has_system_messages: self.has_system_messages,
            tools: &self.tools,
            forced_tool: self.forced_tool,
            session_id: "session",
            options: &self.options,
        }
    }
}

/// Adds `members` to an object, or puts them in the place of those it has.
pub fn extend(object: &mut Value, members: Value) {
    object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
}

/// Names and values as headers are kept.
pub fn headers<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// A tool without arguments.
pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({ "type": "object", "properties": {} }).into(),
        exclusive: false,
        output: None,
    }
}

/// Checks `body` against the vendor's own `schema`.
pub fn check_schema(schema: &str, body: &Value) {
    let schema = serde_json::from_str(schema).unwrap();
    assert_eq!(jsonschema::validate(&schema, body).map_err(|error| error.to_string()), Ok(()));
}

/// A user message; `content` is a text or blocks.
pub fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content, "timestamp": 1 })
}

/// A complete answer of `by`: `provider/api/model`.
pub fn assistant(by: &str, content: Value) -> Value {
    stopped(by, "stop", content)
}

/// An answer that ended for `reason`.
pub fn stopped(by: &str, reason: &str, content: Value) -> Value {
    let by: Vec<&str> = by.splitn(3, '/').collect();
    json!({
        "role": "assistant", "content": content, "provider": by[0], "api": by[1], "model": by[2],
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        },
        "stopReason": reason, "timestamp": 1,
    })
}

/// What the call `id` of the tool `name` returned.
pub fn returned(id: &str, name: &str, content: Value, is_error: bool) -> Value {
    json!({
        "role": "toolResult", "toolCallId": id, "toolName": name, "content": content, "isError": is_error,
        "timestamp": 1,
    })
}

/// What the call `id` of `read` returned.
pub fn result(id: &str, content: Value) -> Value {
    returned(id, "read", content, false)
}

/// A text block.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A thinking block that is signed.
pub fn thinking(text: &str, signature: &str) -> Value {
    json!({ "type": "thinking", "thinking": text, "thinkingSignature": signature })
}

/// A call of `name`.
pub fn call_of(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })
}

/// A call of `read`.
pub fn call(id: &str, path: &str) -> Value {
    call_of(id, "read", json!({ "path": path }))
}

/// An image block.
pub fn image(data: &str) -> Value {
    json!({ "type": "image", "data": data, "mimeType": "image/png" })
}

/// The events that `reader` reads from each of `events` and, after them, from the end of the stream, but the
/// provider's own words.
pub fn read(reader: Box<dyn Reader>, events: &[Value]) -> Vec<StreamEvent> {
    let mut read = read_all(reader, events);
    read.retain(|event| !matches!(event, StreamEvent::Model(_) | StreamEvent::ProviderReason(_)));
    read
}

/// The events that `reader` reads from each of `events` and, after them, from the end of the stream.
pub fn read_all(mut reader: Box<dyn Reader>, events: &[Value]) -> Vec<StreamEvent> {
    let mut read: Vec<StreamEvent> = Vec::new();
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        read.extend(reader.event(event["type"].as_str().unwrap_or("message"), &data));
    }
    read.extend(reader.end());
    read
}

/// The events in short: a line for each block with its `|deltas|` and `~signatures`, a line for each other event.
pub fn shown(events: &[StreamEvent]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut block = None;
    for event in events {
        let (index, piece) = match event {
            StreamEvent::Start { index, block } => (*index, begun(block)),
            StreamEvent::Delta { index, delta } => (*index, format!("|{delta}|")),
            StreamEvent::Signature { index, signature } => (*index, format!("~{signature}")),
            StreamEvent::Unclosed { index } => (*index, "unclosed".to_owned()),
            StreamEvent::End { index, signature: None } => (*index, "end".to_owned()),
            StreamEvent::End { index, signature: Some(signature) } => (*index, format!("end ~{signature}")),
            _ => {
                block = None;
                lines.push(other(event));
                continue;
            }
        };
        match lines.last_mut() {
            Some(line) if block == Some(index) && !matches!(event, StreamEvent::Start { .. }) => {
                match piece.strip_prefix('|').filter(|_| line.ends_with('|')) {
                    Some(delta) => line.push_str(delta),
                    None => write!(line, " {piece}").unwrap(),
                }
            }
            _ => lines.push(format!("{index} {piece}")),
        }
        block = Some(index);
    }
    lines
}

fn begun(block: &BlockStart) -> String {
    match block {
        BlockStart::Text => "text".to_owned(),
        BlockStart::Thinking => "thinking".to_owned(),
        BlockStart::Redacted { data } => format!("redacted {data}"),
        BlockStart::ToolCall { id, name } => format!("call {id} {name}"),
    }
}

/// An event that belongs to no block.
fn other(event: &StreamEvent) -> String {
    match event {
        StreamEvent::ResponseId(id) => format!("id {id}"),
        StreamEvent::Model(model) => format!("model {model}"),
        StreamEvent::ProviderReason(word) => format!("word {word}"),
        StreamEvent::Usage(counts) => {
            let (input, output) = (counts.input, counts.output);
            let mut line = format!("usage {input}, {output}, {}, {}", counts.cache_read, counts.cache_write);
            for (name, count) in [("thought", counts.reasoning), ("for an hour", counts.cache_write_1h)] {
                if let Some(count) = count {
                    write!(line, ", {count} {name}").unwrap();
                }
            }
            line
        }
        StreamEvent::Finish(finish) => format!("finish {finish:?}"),
        StreamEvent::Fail { message, retry_after: None } => format!("fail {message}"),
        other => format!("{other:?}"),
    }
}

/// Whether `events` are as a [`Reader`] promises: blocks one after another, one last event, nothing after it.
pub fn check_contract(events: &[StreamEvent]) -> Result<(), String> {
    let (mut open, mut next, mut over) = (None, 0, false);
    for event in events {
        let fits = !over
            && match event {
                StreamEvent::Start { index, .. } => open.replace(*index).is_none() && *index == next,
                StreamEvent::Delta { index, .. } | StreamEvent::Unclosed { index } => open == Some(*index),
                StreamEvent::End { index, .. } => open.take() == Some(*index),
                StreamEvent::Signature { index, .. } => *index < next || open == Some(*index),
                StreamEvent::Finish(_) => open.is_none(),
                StreamEvent::ResponseId(_)
                | StreamEvent::Model(_)
                | StreamEvent::Effort(_)
                | StreamEvent::Diagnostic(_)
                | StreamEvent::ProviderReason(_)
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
pub const CUT: &str = "fail terminated: the stream ended before the answer was complete";
