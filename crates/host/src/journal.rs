//! The numbered frames of a session, of which the newest are kept for clients that come back.

use super::watcher::{ClientId, WatcherQueue};
use pi_rpc_protocol::{Dialect, Emission, Encoder, Step, Update};
use std::{collections::VecDeque, sync::Arc, time::Instant};

/// A frame with its number.
#[derive(Debug)]
pub struct JournalEntry {
    /// Frames of the session up to and including this one.
    pub number: u64,
    /// The client that the frame is for; `None`: all of them.
    pub to: Option<ClientId>,
    /// The frame.
    pub payload: Payload,
    /// Bytes that the frame takes, roughly.
    pub weight: usize,
    /// When the session emitted it.
    pub at: Instant,
}

/// A frame as it is kept.
#[derive(Debug)]
pub enum Payload {
    /// An encoded line, and the emission if it begins or ends an assistant message, which encoders follow.
    Line(Vec<u8>, Option<Box<Emission>>),
    /// An update of the partial message, which each connection encodes by itself.
    Update(Box<Emission>),
}

/// The newest frames of a session.
pub struct Journal {
    dialect: Dialect,
    /// The number of the last frame.
    last: u64,
    entries: VecDeque<Arc<JournalEntry>>,
    bytes: usize,
    max_bytes: usize,
    /// The state of an encoder in front of the oldest entry.
    oldest: Encoder,
}

/// Bytes that an entry takes besides its content.
pub const ENTRY_OVERHEAD: usize = 256;

impl JournalEntry {
    /// The line of the frame, line feed included.
    pub fn encode(&self, encoder: &mut Encoder) -> Vec<u8> {
        match &self.payload {
            Payload::Line(line, follows) => {
                follows.iter().for_each(|emission| encoder.follow(emission));
                line.clone()
            }
            Payload::Update(emission) => {
                let mut line = Vec::new();
                encoder.encode(emission, &mut line);
                line
            }
        }
    }

    /// Takes an encoder past the frame.
    fn skip(&self, encoder: &mut Encoder) {
        match &self.payload {
            Payload::Line(_, follows) => follows.iter().for_each(|emission| encoder.follow(emission)),
            // Long snapshots are not copied.
            Payload::Update(emission) => encoder.encode_around(emission, &mut Vec::new(), &mut Vec::new()),
        }
    }
}

impl Journal {
    /// A journal that goes on behind the frame with the number `last` and keeps about `max_bytes` of frames.
    pub fn new(dialect: Dialect, last: u64, max_bytes: usize) -> Self {
        Self { dialect, last, entries: VecDeque::new(), bytes: 0, max_bytes, oldest: Encoder::new(dialect) }
    }

    /// Starts over behind the frame with the number `last`.
    pub fn start_behind(&mut self, last: u64) {
        self.clear();
        self.last = last;
    }

    /// The number of the last frame.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Adds a frame: `line` is the encoded one, unless the emission is an update. Returns the entry.
    pub fn push(&mut self, emission: Emission, line: Vec<u8>, to: Option<ClientId>) -> Arc<JournalEntry> {
        self.add(
            to,
            match emission {
                Emission::Update(_) => Payload::Update(Box::new(emission)),
                emission => Payload::Line(line, emission.bounds_answer().then(|| Box::new(emission))),
            },
        )
    }

    /// Adds a frame that another process has encoded. Returns the entry.
    pub fn push_line(&mut self, line: Vec<u8>, to: Option<ClientId>) -> Arc<JournalEntry> {
        self.add(to, Payload::Line(line, None))
    }

    fn add(&mut self, to: Option<ClientId>, payload: Payload) -> Arc<JournalEntry> {
        self.last += 1;
        let weight = ENTRY_OVERHEAD + content_len(&payload);
        let entry = Arc::new(JournalEntry { number: self.last, to, payload, weight, at: Instant::now() });
        self.bytes += weight;
        self.entries.push_back(entry.clone());
        while self.bytes > self.max_bytes
            && let Some(dropped) = self.entries.pop_front()
        {
            self.bytes -= dropped.weight;
            dropped.skip(&mut self.oldest);
        }
        entry
    }

    /// Fills the queue with the frames behind number `after` that `client` may see. `false`: they are no longer kept.
    pub fn replay(&self, after: u64, client: ClientId, queue: &WatcherQueue) -> bool {
        let oldest = self.last - self.entries.len() as u64;
        if after < oldest || after > self.last {
            return false;
        }
        let at = usize::try_from(after - oldest).unwrap_or(usize::MAX);
        let mut encoder = self.oldest.clone();
        self.entries.iter().take(at).for_each(|entry| entry.skip(&mut encoder));
        queue.restart(encoder);
        for entry in self.entries.iter().skip(at) {
            if entry.to.is_none_or(|to| to == client) {
                queue.push(entry);
            }
        }
        true
    }

    /// An encoder for what follows the last frame.
    pub fn encoder(&self) -> Encoder {
        let mut encoder = self.oldest.clone();
        self.entries.iter().for_each(|entry| entry.skip(&mut encoder));
        encoder
    }

    /// Forgets all frames. Clients that have not read them get a snapshot.
    pub fn clear(&mut self) {
        self.oldest = Encoder::new(self.dialect);
        self.entries = VecDeque::new();
        self.bytes = 0;
    }
}

fn content_len(payload: &Payload) -> usize {
    match payload {
        Payload::Line(line, _) => line.len(),
        Payload::Update(emission) => match &**emission {
            Emission::Update(Update { step: Step::Delta(text), .. }) => text.len(),
            _ => ENTRY_OVERHEAD,
        },
    }
}
