//! Limits an answer to the room that a request leaves in the model's context.

use super::request::ModelRequest;
use pi_rpc_protocol::JsonObject;
use serde_json::Value;

/// Tokens that are always kept free, as the input is only estimated. Source: pi source.
const MARGIN: u64 = 4096;
/// Room up to which the larger margin, a share of the input, is not kept. Source: pi source.
const SMALL_ROOM: u64 = 32_768;
/// Characters that an image counts as. Source: pi source.
pub const IMAGE_CHARS: u64 = 4800;

/// Token limit of the answer to `body`: the model's, and no more than its context has room for; `None`: the model
/// states none.
///
/// The conversation and the tools are [estimated](estimated_tokens).
pub fn answer_limit(request: &ModelRequest<'_>, body: &JsonObject) -> Option<u64> {
    let model = &request.endpoint.model;
    let limit = request.max_answer_tokens.map_or(model.max_tokens, |limit| limit.min(model.max_tokens));
    let room = room(model.context_window, estimated_tokens(body.values().map(characters).sum()));
    (limit > 0).then(|| room.map_or(limit, |room| limit.min(room)))
}

/// Estimates the tokens of a text: two for seven characters. Source: pi source.
pub const fn estimated_tokens(characters: u64) -> u64 {
    characters.saturating_mul(2).div_ceil(7)
}

/// Tokens that an input leaves for the answer, at least one; `None`: the context window is unknown.
pub fn room(context_window: u64, input: u64) -> Option<u64> {
    let left = context_window.saturating_sub(input);
    // 15 % of the input.
    let room = left.saturating_sub(MARGIN.max(input.saturating_mul(3).div_ceil(20)));
    let room = if room < SMALL_ROOM { left.saturating_sub(MARGIN).min(SMALL_ROOM) } else { room };
    (context_window > 0).then(|| room.max(1))
}

/// Counts the characters of a value's texts and names.
fn characters(value: &Value) -> u64 {
    match value {
        Value::String(text) if text.starts_with("data:") => IMAGE_CHARS,
        Value::String(text) => text.chars().count() as u64,
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() as u64 + characters(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
