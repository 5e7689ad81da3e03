//! Remembers all texts that the host has sent, to detect user messages that it has not sent.

use super::{frame_context::FrameContext, responses::digest};
use pi_rpc_protocol::{ImageContent, MessageContent, UserContent, UserMessage};
use std::collections::HashMap;

/// The most texts that are kept; beyond that nothing is judged.
const MAX_TEXTS: usize = 65_536;

/// The most times that a text was sent for which its images are kept.
const TIMES_KEPT: usize = 256;

/// The beginning of the text that replaces an image that is too large.
pub const IMAGE_OMITTED: &str = "[Image omitted";

/// The texts sent in one process, by hash.
#[derive(Clone, Debug, Default)]
pub struct SentTexts {
    known: HashMap<u64, Times>,
    /// Whether there were more texts than are kept.
    full: bool,
    /// Whether a text may become any other: a template, a skill or a command.
    changes: bool,
}

/// The number of times that a text was sent and not delivered yet.
#[derive(Clone, Debug, Default)]
struct Times {
    sent: u64,
    delivered: u64,
    /// The images that were sent with the text, for each of these times.
    images: Vec<Vec<u64>>,
    /// Whether there were more times than are kept.
    crowded: bool,
}

impl SentTexts {
    /// Adds a text that the host has sent.
    pub fn add(&mut self, text: &str, images: Option<&[ImageContent]>) {
        let text = text.trim();
        self.changes |= text.starts_with('/');
        let digest = digest(text);
        if self.known.len() < MAX_TEXTS || self.known.contains_key(&digest) {
            let times = self.known.entry(digest).or_default();
            times.sent += 1;
            times.images.push(images.unwrap_or_default().iter().map(mark).collect());
            if times.images.len() > TIMES_KEPT {
                times.images.remove(0);
                times.crowded = true;
            }
        } else {
            self.full = true;
        }
    }

    /// Removes a text that was refused.
    pub fn refuse(&mut self, text: &str) {
        if let Some(times) = self.known.get_mut(&digest(text.trim())) {
            times.sent = times.delivered.max(times.sent.saturating_sub(1));
        }
    }

    /// Removes all texts that were not delivered.
    pub fn drop_rest(&mut self) {
        self.known.values_mut().for_each(|times| times.sent = times.delivered);
    }

    /// Takes in the delivery of a text. Returns the expectation if it is wrong.
    pub fn deliver(&mut self, message: &UserMessage, text: &str, at: &FrameContext) -> Option<&'static str> {
        let known = self.known.get_mut(&digest(text.trim()));
        if let Some(times) = known {
            times.delivered += 1;
            let again = times.delivered > times.sent && at.whole && !at.has_extensions && !self.changes;
            // An extra delivery is reported once.
            times.delivered = times.delivered.min(times.sent);
            let is_sure = at.whole && !at.has_extensions && !at.cut && !self.changes;
            return match is_sure && !again && !times.shows(message, at) {
                true => Some("the images that were sent with it, behind its text"),
                false => again.then_some("a message that was accepted, and not delivered before"),
            };
        }
        let excused = !at.whole || at.has_extensions || at.cut || self.changes || self.full;
        let own = message.synthetic == Some(true) || text.contains(IMAGE_OMITTED);
        (!excused && !own).then_some("a message that the host has sent")
    }
}

impl Times {
    /// Whether the message has the images that were sent with the text.
    fn shows(&mut self, message: &UserMessage, at: &FrameContext) -> bool {
        let blocks = match &message.content {
            MessageContent::Text(_) => [].as_slice(),
            MessageContent::Blocks(blocks) => blocks,
        };
        let shown: Vec<u64> = blocks
            .iter()
            .filter_map(|block| match block {
                UserContent::Image(image) => Some(mark(image)),
                UserContent::Text(_) => None,
            })
            .collect();
        let is_text = |block: &UserContent| matches!(block, UserContent::Text(_));
        let in_order = blocks.iter().skip_while(|block| is_text(block)).all(|block| !is_text(block));
        let resizes = at.dialect.record().may_resize_images;
        let same = |sent: &Vec<u64>| if resizes { sent.len() == shown.len() } else { *sent == shown };
        let place = self.images.iter().position(same);
        place.map(|place| self.images.remove(place));
        in_order && (place.is_some() || self.crowded)
    }
}

/// The digest of an image.
fn mark(image: &ImageContent) -> u64 {
    digest(&format!("{} {}", image.mime_type, image.data))
}
