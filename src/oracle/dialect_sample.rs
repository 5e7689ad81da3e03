//! Detects a recording that plainly belongs to another dialect than the one by which it is judged.

use super::{Body, Direction, Record};
use crate::protocol::{Dialect, DialectReady, DialectVersion, Outbound, read_versioned};
use serde::Deserialize;
use std::{borrow::Cow, collections::HashMap};

/// A few frames of each kind from a recording, to tell its dialect. Bounded by [`MAX_FRAMES`] and [`MAX_BYTES`].
pub struct DialectSample {
    frames: Vec<Frame>,
    /// The number of frames seen, by kind.
    kinds: HashMap<String, usize>,
    /// Frames of the server that were read.
    seen: usize,
    bytes: usize,
    /// Whether the recording begins with the start of a process.
    from_start: bool,
}

struct Frame {
    /// The number of the frame's record.
    record: u64,
    kind: String,
    line: Vec<u8>,
}

/// The most frames that are read, from the first on.
const MAX_FRAMES: usize = 4096;
/// The most frames of one kind that are kept.
const MAX_PER_KIND: usize = 8;
/// The most bytes that are kept.
const MAX_BYTES: usize = 1 << 20;
/// The number of frames that one dialect refuses and another accepts, from which on the recording belongs to the other.
const MIN_TELLING_FRAMES: usize = 3;

/// The members that identify a frame.
#[derive(Deserialize)]
struct FrameHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    command: Option<Cow<'a, str>>,
}

impl DialectSample {
    /// An empty sample.
    pub fn new() -> Self {
        Self { frames: Vec::new(), kinds: HashMap::new(), seen: 0, bytes: 0, from_start: false }
    }

    /// Adds the record with this number, unless there are enough of its kind.
    pub fn add(&mut self, number: u64, record: &Record<'_>) {
        let Body::Json(line) = &record.body else { return };
        if record.direction == Direction::Meta && self.seen == 0 {
            self.from_start |= line.windows(SPAWN.len()).any(|part| part == SPAWN);
        }
        if record.direction != Direction::Out
            || self.seen >= MAX_FRAMES
            || self.bytes + line.len() > MAX_BYTES
        {
            return;
        }
        self.seen += 1;
        let Ok(FrameHead { kind, command }) = serde_json::from_slice::<FrameHead<'_>>(line) else { return };
        let label = command.map_or_else(|| kind.to_string(), |command| format!("{kind} {command}"));
        let count = self.kinds.entry(label).or_default();
        *count += 1;
        if *count <= MAX_PER_KIND {
            self.bytes += line.len();
            self.frames.push(Frame { record: number, kind: kind.into_owned(), line: line.to_vec() });
        }
    }

    /// Explains that the recording is not of the dialect `judged`, and names the right one: a dialect that accepts every frame
    /// of the sample that `judged` accepts, and several that `judged` refuses. `None` if there is no such dialect.
    pub fn mismatch(&self, judged: Dialect) -> Option<String> {
        let own = self.refusals(judged);
        let others = Dialect::ALL.into_iter().filter(|other| {
            other.base().as_str() == other.as_str()
                && other.base() != judged.base()
                && self.opens_like(*other)
        });
        // Of several that fit alike, the base.
        others
            .rev()
            .filter_map(|other| {
                let refused = self.refusals(other);
                let only_there: Vec<usize> = (0..self.frames.len())
                    .filter(|at| own[*at].is_some() && refused[*at].is_none())
                    .collect();
                let only_here = (0..self.frames.len()).any(|at| own[at].is_none() && refused[at].is_some());
                let opens = self.begins_with_ready() && self.opens_like(other) && !self.opens_like(judged);
                let tells = !only_here && (only_there.len() >= MIN_TELLING_FRAMES || opens);
                let first = self.frames.get(*only_there.first()?)?;
                let why = own.get(*only_there.first()?)?.as_ref()?;
                tells.then(|| (only_there.len(), self.reason(first, why, judged, other)))
            })
            .max_by_key(|(telling, _)| *telling)
            .map(|(_, reason)| reason)
    }

    fn reason(&self, first: &Frame, why: &str, judged: Dialect, other: Dialect) -> String {
        let Frame { record, kind, .. } = first;
        format!(
            "not a recording of {judged}: line {record}, a `{kind}`, is invalid in {judged} ({why}); \
             use `--dialect {other}`"
        )
    }

    /// Why the dialect refuses each frame, in any of its versions; `None` for a frame that it accepts.
    fn refusals(&self, dialect: Dialect) -> Vec<Option<String>> {
        let speaks = DialectVersion::from(dialect);
        let refused = |frame: &Frame| {
            read_versioned::<Outbound>(&frame.line, speaks, true).err().map(|error| error.to_string())
        };
        self.frames.iter().map(refused).collect()
    }

    /// Whether the first frame is `ready`.
    fn begins_with_ready(&self) -> bool {
        self.frames.first().is_some_and(|frame| frame.kind == READY)
    }

    /// Whether the recording may open a conversation of the dialect. One that begins in the middle always may.
    fn opens_like(&self, dialect: Dialect) -> bool {
        match dialect.record().ready {
            DialectReady::None => !self.begins_with_ready(),
            DialectReady::WithVersion => self.begins_with_ready() || !self.from_start,
        }
    }
}

const READY: &str = "ready";
const SPAWN: &[u8] = b"\"spawn\"";
