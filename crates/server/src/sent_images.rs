//! Makes the images of a conversation fit for providers before they are sent.
//!
//! Each request repeats the conversation, so a provider that refuses one image refuses every later request, too. Such an image
//! is scaled down, or left out with a note, whether it comes from a prompt, a tool, an extension or a session file. The session
//! keeps it as it is.

use pi_rpc_protocol::{AgentMessage, ImageContent, MessageContent, TextContent, UserContent};
use pi_rpc_tools::{FittedImage, fit_image};
use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

/// Most bytes of scaled images that are kept for later requests.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that an image which was looked at counts for beside its data.
const ENTRY_BYTES: usize = 1024;

/// Fits images, each once.
pub struct ImageFitter {
    /// Whether images that are too large are scaled down (the setting `images.autoResize`).
    scales: bool,
    hasher: RandomState,
    known: Mutex<KnownImages>,
}

#[derive(Default)]
struct KnownImages {
    fitted: HashMap<u64, Arc<FittedImage>>,
    bytes: usize,
}

impl ImageFitter {
    /// Creates it; `scales`: images that are too large are scaled down.
    pub fn new(scales: bool) -> Self {
        Self { scales, hasher: RandomState::new(), known: Mutex::default() }
    }

    /// The messages with images that fit.
    pub fn fit<'a>(&self, messages: &'a [Arc<AgentMessage>]) -> Cow<'a, [Arc<AgentMessage>]> {
        let mut fitted = Cow::Borrowed(messages);
        for (at, message) in messages.iter().enumerate() {
            let before = blocks(message);
            let is_unfit = |block: &UserContent| match block {
                UserContent::Image(image) => *self.fit_image(image) != FittedImage::Unchanged,
                _ => false,
            };
            if before.iter().any(is_unfit) {
                let after = before.iter().flat_map(|block| self.fit_block(block)).collect();
                fitted.to_mut()[at] = with_blocks(message, after).into();
            }
        }
        fitted
    }

    fn fit_block(&self, block: &UserContent) -> Vec<UserContent> {
        let UserContent::Image(image) = block else { return vec![block.clone()] };
        let note =
            |note: &str| UserContent::Text(TextContent { text: note.to_owned(), text_signature: None });
        match &*self.fit_image(image) {
            FittedImage::Unchanged => vec![block.clone()],
            FittedImage::LeftOut(why) => vec![note(why)],
            FittedImage::Replaced { data, mime_type, note: told } => {
                let image = ImageContent { data: data.clone(), mime_type: mime_type.clone() };
                let told = (!told.is_empty()).then(|| note(told));
                told.into_iter().chain([UserContent::Image(image)]).collect()
            }
        }
    }

    fn fit_image(&self, image: &ImageContent) -> Arc<FittedImage> {
        let key = self.hasher.hash_one((&image.data, &image.mime_type));
        if let Some(fitted) = self.known.lock().unwrap_or_else(PoisonError::into_inner).fitted.get(&key) {
            return fitted.clone();
        }
        let fitted = Arc::new(fit_image(&image.data, &image.mime_type, self.scales));
        let size = match &*fitted {
            FittedImage::Replaced { data, .. } => ENTRY_BYTES + data.len(),
            FittedImage::Unchanged | FittedImage::LeftOut(_) => ENTRY_BYTES,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.bytes + size > KEPT_BYTES {
            *known = KnownImages::default();
        }
        known.bytes += size;
        known.fitted.insert(key, fitted.clone());
        fitted
    }
}

/// The blocks of a message that may be images.
fn blocks(message: &AgentMessage) -> &[UserContent] {
    let content = match message {
        AgentMessage::ToolResult(message) => return &message.content,
        AgentMessage::User(message) => &message.content,
        AgentMessage::Custom(message) => &message.content,
        AgentMessage::HookMessage(message) => &message.content,
        AgentMessage::Developer(message) => &message.content,
        _ => return &[],
    };
    match content {
        MessageContent::Blocks(blocks) => blocks,
        MessageContent::Text(_) => &[],
    }
}

/// The message with other blocks.
fn with_blocks(message: &AgentMessage, blocks: Vec<UserContent>) -> AgentMessage {
    let mut message = message.clone();
    match &mut message {
        AgentMessage::ToolResult(message) => message.content = blocks,
        AgentMessage::User(message) => message.content = MessageContent::Blocks(blocks),
        AgentMessage::Custom(message) => message.content = MessageContent::Blocks(blocks),
        AgentMessage::HookMessage(message) => message.content = MessageContent::Blocks(blocks),
        AgentMessage::Developer(message) => message.content = MessageContent::Blocks(blocks),
        _ => {}
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    /// The blocks of a prompt and of a result once they fit.
    fn fitted(data: &str, mime_type: &str) -> [Value; 2] {
        let content = json!([{ "type": "text", "text": "a" }, { "type": "image", "data": data, "mimeType": mime_type }]);
        let messages: Vec<Arc<AgentMessage>> = serde_json::from_value::<Vec<AgentMessage>>(json!([
            { "role": "user", "content": content, "timestamp": 1 },
            { "role": "toolResult", "toolCallId": "c", "toolName": "t", "content": content, "isError": false, "timestamp": 1 },
        ]))
        .expect("messages")
        .into_iter()
        .map(Arc::new)
        .collect();
        let fitter = ImageFitter::new(true);
        let fitted = fitter.fit(&messages);
        assert_eq!(fitter.fit(&messages), fitted, "the second time");
        [0, 1].map(|at| serde_json::to_value(&fitted[at]).expect("JSON")["content"][1].clone())
    }

    #[test]
    fn fitting_image_is_sent_as_it_is() {
        for mime_type in ["image/png", "image/jpeg"] {
            let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
            assert_eq!(fitted(PIXEL, mime_type), [image.clone(), image], "{mime_type}");
        }
        let other = json!({ "type": "image", "data": "AAAA", "mimeType": "image/heic" });
        assert_eq!(fitted("AAAA", "image/heic"), [other.clone(), other]);
    }

    #[test]
    fn broken_image_is_left_out_with_note() {
        for (data, why) in [
            ("no base64!", "its data is no base64"),
            ("AAAA", "its data is no image/png"),
            (&PIXEL[..60], "its data is no whole image/png"),
        ] {
            let note = json!({ "type": "text", "text": format!("[Image left out: {why}]") });
            assert_eq!(fitted(data, "image/png"), [note.clone(), note]);
        }
    }
}
