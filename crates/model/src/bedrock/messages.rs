//! The conversation in the form of the Converse API: messages of the roles `user` and `assistant`, made up of blocks.
//!
//! Messages of one role in a row are one, as the service has refused others. It refuses blank texts, too.

use super::traits::ModelTraits;
use crate::{
    convert::{AssistantTurn, CallResult, Chat, ChatBlock, ChatPart, ChatTurn, convert, plain_id},
    request::ModelRequest,
};
use pi_rpc_protocol::{ImageContent, JsonObject};
use serde_json::{Value, json};

/// Characters of the longest id of a call.
const ID_LIMIT: usize = 64;
/// The text of a message or a result that has none. Source: pi source.
const EMPTY: &str = "<empty>";

/// Converts the request's conversation.
pub fn chat<'a>(request: &ModelRequest<'a>) -> Chat<'a> {
    convert(request, |id, _| plain_id(id, ID_LIMIT))
}

/// Encodes the request's `messages`, oldest first.
pub fn messages(request: &ModelRequest<'_>, chat: &[ChatTurn<'_>], traits: ModelTraits) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in chat {
        match turn {
            // The API has no role for the agent's own messages.
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => add(&mut messages, "user", content(parts)),
            ChatTurn::Assistant(turn) => {
                add(
                    &mut messages,
                    "assistant",
                    turn.blocks.iter().filter_map(|it| block(it, traits)).collect(),
                );
                add(&mut messages, "user", results(turn, traits));
            }
        }
    }
    if traits.caches
        && let Some(last) = messages.last_mut().filter(|last| last["role"] == "user")
        && let Some(content) = last["content"].as_array_mut()
    {
        content.push(cache_point(request));
    }
    messages
}

/// The mark up to which the service caches the request.
pub fn cache_point(request: &ModelRequest<'_>) -> Value {
    match request.options.caches_long {
        true => json!({"cachePoint": {"type": "default", "ttl": "1h"}}),
        false => json!({"cachePoint": {"type": "default"}}),
    }
}

fn add(messages: &mut Vec<Value>, role: &str, blocks: Vec<Value>) {
    if blocks.is_empty() {
        return;
    }
    match messages.last_mut().filter(|last| last["role"] == role) {
        Some(last) => {
            if let Some(content) = last["content"].as_array_mut() {
                content.extend(blocks);
            }
        }
        None => messages.push(json!({"role": role, "content": blocks})),
    }
}

/// Encodes texts and images; never empty.
fn content(parts: &[ChatPart<'_>]) -> Vec<Value> {
    let block = |part: &ChatPart<'_>| match part {
        ChatPart::Text(said) => text(said),
        ChatPart::Image(found) => Some(image(found)),
    };
    let blocks: Vec<Value> = parts.iter().filter_map(block).collect();
    if blocks.is_empty() { vec![json!({"text": EMPTY})] } else { blocks }
}

/// A text; `None`: it is blank.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"text": text}))
}

fn image(image: &ImageContent) -> Value {
    let format = match image.mime_type.as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        other => return json!({"text": format!("(image omitted: {other} is not supported)")}),
    };
    json!({"image": {"source": {"bytes": image.data}, "format": format}})
}

/// Encodes a block of an answer; `None`: it is blank.
fn block(block: &ChatBlock<'_>, traits: ModelTraits) -> Option<Value> {
    match block {
        ChatBlock::Text { text: said, .. } => text(said),
        ChatBlock::Thinking { text: said, signature } => {
            text(said)?;
            Some(match (traits.is_claude, signature) {
                (true, Some(signature)) => {
                    json!({"reasoningContent": {"reasoningText": {"text": said, "signature": signature}}})
                }
                // Anthropic's models refuse thinking that they have not signed.
                (true, None) => json!({"text": said}),
                (false, _) => json!({"reasoningContent": {"reasoningText": {"text": said}}}),
            })
        }
        ChatBlock::Redacted { data } => Some(json!({"reasoningContent": {"redactedContent": data}})),
        ChatBlock::Call { id, name, arguments, .. } => {
            Some(json!({"toolUse": {"toolUseId": id, "name": name, "input": named_members(arguments)}}))
        }
    }
}

/// The arguments without members whose names are empty, which the service refuses.
fn named_members(arguments: &JsonObject) -> Value {
    let members = arguments.iter().filter(|(name, _)| !name.is_empty());
    Value::Object(members.map(|(name, value)| (name.clone(), named_value(value))).collect())
}

fn named_value(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(named_value).collect(),
        Value::Object(members) => named_members(members),
        other => other.clone(),
    }
}

/// Encodes all results of a turn, then the images of failed ones, which Anthropic's models accept as text only.
fn results(turn: &AssistantTurn<'_>, traits: ModelTraits) -> Vec<Value> {
    let mut blocks: Vec<Value> = turn.results.iter().map(|it| result(it, traits)).collect();
    for result in turn.results.iter().filter(|it| moves_images(it, traits)) {
        blocks.push(json!({"text": format!("Images of the failed call of {}:", result.name)}));
        blocks.extend(result.content.iter().filter_map(as_image).map(image));
    }
    blocks
}

fn result(result: &CallResult<'_>, traits: ModelTraits) -> Value {
    let content = match moves_images(result, traits) {
        false => content(&result.content),
        true => {
            let texts = result.content.iter().filter(|part| as_image(part).is_none());
            content(&texts.cloned().collect::<Vec<_>>())
        }
    };
    let status = if result.is_error { "error" } else { "success" };
    json!({"toolResult": {"toolUseId": result.id, "content": content, "status": status}})
}

fn moves_images(result: &CallResult<'_>, traits: ModelTraits) -> bool {
    traits.is_claude && result.is_error && result.content.iter().any(|part| as_image(part).is_some())
}

fn as_image<'a>(part: &ChatPart<'a>) -> Option<&'a ImageContent> {
    match part {
        ChatPart::Image(image) => Some(image),
        ChatPart::Text(_) => None,
    }
}
