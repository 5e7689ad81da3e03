//! What is kept of a message: enough to know it again, and what it counts for. Never its text.

use super::digest::{digest, pair, text_digest};
use crate::protocol::{
    AgentMessage, AgentMessageKind as Role, AssistantContent, AssistantMessage, CustomMessage, HookMessage,
    MessageContent, StopReason, Usage, UserContent,
};
use serde_json::Value;
use std::{borrow::Cow, num::NonZeroU64};

/// What a message is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageKey {
    /// Who says it.
    pub role: Role,
    /// A digest of its role, its time and the call that it answers: what tells it from others. Of what extensions add: of
    /// its role and its type.
    pub name: u64,
    /// A digest of the whole, without the time of what extensions add; `None`: it was not seen whole, or may change.
    pub digest: Option<NonZeroU64>,
}

/// A message that was said.
#[derive(Clone, Copy, Debug)]
pub struct MessageRecord {
    /// What it is known by.
    pub key: MessageKey,
    /// A digest of its text, of a user's or an assistant's message; 0: it has none. `None`: it was not seen whole.
    pub text: Option<u64>,
    /// It was aborted before it had any content.
    pub is_empty_abort: bool,
    /// It is an answer that failed, or was aborted.
    pub has_failed: bool,
    /// It has a picture, or a very long text: what files may have in another form.
    pub is_large: bool,
    /// What it counts for.
    pub contribution: MessageUsage,
    /// Whether it is in memory.
    pub memory: Presence,
    /// Whether it is among the entries of the session.
    pub file: Presence,
}

/// Whether a message is in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has to be.
    In,
    /// It may be.
    Maybe,
    /// It must not be.
    Out,
}

/// What a message counts for in the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MessageUsage {
    /// Calls of tools.
    pub calls: u64,
    /// Tokens by kind: input, output, read from and written to a cache.
    pub tokens: [u64; 4],
    /// US dollars.
    pub cost: f64,
    /// Something else was used that is told nowhere in numbers of its own.
    pub is_vague: bool,
}

impl MessageKey {
    /// What `message` is known by; `whole`: no text in it was shortened.
    pub fn of(message: &AgentMessage, whole: bool) -> Self {
        let (timestamp, call, changes) = match message {
            AgentMessage::User(it) => (it.timestamp, "", false),
            AgentMessage::System(it) => (it.timestamp, "", false),
            AgentMessage::Developer(it) => (it.timestamp, "", false),
            AgentMessage::Assistant(it) => (it.timestamp, "", false),
            // Some servers shorten old results, and say so.
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
            _ => digest(message),
        };
        let digest = (whole && !changes).then(|| NonZeroU64::new(content)).flatten();
        Self { role, name, digest }
    }

    /// Whether both are one message, as far as both are known.
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

    /// Whether it is part of what hosts and models say to each other: only that has to be said before it is listed.
    pub const fn is_core(&self) -> bool {
        matches!(self.role, Role::User | Role::Assistant | Role::ToolResult)
    }
}

impl MessageRecord {
    /// What is kept of `message`; `whole`: no text in it was shortened.
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
            has_failed: matches!(stop, Some(StopReason::Error | StopReason::Aborted)),
            is_large: is_large(message),
            contribution: MessageUsage::of(message),
            memory: Presence::In,
            file: Presence::In,
        }
    }

    /// Its place in counts by role: user, assistant, call, result.
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
            // Tools that ask a model tell what that has used, in some servers in details of their own.
            AgentMessage::ToolResult(it) => {
                let own = it.details.as_ref().is_some_and(|details| details.get("usage").is_some());
                Self { is_vague: own || it.usage.is_some(), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// What `usage` counts for.
    pub fn of_usage(usage: &Usage) -> Self {
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        Self { calls: 0, tokens, cost: usage.cost.total.as_f64().unwrap_or_default(), is_vague: false }
    }
}

/// Bytes of a text from which files may have it in another form.
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

/// The texts of a user's message, one behind the other.
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

/// The texts of an answer, one behind the other.
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

/// The digest of a text; 0 of the empty one.
pub fn shown_text(text: &str) -> u64 {
    if text.is_empty() { 0 } else { text_digest(text).max(1) }
}

/// What servers take away around a text: languages differ in what is blank, so all of it counts.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}
