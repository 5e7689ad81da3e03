//! Converts the conversation to input items of Responses.
//!
//! Answers go back as the items as which they came. Thinking is kept as its item's JSON in the block's signature, the
//! id of a text's item in [`TextSignature`]; a call's id is `<call id>|<item id>`.

use super::Features;
use crate::{
    api::Api,
    convert::{AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, convert_transcript, plain_id},
    openai::{call_part, data_url, short_hash},
    request::ModelRequest,
    transcript::{Preamble, added, change_text, joined, removed},
    types::ToolSpec,
};
use pi_rpc_protocol::{AssistantMessage, JsonObject, Model, SystemMessage};
use serde_json::{Value, json};

/// Declares tools as items have them.
pub type Declaration<'a> = dyn Fn(&[ToolSpec]) -> Vec<Value> + 'a;

/// What the input has beside the conversation.
pub struct InputParts<'a> {
    /// The instructions and tools at the beginning.
    pub preamble: &'a Preamble<'a>,
    /// Declares tools; `None`: they are not part of the input.
    pub offered: Option<&'a Declaration<'a>>,
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
    let mut declared = DeclaredTools { offered: parts.offered, instructor, is_empty: true, gone: Vec::new() };
    items.extend(declared.declare(&parts.preamble.tools));
    if !parts.preamble.instructions.is_empty() {
        items.push(json!({"role": instructor, "content": parts.preamble.instructions}));
    }
    let transcript = convert_transcript(request, parts.preamble, |id, source| known_id(id, source, model));
    let mut names = MessageIds::default();
    for (at, turn) in transcript.chat.iter().enumerate() {
        transcript.changes_at(at).for_each(|change| items.extend(declared.change(change)));
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
    transcript.changes_at(transcript.chat.len()).for_each(|change| items.extend(declared.change(change)));
    items.extend(parts.effort.map(effort_item));
    items
}

/// Ahead of all items that declare tools but the first: without it models take the newest one for all tools. Source: pi 1.6.0.
const MORE_TOOLS: &str = "This is an incremental tools update. Previously declared tools remain available unless explicitly marked \
                          unavailable. A tool declared again here is available again, and its latest definition replaces the \
                          earlier one.";

/// The tools that items of the input have declared. A later item replaces tools of the same name and removes none, so that
/// removals are told as text.
struct DeclaredTools<'a> {
    /// Declares tools; `None`: they are not part of the input.
    offered: Option<&'a Declaration<'a>>,
    /// The role of the instructions.
    instructor: &'a str,
    /// Whether there are none.
    is_empty: bool,
    /// Those that are gone, in the order in which they went.
    gone: Vec<String>,
}

impl DeclaredTools<'_> {
    fn declare(&mut self, tools: &[ToolSpec]) -> Vec<Value> {
        let Some(offered) = self.offered.filter(|_| !tools.is_empty()) else { return Vec::new() };
        self.gone.retain(|name| tools.iter().all(|tool| tool.name != *name));
        let mut items = Vec::new();
        if !self.is_empty {
            let mut notice = MORE_TOOLS.to_owned();
            if !self.gone.is_empty() {
                notice += &format!("\nStill unavailable: {}.", self.gone.join(", "));
            }
            items.push(json!({"role": self.instructor, "content": notice}));
        }
        self.is_empty = false;
        items.push(json!({"type": "additional_tools", "role": "developer", "tools": offered(tools)}));
        items
    }

    fn change(&mut self, change: &SystemMessage) -> Vec<Value> {
        let mut items = self.declare(&added(change));
        let gone: Vec<&str> = removed(change).filter(|_| self.offered.is_some()).collect();
        let removal = match gone.is_empty() {
            true => String::new(),
            false => {
                let lines = gone.iter().map(|name| format!("- {name}")).collect::<Vec<_>>().join("\n");
                format!("The following tools are no longer available. Do not call them:\n{lines}")
            }
        };
        self.gone.retain(|name| !gone.contains(&name.as_str()));
        self.gone.extend(gone.into_iter().map(str::to_owned));
        let text = joined([change_text(change), removal].into_iter());
        if !text.is_empty() {
            items.push(json!({"role": self.instructor, "content": text}));
        }
        items
    }
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
    items_of(&turn.blocks, sibling, names)
}

/// The items of an answer as the next request to the same model has them.
pub fn answer_items(blocks: &[ChatBlock<'_>]) -> Vec<Value> {
    items_of(blocks, false, &mut MessageIds::default())
}

fn items_of(blocks: &[ChatBlock<'_>], sibling: bool, names: &mut MessageIds) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for block in blocks {
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
