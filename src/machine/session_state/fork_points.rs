//! The user's messages of the session, at which it can be forked.
//!
//! It grows with the session: 24 bytes for each message of the user, up to [`MOST`].

use super::digest::text_digest;
use crate::protocol::ForkMessage;

/// Messages that are kept.
const MOST: usize = 1 << 16;

/// The user's messages that have a text, in the order of the session.
#[derive(Clone, Debug, Default)]
pub struct ForkPoints {
    points: Vec<Point>,
    /// There are no others before them.
    are_all: bool,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    /// The digest of its entry's id; `None`: it was not told yet.
    entry: Option<u64>,
    /// The digest of its text; `None`: it was not seen whole.
    text: Option<u64>,
}

/// How a list differs from what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkMismatch {
    /// The message at this place of the list has another text.
    Text(usize),
    /// The message at this place of the list has another id than before.
    Id(usize),
    /// There should be so many.
    Count(usize),
}

impl ForkPoints {
    /// The user has said something; `text`: the digest of the text, where it was seen whole.
    pub fn add(&mut self, text: Option<u64>) {
        if self.points.len() == MOST {
            *self = Self::default();
        }
        self.points.push(Point { entry: None, text });
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// A session begins without messages.
    pub fn clear(&mut self) {
        *self = Self { points: Vec::new(), are_all: true };
    }

    /// Nobody has said anything before what was said.
    pub const fn mark_beginning(&mut self) {
        self.are_all = true;
    }

    /// Holds a list of the server against what is known.
    pub fn compare(&self, told: &[ForkMessage], whole: bool) -> Result<(), ForkMismatch> {
        let (known, count) = (self.points.len(), told.len());
        if count < known || (self.are_all && count > known) {
            return Err(ForkMismatch::Count(known));
        }
        for (place, (point, told)) in self.points.iter().zip(&told[count - known..]).enumerate() {
            let place = count - known + place;
            let text = text_digest(&told.text).max(1);
            if whole && point.text.is_some_and(|known| known != text) {
                return Err(ForkMismatch::Text(place));
            }
            if point.entry.is_some_and(|known| known != text_digest(&told.entry_id)) {
                return Err(ForkMismatch::Id(place));
            }
        }
        Ok(())
    }

    /// These are all there are.
    pub fn learn(&mut self, told: &[ForkMessage], whole: bool) {
        let point = |told: &ForkMessage| Point {
            entry: Some(text_digest(&told.entry_id)),
            text: whole.then(|| text_digest(&told.text).max(1)),
        };
        self.are_all = told.len() <= MOST;
        self.points = if self.are_all { told.iter().map(point).collect() } else { Vec::new() };
    }

    /// The digest of the text of the message with that id, where it is known.
    pub fn text_of(&self, entry: &str) -> Option<u64> {
        let entry = text_digest(entry);
        self.points.iter().find(|point| point.entry == Some(entry))?.text
    }

    /// Another session goes on with what is before the message with that id and text. Gives how many messages of the user
    /// follow it; `None`: that is not known, and nothing is any more.
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
