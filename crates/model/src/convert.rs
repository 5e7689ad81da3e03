//! Converts the conversation to the form that all providers share: turns of user and model, each call with its
//! result. Each API adds only its own words.
//!
//! Invariants of a [`Chat`], whatever the history was: no two calls have the same id; each call has exactly one
//! result, in the turn of the call; each result has its call; nothing is left that only another model understands.
//! Vendors refuse requests that break one, and a session whose every request is refused cannot be continued.
//!
//! Source: pi source (message conversion, `transform-messages`); observed.

use super::{request::ModelRequest, transcript::Preamble};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, FileMentionMessage, ImageContent, InputKind,
    JsonObject, MessageContent, StopReason, SystemMessage, ThinkingContent, ToolCall, ToolResultMessage,
    UserContent,
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// A conversation, oldest turn first.
pub type Chat<'a> = Vec<ChatTurn<'a>>;

/// One side's part of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatTurn<'a> {
    /// Input of the user, or messages in this role: the output of commands, summaries, extensions' messages.
    User(Vec<ChatPart<'a>>),
    /// The agent's own remarks; APIs without a role for them take them as the user's.
    Developer(Vec<ChatPart<'a>>),
    /// An answer of the model, with the results of its calls.
    Assistant(AssistantTurn<'a>),
}

/// A part of the model's input.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatPart<'a> {
    /// Text; may be blank, and empty where it is alone.
    Text(Cow<'a, str>),
    /// An image; only for models that see images.
    Image(&'a ImageContent),
}

impl ChatPart<'_> {
    /// The text; `None`: an image.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantTurn<'a> {
    /// The original message, for its `provider`, `api` and `model`.
    pub source: &'a AssistantMessage,
    /// Whether the requested model gave this answer; only then blocks have signatures.
    pub same_model: bool,
    /// Its blocks, in order; never empty.
    pub blocks: Vec<ChatBlock<'a>>,
    /// One result for each call among `blocks`: first those that exist, in their order, then those that were missing.
    pub results: Vec<CallResult<'a>>,
}

/// A block of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatBlock<'a> {
    /// Text; may be blank.
    Text {
        /// The text.
        text: &'a str,
        /// The provider's signature of the text.
        signature: Option<&'a str>,
    },
    /// Thinking of the same model: signed, or not blank.
    Thinking {
        /// The text.
        text: &'a str,
        /// The provider's signature of the thinking; never empty.
        signature: Option<&'a str>,
    },
    /// Hidden thinking of the same model, in the provider's opaque form.
    Redacted {
        /// The opaque data, to be sent back unchanged.
        data: &'a str,
    },
    /// A call of a tool.
    Call {
        /// The id in the provider's form; the result has the same.
        id: Cow<'a, str>,
        /// The tool.
        name: &'a str,
        /// The arguments.
        arguments: &'a JsonObject,
        /// The provider's signature of the call.
        signature: Option<&'a str>,
    },
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult<'a> {
    /// The call's id.
    pub id: Cow<'a, str>,
    /// The tool.
    pub name: &'a str,
    /// Its content; may be empty.
    pub content: Vec<ChatPart<'a>>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Creation time in milliseconds since the Unix epoch; `None`: the result was missing.
    pub timestamp: Option<u64>,
}

/// Converts the conversation of `request`.
///
/// `id_of` converts the call id of another model to one that the provider accepts, given the id and the call's
/// message. Ids of the same model stay, unless they repeat: some servers count from one each time.
///
/// Left out are failed and aborted answers with the results of their calls, messages that the user excluded, and
/// other models' signatures and thinking. A result apart from its call moves to it. Images become text where the user
/// blocks images or the model sees none. Empty texts beside other parts are left out.
pub fn convert<'a>(
    request: &ModelRequest<'a>,
    id_of: impl Fn(&str, &AssistantMessage) -> String,
) -> Chat<'a> {
    convert_all(request, id_of).chat
}

/// A conversation with the changes of its instructions and tools.
#[derive(Clone, Debug, Default)]
pub struct Transcript<'a> {
    /// The conversation.
    pub chat: Chat<'a>,
    /// All system messages but the first, each with the index of the turn that it precedes. They stand behind the results of
    /// the turn before.
    pub changes: Vec<(usize, &'a SystemMessage)>,
}

impl<'a> Transcript<'a> {
    /// The changes before the turn `index`.
    pub fn changes_at(&self, index: usize) -> impl Iterator<Item = &'a SystemMessage> {
        self.changes.iter().filter(move |(at, _)| *at == index).map(|(_, change)| *change)
    }
}

/// Converts the conversation of `request` as [`convert`] does, and keeps the places of later system messages, if `preamble`
/// leaves them in the conversation.
pub fn convert_transcript<'a>(
    request: &ModelRequest<'a>,
    preamble: &Preamble<'_>,
    id_of: impl Fn(&str, &AssistantMessage) -> String,
) -> Transcript<'a> {
    let mut transcript = convert_all(request, id_of);
    if !preamble.has_changes {
        transcript.changes.clear();
    }
    transcript
}

