//! Tells the dialect of a conversation by the frames that only some dialects have.
//!
//! A [`DialectSample`] takes in records of both sides. It keeps the *telling* frames: those that some dialects accept and others
//! refuse. The dialect that refuses the fewest of them is the one that fits best.

use super::{Body, Direction, Record};
use pi_rpc_protocol::{
    Dialect, DialectReady, DialectVersion, Inbound, LineError, Outbound, read_line, read_versioned,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::HashMap};

/// A few frames of each kind from a conversation, to tell its dialect. Memory and work are bounded.
#[derive(Clone, Default)]
pub struct DialectSample {
    telling: Vec<TellingFrame>,
    /// The number of frames seen, by direction and kind.
    kinds: HashMap<(bool, String), usize>,
    /// Frames that were read.
    seen: usize,
    bytes: usize,
    /// Whether the recording begins with the start of a process.
    from_start: bool,
    /// Whether the first frame of the server is `ready`.
    begins_with_ready: Option<bool>,
}

/// A frame that some dialects accept and others refuse.
#[derive(Clone)]
struct TellingFrame {
    /// The number of the frame's record.
    record: u64,
    direction: Direction,
    kind: String,
    /// The id of a command, as written.
    id: Option<String>,
    line: Vec<u8>,
    /// The dialects that refuse it.
    refused_by: Vec<Dialect>,
    /// The dialects that have had such a frame only in earlier versions.
    unlike: Vec<Dialect>,
}

/// The dialect that fits a conversation best, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDialect {
    /// The dialect.
    pub dialect: Dialect,
    /// What shows it.
    pub evidence: DialectEvidence,
}

/// What shows the dialect of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialectEvidence {
    /// Several dialects fit alike; the first of them is taken.
    None,
    /// A frame that the dialect accepts and another one refuses.
    Frame(DialectWitness),
    /// Frames of several dialects: one that the dialect accepts and another refuses, and one the other way round.
    Mixed(DialectWitness, DialectWitness),
}

/// A frame that one dialect accepts and another one refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectWitness {
    /// The number of the frame's record.
    pub record: u64,
    /// The type of the frame.
    pub kind: String,
    /// The dialect that accepts it.
    pub accepted_by: Dialect,
    /// The dialect that refuses it.
    pub refused_by: Dialect,
}

/// The most frames that are read, from the first on.
pub const MAX_SAMPLED_FRAMES: usize = 4096;
/// The most frames of one kind that are read.
const MAX_PER_KIND: usize = 8;
/// The most bytes that are kept.
const MAX_BYTES: usize = 1 << 20;
/// The number of frames that one dialect refuses and another accepts, from which on the conversation belongs to the other.
const MIN_TELLING_FRAMES: usize = 3;

/// The members that identify a frame.
#[derive(Deserialize)]
struct FrameHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    success: Option<&'a RawValue>,
}

impl DialectSample {
    /// An empty sample.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the record with this number, unless there are enough of its kind.
    pub fn add(&mut self, number: u64, record: &Record<'_>) {
        let Body::Json(line) = &record.body else { return };
        match record.direction {
            Direction::Meta if self.begins_with_ready.is_none() => {
                self.from_start |= line.windows(SPAWN.len()).any(|part| part == SPAWN);
            }
            Direction::In | Direction::Out => self.add_frame(number, record.direction, line),
            Direction::Meta | Direction::Err => {}
        }
    }

    fn add_frame(&mut self, number: u64, direction: Direction, line: &[u8]) {
        if self.seen >= MAX_SAMPLED_FRAMES || self.bytes + line.len() > MAX_BYTES {
            return;
        }
        self.seen += 1;
        let Ok(head) = serde_json::from_slice::<FrameHead<'_>>(line) else { return };
        if direction == Direction::Out {
            self.begins_with_ready.get_or_insert(head.kind == READY);
            self.forget_refused_command(&head);
        }
        let command = head.command.filter(|_| head.kind == RESPONSE).map(RawValue::get).unwrap_or_default();
        let label = (direction == Direction::Out, format!("{} {command}", head.kind));
        let count = self.kinds.entry(label).or_default();
        *count += 1;
        if *count > MAX_PER_KIND {
            return;
        }
        let refused_by: Vec<Dialect> =
            candidates().filter(|dialect| refusal(direction, line, *dialect).is_some()).collect();
        let is_server = direction == Direction::Out;
        let unlike: Vec<Dialect> =
            candidates().filter(|dialect| is_server && is_of_earlier(line, *dialect)).collect();
        let tells = |dialects: &[Dialect]| !dialects.is_empty() && dialects.len() < candidates().count();
        if !tells(&refused_by) && !tells(&unlike) {
            return;
        }
        self.bytes += line.len();
        let id = head.id.map(|id| id.get().to_owned());
        let (kind, line) = (head.kind.into_owned(), line.to_vec());
        self.telling.push(TellingFrame { record: number, direction, kind, id, line, refused_by, unlike });
    }

