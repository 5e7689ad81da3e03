//! The conversation as any provider takes it: instructions, what the user and the model said, and of each call its
//! result. Every provider starts from here and puts only its own words to it.
//!
//! Four things hold of a [`Chat`], whatever the history was: no two calls have the same id; each call has exactly one
//! result, in the turn of the call; each result has its call; and nothing that only another model understands is left.
//! Vendors refuse requests that break one of these, and a session whose every request is refused cannot be continued.
//!
//! Source: pi source (message conversion, `transform-messages`); observed.

use super::request::ModelRequest;
use crate::protocol::{
    AgentMessage, AssistantContent, AssistantMessage, FileMentionMessage, ImageContent, InputKind,
    JsonObject, MessageContent, StopReason, ThinkingContent, ToolCall, ToolResultMessage, UserContent,
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// A conversation, oldest turn first.
pub type Chat<'a> = Vec<Turn<'a>>;

/// What one side said.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn<'a> {
    /// The user, or what stands for the user: the output of commands, summaries, extensions' messages.
    User(Vec<Part<'a>>),
    /// The agent's own remarks; APIs without a role for it take it as the user's.
    Developer(Vec<Part<'a>>),
    /// The model, with what its calls returned.
    Assistant(AssistantTurn<'a>),
}

/// A piece of what a model reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    /// Text; may be blank.
    Text(Cow<'a, str>),
    /// An image; only for models that see images.
    Image(&'a ImageContent),
}

impl Part<'_> {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}

/// What the model said in one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantTurn<'a> {
    /// The message that it was, for its `provider`, `api` and `model`.
    pub source: &'a AssistantMessage,
    /// The model that is asked now gave this answer; only then the blocks carry signatures.
    pub same_model: bool,
    /// In the order said; never empty.
    pub blocks: Vec<Block<'a>>,
    /// One result for each call among `blocks`: first those that came, in their order, then the missing ones.
    pub results: Vec<CallResult<'a>>,
}

/// A piece of what a model said.
#[derive(Clone, Debug, PartialEq)]
pub enum Block<'a> {
    /// Text; may be blank.
    Text {
        /// The text.
        text: &'a str,
        /// The provider's proof of it.
        signature: Option<&'a str>,
    },
    /// Thinking of the same model: signed, or not blank.
    Thinking {
        /// The text.
        text: &'a str,
        /// The provider's proof of it; never empty.
        signature: Option<&'a str>,
    },
    /// Hidden thinking of the same model, in the provider's opaque form.
    Redacted {
        /// To be sent back as it came.
        data: &'a str,
    },
    /// A call of a tool.
    Call {
        /// As the provider takes it; its result has the same.
        id: Cow<'a, str>,
        /// The tool.
        name: &'a str,
        /// The arguments.
        arguments: &'a JsonObject,
        /// The provider's proof of it.
        signature: Option<&'a str>,
    },
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult<'a> {
    /// The call's id.
    pub id: Cow<'a, str>,
    /// The tool.
    pub name: &'a str,
    /// What it returned; may be empty.
    pub content: Vec<Part<'a>>,
    /// It failed.
    pub is_error: bool,
}

/// Converts the conversation of `request`.
///
/// `id_of` makes the id of a call by another model into one that the provider takes: it gets the id and the message
/// of the call. Ids of the same model stay as they are, unless they come again: some servers count from one each time.
///
/// Left out are answers that failed or were aborted, with the results of their calls; what the user excluded; and of
/// another model's answers the signatures and the hidden thinking, while thinking in words becomes text. A result
/// that stands apart from its call moves to it. Images become a text where the user blocks images or the model sees
/// none.
pub fn convert<'a>(
    request: &ModelRequest<'a>,
    id_of: impl Fn(&str, &AssistantMessage) -> String,
) -> Chat<'a> {
    let images = images(request);
    let mut chat = Chat::new();
    // The latest turn with a call of that id.
    let mut latest: HashMap<&'a str, usize> = HashMap::new();
    // No vendor takes an empty id.
    let mut sent = HashSet::from([Cow::Borrowed("")]);
    for message in request.messages {
        match &**message {
            AgentMessage::Assistant(message) => {
                if let Some(turn) = assistant(message, request, &id_of, &mut sent) {
                    latest.extend(calls(message).map(|call| (call.id.as_str(), chat.len())));
                    chat.push(Turn::Assistant(turn));
                }
            }
            AgentMessage::ToolResult(message) => {
                let at = latest.get(message.tool_call_id.as_str());
                if let Some(Turn::Assistant(turn)) = at.and_then(|at| chat.get_mut(*at)) {
                    turn.results.extend(result(message, turn, &images));
                }
            }
            message => chat.extend(convert_other(message, &images)),
        }
    }
    for turn in &mut chat {
        if let Turn::Assistant(turn) = turn {
            add_missing_results(turn);
        }
    }
    chat
}

