//! A prompt on its way to a run, as data, and the recipients of responses. `prompts` takes it there.

use crate::io::CallId;
use pi_rpc_protocol::{
    ImageContent, MessageContent, RequestId, RpcCommand, RpcCommandKind, UserContent, UserMessage,
};

/// A prompt on its way to a run, sent by the host or by an extension.
#[derive(Debug)]
pub struct Prompt {
    /// The command without text and images, for looking up its disposition.
    pub command: RpcCommand,
    /// The recipient of the response.
    pub recipient: Recipient,
    pub text: String,
    pub images: Option<Vec<ImageContent>>,
    /// Whether an abort came before the prompt was served.
    pub is_aborted: bool,
}

/// A run that is about to open.
#[derive(Debug)]
pub struct RunStart {
    pub message: UserMessage,
    /// Whether an abort came before the prompt was served.
    pub is_aborted: bool,
    /// The recipient of the response that the run starts, until that is sent.
    pub recipient: Option<Recipient>,
}

/// The recipient of the response to a command or an action.
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
        /// The event that `extension_error` names if the action fails; `None`: the host is not notified.
        event: Option<&'static str>,
    },
}

/// A text whose skill file is being read.
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
    /// The prompt that a command of the host carries.
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

/// Splits a message into its texts, one a line, and its images.
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

/// Joins the texts of a message, one a line.
pub fn text_of(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => texts(blocks),
    }
}

/// Joins the texts among `blocks`, one a line.
pub fn texts(blocks: &[UserContent]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserContent::Text(block) => Some(block.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
