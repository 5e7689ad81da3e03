//! The content of an ACP prompt, as a `prompt` command. Does no IO.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use percent_encoding::percent_decode_str;
use pi_rpc_protocol::{ImageContent, PromptCommand};
use std::borrow::Cow;

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

/// A link as models read it: a path for a file of this machine, without escapes, else the address. Source: RFC 8089.
fn link_text(name: &str, uri: &str) -> String {
    let path = uri.strip_prefix("file://").map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    match path.filter(|path| path.starts_with('/')) {
        // A path that is not UTF-8 cannot be said to a model.
        Some(path) => {
            percent_decode_str(path).decode_utf8().map_or_else(|_| path.to_owned(), Cow::into_owned)
        }
        None => format!("[{name}]({uri})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_paths() {
        let path = |uri| link_text("a", uri);
        assert_eq!(path("file:///a%20b/%C3%A9.rs"), "/a b/é.rs");
        assert_eq!(path("file://localhost/a%25.rs"), "/a%.rs");
        assert_eq!(path("file:///a%FFb%2"), "/a%FFb%2");
        assert_eq!(path("file://server/a.rs"), "[a](file://server/a.rs)");
        assert_eq!(path("https://a.example/b%20c"), "[a](https://a.example/b%20c)");
    }
}
