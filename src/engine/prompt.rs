//! Prompts on their way to a run, and who receives the responses to them.

use crate::engine::io::CallId;
use crate::protocol::{
    ImageContent, MessageContent, RequestId, RpcCommand, RpcCommandKind, UserContent, UserMessage,
};

/// A prompt on its way to a run: the user's, or one of an extension for the user.
#[derive(Debug)]
pub struct Prompt {
    /// The command without its text and images, for its disposition.
    pub command: RpcCommand,
    /// Who receives the response.
    pub recipient: Recipient,
    pub text: String,
    pub images: Option<Vec<ImageContent>>,
    /// It was aborted before it was served.
    pub is_aborted: bool,
}

/// A run that is about to begin.
#[derive(Debug)]
pub struct RunStart {
    pub message: UserMessage,
    /// It was aborted before it was served.
    pub is_aborted: bool,
    /// Who has still to receive the response that the run starts.
    pub recipient: Option<Recipient>,
}

/// Who receives the response to a command or an action.
#[derive(Clone, Debug)]
pub enum Recipient {
    /// The host.
    Host {
        /// The request's id.
        id: Option<RequestId>,
        /// The request's kind.
        kind: RpcCommandKind,
    },
    /// An extension, if it gave its action an id.
    Extension {
        process: CallId,
        /// The action's id.
        id: Option<String>,
        /// What `extension_error` names for a failure; `None`: the host is not notified.
        event: Option<&'static str>,
    },
}

/// What waits for the file of a skill.
#[derive(Debug)]
pub enum Expansion {
    /// A prompt.
    Prompt(Box<Prompt>),
    /// A message for a queue.
    Queued {
        /// The request's id.
        id: Option<RequestId>,
        /// The request's kind, which names the queue.
        kind: RpcCommandKind,
        images: Option<Vec<ImageContent>>,
        text: String,
    },
}

impl Prompt {
    /// What the host said with a command.
    pub fn of_host(
        command: RpcCommand,
        text: String,
        images: Option<Vec<ImageContent>>,
        is_aborted: bool,
    ) -> Self {
        let recipient = Recipient::Host { id: command.id().cloned(), kind: command.kind() };
        Self { command, recipient, text, images, is_aborted }
    }
}

/// The texts, line by line, and the images of a message.
pub fn parts(content: &MessageContent) -> (String, Option<Vec<ImageContent>>) {
    let blocks = match content {
        MessageContent::Text(text) => return (text.clone(), None),
        MessageContent::Blocks(blocks) => blocks,
    };
    let images = blocks.iter().filter_map(|block| match block {
        UserContent::Image(image) => Some(image.clone()),
        UserContent::Text(_) => None,
    });
    let images: Vec<ImageContent> = images.collect();
    (texts(blocks), Some(images).filter(|images| !images.is_empty()))
}

/// The texts of a message, line by line.
pub fn text_of(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => texts(blocks),
    }
}

/// The texts among `blocks`, line by line.
pub fn texts(blocks: &[UserContent]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserContent::Text(block) => Some(block.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
