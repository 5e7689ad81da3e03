//! The conversation in the form of the Gemini API: contents of the roles `user` and `model`, made up of parts.
//!
//! Signatures (`thoughtSignature`) are sent in the parts that they came with. The results of a turn's calls are one content,
//! directly behind the calls and in their order: without ids of calls, models match them by position.

use super::thinking::generation;
use crate::{
    convert::{AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, SEE_IMAGE, convert, plain_id},
    request::ModelRequest,
};
use pi_rpc_protocol::ImageContent;
use serde_json::{Value, json};

/// Encodes the request's `contents`, oldest first.
pub fn contents(request: &ModelRequest<'_>) -> Vec<Value> {
    let traits = Traits::of(&request.endpoint.model.id);
    let id_of = |id: &str| if traits.has_call_ids { plain_id(id, ID_LIMIT) } else { id.to_owned() };
    let turns = convert(request, |id, _| id_of(id));
    let mut contents = Vec::new();
    for turn in &turns {
        match turn {
            // The API has no role for the agent's own messages.
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => {
                add(&mut contents, "user", user_parts(parts))
            }
            ChatTurn::Assistant(turn) => {
                add_model(&mut contents, model_parts(turn, traits));
                add(&mut contents, "user", results(turn, traits));
                if !traits.sees_images_in_results {
                    add(&mut contents, "user", result_images(turn));
                }
            }
        }
    }
    contents
}

/// Characters of the longest id of a call. Source: pi source.
const ID_LIMIT: usize = 64;

/// The signature of a call that has none, as another model made it. Source: the vendor's page on thought signatures.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Abilities of a model.
#[derive(Clone, Copy, Debug)]
struct Traits {
    /// Whether calls and results have ids.
    has_call_ids: bool,
    /// Whether calls since the newest prompt must have signatures. Those before it have them, too, so that they stay in the
    /// service's cache.
    wants_signatures: bool,
    /// Whether results may contain images.
    sees_images_in_results: bool,
}

impl Traits {
    /// The abilities of the model `id`.
    fn of(id: &str) -> Self {
        let generation = generation(&id.to_ascii_lowercase(), "gemini-");
        let is_third = generation.is_some_and(|number| number >= 3);
        // Models of other vendors behind Google's services.
        let is_other = ["claude-", "gpt-oss-"].iter().any(|name| id.starts_with(name));
        Self {
            has_call_ids: is_third || is_other,
            wants_signatures: is_third,
            sees_images_in_results: generation.is_none_or(|number| number >= 3),
        }
    }
}

fn add(contents: &mut Vec<Value>, role: &str, parts: Vec<Value>) {
    if !parts.is_empty() {
        contents.push(json!({"role": role, "parts": parts}));
    }
}

/// Adds parts of the model, to its last content if that is the newest: the service refuses calls behind another content of
/// the model.
fn add_model(contents: &mut Vec<Value>, parts: Vec<Value>) {
    match contents.last_mut().filter(|last| last["role"] == "model") {
        Some(Value::Object(last)) => {
            if let Some(Value::Array(before)) = last.get_mut("parts") {
                before.extend(parts);
            }
        }
        _ => add(contents, "model", parts),
    }
}

/// Encodes texts and images, without empty texts.
fn user_parts(parts: &[ChatPart<'_>]) -> Vec<Value> {
    let part = |part: &ChatPart<'_>| match part {
        ChatPart::Text(text) if text.is_empty() => None,
        ChatPart::Text(text) => Some(json!({"text": text})),
        ChatPart::Image(image) => Some(inline(image)),
    };
    parts.iter().filter_map(part).collect()
}

fn inline(image: &ImageContent) -> Value {
    json!({"inlineData": {"mimeType": image.mime_type, "data": image.data}})
}

/// Encodes an answer, without blank texts and thoughts that have no signature.
fn model_parts(turn: &AssistantTurn<'_>, traits: Traits) -> Vec<Value> {
    // Of parallel calls only the first has a signature.
    let mut wants_signature = traits.wants_signatures;
    let part = |block: &ChatBlock<'_>| match block {
        ChatBlock::Text { text, signature } => {
            let signature = valid(*signature);
            (!text.trim().is_empty() || signature.is_some()).then(|| signed(json!({"text": text}), signature))
        }
        ChatBlock::Thinking { text, signature } => {
            let signature = valid(*signature);
            let thought = || signed(json!({"thought": true, "text": text}), signature);
            (!text.trim().is_empty() || signature.is_some()).then(thought)
        }
        ChatBlock::Redacted { .. } => None,
        ChatBlock::Call { id, name, arguments, signature } => {
            let mut call = json!({"name": name, "args": arguments});
            if traits.has_call_ids {
                call["id"] = id.as_ref().into();
            }
            let missing = Some(NO_SIGNATURE).filter(|_| std::mem::take(&mut wants_signature));
            Some(signed(json!({"functionCall": call}), valid(*signature).or(missing)))
        }
    };
    turn.blocks.iter().filter_map(part).collect()
}

/// The signature, if it is base64: the service refuses others.
fn valid(signature: Option<&str>) -> Option<&str> {
    signature.filter(|signature| {
        let digits = signature.trim_end_matches('=');
        !digits.is_empty()
            && signature.len() % 4 == 0
            && signature.len() - digits.len() <= 2
            && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
    })
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature.into();
    }
    part
}

/// Encodes the results of a turn's calls, in the order of the calls.
fn results(turn: &AssistantTurn<'_>, traits: Traits) -> Vec<Value> {
    in_order_of_calls(turn).map(|result| function_response(result, traits)).collect()
}

fn in_order_of_calls<'t, 'a>(turn: &'t AssistantTurn<'a>) -> impl Iterator<Item = &'t CallResult<'a>> {
    turn.blocks.iter().filter_map(|block| match block {
        ChatBlock::Call { id, .. } => turn.results.iter().find(|result| result.id == *id),
        _ => None,
    })
}

fn function_response(result: &CallResult<'_>, traits: Traits) -> Value {
    let texts: Vec<&str> = result.content.iter().filter_map(ChatPart::text).collect();
    let text = texts.join("\n");
    let mut images = images(result).peekable();
    let text = match text.trim().is_empty() {
        false => text.as_str(),
        true if images.peek().is_some() => SEE_IMAGE,
        true => "",
    };
    let outcome = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": result.name, "response": {outcome: text}});
    if traits.has_call_ids {
        response["id"] = result.id.as_ref().into();
    }
    if traits.sees_images_in_results && images.peek().is_some() {
        response["parts"] = images.map(inline).collect();
    }
    json!({"functionResponse": response})
}

/// Encodes the images of a turn's results, for models whose results have none.
fn result_images(turn: &AssistantTurn<'_>) -> Vec<Value> {
    let images: Vec<Value> = in_order_of_calls(turn).flat_map(images).map(inline).collect();
    let caption = (!images.is_empty()).then(|| json!({"text": "Tool result image:"}));
    caption.into_iter().chain(images).collect()
}

fn images<'r, 'a>(result: &'r CallResult<'a>) -> impl Iterator<Item = &'a ImageContent> + use<'r, 'a> {
    result.content.iter().filter_map(|part| match part {
        ChatPart::Image(image) => Some(*image),
        ChatPart::Text(_) => None,
    })
}
