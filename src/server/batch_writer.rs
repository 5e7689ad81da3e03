//! The batch that is being written, and what may stand before stdout to make it inconvenient.

use super::{
    hazard::{Hazards, WriteStep},
    sink::Sink,
};
use crate::protocol::{Emission, Encoder};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, IoSlice},
    time::Instant,
};

/// What is between the queue and stdout.
pub struct BatchWriter {
    sink: Sink,
    batch: Batch,
    written: usize,
    hazards: Option<HazardStage>,
}

/// Whole frames, of which some bytes may be written already.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where the message that grows belongs. Nothing comes behind a frame with such places.
    holes: Vec<usize>,
}

/// What hazards make of batches.
struct HazardStage {
    hazards: Hazards,
    steps: VecDeque<WriteStep>,
    /// Nothing is done before then.
    pause: Option<Instant>,
    /// More frames have been waited for.
    has_lingered: bool,
}

/// Bytes that are handed to stdout together.
const BATCH: usize = 64 * 1024;

/// Bytes that are kept for the next batch when one is written.
const KEPT: usize = 1024 * 1024;

impl BatchWriter {
    /// To this process's stdout.
    pub fn to_stdout(hazards: Option<Hazards>) -> io::Result<Self> {
        let new = |hazards| HazardStage { hazards, steps: VecDeque::new(), pause: None, has_lingered: false };
        let (sink, hazards) = (Sink::stdout()?, hazards.map(new));
        Ok(Self { sink, batch: Batch::default(), written: 0, hazards })
    }

    /// Everything that it was given is written.
    pub fn is_empty(&self) -> bool {
        self.batch.bytes.is_empty() && self.hazards.as_ref().is_none_or(|it| it.steps.is_empty())
    }

    /// Whether more may go with the next write. Hazards want to see all that there is at once: they take nothing in between.
    pub const fn is_open(&self) -> bool {
        self.hazards.is_none() && self.batch.is_open()
    }

    /// Adds what is said to the batch, while it [is open](Self::is_open). Gives its length in bytes.
    pub fn push(&mut self, said: &Emission, encoder: &mut Encoder) -> usize {
        let before = self.batch.bytes.len();
        self.batch.push(said, encoder);
        self.batch.bytes.len() - before
    }

    /// Whether a batch may be made of what waits. Asked only while it is empty.
    pub fn accepts_batch(&mut self) -> bool {
        self.hazards.as_mut().is_none_or(HazardStage::accepts_batch)
    }

    /// Makes a batch of what `next` gives. Only while it is empty.
    pub fn fill(&mut self, encoder: &mut Encoder, mut next: impl FnMut() -> Option<PendingFrame>) {
        while self.batch.is_open()
            && let Some(waiting) = next()
        {
            match waiting {
                PendingFrame::Update(said) if self.hazards.is_some() => {
                    encoder.encode(&said, &mut self.batch.bytes)
                }
                PendingFrame::Update(said) => self.batch.push(&said, encoder),
                PendingFrame::Encoded(bytes, said) => {
                    said.iter().for_each(|said| encoder.follow(said));
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

    /// Writes what there is room for.
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
            self.batch.bytes.shrink_to(KEPT);
            match self.hazards.as_mut().and_then(HazardStage::next) {
                Some(bytes) => self.batch.bytes = bytes,
                None => return Ok(()),
            }
        }
    }

    /// Until [`write`](Self::write) may do more.
    pub async fn ready(&self) {
        match self.hazards.as_ref().and_then(|it| it.pause) {
            Some(pause) => tokio::time::sleep_until(pause.into()).await,
            None => self.sink.writable().await,
        }
    }

    /// Until nobody has the other end.
    pub async fn closed(&self) {
        self.sink.closed().await;
    }
}

/// What waits to be written.
pub enum PendingFrame {
    /// A frame's bytes; `Some` if it begins or ends an assistant message, which the encoder follows.
    Encoded(Vec<u8>, Option<Box<Emission>>),
    /// A message that grows.
    Update(Box<Emission>),
}

impl Batch {
    const fn is_open(&self) -> bool {
        self.bytes.len() < BATCH && self.holes.is_empty()
    }

    fn push(&mut self, said: &Emission, encoder: &mut Encoder) {
        encoder.encode_around(said, &mut self.bytes, &mut self.holes);
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

    /// What is to be written now.
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
