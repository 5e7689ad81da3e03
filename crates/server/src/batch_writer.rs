//! Writes frames to stdout in batches, through the hazards if there are any.

use super::{
    frame_limit::FrameLimiter,
    hazard::{Hazards, Occurrences, WriteStep},
    sink::Sink,
};
use pi_rpc_protocol::{Emission, Encoder};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, IoSlice},
    time::Instant,
};

/// Writer of batches: takes frames from the outbox, hands bytes to the sink.
pub struct BatchWriter {
    sink: Sink,
    batch: Batch,
    written: usize,
    hazards: Option<HazardStage>,
    /// Keeps frames within the limit of the dialect.
    limiter: Option<FrameLimiter>,
}

/// Whole frames, of which a prefix may be written already.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Offsets at which the encoder's copy of the partial message is inserted. A frame with such offsets ends the batch.
    holes: Vec<usize>,
}

/// The hazards, and the writes and pauses that they have made of a batch.
struct HazardStage {
    hazards: Hazards,
    steps: VecDeque<WriteStep>,
    /// Nothing is written before then.
    pause: Option<Instant>,
    /// The wait for more frames is over.
    has_lingered: bool,
}

/// Size at which a batch is full, in bytes.
const BATCH: usize = 64 * 1024;

/// Capacity that an empty batch keeps, in bytes.
const KEPT_CAPACITY: usize = 1024 * 1024;

impl BatchWriter {
    /// A writer to this process's stdout.
    pub fn to_stdout(hazards: Option<Hazards>, limiter: Option<FrameLimiter>) -> io::Result<Self> {
        let new = |hazards| HazardStage { hazards, steps: VecDeque::new(), pause: None, has_lingered: false };
        let (sink, hazards) = (Sink::stdout()?, hazards.map(new));
        Ok(Self { sink, batch: Batch::default(), written: 0, hazards, limiter })
    }

    /// Whether everything is written.
    pub fn is_empty(&self) -> bool {
        self.batch.bytes.is_empty() && self.hazards.as_ref().is_none_or(|it| it.steps.is_empty())
    }

    /// How often each hazard has occurred; `None` without hazards.
    pub fn hazard_occurrences(&self) -> Option<&Occurrences> {
        self.hazards.as_ref().map(|stage| stage.hazards.occurrences())
    }

    /// Whether a frame may join the current batch. Never with hazards, which take whole batches only.
    pub const fn is_open(&self) -> bool {
        self.hazards.is_none() && self.batch.is_open()
    }

    /// Encodes a frame into the batch, which must be [open](Self::is_open). Returns its length in bytes.
    pub fn push(&mut self, emission: &Emission, encoder: &mut Encoder) -> usize {
        let before = self.batch.bytes.len();
        self.batch.push(emission, encoder, &mut self.limiter);
        self.batch.bytes.len() - before
    }

    /// Whether the next batch may be made now. Call only while the writer is empty.
    pub fn accepts_batch(&mut self) -> bool {
        self.hazards.as_mut().is_none_or(HazardStage::accepts_batch)
    }

    /// Makes a batch of the frames that `next` returns. Call only while the writer is empty.
    pub fn fill(&mut self, encoder: &mut Encoder, mut next: impl FnMut() -> Option<PendingFrame>) {
        while self.batch.is_open()
            && let Some(waiting) = next()
        {
            match waiting {
                PendingFrame::Update(emission) if self.hazards.is_some() => {
                    let before = self.batch.bytes.len();
                    encoder.encode(&emission, &mut self.batch.bytes);
                    self.batch.limit_line(before, encoder, &mut self.limiter);
                }
                PendingFrame::Update(emission) => self.batch.push(&emission, encoder, &mut self.limiter),
                PendingFrame::Encoded(mut bytes, emission) => {
                    emission.iter().for_each(|emission| encoder.follow(emission));
                    if let Some(limiter) = &mut self.limiter {
                        if limiter.is_exceeded(bytes.len()) {
                            bytes = limiter.limit(&bytes);
                        }
                        emission.iter().for_each(|emission| limiter.follow(emission));
                    }
                    match self.batch.bytes.is_empty() {
                        true => self.batch.bytes = bytes,
                        false => self.batch.bytes.extend_from_slice(&bytes),
                    }
                }
            }
        }
        if let Some(it) = &mut self.hazards {
            it.steps = it.hazards.transform(&self.batch.bytes).into();
            self.batch.bytes.clear();
        }
    }

