//! Mistral's chat completions (`mistral-conversations`).
//!
//! [`request()`] builds a request, [`reader()`] reads the stream of its answer. `messages` converts the conversation,
//! `call_ids` the ids of its calls.
//!
//! Source: the vendor's API reference (chat, reasoning) and the types of its client libraries; pi source
//! (`mistral-conversations`); observed.

mod call_ids;
mod messages;
mod reader;

use super::{
    context_room::answer_limit,
    openai::thinking,
    request::{HttpRequest, ModelRequest, Reader},
    types::ToolSpec,
};
use pi_rpc_protocol::{JsonObject, ThinkingLevel};
use serde_json::{Value, json};

/// Builds the request to `{baseUrl}/v1/chat/completions`.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let base = request.endpoint.model.base_url.trim_end_matches('/');
    HttpRequest {
        url: format!("{base}/v1/chat/completions"),
        headers: headers(request),
        body: body(request),
        signing: None,
    }
}

/// Creates a reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::default())
}

fn headers(request: &ModelRequest<'_>) -> Vec<(String, String)> {
    let mut headers = vec![
        ("accept".to_owned(), "text/event-stream".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
    ];
    if let Some(key) = &request.credentials.key {
        headers.push(("authorization".to_owned(), format!("Bearer {key}")));
    }
    // Leads the requests of a session to the server that has their beginning in its cache.
    if !request.session_id.is_empty() {
        headers.push(("x-affinity".to_owned(), request.session_id.to_owned()));
    }
    request.credentials.add_headers(&mut headers);
    headers
}

fn body(request: &ModelRequest<'_>) -> Value {
    let mut body = JsonObject::new();
    body.insert("model".into(), request.endpoint.model.id.clone().into());
    body.insert("messages".into(), messages::messages(request).into());
    body.insert("stream".into(), true.into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(offer).collect());
    }
    if let Some(name) = request.forced() {
        body.insert("tool_choice".into(), json!({"type": "function", "function": {"name": name}}));
    }
    if let Some((key, word)) = thinking_member(request) {
        body.insert(key.into(), word.into());
    }
    if !request.session_id.is_empty() {
        body.insert("prompt_cache_key".into(), request.session_id.into());
    }
    if let Some(tokens) = answer_limit(request) {
        body.insert("max_tokens".into(), tokens.into());
    }
    body.into()
}

fn offer(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": *tool.parameters, "strict": false,
    }})
}

/// The member that turns thinking on or off: an effort for models with words for levels, a mode of the prompt for
/// others.
fn thinking_member<'a>(request: &ModelRequest<'a>) -> Option<(&'static str, &'a str)> {
    let endpoint = request.endpoint;
    let level = thinking(request);
    if !endpoint.model.reasoning {
        return None;
    }
    if endpoint.model.thinking_level_map.is_none() {
        return level.map(|_| ("prompt_mode", "reasoning"));
    }
    let word = endpoint.efforts.get(&level.unwrap_or(ThinkingLevel::Off)).map(String::as_str);
    word.or(level.map(|_| "high")).map(|word| ("reasoning_effort", word))
}
