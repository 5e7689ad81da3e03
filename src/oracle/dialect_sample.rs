//! Whether a recording plainly belongs to another dialect than the one that it is judged by.

use super::{Body, Direction, Record};
use crate::protocol::{Dialect, DialectReady, DialectVersion, Outbound, read_versioned};
use serde::Deserialize;
use std::{borrow::Cow, collections::HashMap};

/// Frames of a recording, a few of each kind, by which its dialect is known. What is kept does not grow with the recording.
pub struct DialectSample {
    frames: Vec<Frame>,
    /// How many of each kind are kept.
    kinds: HashMap<String, usize>,
    /// Frames that were looked at.
    seen: usize,
    bytes: usize,
    /// It begins with the start of a process.
    from_start: bool,
}

struct Frame {
    /// The number of its record.
    record: u64,
    kind: String,
    line: Vec<u8>,
}

/// Frames that are looked at, from the first on.
const MAX_FRAMES: usize = 4096;
/// Frames of one kind that are kept.
const MAX_PER_KIND: usize = 8;
/// Bytes that are kept.
const MAX_BYTES: usize = 1 << 20;
/// So many frames that one dialect refuses and the other has tell which of the two it is.
const MIN_TELLING_FRAMES: usize = 3;

/// The members that say what a frame is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    command: Option<Cow<'a, str>>,
}

impl DialectSample {
    /// A sample before the first record.
    pub fn new() -> Self {
        Self { frames: Vec::new(), kinds: HashMap::new(), seen: 0, bytes: 0, from_start: false }
    }

    /// Sees the record with this number.
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
        let Ok(Head { kind, command }) = serde_json::from_slice::<Head<'_>>(line) else { return };
        let label = command.map_or_else(|| kind.to_string(), |command| format!("{kind} {command}"));
        let count = self.kinds.entry(label).or_default();
        *count += 1;
        if *count <= MAX_PER_KIND {
            self.bytes += line.len();
            self.frames.push(Frame { record: number, kind: kind.into_owned(), line: line.to_vec() });
        }
    }

    /// Why the recording cannot be one of `judged`, and which dialect it is: one that has everything that `judged` has of
    /// it, and several frames that `judged` refuses.
    pub fn mismatch(&self, judged: Dialect) -> Option<String> {
        let own = self.refusals(judged);
        let others = Dialect::ALL.into_iter().filter(|other| {
            other.base().as_str() == other.as_str()
                && other.base() != judged.base()
                && self.opens_like(*other)
        });
        others
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
            "it is no recording of {judged}: line {record}, a `{kind}`, is not as {judged} has it ({why}); \
             `--dialect {other}` judges it"
        )
    }

    /// What the dialect refuses of each frame, whatever the version of its server.
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

    /// Whether the recording opens as the dialect does. One that begins in the middle opens as any.
    fn opens_like(&self, dialect: Dialect) -> bool {
        match dialect.record().ready {
            DialectReady::None => !self.begins_with_ready(),
            DialectReady::WithVersion => self.begins_with_ready() || !self.from_start,
        }
    }
}

const READY: &str = "ready";
const SPAWN: &[u8] = b"\"spawn\"";