fn convert_all<'a>(
    request: &ModelRequest<'a>,
    id_of: impl Fn(&str, &AssistantMessage) -> String,
) -> Transcript<'a> {
    let images = images(request);
    let mut chat = Chat::new();
    let mut changes = Vec::new();
    // The last turn with a call of an id.
    let mut latest: HashMap<&'a str, usize> = HashMap::new();
    // No vendor accepts an empty id.
    let mut sent = HashSet::from([Cow::Borrowed("")]);
    for (place, message) in request.messages.iter().enumerate() {
        match &**message {
            AgentMessage::System(message) if place > 0 => changes.push((chat.len(), message)),
            AgentMessage::Assistant(message) => {
                if let Some(turn) = assistant(message, request, &id_of, &mut sent) {
                    latest.extend(calls(message).map(|call| (call.id.as_str(), chat.len())));
                    chat.push(ChatTurn::Assistant(turn));
                }
            }
            AgentMessage::ToolResult(message) => {
                let at = latest.get(message.tool_call_id.as_str());
                if let Some(ChatTurn::Assistant(turn)) = at.and_then(|at| chat.get_mut(*at)) {
                    turn.results.extend(result(message, turn, &images));
                }
            }
            message => chat.extend(convert_other(message, &images)),
        }
    }
    for turn in &mut chat {
        if let ChatTurn::Assistant(turn) = turn {
            add_missing_results(turn);
        }
    }
    Transcript { chat, changes }
}

/// Shortens an id to `limit` characters from `A-Z a-z 0-9 _ -`; others become `_`.
pub fn plain_id(id: &str, limit: usize) -> String {
    let plain = |found: char| if found.is_ascii_alphanumeric() || "_-".contains(found) { found } else { '_' };
    id.chars().take(limit).map(plain).collect()
}

/// Text of a tool's result that has only an image.
pub const SEE_IMAGE: &str = "(see attached image)";
/// Result of a call that has none, for instance because its process was killed.
pub const NO_RESULT: &str = "No result provided";
/// Text in place of images that the user blocks.
pub const IMAGES_BLOCKED: &str = "Image reading is disabled.";
/// Text in place of images of a result, likewise.
pub const TOOL_IMAGE_OMITTED: &str = "(tool image omitted: model does not support images)";
/// Text in place of images for models that see none: without it a model would answer as if there were no image.
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
            Some(ChatBlock::Text { text: &block.text, signature: own(&block.text_signature) })
        }
        AssistantContent::Thinking(block) => thinking(block, same_model),
        AssistantContent::RedactedThinking(block) => {
            same_model.then_some(ChatBlock::Redacted { data: &block.data })
        }
        AssistantContent::ToolCall(call) => Some(ChatBlock::Call {
            id: match same_model {
                true => unique(Cow::Borrowed(&call.id), sent),
                false => unique(Cow::Owned(id_of(&call.id, message)), sent),
            },
            name: &call.name,
            arguments: &call.arguments,
            signature: own(&call.thought_signature),
        }),
    };
    let blocks: Vec<ChatBlock<'a>> = message.content.iter().filter_map(&mut taken).collect();
    let turn = AssistantTurn { source: message, same_model, blocks, results: Vec::new() };
    (!turn.blocks.is_empty()).then_some(turn)
}

fn thinking(block: &ThinkingContent, same_model: bool) -> Option<ChatBlock<'_>> {
    let signature = block.thinking_signature.as_deref().filter(|signature| !signature.is_empty());
    let text = block.thinking.as_str();
    match (block.redacted == Some(true), same_model) {
        (true, true) => signature.map(|data| ChatBlock::Redacted { data }),
        (true, false) => None,
        (false, true) if signature.is_some() => Some(ChatBlock::Thinking { text, signature }),
        (false, _) if text.trim().is_empty() => None,
        (false, true) => Some(ChatBlock::Thinking { text, signature: None }),
        // As text it would be part of the answer, which models then take for their own way to answer.
        (false, false) => None,
    }
}

/// Returns the id, or a similar one if it was sent before.
fn unique<'a>(id: Cow<'a, str>, sent: &mut HashSet<Cow<'a, str>>) -> Cow<'a, str> {
    // Short enough for every vendor, and without the second part of Responses ids.
    let stem = || id.chars().take_while(|c| *c != '|').take(30).collect::<String>();
    let others = (2..).map(|number| Cow::Owned(format!("{}_{number}", stem())));
    let mut ids = std::iter::once(id.clone()).chain(others);
    ids.find(|id| sent.insert(id.clone())).unwrap_or_default()
}

