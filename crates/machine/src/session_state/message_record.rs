//! What is stored of a message: its identity, its digest and its usage, but never its text.

use super::digest::{digest, pair, text_digest};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind as Role, AssistantContent, AssistantMessage, CustomMessage, HookMessage,
    MessageContent, StopReason, Usage, UserContent,
};
use serde_json::Value;
use std::{borrow::Cow, num::NonZeroU64};

/// The identity of a message, with a digest of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageKey {
    /// The role of the message.
    pub role: Role,
    /// The identity: a digest of the role, the timestamp and the tool call; for messages of extensions, of the role and the
    /// custom type.
    pub name: u64,
    /// A digest of the whole message (for messages of extensions without the timestamp); `None` if it was shortened or may
    /// change.
    pub digest: Option<NonZeroU64>,
}

/// A message that was emitted.
#[derive(Clone, Copy, Debug)]
pub struct MessageRecord {
    /// The identity of the message.
    pub key: MessageKey,
    /// A digest of the text of a user or assistant message, 0 if it has none; `None` if it was shortened.
    pub text: Option<u64>,
    /// Whether the message was aborted before it had content.
    pub is_empty_abort: bool,
    /// Whether the message is an assistant message that ended by itself, without calls.
    pub is_stop: bool,
    /// Whether the message is an assistant message that failed or was aborted.
    pub has_failed: bool,
    /// Whether the message has an image or a very long text, which files may store in another form.
    pub is_large: bool,
    /// The usage of the message.
    pub contribution: MessageUsage,
    /// Whether the message is in memory.
    pub memory: Presence,
    /// Whether the message is among the entries of the session.
    pub file: Presence,
}

/// Whether a message is in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Certainly.
    In,
    /// Possibly.
    Maybe,
    /// Certainly not.
    Out,
}

/// The contribution of a message to the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MessageUsage {
    /// The number of tool calls.
    pub calls: u64,
    /// Tokens by kind: input, output, cache read, cache write.
    pub tokens: [u64; 4],
    /// US dollars.
    pub cost: f64,
    /// Whether there was further usage that is not reported in numbers.
    pub is_vague: bool,
}

impl MessageKey {
    /// The identity of `message`; `whole`: no text in it was shortened.
    pub fn of(message: &AgentMessage, whole: bool) -> Self {
        let (timestamp, call, changes) = match message {
            AgentMessage::User(it) => (it.timestamp, "", false),
            AgentMessage::System(it) => (it.timestamp, "", false),
            AgentMessage::Developer(it) => (it.timestamp, "", false),
            AgentMessage::Assistant(it) => (it.timestamp, "", false),
            // Some servers shorten old results, and mark them.
            AgentMessage::ToolResult(it) => (it.timestamp, it.tool_call_id.as_str(), it.pruned_at.is_some()),
            AgentMessage::BashExecution(it) => (it.timestamp, "", false),
            AgentMessage::PythonExecution(it) => (it.timestamp, "", false),
            AgentMessage::Custom(it) => (0, it.custom_type.as_str(), false),
            AgentMessage::HookMessage(it) => (0, it.custom_type.as_str(), false),
            AgentMessage::BranchSummary(it) => (it.timestamp, "", false),
            AgentMessage::CompactionSummary(it) => (it.timestamp, "", false),
            AgentMessage::FileMention(it) => (it.timestamp, "", false),
        };
        let role = message.kind();
        let name = pair(pair(role as u64, timestamp), text_digest(call));
        // What extensions add gets the time of its entry, once the session is read from its file.
        let content = match message {
            AgentMessage::Custom(it) => digest(&CustomMessage { timestamp: 0, ..it.clone() }),
            AgentMessage::HookMessage(it) => digest(&HookMessage { timestamp: 0, ..it.clone() }),
            // Servers add these to a message after its end.
            AgentMessage::Assistant(it)
                if it.context_snapshot.is_some() || it.error_id.is_some() || it.retry_recovery.is_some() =>
            {
                let it = AssistantMessage {
                    context_snapshot: None,
                    error_id: None,
                    retry_recovery: None,
                    ..it.clone()
                };
                digest(&it)
            }
            _ => digest(message),
        };
        let digest = (whole && !changes).then(|| NonZeroU64::new(content)).flatten();
        Self { role, name, digest }
    }

    /// Whether both are the same message, as far as both are known.
    pub fn is(&self, other: &Self) -> bool {
        self.role == other.role
            && match (self.digest, other.digest) {
                (Some(one), Some(other)) => one == other,
                _ => self.name == other.name,
            }
    }

    /// Whether both are one message, but with other content in one place than in the other.
    pub fn is_altered(&self, other: &Self) -> bool {
        let has_identity = !matches!(self.role, Role::Custom | Role::HookMessage);
        has_identity && self.role == other.role && self.name == other.name && !self.is(other)
    }

