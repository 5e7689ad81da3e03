//! Converts the conversation to messages of Chat Completions.

use super::{offer, reasoning_details::of_signature};
use crate::{
    compat::Compat,
    convert::{
        AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, SEE_IMAGE, Transcript, convert_transcript,
        plain_id,
    },
    openai::{data_url, short_hash},
    request::ModelRequest,
    transcript::{Preamble, added, change_text},
};
use pi_rpc_protocol::{AssistantMessage, JsonObject, Model};
use serde_json::{Value, json};

/// Keys under which servers send thinking and accept it back; the first that is not empty counts.
pub const THINKING_KEYS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// Builds all messages, the instructions first. Tools of the first `folded` system messages are declared by the request itself.
pub fn messages(
    request: &ModelRequest<'_>,
    compat: &Compat,
    preamble: &Preamble<'_>,
    folded: usize,
) -> Vec<Value> {
    let model = &request.endpoint.model;
    let instructor = if model.reasoning && compat.developer_role { "developer" } else { "system" };
    let mut messages = Vec::new();
    if !preamble.instructions.is_empty() {
        messages.push(json!({"role": instructor, "content": preamble.instructions}));
    }
    let id_of = |id: &str, _: &AssistantMessage| known_id(id, &model.provider);
    let transcript = convert_transcript(request, preamble, id_of);
    let mut told = 1;
    let mut changes_at = |at: usize, transcript: &Transcript<'_>| {
        let mut messages = Vec::new();
        for change in transcript.changes_at(at) {
            told += 1;
            let tools: Vec<Value> = added(change).iter().map(|tool| offer(tool, compat)).collect();
            if told > folded && !tools.is_empty() {
                messages.push(json!({"role": "system", "tools": tools}));
            }
            let text = change_text(change);
            if !text.is_empty() {
                messages.push(json!({"role": instructor, "content": text}));
            }
        }
        messages
    };
    let mut after_results = false;
    for (at, turn) in transcript.chat.iter().enumerate() {
        let changes = changes_at(at, &transcript);
        after_results &= changes.is_empty();
        messages.extend(changes);
        let results = match turn {
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => {
                if after_results && compat.assistant_after_tool_result {
                    messages.push(bridge());
                }
                messages.extend(user(parts));
                false
            }
            ChatTurn::Assistant(turn) => {
                messages.extend(assistant(turn, model, compat));
                add_results(&mut messages, &turn.results, compat)
            }
        };
        after_results = results;
    }
    messages.extend(changes_at(transcript.chat.len(), &transcript));
    messages
}

/// Converts another model's call id: OpenAI accepts 40 characters, and ids of Responses have a second part, by which alone calls
/// may differ.
fn known_id(id: &str, provider: &str) -> String {
    let plain = |part: &str| plain_id(part, usize::MAX);
    match (id.split_once('|'), provider) {
        (Some((call, item)), _) => {
            let whole =
                if item.is_empty() { plain(call) } else { format!("{}_{}", plain(call), plain(item)) };
            if whole.len() <= ID_LIMIT {
                return whole;
            }
            let hash: String = short_hash(id).chars().take(HASH_CHARS).collect();
            format!("{}_{hash}", plain_id(call, ID_LIMIT - 1 - hash.len()))
        }
        (None, "openai") => id.chars().take(ID_LIMIT).collect(),
        (None, _) => id.to_owned(),
    }
}

/// Characters of the hash in an id that is too long.
const HASH_CHARS: usize = 8;

const ID_LIMIT: usize = 40;

