//! Converts the conversation to messages.

use super::{
    features::Features,
    request::{ToolChanges, definition, mark},
    thinking::Thinking,
};
use crate::{
    convert::{
        AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, SEE_IMAGE, convert_transcript, plain_id,
    },
    request::ModelRequest,
    transcript::{Preamble, added, change_text, removed},
};
use pi_rpc_protocol::{AssistantMessage, ImageContent, JsonObject, SystemMessage};
use serde_json::{Value, json};

/// Efforts that messages of the conversation may name.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// Builds the messages; the last one of the user ends the cached part, which `cache` marks.
pub fn messages(
    request: &ModelRequest<'_>,
    features: Features,
    thinking: Thinking<'_>,
    preamble: &Preamble<'_>,
    cache: Option<&Value>,
) -> Vec<Value> {
    let changes = ToolChanges::of(preamble, features);
    let active = match thinking {
        Thinking::AdaptiveByMessage(effort) => Some(effort),
        _ => None,
    };
    let mut messages = Vec::new();
    // Changes wait for the answer behind them: between calls and results the vendor refuses them.
    let mut waiting = Vec::new();
    let transcript = convert_transcript(request, preamble, |id, _| plain_id(id, ID_LIMIT));
    for (at, turn) in transcript.chat.iter().enumerate() {
        waiting
            .extend(transcript.changes_at(at).filter_map(|change| system_message(change, changes, features)));
        match turn {
            // The API has no role for the agent's remarks.
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => {
                messages.extend(message("user", blocks(parts)));
            }
            ChatTurn::Assistant(turn) => {
                let blocks = turn.blocks.iter().filter_map(|block| answer_block(block, features)).collect();
                if let Some(answer) = message("assistant", blocks) {
                    messages.append(&mut waiting);
                    let effort = active.and_then(|_| effort_of(turn.source, request));
                    messages.extend(effort.map(effort_message));
                    messages.push(answer);
                }
                messages.extend(message("user", results(turn)));
            }
        }
    }
    let last = transcript.changes_at(transcript.chat.len());
    waiting.extend(last.filter_map(|change| system_message(change, changes, features)));
    messages.append(&mut waiting);
    if let Some(last) = messages.last_mut()
        && last["role"] != "assistant"
        && let Some(block) = last["content"].as_array_mut().and_then(|content| content.last_mut())
    {
        mark(block, cache);
    }
    messages.extend(active.map(effort_message));
    messages
}

/// A message, if it has content: the vendor refuses others.
fn message(role: &str, content: Vec<Value>) -> Option<Value> {
    (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
}

/// The system message for a change of instructions and, where the vendor takes them in the conversation, tools. `None`: nothing is
/// left to say.
fn system_message(change: &SystemMessage, changes: ToolChanges, features: Features) -> Option<Value> {
    let mut content = Vec::new();
    let text = change_text(change);
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": text }));
    }
    if changes == ToolChanges::Native {
        content.extend(removed(change).map(
            |name| json!({ "type": "tool_removal", "tool": { "type": "tool_reference", "name": name } }),
        ));
        content.extend(added(change).iter().map(|tool| {
            let definition = definition(tool, features);
            json!({ "type": "tool_addition", "tool": { "type": "tool_definition", "definition": definition } })
        }));
    }
    message("system", content)
}

/// Sets the effort of the answers that follow.
fn effort_message(effort: &str) -> Value {
    json!({ "role": "system", "content": [], "output_config": { "effort": effort } })
}

/// The effort at which the provider gave an answer; `None`: another provider or API, or one that keeps no efforts.
fn effort_of<'a>(source: &'a AssistantMessage, request: &ModelRequest<'_>) -> Option<&'a str> {
    let model = &request.endpoint.model;
    let effort = source.provider_thinking_level.as_deref().filter(|effort| EFFORTS.contains(effort));
    effort.filter(|_| source.provider == model.provider && source.api == model.api)
}

/// Longest call id that the vendor accepts, in characters.
const ID_LIMIT: usize = 64;

/// Converts a block of an answer; `None`: a blank text, which the vendor refuses.
pub fn answer_block(block: &ChatBlock<'_>, features: Features) -> Option<Value> {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match block {
        ChatBlock::Thinking { text, signature: None } if features.empty_signature => {
            Some(json!({ "type": "thinking", "thinking": text, "signature": "" }))
        }
        ChatBlock::Text { text: content, .. } | ChatBlock::Thinking { text: content, signature: None } => {
            text(content)
        }
        ChatBlock::Thinking { text, signature: Some(signature) } => {
            Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
        }
        ChatBlock::Redacted { data } => Some(json!({ "type": "redacted_thinking", "data": data })),
        ChatBlock::Call { id, name, arguments, .. } => Some(tool_use(id, name, arguments)),
    }
}

fn tool_use(id: &str, name: &str, input: &JsonObject) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

/// Converts texts and images; blank texts are left out.
fn blocks(parts: &[ChatPart<'_>]) -> Vec<Value> {
    let block = |part: &ChatPart<'_>| match part {
        ChatPart::Text(text) if text.trim().is_empty() => None,
        ChatPart::Text(text) => Some(json!({ "type": "text", "text": text })),
        ChatPart::Image(found) => Some(image(found)),
    };
    parts.iter().filter_map(block).collect()
}

fn image(image: &ImageContent) -> Value {
    json!({
        "type": "image",
        "source": { "type": "base64", "media_type": image.mime_type, "data": image.data },
    })
}

/// Converts all results of a turn, then the images of failed ones, which the vendor accepts as text only.
fn results(turn: &AssistantTurn<'_>) -> Vec<Value> {
    let mut content: Vec<Value> = turn.results.iter().map(result).collect();
    for result in turn.results.iter().filter(|result| result.is_error) {
        let images: Vec<Value> = images(&result.content).map(image).collect();
        if !images.is_empty() {
            let caption = format!("Images of the failed call of {}:", result.name);
            content.push(json!({ "type": "text", "text": caption }));
            content.extend(images);
        }
    }
    content
}

fn result(result: &CallResult<'_>) -> Value {
    let texts: Vec<&str> = result.content.iter().filter_map(ChatPart::text).collect();
    let shows_images = !result.is_error && images(&result.content).next().is_some();
    let content = match shows_images {
        true => {
            let mut content = blocks(&result.content);
            if content.iter().all(|block| block["type"] == "image") {
                content.insert(0, json!({ "type": "text", "text": SEE_IMAGE }));
            }
            Value::Array(content)
        }
        false => {
            let text = texts.join("\n");
            // The vendor refuses errors without text, and texts of blanks alone.
            let is_refused = text.trim().is_empty() && (result.is_error || !text.is_empty());
            if is_refused { "(no output)".into() } else { text.into() }
        }
    };
    json!({ "type": "tool_result", "tool_use_id": result.id, "content": content, "is_error": result.is_error })
}

fn images<'p, 'a>(parts: &'p [ChatPart<'a>]) -> impl Iterator<Item = &'a ImageContent> + use<'p, 'a> {
    parts.iter().filter_map(|part| match part {
        ChatPart::Image(image) => Some(*image),
        ChatPart::Text(_) => None,
    })
}
