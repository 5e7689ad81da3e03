//! OpenAI Responses.
//!
//! Source: pi source (`openai-responses`); OpenAI API reference: responses; observed.

mod input;
mod reader;

use super::{
    openai::{effort, max_tokens, post, thinking},
    request::{HttpRequest, ModelRequest, Reader},
    types::ToolSpec,
};
use crate::protocol::{JsonObject, ThinkingLevel};
use serde_json::{Value, json};

/// Builds the request. The server stores nothing: the conversation is sent each time.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let model = &request.endpoint.model;
    let effort = effort(request);
    let variant = Variant {
        model: &model.id,
        has_instructions: true,
        effort,
        tokens: max_tokens(request),
        strict: false.into(),
    };
    let mut body = body(request, variant);
    if model.reasoning && effort.is_none() && model.name.starts_with("gpt-5") {
        // Without a word for `off` they can be kept from thinking only by this text.
        let text = "# Juice: 0 !important";
        let juice = json!({"role": "developer", "content": [{"type": "input_text", "text": text}]});
        if let Some(Value::Array(input)) = body.get_mut("input") {
            input.push(juice);
        }
    }
    post(request, "/responses", body.into())
}

/// Where the requests of this form differ from each other.
pub(super) struct Variant<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// Whether the instructions are the first item of the input.
    pub has_instructions: bool,
    /// The word for the thinking level; `None`: the request names none.
    pub effort: Option<&'a str>,
    /// Token limit of the answer; `None`: the model's own.
    pub tokens: Option<u64>,
    /// The value of `strict` in tools.
    pub strict: Value,
}

/// Builds the body.
pub(super) fn body(request: &ModelRequest<'_>, variant: Variant<'_>) -> JsonObject {
    let mut body = JsonObject::new();
    body.insert("model".into(), variant.model.into());
    body.insert("input".into(), input::input(request, variant.has_instructions).into());
    body.insert("stream".into(), true.into());
    if let Some(key) = cache_key(request.session_id) {
        body.insert("prompt_cache_key".into(), key.into());
    }
    if request.options.caches_long && request.endpoint.model.base_url.contains("api.openai.com") {
        body.insert("prompt_cache_retention".into(), "24h".into());
    }
    body.insert("store".into(), false.into());
    if let Some(tokens) = variant.tokens {
        body.insert("max_output_tokens".into(), tokens.into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| offer(tool, &variant.strict));
        body.insert("tools".into(), tools.collect());
    }
    if let Some(name) = request.forced() {
        body.insert("tool_choice".into(), json!({"type": "function", "name": name}));
    }
    match variant.effort {
        Some(effort) if thinking(request).is_some() => {
            body.insert("reasoning".into(), json!({"effort": effort, "summary": "auto"}));
            body.insert("include".into(), json!([ENCRYPTED_THINKING]));
        }
        Some(effort) => drop(body.insert("reasoning".into(), json!({"effort": effort}))),
        None => {}
    }
    body
}

/// Asks for thinking in a form that can be sent back, as the server stores none.
pub(super) const ENCRYPTED_THINKING: &str = "reasoning.encrypted_content";

/// Longest key of a cache that the server accepts, in characters.
const CACHE_KEY_CHARS: usize = 64;

/// The key by which the server finds the conversation in its cache; `None`: there is no session.
pub(super) fn cache_key(session_id: &str) -> Option<&str> {
    let end = session_id.char_indices().nth(CACHE_KEY_CHARS).map_or(session_id.len(), |(end, _)| end);
    Some(&session_id[..end]).filter(|key| !key.is_empty())
}

/// The word for the level of a model that has `off` unless its levels say otherwise; `None`: the request names none.
pub(super) fn effort_or_none<'a>(request: &ModelRequest<'a>) -> Option<&'a str> {
    let endpoint = request.endpoint;
    let has_off = endpoint.model.reasoning && endpoint.levels.contains(&ThinkingLevel::Off);
    effort(request).or(has_off.then_some("none"))
}

/// Creates the reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::default())
}

fn offer(tool: &ToolSpec, strict: &Value) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": strict,
    })
}