/// An id of at most `limit` characters from `A-Z a-z 0-9 _ -`; others become `_`.
pub fn plain_id(id: &str, limit: usize) -> String {
    let plain = |found: char| if found.is_ascii_alphanumeric() || "_-".contains(found) { found } else { '_' };
    id.chars().take(limit).map(plain).collect()
}

/// In the place of the text of a tool's result that has none but an image.
pub const SEE_IMAGE: &str = "(see attached image)";
/// The result of a call that has none, such as one whose process was killed.
pub const NO_RESULT: &str = "No result provided";
/// In the place of images that the user blocks.
pub const IMAGES_BLOCKED: &str = "Image reading is disabled.";
/// In the place of images for models that see none: a model that knows nothing of an image would answer past it.
pub const IMAGE_OMITTED: &str = "(image omitted: model does not support images)";

fn calls(message: &AssistantMessage) -> impl Iterator<Item = &ToolCall> {
    message.content.iter().filter_map(|block| match block {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    })
}

fn assistant<'a>(
    message: &'a AssistantMessage,
    request: &ModelRequest<'a>,
    id_of: &impl Fn(&str, &AssistantMessage) -> String,
    sent: &mut HashSet<Cow<'a, str>>,
) -> Option<AssistantTurn<'a>> {
    if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
        return None;
    }
    let model = &request.endpoint.model;
    let same_model =
        message.provider == model.provider && message.api == model.api && message.model == model.id;
    let own = |signature: &'a Option<String>| signature.as_deref().filter(|_| same_model);
    let mut taken = |block: &'a AssistantContent| match block {
        AssistantContent::Text(block) => {
            Some(Block::Text { text: &block.text, signature: own(&block.text_signature) })
        }
        AssistantContent::Thinking(block) => thinking(block, same_model),
        AssistantContent::RedactedThinking(block) => {
            same_model.then_some(Block::Redacted { data: &block.data })
        }
        AssistantContent::ToolCall(call) => Some(Block::Call {
            id: match same_model {
                true => unique(Cow::Borrowed(&call.id), sent),
                false => unique(Cow::Owned(id_of(&call.id, message)), sent),
            },
            name: &call.name,
            arguments: &call.arguments,
            signature: own(&call.thought_signature),
        }),
    };
    let blocks: Vec<Block<'a>> = message.content.iter().filter_map(&mut taken).collect();
    let turn = AssistantTurn { source: message, same_model, blocks, results: Vec::new() };
    (!turn.blocks.is_empty()).then_some(turn)
}

fn thinking(block: &ThinkingContent, same_model: bool) -> Option<Block<'_>> {
    let signature = block.thinking_signature.as_deref().filter(|signature| !signature.is_empty());
    let text = block.thinking.as_str();
    match (block.redacted == Some(true), same_model) {
        (true, true) => signature.map(|data| Block::Redacted { data }),
        (true, false) => None,
        (false, true) if signature.is_some() => Some(Block::Thinking { text, signature }),
        (false, _) if text.trim().is_empty() => None,
        (false, true) => Some(Block::Thinking { text, signature: None }),
        (false, false) => Some(Block::Text { text, signature: None }),
    }
}

/// The id, or where it was sent before, one like it.
fn unique<'a>(id: Cow<'a, str>, sent: &mut HashSet<Cow<'a, str>>) -> Cow<'a, str> {
    // Short enough for every vendor, and without the second part that ids of Responses have.
    let stem = || id.chars().take_while(|c| *c != '|').take(30).collect::<String>();
    let others = (2..).map(|number| Cow::Owned(format!("{}_{number}", stem())));
    let mut ids = std::iter::once(id.clone()).chain(others);
    ids.find(|id| sent.insert(id.clone())).unwrap_or_default()
}

