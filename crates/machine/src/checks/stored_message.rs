//! Stores messages for later comparison: short ones as they are, long ones as a digest.

use crate::findings::Findings;
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, AssistantMessage, MessageContent, RuleId as Rule, UserContent,
};
use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hasher},
    io::{self, Write},
};

/// The length in bytes from which only a digest of a user message or tool result is kept.
const LONG: usize = 64 * 1024;

/// A message, or a digest of a long one.
#[derive(Clone, Debug)]
pub enum StoredMessage {
    /// The message.
    Whole(Box<AgentMessage>),
    /// The digest of a long message.
    Long {
        /// The role of the message.
        kind: AgentMessageKind,
        /// The hash of the message's JSON.
        digest: u64,
    },
}

impl StoredMessage {
    /// Stores a message in the form in which other events repeat it.
    pub fn new(message: &AgentMessage) -> Self {
        if let AgentMessage::Assistant(answer) = message {
            return Self::Whole(Box::new(as_repeated(answer).into_owned().into()));
        }
        match is_long(message) {
            true => Self::Long { kind: message.kind(), digest: digest(message) },
            false => Self::Whole(Box::new(message.clone())),
        }
    }

    /// The role of the message.
    pub fn kind(&self) -> AgentMessageKind {
        match self {
            Self::Whole(message) => message.kind(),
            Self::Long { kind, .. } => *kind,
        }
    }

    /// Whether `message` equals the stored one.
    pub fn is(&self, message: &AgentMessage) -> bool {
        match self {
            Self::Whole(seen) => match (&**seen, message) {
                (AgentMessage::Assistant(seen), AgentMessage::Assistant(message)) => {
                    is_repeated(seen, message)
                }
                (seen, message) => seen == message,
            },
            Self::Long { kind, digest: seen } => {
                *kind == message.kind() && is_long(message) && *seen == digest(message)
            }
        }
    }

    /// Exercises `rule`: `message`, at the JSON pointer `at`, must equal the stored one, which `what` describes.
    pub fn expect(&self, rule: Rule, at: &str, what: &str, message: &AgentMessage, found: &mut Findings) {
        match self {
            seen if seen.is(message) => found.pass(rule),
            Self::Whole(seen) => found.fail_with_difference(rule, at, what, &**seen, message),
            Self::Long { .. } => found.fail(rule, what),
        }
    }
}

/// An assistant message in the form in which events repeat it: without the members that only `message_end` has.
pub fn as_repeated(message: &AssistantMessage) -> Cow<'_, AssistantMessage> {
    match message.completed_at.is_none() && message.error_id.is_none() {
        true => Cow::Borrowed(message),
        false => Cow::Owned(AssistantMessage { completed_at: None, error_id: None, ..message.clone() }),
    }
}

/// Whether two assistant messages are the same, apart from the members that only `message_end` has.
pub fn is_repeated(message: &AssistantMessage, other: &AssistantMessage) -> bool {
    message == other || as_repeated(message) == as_repeated(other)
}

fn is_long(message: &AgentMessage) -> bool {
    let blocks = match message {
        AgentMessage::User(message) => match &message.content {
            MessageContent::Text(text) => return text.len() > LONG,
            MessageContent::Blocks(blocks) => blocks,
        },
        AgentMessage::ToolResult(result) => &result.content,
        _ => return false,
    };
    let bytes = blocks.iter().map(|block| match block {
        UserContent::Text(text) => text.text.len(),
        UserContent::Image(image) => image.data.len(),
    });
    bytes.sum::<usize>() > LONG
}

fn digest(message: &AgentMessage) -> u64 {
    let mut hash = Hash(DefaultHasher::new());
    // Writing a message to a hash cannot fail.
    let _ = serde_json::to_writer(&mut hash, message);
    hash.0.finish()
}

/// A writer that hashes its input.
struct Hash(DefaultHasher);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
