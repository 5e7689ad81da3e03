//! Models of OpenAI with the login of a ChatGPT account (`openai-codex-responses`).
//!
//! [`request()`] is a request of [`openai_responses`] to ChatGPT's own server, which takes the instructions apart from the
//! conversation, wants to know whose account the token belongs to, and accepts no token limit.
//!
//! Source: pi source (`openai-codex-responses`); observed.

use super::{
    openai_responses::{self, ENCRYPTED_THINKING, Features, Variant, body, cache_key, effort_or_none},
    request::{HttpRequest, ModelRequest, Reader, ZSTD},
};
use pi_rpc_protocol::Model;
use serde_json::{Value, json};

/// The path of the API below the address of a model.
const PATH: &str = "/codex/responses";

/// Instructions where there are none: the server refuses a request without.
const NO_INSTRUCTIONS: &str = "Answer the user.";

/// Builds the request.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    HttpRequest { url: url(request), headers: headers(request), body: whole_body(request), signing: None }
}

/// Creates the reader of one answer of `model`.
pub fn reader_for(model: &Model) -> Box<dyn Reader> {
    openai_responses::reader_with_tiers(model, &["priority"])
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

fn whole_body(request: &ModelRequest<'_>) -> Value {
    let features = Features::of(&request.endpoint.model);
    let variant = Variant {
        model: &request.endpoint.model.id,
        has_instructions: false,
        effort: effort_or_none(request),
        item_effort: None,
        tokens: None,
        strict: features.strict_mode.then_some(Value::Null),
    };
    let mut body = body(request, variant);
    let instructions = Some(request.system_prompt).filter(|text| !text.is_empty()).unwrap_or(NO_INSTRUCTIONS);
    body.insert("instructions".into(), instructions.into());
    body.insert("text".into(), json!({"verbosity": "low"}));
    body.insert("include".into(), json!([ENCRYPTED_THINKING]));
    body.entry("tool_choice").or_insert_with(|| "auto".into());
    body.insert("parallel_tool_calls".into(), true.into());
    body.into()
}