/// A result of the first call in `turn` that waits for it, under the id that the call has there.
fn result<'a>(
    message: &'a ToolResultMessage,
    turn: &AssistantTurn<'a>,
    images: &Images,
) -> Option<CallResult<'a>> {
    let mut sent = calls(turn.source).zip(sent_ids(turn));
    let (_, (id, _)) = sent.find(|(call, (id, _))| {
        call.id == message.tool_call_id && turn.results.iter().all(|result| result.id != **id)
    })?;
    Some(CallResult {
        id: id.clone(),
        name: &message.tool_name,
        content: parts(&message.content, images),
        is_error: message.is_error,
    })
}

/// Gives every call without a result one that says so.
fn add_missing_results(turn: &mut AssistantTurn<'_>) {
    let missing = sent_ids(turn).filter(|(id, _)| turn.results.iter().all(|result| result.id != **id));
    let missing: Vec<CallResult<'_>> = missing
        .map(|(id, name)| CallResult {
            id: id.clone(),
            name,
            content: vec![Part::Text(NO_RESULT.into())],
            is_error: true,
        })
        .collect();
    turn.results.extend(missing);
}

/// The ids and names of the turn's calls, as they are sent.
fn sent_ids<'t, 'a>(turn: &'t AssistantTurn<'a>) -> impl Iterator<Item = (&'t Cow<'a, str>, &'a str)> {
    turn.blocks.iter().filter_map(|part| match part {
        Block::Call { id, name, .. } => Some((id, *name)),
        _ => None,
    })
}

/// What becomes of a message that is neither an answer nor a result.
fn convert_other<'a>(message: &'a AgentMessage, images: &Images) -> Option<Turn<'a>> {
    let user = |content| Some(Turn::User(content));
    let text = |text: String| user(vec![Part::Text(text.into())]);
    match message {
        AgentMessage::User(message) => user(content(&message.content, images)),
        AgentMessage::Custom(message) => user(content(&message.content, images)),
        AgentMessage::HookMessage(message) => user(content(&message.content, images)),
        AgentMessage::Developer(message) => Some(Turn::Developer(content(&message.content, images))),
        AgentMessage::BashExecution(message) => message.model_text().and_then(text),
        AgentMessage::PythonExecution(message) => message.model_text().and_then(text),
        AgentMessage::CompactionSummary(message) => text(message.model_text()),
        AgentMessage::BranchSummary(message) => text(message.model_text()),
        AgentMessage::FileMention(message) => user(files(message, images)),
        // What a system message says goes ahead of the conversation.
        AgentMessage::Assistant(_) | AgentMessage::ToolResult(_) | AgentMessage::System(_) => None,
    }
}

/// What becomes of images.
#[derive(Clone, Copy)]
enum Images {
    Shown,
    Replaced(&'static str),
}

fn images(request: &ModelRequest<'_>) -> Images {
    match request.options.blocks_images {
        true => Images::Replaced(IMAGES_BLOCKED),
        false if request.endpoint.model.input.contains(&InputKind::Image) => Images::Shown,
        false => Images::Replaced(IMAGE_OMITTED),
    }
}

fn content<'a>(content: &'a MessageContent, images: &Images) -> Vec<Part<'a>> {
    match content {
        MessageContent::Text(text) => vec![Part::Text(text.into())],
        MessageContent::Blocks(blocks) => parts(blocks, images),
    }
}

fn parts<'a>(blocks: &'a [UserContent], images: &Images) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let part = match (block, images) {
            (UserContent::Text(block), _) => Part::Text(Cow::Borrowed(&block.text)),
            (UserContent::Image(image), Images::Shown) => Part::Image(image),
            (UserContent::Image(_), Images::Replaced(text)) => Part::Text((*text).into()),
        };
        // One text stands for several images in a row.
        let again = matches!(block, UserContent::Image(_)) && matches!(images, Images::Replaced(_));
        if !(again && parts.last() == Some(&part)) {
            parts.push(part);
        }
    }
    parts
}

fn files<'a>(message: &'a FileMentionMessage, images: &Images) -> Vec<Part<'a>> {
    let mut content = vec![Part::Text(message.model_text().into())];
    content.extend(message.files.iter().filter_map(|found| found.image.as_ref()).map(|image| match images {
        Images::Shown => Part::Image(image),
        Images::Replaced(text) => Part::Text((*text).into()),
    }));
    content
}
