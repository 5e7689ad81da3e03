//! Converts the conversation to input items of Responses.
//!
//! Answers go back as the items as which they came. Thinking is kept as its item's JSON in the block's signature, the
//! id of a text's item in [`TextSignature`]; a call's id is `<call id>|<item id>`.

use super::Features;
use crate::{
    api::Api,
    convert::{AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, convert, plain_id},
    openai::{call_part, data_url, short_hash},
    request::ModelRequest,
};
use pi_rpc_protocol::{AssistantMessage, JsonObject, Model};
use serde_json::{Value, json};

/// What the input has beside the conversation.
pub struct InputParts<'a> {
    /// The instructions; may be empty.
    pub instructions: &'a str,
    /// Offered tools; empty: they are not part of the input.
    pub tools: Vec<Value>,
    /// The effort of the answer, named by an item of its own as those of earlier answers; `None`: no items name efforts.
    pub effort: Option<&'a str>,
}

/// Builds all items.
pub fn input(request: &ModelRequest<'_>, parts: InputParts<'_>) -> Vec<Value> {
    let model = &request.endpoint.model;
    // The server for ChatGPT accounts takes no instructions in the role `system`.
    let knows_thinking = model.reasoning || model.api == Api::OpenaiCodexResponses.as_str();
    let is_developer = knows_thinking && Features::of(model).developer_role;
    let instructor = if is_developer { "developer" } else { "system" };
    let mut items = Vec::new();
    if !parts.tools.is_empty() {
        items.push(json!({"type": "additional_tools", "role": "developer", "tools": parts.tools}));
    }
    if !parts.instructions.is_empty() {
        items.push(json!({"role": instructor, "content": parts.instructions}));
    }
    let turns = convert(request, |id, source| known_id(id, source, model));
    let mut names = MessageIds::default();
    for turn in &turns {
        match turn {
            ChatTurn::User(parts) => items.extend(input_message("user", parts)),
            ChatTurn::Developer(parts) => items.extend(input_message(instructor, parts)),
            ChatTurn::Assistant(turn) => {
                let answer = assistant(turn, model, &mut names);
                let effort = turn.source.provider_thinking_level.as_deref();
                if let (Some(_), true, Some(effort)) = (parts.effort, turn.same_model, effort)
                    && !answer.is_empty()
                {
                    items.push(effort_item(effort));
                }
                items.extend(answer);
                items.extend(turn.results.iter().map(result));
            }
        }
    }
    items.extend(parts.effort.map(effort_item));
    items
}

/// Sets the effort of the answers that follow.
fn effort_item(effort: &str) -> Value {
    json!({"type": "configuration_update", "reasoning": {"effort": effort}})
}

/// Draws ids for texts without one, in the order of the conversation: a text keeps its id in all later requests. No server
/// counts its own ids so.
#[derive(Default)]
struct MessageIds(usize);

impl MessageIds {
    fn next_id(&mut self) -> String {
        self.0 += 1;
        format!("msg_pi_{}", self.0)
    }
}

/// The signature of a text: `{"v":1,"id":…,"phase":…}`, or, in old sessions, the bare id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSignature {
    /// Id of the text's item.
    pub id: String,
    /// Whether the text is a remark on the way or the answer; absent if the model gives no phase.
    pub phase: Option<String>,
}

impl TextSignature {
    /// Parses a signature.
    pub fn read(signature: &str) -> Self {
        let mark: Value = serde_json::from_str(signature).unwrap_or_default();
        match (&mark["v"], mark["id"].as_str()) {
            (version, Some(id)) if *version == 1 => {
                let phase = mark["phase"].as_str();
                let known = phase.filter(|phase| ["commentary", "final_answer"].contains(phase));
                Self { id: id.to_owned(), phase: known.map(str::to_owned) }
            }
            _ => Self { id: signature.to_owned(), phase: None },
        }
    }

    /// Encodes the signature.
    pub fn write(&self) -> String {
        let mut mark = json!({"v": 1, "id": self.id});
        if let Some(phase) = &self.phase {
            mark["phase"] = phase.as_str().into();
        }
        mark.to_string()
    }
}

/// Longest id that the server accepts, in characters.
const ID_LIMIT: usize = 64;

/// Providers that use both parts of a call's id; others get one.
const TWO_PART_IDS: [&str; 4] = ["azure", "openai", "openai-codex", "opencode"];

