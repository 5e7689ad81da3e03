//! OpenAI Responses.
//!
//! Source: pi source (`openai-responses`); OpenAI API reference: responses; observed.

mod features;
mod input;
mod reader;

pub(super) use self::features::Features;
pub use self::features::kept_effort;

pub(super) use self::input::answer_items;
use self::{
    features::has_chatgpt_token,
    input::{InputParts, input},
};
use super::{
    context_room::answer_limit,
    openai::{effort, post, sampling, thinking},
    request::{HttpRequest, ModelRequest, Reader},
    transcript::Preamble,
    types::ToolSpec,
};
use pi_rpc_protocol::{JsonObject, Model, ThinkingLevel};
use serde_json::{Value, json};

/// Effort that a request with efforts among its items names itself; it never changes, or the cache would be lost.
pub(super) const CONSTANT_EFFORT: &str = "medium";

/// Builds the request. The server stores nothing: the conversation is sent each time.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let model = &request.endpoint.model;
    let features = Features::of(model);
    let item_effort = kept_effort(request);
    let effort = match thinking(request) {
        Some(_) if item_effort.is_some() => Some(CONSTANT_EFFORT),
        Some(_) => effort(request),
        // Copilot knows no word for it.
        None if model.provider == "github-copilot" => None,
        None => effort_or_none(request),
    };
    let with_token = has_chatgpt_token(request);
    let tokens = answer_limit(request).map(|tokens| tokens.max(MIN_ANSWER_TOKENS));
    let variant = Variant {
        model: &model.id,
        effort,
        item_effort,
        tokens: tokens.filter(|_| features.max_output_tokens && !with_token),
        strict: features.strict_mode.then_some(Value::Bool(false)),
    };
    let mut body = body(request, variant);
    let keeps_long = request.options.caches_long && features.long_cache && request.is_cached();
    let cache = match (features.cache_options, keeps_long) {
        // Without a mark of ours nothing is cached in this mode.
        (true, false) if !request.is_cached() => Some(("prompt_cache_options", json!({"mode": "explicit"}))),
        (true, true) => Some(("prompt_cache_options", json!({"ttl": "30m"}))),
        (false, true) => Some(("prompt_cache_retention", "24h".into())),
        (_, false) => None,
    };
    body.extend(cache.filter(|_| !with_token).map(|(name, value)| (name.to_owned(), value)));
    if model.provider == "xai" && model.reasoning {
        body.insert("include".into(), json!([ENCRYPTED_THINKING]));
    }
    body.extend(sampling(request));
    post(request, "/responses", body.into())
}

/// Smallest token limit of an answer that the vendor accepts.
pub(super) const MIN_ANSWER_TOKENS: u64 = 16;

/// Where the requests of this form differ from each other.
pub(super) struct Variant<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The word for the thinking level; `None`: the request names none.
    pub effort: Option<&'a str>,
    /// The word for the thinking level that an item of the input names; `None`: no item does.
    pub item_effort: Option<&'a str>,
    /// Token limit of the answer; `None`: the model's own.
    pub tokens: Option<u64>,
    /// The value of `strict` in tools; `None`: tools have none.
    pub strict: Option<Value>,
}

/// Builds the body.
pub(super) fn body(request: &ModelRequest<'_>, variant: Variant<'_>) -> JsonObject {
    let features = Features::of(&request.endpoint.model);
    let preamble = Preamble::of(request, features.system_messages);
    let offered = |tools: &[ToolSpec]| -> Vec<Value> {
        tools.iter().map(|tool| offer(tool, variant.strict.as_ref())).collect()
    };
    let tools = if features.tools_as_items { Vec::new() } else { offered(request.tools) };
    let mut body = JsonObject::new();
    body.insert("model".into(), variant.model.into());
    let offered: Option<&input::Declaration<'_>> =
        if features.tools_as_items { Some(&offered) } else { None };
    let parts = InputParts { preamble: &preamble, offered, effort: variant.item_effort };
    body.insert("input".into(), input(request, parts).into());
    body.insert("stream".into(), true.into());
    if let Some(key) = cache_key(request.session_id).filter(|_| features.cache_key) {
        body.insert("prompt_cache_key".into(), key.into());
    }
    body.insert("store".into(), false.into());
    if let Some(tokens) = variant.tokens {
        body.insert("max_output_tokens".into(), tokens.into());
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
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

/// Creates the reader of one answer of a server without service tiers.
pub fn reader() -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::default())
}

/// Creates the reader of one answer of `model`, whose server may have service tiers.
pub fn reader_for(model: &Model) -> Box<dyn Reader> {
    Box::new(reader::AnswerReader::of_model(model))
}

fn offer(tool: &ToolSpec, strict: Option<&Value>) -> Value {
    let mut offer = json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": *tool.parameters,
    });
    if let Some(strict) = strict {
        offer["strict"] = strict.clone();
    }
    offer
}
