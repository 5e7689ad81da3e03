//! The messages of pi itself, as the gateway Radius takes and gives them (`pi-messages`).
//!
//! [`request()`] builds a request, [`reader()`] reads the stream of its answer. `messages` writes the conversation. The gateway
//! converts it for the vendor's model behind it.
//!
//! Source: pi source (`pi-messages`), its reference of message types; observed. The gateway has no public reference.

mod messages;
mod reader;

use super::{
    openai::thinking,
    request::{HttpRequest, ModelRequest, Reader},
};
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};

/// Builds the request to `{baseUrl}/messages`.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let base = request.endpoint.model.base_url.trim_end_matches('/');
    HttpRequest {
        url: format!("{base}/messages"),
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
    request.credentials.add_headers(&mut headers);
    headers
}

fn body(request: &ModelRequest<'_>) -> Value {
    let mut options = JsonObject::new();
    if let Some(tokens) = request.max_answer_tokens {
        options.insert("maxTokens".into(), tokens.min(request.endpoint.model.max_tokens).into());
    }
    if let Some(level) = thinking(request) {
        options.insert("reasoning".into(), level.as_str().into());
    }
    if request.options.caches_long {
        options.insert("cacheRetention".into(), "long".into());
    }
    if !request.session_id.is_empty() {
        options.insert("sessionId".into(), request.session_id.into());
    }
    json!({
        "model": request.endpoint.model.id,
        "context": { "messages": messages::messages(request) },
        "options": options,
    })
}