    /// Forgets a command that the server has refused, by its id, else by its name: hosts try commands that a server may not have.
    fn forget_refused_command(&mut self, head: &FrameHead<'_>) {
        let has_failed =
            head.kind == RESPONSE && head.success.is_some_and(|success| success.get() == "false");
        if !has_failed {
            return;
        }
        let (id, name) = (head.id.map(RawValue::get), head.command.map(RawValue::get).unwrap_or_default());
        self.telling.retain(|frame| {
            let is_refused = match id {
                Some(id) => frame.id.as_deref() == Some(id),
                None => frame.kind == name.trim_matches('"'),
            };
            frame.direction == Direction::Out || !is_refused
        });
    }

    /// Whether further frames would hardly change which dialect is found, or are not read any more.
    pub fn is_decided(&self) -> bool {
        let best = self.best();
        let others = candidates().filter(|other| root(*other) != root(best));
        let lead = others.map(|other| self.refusals(other).1).min().unwrap_or(usize::MAX);
        self.seen >= MAX_SAMPLED_FRAMES || (self.refusals(best).1 == 0 && lead >= MIN_TELLING_FRAMES)
    }

    /// The dialect that fits best: of several, the first.
    pub fn found(&self) -> FoundDialect {
        let dialect = self.best();
        let rivals = || {
            let mut rivals: Vec<Dialect> =
                candidates().filter(|other| root(*other) != root(dialect)).collect();
            rivals.sort_by_key(|rival| self.refusals(*rival));
            rivals
        };
        let for_it = rivals().into_iter().find_map(|rival| self.witness(dialect, rival));
        let against = rivals().into_iter().find_map(|rival| self.witness(rival, dialect));
        let is_shared = rivals().into_iter().any(|rival| self.refusals(rival) == self.refusals(dialect));
        let evidence = match (for_it, against) {
            (Some(frame), None) if !is_shared => DialectEvidence::Frame(frame),
            (Some(frame), Some(other)) => DialectEvidence::Mixed(frame, other),
            _ => DialectEvidence::None,
        };
        FoundDialect { dialect, evidence }
    }

    fn best(&self) -> Dialect {
        candidates().min_by_key(|dialect| self.refusals(*dialect)).unwrap_or(Dialect::Pi)
    }

    /// How little the dialect fits, the gravest first: whether the first frame belongs to others, the numbers of telling frames
    /// of the server and of the host that it refuses, and the number of the server's that only an earlier version of it has.
    fn refusals(&self, dialect: Dialect) -> (bool, usize, usize, usize) {
        let refused = |direction| {
            let of_side = self.telling.iter().filter(|frame| frame.direction == direction);
            of_side.filter(|frame| frame.refused_by.contains(&dialect)).count()
        };
        let opens_otherwise = !self.opens_like(dialect);
        let misses_ready = opens_otherwise && self.begins_with_ready == Some(false);
        let has_foreign_ready = opens_otherwise && self.begins_with_ready == Some(true);
        let of_server = self.telling.iter().filter(|frame| frame.direction == Direction::Out);
        let unlike = of_server.filter(|frame| frame.unlike.contains(&dialect)).count();
        (
            has_foreign_ready,
            refused(Direction::Out) + usize::from(misses_ready),
            refused(Direction::In),
            unlike,
        )
    }

    /// The first frame that `accepting` has and `refusing` has not; one of the server, if there is one.
    fn witness(&self, accepting: Dialect, refusing: Dialect) -> Option<DialectWitness> {
        let tells = |frame: &&TellingFrame| {
            !frame.refused_by.contains(&accepting) && frame.refused_by.contains(&refusing)
        };
        let by_server = |frame: &&TellingFrame| frame.direction == Direction::Out;
        let is_nearer = |frame: &&TellingFrame| {
            by_server(frame) && !frame.unlike.contains(&accepting) && frame.unlike.contains(&refusing)
        };
        let mut telling = self.telling.iter().filter(tells);
        let frame = telling.clone().find(by_server).or_else(|| telling.next());
        let frame = frame.or_else(|| self.telling.iter().find(is_nearer))?;
        let (record, kind) = (frame.record, frame.kind.clone());
        Some(DialectWitness { record, kind, accepted_by: accepting, refused_by: refusing })
    }

