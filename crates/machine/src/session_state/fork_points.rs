//! The user messages of the session, at which it can be forked.
//!
//! Takes 24 bytes for each user message, up to [`MAX_FORK_POINTS`].

use super::digest::text_digest;
use pi_rpc_protocol::ForkMessage;

/// The most messages that are kept.
const MAX_FORK_POINTS: usize = 1 << 16;

/// The user messages that have a text, in the order of the session.
#[derive(Clone, Debug, Default)]
pub struct ForkPoints {
    points: Vec<Point>,
    /// Whether there are no others before them.
    are_all: bool,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    /// The digest of the entry's id; `None` if not known yet.
    entry: Option<u64>,
    /// The digest of the text; `None` if it was shortened.
    text: Option<u64>,
}

/// A difference between a list and the known messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkMismatch {
    /// The message at this place of the list has another text.
    Text(usize),
    /// The message at this place of the list has another id than before.
    Id(usize),
    /// There should be this many messages.
    Count(usize),
}

impl ForkPoints {
    /// Adds a user message; `text` is the digest of its text, if that was not shortened.
    pub fn add(&mut self, text: Option<u64>) {
        if self.points.len() == MAX_FORK_POINTS {
            *self = Self::default();
        }
        self.points.push(Point { entry: None, text });
    }

    /// Forgets all messages: frames were missed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Clears the list for a new session.
    pub fn clear(&mut self) {
        *self = Self { points: Vec::new(), are_all: true };
    }

    /// Notes that there are no messages before the known ones.
    pub const fn mark_beginning(&mut self) {
        self.are_all = true;
    }

    /// Compares a list of the server with the known messages.
    pub fn compare(&self, listed: &[ForkMessage], whole: bool) -> Result<(), ForkMismatch> {
        let (known, count) = (self.points.len(), listed.len());
        if count < known || (self.are_all && count > known) {
            return Err(ForkMismatch::Count(known));
        }
        for (place, (point, listed)) in self.points.iter().zip(&listed[count - known..]).enumerate() {
            let place = count - known + place;
            let text = text_digest(&listed.text).max(1);
            if whole && point.text.is_some_and(|known| known != text) {
                return Err(ForkMismatch::Text(place));
            }
            if point.entry.is_some_and(|known| known != text_digest(&listed.entry_id)) {
                return Err(ForkMismatch::Id(place));
            }
        }
        Ok(())
    }

    /// Replaces the messages by a list of the server.
    pub fn learn(&mut self, listed: &[ForkMessage], whole: bool) {
        let point = |listed: &ForkMessage| Point {
            entry: Some(text_digest(&listed.entry_id)),
            text: whole.then(|| text_digest(&listed.text).max(1)),
        };
        self.are_all = listed.len() <= MAX_FORK_POINTS;
        self.points = if self.are_all { listed.iter().map(point).collect() } else { Vec::new() };
    }

    /// The digest of the text of the message with this id, if known.
    pub fn text_of(&self, entry: &str) -> Option<u64> {
        let entry = text_digest(entry);
        self.points.iter().find(|point| point.entry == Some(entry))?.text
    }

    /// Keeps the messages before the one with this id and text, for a fork. Returns the number of messages after it; `None` if
    /// the message is not known, in which case all are forgotten.
    pub fn branch(&mut self, entry: &str, text: Option<&str>) -> Option<usize> {
        let entry = text_digest(entry);
        let by_id = self.points.iter().position(|point| point.entry == Some(entry));
        let text = text.map(|text| text_digest(text).max(1));
        let alike = |point: &&Point| point.entry.is_none() && point.text == text;
        let by_text = || {
            let only = text.is_some() && self.points.iter().filter(alike).count() == 1;
            only.then(|| self.points.iter().position(|point| alike(&point))).flatten()
        };
        let Some(place) = by_id.or_else(by_text) else {
            self.forget();
            return None;
        };
        let later = self.points.len() - 1 - place;
        self.points.truncate(place);
        Some(later)
    }
}