    /// Whether the message belongs to the conversation of host and model; only such messages must be emitted before they are
    /// listed.
    pub const fn is_core(&self) -> bool {
        matches!(self.role, Role::User | Role::Assistant | Role::ToolResult)
    }
}

impl MessageRecord {
    /// Extracts what is stored of `message`; `whole`: no text in it was shortened.
    pub fn of(message: &AgentMessage, whole: bool) -> Self {
        let text = match message {
            AgentMessage::User(it) => shown_text(&joined(&it.content)),
            AgentMessage::Assistant(it) => shown_text(answer_text(it).trim_matches(is_blank)),
            _ => 0,
        };
        let stop = match message {
            AgentMessage::Assistant(it) => Some(it.stop_reason),
            _ => None,
        };
        let empty = matches!(message, AgentMessage::Assistant(it) if it.content.is_empty());
        Self {
            key: MessageKey::of(message, whole),
            text: whole.then_some(text),
            is_empty_abort: stop == Some(StopReason::Aborted) && empty,
            is_stop: stop == Some(StopReason::Stop),
            has_failed: matches!(stop, Some(StopReason::Error | StopReason::Aborted)),
            is_large: is_large(message),
            contribution: MessageUsage::of(message),
            memory: Presence::In,
            file: Presence::In,
        }
    }

    /// The index in counts by role: user, assistant, call, result.
    pub const fn column(&self) -> Option<usize> {
        match self.key.role {
            Role::User => Some(0),
            Role::Assistant => Some(1),
            Role::ToolResult => Some(3),
            _ => None,
        }
    }
}

impl MessageUsage {
    fn of(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::Assistant(it) => {
                let calls = it.content.iter().filter(|block| matches!(block, AssistantContent::ToolCall(_)));
                Self { calls: calls.count() as u64, ..Self::of_usage(&it.usage) }
            }
            // Tools that call a model report its usage, in some servers in their own details.
            AgentMessage::ToolResult(it) => {
                let own = it.details.as_ref().is_some_and(|details| details.get("usage").is_some());
                Self { is_vague: own || it.usage.is_some(), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// The contribution of `usage`.
    pub fn of_usage(usage: &Usage) -> Self {
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        Self { calls: 0, tokens, cost: usage.cost.total.as_f64().unwrap_or_default(), is_vague: false }
    }
}

/// The least length, in bytes, of a text that files may store in another form.
const LARGE: usize = 100_000;

fn is_large(message: &AgentMessage) -> bool {
    let has_large = |blocks: &[UserContent]| {
        blocks.iter().any(|block| match block {
            UserContent::Text(text) => text.text.len() > LARGE,
            UserContent::Image(_) => true,
        })
    };
    match message {
        AgentMessage::User(it) => match &it.content {
            MessageContent::Text(text) => text.len() > LARGE,
            MessageContent::Blocks(blocks) => has_large(blocks),
        },
        AgentMessage::Assistant(it) => it.content.iter().any(|block| match block {
            AssistantContent::Text(text) => text.text.len() > LARGE,
            AssistantContent::ToolCall(call) => call.arguments.values().any(has_long_text),
            _ => false,
        }),
        AgentMessage::ToolResult(it) => {
            has_large(&it.content) || it.details.as_ref().is_some_and(has_long_text)
        }
        _ => false,
    }
}

fn has_long_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LARGE,
        Value::Array(items) => items.iter().any(has_long_text),
        Value::Object(members) => members.values().any(has_long_text),
        _ => false,
    }
}

/// The concatenated texts of a user message.
pub fn joined(content: &MessageContent) -> Cow<'_, str> {
    match content {
        MessageContent::Text(text) => text.into(),
        MessageContent::Blocks(blocks) => {
            if let [UserContent::Text(only)] = blocks.as_slice() {
                return (&only.text).into();
            }
            let texts = blocks.iter().filter_map(|block| match block {
                UserContent::Text(text) => Some(text.text.as_str()),
                UserContent::Image(_) => None,
            });
            texts.collect()
        }
    }
}

/// The concatenated texts of an assistant message.
pub fn answer_text(message: &AssistantMessage) -> Cow<'_, str> {
    if let [AssistantContent::Text(only)] = message.content.as_slice() {
        return (&only.text).into();
    }
    let texts = message.content.iter().filter_map(|block| match block {
        AssistantContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The digest of a text; 0 for the empty one.
pub fn shown_text(text: &str) -> u64 {
    if text.is_empty() { 0 } else { text_digest(text).max(1) }
}

/// Whether some server trims this character: languages differ in what is blank, so the union counts.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}