    /// Explains that the recording is not of the dialect `judged`, and names the right one: a dialect that accepts every frame
    /// of the server in the sample that `judged` accepts, and several that `judged` refuses. `None` if there is no such dialect.
    pub fn mismatch(&self, judged: Dialect) -> Option<DialectMismatch> {
        let own = Dialect::parse(judged.record().frames).unwrap_or(judged);
        let others = candidates().filter(|other| *other != own && self.opens_like(*other));
        // Of several that fit alike, the base.
        let fits = others.rev().filter_map(|other| {
            let of_server = || self.telling.iter().filter(|frame| frame.direction == Direction::Out);
            let refuses = |frame: &&TellingFrame, dialect| frame.refused_by.contains(&dialect);
            let only_here = of_server().any(|frame| !refuses(&frame, own) && refuses(&frame, other));
            let mut only_there = of_server().filter(|frame| refuses(frame, own) && !refuses(frame, other));
            let count = only_there.clone().count();
            let opens = self.begins_with_ready == Some(true) && !self.opens_like(judged);
            let tells = !only_here && (count >= MIN_TELLING_FRAMES || opens);
            let first = only_there.next()?;
            tells.then_some((count, other, first))
        });
        let (_, other, first) = fits.max_by_key(|(count, ..)| *count)?;
        let why = refusal(Direction::Out, &first.line, own)?;
        Some(DialectMismatch { judged, other, record: first.record, kind: first.kind.clone(), why })
    }

    /// Whether the conversation may be one of the dialect by its first frame. One that begins in the middle always may.
    fn opens_like(&self, dialect: Dialect) -> bool {
        let begins_with_ready = self.begins_with_ready == Some(true);
        match dialect.record().ready {
            DialectReady::None => !begins_with_ready,
            DialectReady::WithVersion | DialectReady::WithLimits => begins_with_ready || !self.from_start,
        }
    }
}

/// A conversation plainly belongs to another dialect than the one by which it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectMismatch {
    /// The dialect by which it is judged.
    pub judged: Dialect,
    /// The dialect to which it belongs.
    pub other: Dialect,
    /// The number of the record of the first frame that shows it.
    pub record: u64,
    /// The type of that frame.
    pub kind: String,
    /// What `judged` has against it.
    pub why: String,
}

impl DialectMismatch {
    /// The mismatch as the reason why a recording is not judged.
    pub fn of_recording(&self) -> String {
        let Self { judged, other, record, kind, why } = self;
        format!(
            "not a recording of {judged}: line {record}, a `{kind}`, is invalid in {judged} ({why}); \
             use `--dialect {other}`"
        )
    }

    /// The mismatch as a remark about a server.
    pub fn of_server(&self) -> String {
        let Self { judged, other, kind, why, .. } = self;
        format!(
            "this server speaks `{other}`, not `{judged}`: its `{kind}` is invalid in {judged} ({why}); \
             add `--dialect {other}`"
        )
    }
}

impl FoundDialect {
    /// The dialect, in any of its versions with the same frames.
    pub fn spoken(&self) -> DialectVersion {
        DialectVersion { any_version: true, ..self.dialect.into() }
    }

    /// What the dialect was taken by, as a remark; `place` is what a record is called, such as `line`.
    pub fn remark(&self, place: &str) -> String {
        let dialect = self.dialect;
        match &self.evidence {
            DialectEvidence::None => {
                format!("dialect {dialect}: no frame tells; name another with --dialect")
            }
            DialectEvidence::Frame(DialectWitness { record, kind, refused_by, .. }) => {
                format!("dialect {dialect}, not {refused_by}: by {place} {record}, a `{kind}`")
            }
            DialectEvidence::Mixed(own, other) => format!(
                "dialect {dialect}, not {}: by {place} {}, a `{}`; but {place} {}, a `{}`, is of {}; \
                 name another with --dialect",
                own.refused_by, own.record, own.kind, other.record, other.kind, other.accepted_by
            ),
        }
    }
}

/// The dialects with frames of their own.
fn candidates() -> impl DoubleEndedIterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| dialect.record().frames == dialect.as_str())
}

/// The dialect of which another one is a version; any other dialect itself.
fn root(dialect: Dialect) -> Dialect {
    dialect.as_str().split_once('@').and_then(|(of, _)| Dialect::parse(of)).unwrap_or(dialect)
}

/// Whether the server's frame lacks members that the dialect has by now.
fn is_of_earlier(line: &[u8], dialect: Dialect) -> bool {
    let read = read_versioned::<Outbound>(line, DialectVersion::from(dialect), true);
    read.is_ok_and(|read| !read.faults.late_members().is_empty())
}

/// Why the dialect, in any of its versions, refuses the frame; `None` if it accepts the frame.
fn refusal(direction: Direction, line: &[u8], dialect: Dialect) -> Option<String> {
    match direction {
        Direction::In => match read_line(line, dialect) {
            Ok(Some(Inbound::Command(_)) | None) => None,
            // What answers the server tells less than what it answers.
            Ok(Some(_)) | Err(LineError::Parse { .. } | LineError::Refused { .. }) => None,
            Err(LineError::Unknown { kind, .. }) => Some(format!("no command `{kind}`")),
            Err(LineError::Field { reason, .. }) => Some(reason),
        },
        _ => {
            let read = read_versioned::<Outbound>(line, DialectVersion::from(dialect), true);
            read.err().map(|error| error.to_string())
        }
    }
}

const READY: &str = "ready";
const RESPONSE: &str = "response";
const SPAWN: &[u8] = b"\"spawn\"";
