//! Google's Gemini API (`google-generative-ai`), and the same behind Vertex AI ([`vertex`]).
//!
//! [`request()`] builds a request, [`reader()`] reads the stream of its answer. `contents` converts the conversation, `thinking`
//! the thinking level, and `tools` the tools.
//!
//! Source: the vendor's API reference (`generateContent`, function calling, thinking, thought signatures); pi source
//! (`google-generative-ai`); observed.

mod contents;
mod reader;
mod thinking;
mod tools;
pub mod vertex;

use super::{
    context_room::Room,
    request::{HttpRequest, ModelRequest, Reader},
};
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};
use thinking::Thinking;

/// Builds the request to `{baseUrl}/models/{id}:streamGenerateContent`.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let model = &request.endpoint.model;
    let base = model.base_url.trim_end_matches('/');
    // Tuned models have a path of their own.
    let folder = if model.id.contains('/') { "" } else { "models/" };
    let url = format!("{base}/{folder}{}:streamGenerateContent?alt=sse", model.id);
    HttpRequest { url, headers: headers(request), body: body(request), signing: None }
}

/// Creates a reader of one answer.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::default())
}

fn headers(request: &ModelRequest<'_>) -> Vec<(String, String)> {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    match &request.credentials.key {
        Some(key) if request.credentials.bearer => {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        Some(key) => headers.push(("x-goog-api-key".to_owned(), key.clone())),
        None => {}
    }
    request.credentials.add_headers(&mut headers);
    headers
}

fn body(request: &ModelRequest<'_>) -> Value {
    let thinking = thinking::thinking(request);
    let mut body = JsonObject::new();
    body.insert("contents".into(), contents::contents(request).into());
    if !request.system_prompt.is_empty() {
        let instruction = json!({"role": "user", "parts": [{"text": request.system_prompt}]});
        body.insert("systemInstruction".into(), instruction);
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools::offer(request.tools));
    }
    if let Some(name) = request.forced() {
        let calling = json!({"mode": "ANY", "allowedFunctionNames": [name]});
        body.insert("toolConfig".into(), json!({"functionCallingConfig": calling}));
    }
    let mut config = JsonObject::new();
    if let Some(tokens) = max_output_tokens(request, &thinking) {
        config.insert("maxOutputTokens".into(), tokens.into());
    }
    if let Some(thinking) = thinking.config() {
        config.insert("thinkingConfig".into(), thinking);
    }
    if !config.is_empty() {
        body.insert("generationConfig".into(), config.into());
    }
    body.into()
}

/// The limit in tokens of the answer and its thinking together; `None`: the model's limit is unknown.
fn max_output_tokens(request: &ModelRequest<'_>, thinking: &Thinking) -> Option<u64> {
    let most = request.endpoint.model.max_tokens;
    let tokens = match (request.max_answer_tokens, thinking.tokens()) {
        (Some(answer), Some(thinking)) => answer.saturating_add(thinking).min(most),
        // Thinking of an unknown length could use up any lower limit before the answer begins.
        _ => most,
    };
    (tokens > 0).then(|| Room::of(request).limit(tokens))
}
