//! Messages of the host as the content of a prompt.

use agent_client_protocol::v1::schema::{ContentBlock, ImageContent, PromptCapabilities, TextContent};
use pi_rpc_model::convert::{ChatPart, input_parts};
use pi_rpc_protocol::AgentMessage;

/// The content of a prompt with these messages.
///
/// # Errors
///
/// A message has an image, and the agent takes none.
pub fn content<'a>(
    messages: impl Iterator<Item = &'a AgentMessage>,
    capabilities: &PromptCapabilities,
) -> Result<Vec<ContentBlock>, String> {
    let mut blocks = Vec::new();
    for part in messages.filter_map(input_parts).flatten() {
        match part {
            ChatPart::Text(text) => blocks.push(ContentBlock::Text(TextContent::new(text.into_owned()))),
            ChatPart::Image(image) if capabilities.image => {
                let image = ImageContent::new(image.data.clone(), image.mime_type.clone());
                blocks.push(ContentBlock::Image(image));
            }
            ChatPart::Image(image) => {
                return Err(format!(
                    "The agent takes no images, and the prompt has one ({})",
                    image.mime_type
                ));
            }
        }
    }
    Ok(blocks)
}

/// Whether a message is input of the agent: neither an answer, nor a result, nor a system message.
pub fn is_input(message: &AgentMessage) -> bool {
    input_parts(message).is_some()
}
