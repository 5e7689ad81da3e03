//! All texts that the host has sent, to tell the messages that nobody sent.

use super::{answers::digest, moment::Moment};
use crate::protocol::UserMessage;
use std::collections::HashMap;

/// Texts that are kept; of more, nothing is told.
const KEPT: usize = 65_536;

/// What stands in a message in the place of an image that is too large.
pub const IMAGE_OMITTED: &str = "[Image omitted";

/// The texts of one process, by hash.
#[derive(Clone, Debug, Default)]
pub struct Sayings {
    known: HashMap<u64, Times>,
    /// There were more than are kept.
    full: bool,
    /// One may become any other: a template, a skill or a command.
    changes: bool,
}

/// How often a text was sent, and delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    sent: u64,
    delivered: u64,
}

impl Sayings {
    /// The host has sent this.
    pub fn add(&mut self, text: &str) {
        let text = text.trim();
        self.changes |= text.starts_with('/');
        let digest = digest(text);
        if self.known.len() < KEPT || self.known.contains_key(&digest) {
            self.known.entry(digest).or_default().sent += 1;
        } else {
            self.full = true;
        }
    }

    /// What the host has sent was refused: it is not delivered.
    pub fn refuse(&mut self, text: &str) {
        if let Some(times) = self.known.get_mut(&digest(text.trim())) {
            times.sent = times.delivered.max(times.sent.saturating_sub(1));
        }
    }

    /// What was not delivered so far is not delivered any more.
    pub fn drop_rest(&mut self) {
        self.known.values_mut().for_each(|times| times.sent = times.delivered);
    }

    /// A message with that text is delivered. Gives what was expected instead, if that is wrong.
    pub fn deliver(&mut self, message: &UserMessage, text: &str, at: &Moment) -> Option<&'static str> {
        let known = self.known.get_mut(&digest(text.trim()));
        if let Some(times) = known {
            times.delivered += 1;
            let again = times.delivered > times.sent && at.whole && !at.extended && !self.changes;
            // One too many is told once.
            times.delivered = times.delivered.min(times.sent);
            return again.then_some("a message that was accepted, and not delivered before");
        }
        let excused = !at.whole || at.extended || at.cut || self.changes || self.full;
        let own = message.synthetic == Some(true) || text.contains(IMAGE_OMITTED);
        (!excused && !own).then_some("a message that the host has sent")
    }
}