fn user(parts: &[ChatPart<'_>]) -> Option<Value> {
    if let [ChatPart::Text(text)] = parts {
        return Some(json!({"role": "user", "content": text}));
    }
    let parts: Vec<Value> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
}

fn part(part: &ChatPart<'_>) -> Value {
    match part {
        ChatPart::Text(text) => json!({"type": "text", "text": text}),
        ChatPart::Image(image) => json!({"type": "image_url", "image_url": {"url": data_url(image)}}),
    }
}

/// Converts an answer; `None`: it has neither content nor calls, which servers refuse.
fn assistant(turn: &AssistantTurn<'_>, model: &Model, compat: &Compat) -> Option<Value> {
    let mut texts = Vec::new();
    let mut thinking: Vec<(&str, Option<&str>)> = Vec::new();
    let mut calls = Vec::new();
    let mut details: Option<Value> = None;
    // In session files of earlier versions, a call's signature is its encrypted thinking.
    let mut of_calls = Vec::new();
    for block in &turn.blocks {
        match block {
            ChatBlock::Text { text, .. } if !text.trim().is_empty() => texts.push(*text),
            ChatBlock::Thinking { text, signature } => {
                details = details.or_else(|| of_signature((*signature)?));
                if !text.trim().is_empty() {
                    thinking.push((text, *signature));
                }
            }
            ChatBlock::Call { id, name, arguments, signature } => {
                calls.push(call(id, name, arguments));
                of_calls.extend(signature.and_then(|detail| serde_json::from_str::<Value>(detail).ok()));
            }
            ChatBlock::Text { .. } | ChatBlock::Redacted { .. } => {}
        }
    }
    let content = content(&texts, &thinking, compat);
    if content.is_none() && calls.is_empty() {
        return None;
    }
    let never_null = compat.assistant_after_tool_result || compat.content_never_null;
    let empty = if never_null { json!("") } else { Value::Null };
    let mut message = json!({"role": "assistant", "content": content.unwrap_or(empty)});
    let key = thinking.first().and_then(|(_, key)| *key).filter(|key| THINKING_KEYS.contains(key));
    // This gateway takes thinking back under one key only.
    let key = key.map(|key| if model.provider == "opencode-go" { "reasoning_content" } else { key });
    let details = details.or_else(|| (!of_calls.is_empty()).then(|| of_calls.into()));
    // The details are the structured form of the same thinking.
    if let (Some(key), false, None) = (key, compat.thinking_as_text, &details) {
        message[key] = joined(&thinking, "\n").into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if let Some(details) = details {
        message["reasoning_details"] = details;
    }
    if compat.reasoning_content && model.reasoning && message.get("reasoning_content").is_none() {
        message["reasoning_content"] = "".into();
    }
    Some(message)
}

/// Joins content into one string, as some models copy the shape of their earlier answers; a list if thinking precedes
/// it.
fn content(texts: &[&str], thinking: &[(&str, Option<&str>)], compat: &Compat) -> Option<Value> {
    if compat.thinking_as_text && !thinking.is_empty() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let mut parts = vec![text(&joined(thinking, "\n\n"))];
        parts.extend(texts.iter().map(|part| text(part)));
        return Some(parts.into());
    }
    (!texts.is_empty()).then(|| texts.concat().into())
}

fn joined(thinking: &[(&str, Option<&str>)], between: &str) -> String {
    thinking.iter().map(|(text, _)| *text).collect::<Vec<_>>().join(between)
}

fn call(id: &str, name: &str, arguments: &JsonObject) -> Value {
    let arguments = Value::Object(arguments.clone()).to_string();
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Adds the results of a turn's calls, then their images as a user message: results are text only. Returns whether a
/// result comes last.
fn add_results(messages: &mut Vec<Value>, results: &[CallResult<'_>], compat: &Compat) -> bool {
    let mut images = Vec::new();
    for result in results {
        let texts: Vec<&str> = result.content.iter().filter_map(ChatPart::text).collect();
        let text = Some(texts.join("\n")).filter(|text| !text.trim().is_empty());
        let has_images = result.content.iter().any(|part| matches!(part, ChatPart::Image(_)));
        let text = text.unwrap_or_else(|| if has_images { SEE_IMAGE } else { "(no tool output)" }.to_owned());
        let mut message = json!({"role": "tool", "content": text, "tool_call_id": result.id});
        if compat.tool_result_name {
            message["name"] = result.name.into();
        }
        messages.push(message);
        images.extend(result.content.iter().filter(|part| matches!(part, ChatPart::Image(_))).map(part));
    }
    if images.is_empty() {
        return !results.is_empty();
    }
    if compat.assistant_after_tool_result {
        messages.push(bridge());
    }
    images.insert(0, json!({"type": "text", "text": "Attached image(s) from tool result:"}));
    messages.push(json!({"role": "user", "content": images}));
    false
}

/// An assistant message between results and the user, for servers that require one.
fn bridge() -> Value {
    json!({"role": "assistant", "content": "I have processed the tool results."})
}
