//! Keeps the latest records, shortened, so that a finding can show the earlier record that caused it.
//!
//! Kept are the lines of the host and those of the server, except the updates of a message, a tool or a shell: no finding
//! has one of those as its cause.

use super::{preview::Preview, report::Quote};
use pi_rpc_recording::{Direction, Record};
use std::collections::{BTreeMap, VecDeque};

/// The position of a frame: the number of its conversation, and its number within that.
pub type FramePosition = (u64, u64);

/// The latest records of each side, up to a fixed number.
#[derive(Default)]
pub struct RecentRecords {
    host: VecDeque<PastRecord>,
    server: VecDeque<PastRecord>,
    /// The number of the last frame of each conversation.
    last: BTreeMap<u64, u64>,
}

/// A record with the frames `first..=last`. A record with pieces of lines may have several.
struct PastRecord {
    first: FramePosition,
    last: FramePosition,
    preview: Preview,
}

/// Records of the host that are kept: a command may be outstanding for long.
const MAX_HOST_RECORDS: usize = 4096;
/// Conversations whose last frame is remembered.
const MAX_CONVERSATIONS: usize = 4096;
/// Records of the server that are kept.
const MAX_SERVER_RECORDS: usize = 1024;

impl RecentRecords {
    /// Adds the record with this number, whose last frame is at `place`; `is_update` marks a frame of the server that only
    /// continues a message, a tool or a shell.
    pub fn add(&mut self, number: u64, record: &Record<'_>, place: FramePosition, is_update: bool) {
        let first = self.last.insert(place.0, place.1).unwrap_or_default() + 1;
        if self.last.len() > MAX_CONVERSATIONS {
            self.last.pop_first();
        }
        let (kept, limit) = match record.direction {
            Direction::In => (&mut self.host, MAX_HOST_RECORDS),
            Direction::Out if !is_update => (&mut self.server, MAX_SERVER_RECORDS),
            Direction::Out | Direction::Err | Direction::Meta => return,
        };
        if first > place.1 {
            return;
        }
        // The buffers of the oldest record are used again.
        let mut past = match kept.len() < limit {
            true => None,
            false => kept.pop_front(),
        }
        .unwrap_or_else(|| PastRecord { first: place, last: place, preview: Preview::default() });
        (past.first, past.last) = ((place.0, first), place);
        past.preview.set(number, record);
        kept.push_back(past);
    }

    /// The record of the frame at `place`, if it is still kept.
    pub fn quote(&self, place: FramePosition) -> Option<Quote> {
        [&self.host, &self.server].into_iter().find_map(|kept| {
            let past = kept.iter().rev().find(|past| past.first <= place && place <= past.last)?;
            Some(Quote { cause: true, ..past.preview.quote(false) })
        })
    }
}
