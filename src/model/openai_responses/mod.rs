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
use crate::protocol::JsonObject;
use serde_json::{Value, json};

/// Builds the request. The server stores nothing: the conversation is sent each time.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let model = &request.endpoint.model;
    let (effort, thinks) = (effort(request), thinking(request).is_some());
    let mut input = input::input(request);
    if model.reasoning && effort.is_none() && model.name.starts_with("gpt-5") {
        // Without a word for `off` they can be kept from thinking only by this text.
        let text = "# Juice: 0 !important";
        input.push(json!({"role": "developer", "content": [{"type": "input_text", "text": text}]}));
    }
    let mut body = JsonObject::new();
    body.insert("model".into(), model.id.clone().into());
    body.insert("input".into(), input.into());
    body.insert("stream".into(), true.into());
    if !request.session_id.is_empty() {
        body.insert("prompt_cache_key".into(), request.session_id.into());
    }
    if request.options.caches_long && model.base_url.contains("api.openai.com") {
        body.insert("prompt_cache_retention".into(), "24h".into());
    }
    body.insert("store".into(), false.into());
    if let Some(tokens) = max_tokens(request) {
        body.insert("max_output_tokens".into(), tokens.into());
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(offer).collect());
    }
    if let Some(name) = request.forced() {
        body.insert("tool_choice".into(), json!({"type": "function", "name": name}));
    }
    match effort {
        Some(effort) if thinks => {
            body.insert("reasoning".into(), json!({"effort": effort, "summary": "auto"}));
            body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        }
        Some(effort) => drop(body.insert("reasoning".into(), json!({"effort": effort}))),
        None => {}
    }
    post(request, "/responses", body.into())
}

/// Creates the reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::default())
}

fn offer(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}
