//! Models of OpenAI with the login of a ChatGPT account (`openai-codex-responses`).
//!
//! [`request()`] is a request of [`openai_responses`] to ChatGPT's own server, which wants to know whose account the token
//! belongs to. The instructions are the first item of the input: the server adds `instructions` behind the conversation, so
//! that they would never come from its cache.
//!
//! Source: pi source (`openai-codex-responses`); observed.

pub mod socket;

use crate::{
    context_room::answer_limit,
    openai_responses::{
        self, CONSTANT_EFFORT, ENCRYPTED_THINKING, Features, MIN_ANSWER_TOKENS, Variant, body, cache_key,
        effort_or_none,
    },
    request::{HttpRequest, ModelRequest, Reader, ZSTD},
};
use pi_rpc_protocol::Model;
use serde_json::{Value, json};

/// The path of the API below the address of a model.
const PATH: &str = "/codex/responses";

/// Builds the request.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    HttpRequest { url: url(request), headers: headers(request), body: whole_body(request), signing: None }
}

/// Creates the reader of one answer of `model`.
pub fn reader_for(model: &Model) -> Box<dyn Reader> {
    openai_responses::reader_for(model)
}

fn url(request: &ModelRequest<'_>) -> String {
    let base = request.endpoint.model.base_url.trim().trim_end_matches('/');
    let base = base.strip_suffix(PATH).or_else(|| base.strip_suffix("/codex")).unwrap_or(base);
    format!("{base}{PATH}")
}

fn headers(request: &ModelRequest<'_>) -> Vec<(String, String)> {
    let credentials = request.credentials;
    let mut headers = Vec::new();
    // Headers of the user do not replace those that name the account.
    credentials.add_headers(&mut headers);
    let key = credentials.key.as_ref().map(|key| format!("Bearer {key}"));
    let session = cache_key(request.session_id).map(str::to_owned);
    let own = [
        (
            "originator",
            Some("pi".to_owned()).filter(|_| !headers.iter().any(|(name, _)| name == "originator")),
        ),
        ("authorization", key),
        ("chatgpt-account-id", credentials.account.clone()),
        ("openai-beta", Some("responses=experimental".to_owned())),
        ("accept", Some("text/event-stream".to_owned())),
        ("content-type", Some("application/json".to_owned())),
        ("content-encoding", Some(ZSTD.to_owned())),
        ("session-id", session.clone()),
        ("x-client-request-id", session),
    ];
    for (name, value) in own {
        let Some(value) = value else { continue };
        headers.retain(|(known, _)| known != name);
        headers.push((name.to_owned(), value));
    }
    headers
}

/// The level's word that an item of the input names, so that a change keeps the cache; `None`: the request names it.
pub fn kept_effort<'a>(request: &ModelRequest<'a>) -> Option<&'a str> {
    effort_or_none(request).filter(|_| Features::of(&request.endpoint.model).effort_items)
}

fn whole_body(request: &ModelRequest<'_>) -> Value {
    let features = Features::of(&request.endpoint.model);
    let item_effort = kept_effort(request);
    let effort = if item_effort.is_some() { Some(CONSTANT_EFFORT) } else { effort_or_none(request) };
    let tokens = answer_limit(request).map(|tokens| tokens.max(MIN_ANSWER_TOKENS));
    let variant = Variant {
        model: &request.endpoint.model.id,
        effort,
        item_effort,
        tokens: tokens.filter(|_| features.max_output_tokens),
        strict: features.strict_mode.then_some(Value::Null),
    };
    let mut body = body(request, variant);
    if let Some(effort) = effort {
        body.insert("reasoning".into(), json!({"effort": effort, "summary": "auto"}));
    }
    body.insert("text".into(), json!({"verbosity": "low"}));
    body.insert("include".into(), json!([ENCRYPTED_THINKING]));
    body.entry("tool_choice").or_insert_with(|| "auto".into());
    body.insert("parallel_tool_calls".into(), true.into());
    body.into()
}