/// Converts a result of the first call in `turn` that waits for one, under the id of the call.
fn result<'a>(
    message: &'a ToolResultMessage,
    turn: &AssistantTurn<'a>,
    images: &Images,
) -> Option<CallResult<'a>> {
    let mut sent = calls(turn.source).zip(sent_ids(turn));
    let (_, (id, _)) = sent.find(|(call, (id, _))| {
        call.id == message.tool_call_id && turn.results.iter().all(|result| result.id != **id)
    })?;
    let images = match images {
        Images::Replaced(IMAGE_OMITTED) => &Images::Replaced(TOOL_IMAGE_OMITTED),
        images => images,
    };
    Some(CallResult {
        id: id.clone(),
        name: &message.tool_name,
        content: parts(&message.content, images),
        is_error: message.is_error,
        timestamp: Some(message.timestamp),
    })
}

/// Adds a result to each call that has none.
fn add_missing_results(turn: &mut AssistantTurn<'_>) {
    let missing = sent_ids(turn).filter(|(id, _)| turn.results.iter().all(|result| result.id != **id));
    let missing: Vec<CallResult<'_>> = missing
        .map(|(id, name)| CallResult {
            id: id.clone(),
            name,
            content: vec![ChatPart::Text(NO_RESULT.into())],
            is_error: true,
            timestamp: None,
        })
        .collect();
    turn.results.extend(missing);
}

/// Ids and names of the turn's calls, as they are sent.
fn sent_ids<'t, 'a>(turn: &'t AssistantTurn<'a>) -> impl Iterator<Item = (&'t Cow<'a, str>, &'a str)> {
    turn.blocks.iter().filter_map(|part| match part {
        ChatBlock::Call { id, name, .. } => Some((id, *name)),
        _ => None,
    })
}

/// Converts a message that is neither an answer nor a result; `None`: it is left out.
pub fn input<'a>(message: &'a AgentMessage, request: &ModelRequest<'a>) -> Option<ChatTurn<'a>> {
    convert_other(message, &images(request))
}

/// The parts of a message that is neither an answer nor a result, with its images; `None`: models do not see it.
pub fn input_parts(message: &AgentMessage) -> Option<Vec<ChatPart<'_>>> {
    match convert_other(message, &Images::Shown)? {
        ChatTurn::User(parts) | ChatTurn::Developer(parts) => Some(parts),
        ChatTurn::Assistant(_) => None,
    }
}

fn convert_other<'a>(message: &'a AgentMessage, images: &Images) -> Option<ChatTurn<'a>> {
    let user = |content| Some(ChatTurn::User(content));
    let text = |text: String| user(vec![ChatPart::Text(text.into())]);
    match message {
        AgentMessage::User(message) => user(content(&message.content, images)),
        AgentMessage::Custom(message) => user(content(&message.content, images)),
        AgentMessage::HookMessage(message) => user(content(&message.content, images)),
        AgentMessage::Developer(message) => Some(ChatTurn::Developer(content(&message.content, images))),
        AgentMessage::BashExecution(message) => message.model_text().and_then(text),
        AgentMessage::PythonExecution(message) => message.model_text().and_then(text),
        AgentMessage::CompactionSummary(message) => text(message.model_text()),
        AgentMessage::BranchSummary(message) => text(message.model_text()),
        AgentMessage::FileMention(message) => user(files(message, images)),
        // System messages go ahead of the conversation.
        AgentMessage::Assistant(_) | AgentMessage::ToolResult(_) | AgentMessage::System(_) => None,
    }
}

/// How images are sent.
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

fn content<'a>(content: &'a MessageContent, images: &Images) -> Vec<ChatPart<'a>> {
    match content {
        MessageContent::Text(text) => vec![ChatPart::Text(text.into())],
        MessageContent::Blocks(blocks) => {
            let mut parts = parts(blocks, images);
            if parts.len() > 1 {
                parts.retain(|part| part.text() != Some(""));
            }
            parts
        }
    }
}

fn parts<'a>(blocks: &'a [UserContent], images: &Images) -> Vec<ChatPart<'a>> {
    let mut parts: Vec<ChatPart<'a>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let part = match (block, images) {
            (UserContent::Text(block), _) => ChatPart::Text(Cow::Borrowed(&block.text)),
            (UserContent::Image(image), Images::Shown) => ChatPart::Image(image),
            (UserContent::Image(_), Images::Replaced(text)) => ChatPart::Text((*text).into()),
        };
        // One text replaces several images in a row.
        let again = matches!(block, UserContent::Image(_)) && matches!(images, Images::Replaced(_));
        if !(again && parts.last() == Some(&part)) {
            parts.push(part);
        }
    }
    parts
}

fn files<'a>(message: &'a FileMentionMessage, images: &Images) -> Vec<ChatPart<'a>> {
    let mut content = vec![ChatPart::Text(message.model_text().into())];
    content.extend(message.files.iter().filter_map(|found| found.image.as_ref()).map(|image| match images {
        Images::Shown => ChatPart::Image(image),
        Images::Replaced(text) => ChatPart::Text((*text).into()),
    }));
    content
}
