//! How much is kept for whom, and the limits of extensions, for those who tell people of them.

pub use crate::engine::{
    extensions::dialog::{MAX_DIALOGS, MAX_UNSHOWN_DIALOGS},
    extensions::process::{MAX_BAD_LINES, MAX_HANGS, MAX_RESTARTS, REGISTER_TIMEOUT},
    extensions::request::{ACCEPT_TIMEOUT, CANCEL_TIMEOUT, END_OF_INPUT_TIMEOUT, EXIT_TIMEOUT, HOOK_TIMEOUT},
};
use crate::protocol::{AgentMessage, ImageContent, MessageContent, UserContent};

/// How much an engine keeps for a host that says more than can be done. What is refused for it is answered with an error
/// that names the option. Source: own; the originals keep what they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `--max-queue`: bytes of what waits for its turn: texts and images of messages, what shell commands behind a run have
    /// printed, and [`ITEM_BYTES`] for each.
    pub queue: usize,
    /// `--max-session`: bytes of a session's lines. A run that is under way goes on beyond it.
    pub session: usize,
    /// `--max-bash`: shell commands of the host that run at a time.
    pub shells: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { queue: 64 << 20, session: 1 << 30, shells: 64 }
    }
}

/// Bytes that anything that waits counts beside what it says.
pub const ITEM_BYTES: usize = 256;

/// What a message that waits counts, in bytes: only those that wait for a turn are weighed, and what else they hold is short.
pub fn message_bytes(message: &AgentMessage) -> usize {
    ITEM_BYTES
        + match message {
            AgentMessage::User(message) => content_bytes(&message.content),
            AgentMessage::Custom(message) => content_bytes(&message.content),
            AgentMessage::BashExecution(message) => message.command.len() + message.output.len(),
            _ => 0,
        }
}

fn content_bytes(content: &MessageContent) -> usize {
    match content {
        MessageContent::Text(text) => text.len(),
        MessageContent::Blocks(blocks) => blocks
            .iter()
            .map(|block| match block {
                UserContent::Text(text) => text.text.len(),
                UserContent::Image(image) => image.data.len(),
            })
            .sum(),
    }
}

/// What images count, in bytes.
pub fn image_bytes<'a>(images: impl Iterator<Item = &'a ImageContent>) -> usize {
    images.map(|image| image.data.len()).sum()
}
