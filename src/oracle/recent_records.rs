//! Earlier records that a finding may go back to, shortened: what the host wrote, and what the server wrote but for the
//! frames that only go on with something.

use super::{Direction, Record, preview::Preview, report::Quote};
use std::collections::VecDeque;

/// Where a frame stands: the number of its process, and of the frame in it.
pub type FramePosition = (u64, u64);

/// The latest records of each side. What is kept does not grow with the conversation.
#[derive(Default)]
pub struct RecentRecords {
    host: VecDeque<PastRecord>,
    server: VecDeque<PastRecord>,
    /// The last frame of the record before.
    last: FramePosition,
}

/// A record: frames up to `last` of its process, from `first` on. A record with pieces of lines has several frames.
struct PastRecord {
    first: FramePosition,
    last: FramePosition,
    preview: Preview,
}

/// Records of the host that are kept: a request may wait for long.
const MAX_HOST_RECORDS: usize = 4096;
/// Records of the server that are kept.
const MAX_SERVER_RECORDS: usize = 1024;

impl RecentRecords {
    /// Keeps the record with this number, after which the conversation has come to `place`; `is_update`: it is a frame of
    /// the server that only goes on with something.
    pub fn add(&mut self, number: u64, record: &Record<'_>, place: FramePosition, is_update: bool) {
        let before = std::mem::replace(&mut self.last, place);
        let first = if before.0 == place.0 { before.1 + 1 } else { 1 };
        let (kept, limit) = match record.direction {
            Direction::In => (&mut self.host, MAX_HOST_RECORDS),
            Direction::Out if !is_update => (&mut self.server, MAX_SERVER_RECORDS),
            Direction::Out | Direction::Err | Direction::Meta => return,
        };
        if first > place.1 {
            return;
        }
        // The buffers of the one that falls out are used again.
        let mut past = match kept.len() < limit {
            true => None,
            false => kept.pop_front(),
        }
        .unwrap_or_else(|| PastRecord { first: place, last: place, preview: Preview::default() });
        (past.first, past.last) = ((place.0, first), place);
        past.preview.set(number, record);
        kept.push_back(past);
    }

    /// The record of the frame at `place`, where it is kept.
    pub fn quote(&self, place: FramePosition) -> Option<Quote> {
        [&self.host, &self.server].into_iter().find_map(|kept| {
            let past = kept.get(kept.partition_point(|past| past.last < place))?;
            (past.first <= place).then(|| Quote { cause: true, ..past.preview.quote(false) })
        })
    }
}