/// Converts another model's call id. The item's id is kept within one provider; otherwise it becomes a hash.
fn known_id(id: &str, source: &AssistantMessage, model: &Model) -> String {
    let part = |part: &str| plain_id(part, ID_LIMIT).trim_end_matches('_').to_owned();
    let parts = id.split_once('|').filter(|_| TWO_PART_IDS.contains(&model.provider.as_str()));
    let Some((call, item)) = parts else { return part(id) };
    let foreign = source.provider != model.provider || source.api != model.api;
    let item = match part(item) {
        _ if foreign => format!("fc_{}", short_hash(item)),
        item if item.starts_with("fc_") => item,
        item => part(&format!("fc_{item}")),
    };
    format!("{}|{item}", part(call))
}

fn input_message(role: &str, parts: &[ChatPart<'_>]) -> Option<Value> {
    let parts: Vec<Value> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| json!({"role": role, "content": parts}))
}

fn part(part: &ChatPart<'_>) -> Value {
    match part {
        ChatPart::Text(text) => json!({"type": "input_text", "text": text}),
        ChatPart::Image(image) => {
            json!({"type": "input_image", "detail": "auto", "image_url": data_url(image)})
        }
    }
}

fn assistant(turn: &AssistantTurn<'_>, model: &Model, names: &mut MessageIds) -> Vec<Value> {
    // The server checks that its calls come with their thinking, which is not sent to other models.
    let source = turn.source;
    let sibling = source.model != model.id && source.provider == model.provider && source.api == model.api;
    let mut items: Vec<Value> = Vec::new();
    for block in &turn.blocks {
        match block {
            ChatBlock::Text { text, signature } => items.push(message(text, *signature, names)),
            ChatBlock::Thinking { signature, .. } => items.extend(signature.and_then(reasoning)),
            ChatBlock::Redacted { .. } => {}
            ChatBlock::Call { id, name, arguments, .. } => items.push(call(id, name, arguments, sibling)),
        }
    }
    // The server refuses thinking that nothing follows.
    while items.last().is_some_and(|item| item["type"] == "reasoning") {
        items.pop();
    }
    items
}

/// Restores the item of thinking.
fn reasoning(signature: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(signature).ok()?;
    (item["type"] == "reasoning").then_some(item)
}

fn mark(signature: Option<&str>) -> Option<TextSignature> {
    signature.filter(|signature| !signature.is_empty()).map(TextSignature::read)
}

fn message(text: &str, signature: Option<&str>, names: &mut MessageIds) -> Value {
    let (id, phase) = match mark(signature) {
        Some(mark) if mark.id.chars().count() > ID_LIMIT => {
            (format!("msg_{}", short_hash(&mark.id)), mark.phase)
        }
        Some(mark) => (mark.id, mark.phase),
        None => (names.next_id(), None),
    };
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let mut item =
        json!({"type": "message", "role": "assistant", "content": content, "status": "completed", "id": id});
    if let Some(phase) = phase {
        item["phase"] = phase.into();
    }
    item
}

fn call(id: &str, name: &str, arguments: &JsonObject, sibling: bool) -> Value {
    let mut call = json!({"type": "function_call"});
    match id.split_once('|') {
        Some((_, item)) if !sibling && item.starts_with("fc_") => call["id"] = item.into(),
        _ => {}
    }
    call["call_id"] = call_part(id).into();
    call["name"] = name.into();
    call["arguments"] = Value::Object(arguments.clone()).to_string().into();
    call
}

/// Text of a result without text and images.
const NO_OUTPUT: &str = "(no tool output)";

/// Converts a result: text as one string, with images a list.
fn result(result: &CallResult<'_>) -> Value {
    let texts: Vec<&str> = result.content.iter().filter_map(ChatPart::text).collect();
    let text = texts.join("\n");
    let mut images =
        result.content.iter().filter(|part| matches!(part, ChatPart::Image(_))).map(part).peekable();
    let output = match images.peek() {
        Some(_) => {
            let text = (!text.trim().is_empty()).then(|| json!({"type": "input_text", "text": text}));
            text.into_iter().chain(images).collect()
        }
        None if text.trim().is_empty() => NO_OUTPUT.into(),
        None => Value::from(text),
    };
    json!({"type": "function_call_output", "call_id": call_part(&result.id), "output": output})
}