    /// Writes as much as stdout takes without blocking.
    pub fn write(&mut self, encoder: &Encoder) -> io::Result<()> {
        loop {
            while !self.batch.bytes.is_empty() {
                let mut filled = encoder.filled(&self.batch.bytes, &self.batch.holes);
                let mut rest = &mut filled[..];
                IoSlice::advance_slices(&mut rest, self.written);
                if rest.is_empty() {
                    break;
                }
                match self.sink.write(rest) {
                    Ok(count) => self.written += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            self.written = 0;
            self.batch.holes.clear();
            self.batch.bytes.clear();
            self.batch.bytes.shrink_to(KEPT_CAPACITY);
            match self.hazards.as_mut().and_then(HazardStage::next) {
                Some(bytes) => self.batch.bytes = bytes,
                None => return Ok(()),
            }
        }
    }

    /// Waits until [`write`](Self::write) can make progress.
    pub async fn ready(&self) {
        match self.hazards.as_ref().and_then(|it| it.pause) {
            Some(pause) => tokio::time::sleep_until(pause.into()).await,
            None => self.sink.writable().await,
        }
    }

    /// Resolves when the reader of stdout hangs up.
    pub async fn closed(&self) {
        self.sink.closed().await;
    }
}

/// A queued frame.
pub enum PendingFrame {
    /// Encoded, with the frame itself if it begins or ends an assistant message, which the encoder has to follow.
    Encoded(Vec<u8>, Option<Box<Emission>>),
    /// An update of the partial message, encoded when it is written.
    Update(Box<Emission>),
}

impl Batch {
    const fn is_open(&self) -> bool {
        self.bytes.len() < BATCH && self.holes.is_empty()
    }

    fn push(&mut self, emission: &Emission, encoder: &mut Encoder, limiter: &mut Option<FrameLimiter>) {
        let before = self.bytes.len();
        encoder.encode_around(emission, &mut self.bytes, &mut self.holes);
        if let Some(limiter) = limiter {
            limiter.follow(emission);
        }
        self.limit_line(before, encoder, limiter);
    }

    /// Replaces the line that begins at `from`, the last of the batch, if it is over the limit of the dialect.
    fn limit_line(&mut self, from: usize, encoder: &Encoder, limiter: &mut Option<FrameLimiter>) {
        let Some(limiter) = limiter else { return };
        let own = self.holes.iter().position(|hole| *hole >= from).unwrap_or(self.holes.len());
        let holes: Vec<usize> = self.holes[own..].iter().map(|hole| hole - from).collect();
        let parts = encoder.filled(&self.bytes[from..], &holes);
        if !limiter.is_exceeded(parts.iter().map(|part| part.len()).sum()) {
            return;
        }
        let line: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.bytes.truncate(from);
        self.holes.truncate(own);
        self.bytes.extend(limiter.limit(&line));
    }
}

impl HazardStage {
    fn accepts_batch(&mut self) -> bool {
        if !self.has_lingered && !self.is_paused() {
            self.pause = Some(Instant::now() + self.hazards.linger());
            self.has_lingered = true;
        }
        let takes = !self.is_paused();
        self.has_lingered &= !takes;
        takes
    }

    /// The bytes of the next write, unless a pause comes first.
    fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_paused() {
            return None;
        }
        match self.steps.pop_front()? {
            WriteStep::Write(bytes) => Some(bytes),
            WriteStep::Pause(time) => {
                self.pause = Some(Instant::now() + time);
                None
            }
        }
    }

    fn is_paused(&mut self) -> bool {
        self.pause = self.pause.filter(|pause| *pause > Instant::now());
        self.pause.is_some()
    }
}
