//! OpenAI Chat Completions, the API that most other servers speak, too.
//!
//! Source: pi source (`openai-completions`); OpenAI API reference: chat; observed.

pub(super) mod cache_marks;
pub(super) mod calls;
mod messages;
mod reader;
mod reasoning_details;
mod thinking;

use super::{
    compat::{Compat, ThinkingFormat},
    context_room::answer_limit,
    openai::{post, sampling, thinking as thinks},
    request::{HttpRequest, ModelRequest, Reader},
    transcript::{Preamble, as_system, folded},
    types::ToolSpec,
};
use pi_rpc_protocol::{AgentMessage, AssistantContent, JsonObject, Model};
use serde_json::{Value, json};

/// Builds the request, with the members that the model's server supports.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let model = &request.endpoint.model;
    let compat = Compat::of(model);
    let preamble = Preamble::of(request, compat.system_messages);
    let (own, tools) = match preamble.has_changes && compat.tool_additions {
        true => {
            let systems: Vec<_> = request.messages.iter().filter_map(|message| as_system(message)).collect();
            folded(&systems)
        }
        false => (usize::MAX, request.tools.to_vec()),
    };
    let mut messages = messages::messages(request, &compat, &preamble, own);
    let mut tools: Vec<Value> = tools.iter().map(|tool| offer(tool, &compat)).collect();
    let keeps_long = request.options.caches_long && compat.long_cache && request.is_cached();
    if compat.marks_cache && request.is_cached() {
        cache_marks::add(&mut messages, &mut tools, keeps_long);
    }
    let mut body = JsonObject::new();
    body.insert("model".into(), model.id.clone().into());
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    let has_key = compat.cache_key.unwrap_or(model.base_url.contains("api.openai.com") || keeps_long);
    if has_key && request.is_cached() {
        body.insert("prompt_cache_key".into(), cache_key(request.session_id).into());
    }
    if keeps_long {
        body.insert("prompt_cache_retention".into(), "24h".into());
    }
    if compat.usage_in_streaming {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if compat.store {
        body.insert("store".into(), false.into());
    }
    let limit = answer_limit(request);
    if let Some(tokens) = limit {
        body.insert(compat.max_tokens_field.clone(), tokens.into());
    }
    if !tools.is_empty() || (compat.tools_with_history && has_tool_traffic(request)) {
        if compat.tool_stream && !tools.is_empty() {
            body.insert("tool_stream".into(), true.into());
        }
        body.insert("tools".into(), tools.into());
    }
    if let Some(name) = forced(request, &compat) {
        body.insert("tool_choice".into(), json!({"type": "function", "function": {"name": name}}));
    }
    if let Some(priority) = &compat.priority {
        body.insert("priority".into(), priority.clone().into());
    }
    body.extend(thinking::members(request, &compat, limit));
    if let Some((key, value)) = routing(&compat) {
        body.insert(key.into(), value);
    }
    body.extend(sampling(request));
    post(request, "/chat/completions", body.into())
}

/// The session's id as a key of the cache: 64 characters are accepted.
fn cache_key(session: &str) -> String {
    session.chars().take(64).collect()
}

/// Creates the reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::new(true))
}

/// Creates the reader of one answer of `model`.
pub fn reader_for(model: &Model) -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::new(Compat::of(model).finish_reason))
}

/// Whether the history has calls or results.
fn has_tool_traffic(request: &ModelRequest<'_>) -> bool {
    request.messages.iter().any(|message| match &**message {
        AgentMessage::ToolResult(_) => true,
        AgentMessage::Assistant(message) => {
            message.content.iter().any(|block| matches!(block, AssistantContent::ToolCall(_)))
        }
        _ => false,
    })
}

/// Declares a tool.
pub(super) fn offer(tool: &ToolSpec, compat: &Compat) -> Value {
    let mut function =
        json!({"name": tool.name, "description": tool.description, "parameters": *tool.parameters});
    if compat.strict_mode {
        function["strict"] = false.into();
    }
    json!({"type": "function", "function": function})
}

/// The forced tool. Servers with a switch for thinking refuse one while it is on.
fn forced<'a>(request: &ModelRequest<'a>, compat: &Compat) -> Option<&'a str> {
    let switched = compat.thinking_format != ThinkingFormat::Openai && thinks(request).is_some();
    request.forced().filter(|_| !switched)
}

/// The member that selects providers behind a gateway.
fn routing(compat: &Compat) -> Option<(&'static str, Value)> {
    if let Some(routing) = &compat.open_router_routing {
        return Some(("provider", routing.clone().into()));
    }
    let routing = compat.vercel_gateway_routing.as_ref()?;
    let known: JsonObject = ["only", "order"]
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), routing.get(*key)?.clone())))
        .collect();
    (!known.is_empty()).then(|| ("providerOptions", json!({"gateway": known})))
}
