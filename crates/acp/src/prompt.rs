//! The content of an ACP prompt, as a `prompt` command. Does no IO.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use pi_rpc_protocol::{ImageContent, PromptCommand};

/// The command for a prompt: texts and links in their order, embedded resources between tags, images beside them.
///
/// # Errors
///
/// A block has content that this protocol cannot carry; the reason names it.
pub fn prompt_command(blocks: Vec<ContentBlock>) -> Result<PromptCommand, String> {
    let (mut parts, mut images) = (Vec::new(), Vec::new());
    for (index, block) in blocks.into_iter().enumerate() {
        match block {
            ContentBlock::Text(text) => parts.push(text.text),
            ContentBlock::Image(image) => {
                images.push(ImageContent { data: image.data, mime_type: image.mime_type });
            }
            ContentBlock::ResourceLink(link) => parts.push(link_text(&link.name, &link.uri)),
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    parts.push(format!("<resource uri=\"{}\">\n{}\n</resource>", text.uri, text.text));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => match blob.mime_type {
                    Some(mime_type) if mime_type.starts_with("image/") => {
                        images.push(ImageContent { data: blob.blob, mime_type });
                    }
                    mime_type => {
                        let found = mime_type.unwrap_or_else(|| "no type".to_owned());
                        let text = "expected a text or an image";
                        return Err(format!("prompt[{index}].resource: {text}, got {found} ({})", blob.uri));
                    }
                },
                _ => return Err(format!("prompt[{index}].resource: expected a text or a blob")),
            },
            ContentBlock::Audio(audio) => {
                let text = "expected text, an image or a resource";
                return Err(format!("prompt[{index}]: {text}, got audio ({})", audio.mime_type));
            }
            _ => return Err(format!("prompt[{index}]: expected text, an image or a resource")),
        }
    }
    Ok(PromptCommand {
        id: None,
        message: parts.join(""),
        images: (!images.is_empty()).then_some(images),
        streaming_behavior: None,
        locale: None,
    })
}

/// A link as models read it: a path for a file, else the address.
fn link_text(name: &str, uri: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => path.to_owned(),
        None => format!("[{name}]({uri})"),
    }
}
