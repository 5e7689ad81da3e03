//! Limits of the engine, and a list of the limits of extensions for documents and tests.

pub use crate::extensions::{
    dialog::{MAX_DIALOGS, MAX_UNSHOWN_DIALOGS},
    process::{HOST_REGISTER_TIMEOUT, MAX_BAD_LINES, MAX_HANGS, MAX_RESTARTS, REGISTER_TIMEOUT},
    request::{ACCEPT_TIMEOUT, CANCEL_TIMEOUT, END_OF_INPUT_TIMEOUT, EXIT_TIMEOUT, HOOK_TIMEOUT},
};
use pi_rpc_protocol::{AgentMessage, ImageContent, MessageContent, UserContent};

/// Limits on the data kept for a host that sends faster than it is served. A command beyond them fails with an error
/// that names the option. Source: own; the originals have no limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `--max-queue`: bytes of queued content: texts and images of messages, output of shell commands that wait for
    /// the end of a run, and [`ITEM_BYTES`] for each.
    pub queue: usize,
    /// `--max-session`: bytes of a session's lines. The open run may exceed it.
    pub session: usize,
    /// `--max-bash`: how many shell commands of the host run at a time.
    pub shells: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { queue: 64 << 20, session: 1 << 30, shells: 64 }
    }
}

/// Bytes that each queued item counts in addition to its content.
pub const ITEM_BYTES: usize = 256;

/// Size of a queued message, in bytes; only the kinds that can be queued are measured.
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

/// Size of images, in bytes.
pub fn image_bytes<'a>(images: impl Iterator<Item = &'a ImageContent>) -> usize {
    images.map(|image| image.data.len()).sum()
}
