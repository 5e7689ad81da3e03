//! Hazards (`--hazard`): make the output inconvenient to test a host, while every frame stays legal.
//!
//! An optional stage between the encoder and the sink. It takes whole frames and returns the writes to make:
//!
//! ```text
//! frames ─→ late_ends ─→ late_responses ─→ additions: members, frames ─→ splits: writes, pauses ─→ stdout
//! ```
//!
//! Names of unknown members and events that it adds begin with [`HAZARD_PREFIX`](pi_rpc_protocol::HAZARD_PREFIX).

mod additions;
mod late_ends;
mod late_responses;
mod occurrences;
mod splits;

pub use occurrences::Occurrences;

use late_ends::HeldEnds;
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{Dialect, RpcCommandKind, Tier};
use std::time::Duration;

/// A kind of inconvenience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// Writes end anywhere, even within a character or before a line feed.
    Chunks,
    /// Several frames come in one write.
    Coalesce,
    /// Each write has one byte.
    Dribble,
    /// A run begins before the response to its prompt, where that is legal.
    EarlyEvents,
    /// Frames have unknown members.
    UnknownFields,
    /// Events of unknown types occur.
    UnknownEvents,
    /// Texts have separators such as U+2028, marks of direction and other special characters.
    U2028,
    /// Some frames have more than five megabytes.
    Huge,
    /// The first byte comes after two to four seconds.
    SlowStart,
    /// Dialogs with a time limit come at any moment; their responses are ignored.
    Dialogs,
    /// Responses come after later events, where nothing depends on the order.
    LateAnswers,
    /// The ends of all blocks come at the end of their message, in dialects whose blocks may overlap.
    LateEnds,
}

impl Hazard {
    /// All hazards.
    pub const ALL: [Self; 12] = [
        Self::Chunks,
        Self::Coalesce,
        Self::Dribble,
        Self::EarlyEvents,
        Self::UnknownFields,
        Self::UnknownEvents,
        Self::U2028,
        Self::Huge,
        Self::SlowStart,
        Self::Dialogs,
        Self::LateAnswers,
        Self::LateEnds,
    ];

    /// The name that `--hazard` uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Coalesce => "coalesce",
            Self::Dribble => "dribble",
            Self::EarlyEvents => "early-events",
            Self::UnknownFields => "unknown-fields",
            Self::UnknownEvents => "unknown-events",
            Self::U2028 => "u2028",
            Self::Huge => "huge",
            Self::SlowStart => "slow-start",
            Self::Dialogs => "dialogs",
            Self::LateAnswers => "late-answers",
            Self::LateEnds => "late-ends",
        }
    }

    /// Parses names separated by commas; `all` stands for every hazard.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let mut hazards = Vec::new();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match Self::ALL.into_iter().find(|hazard| hazard.as_str() == name) {
                Some(hazard) => hazards.push(hazard),
                None if name == "all" => hazards.extend(Self::ALL),
                None => return Err(format!("no hazard is called {name:?}; known: {}, all", names())),
            }
        }
        match hazards.is_empty() {
            true => Err(format!("expected one or more of {}, all", names())),
            false => Ok(hazards),
        }
    }
}

fn names() -> String {
    Hazard::ALL.map(Hazard::as_str).join(", ")
}

/// The stage of the enabled hazards. Deterministic for one seed: the same frames are treated in the same way.
#[derive(Clone, Debug)]
pub struct Hazards {
    enabled: Vec<Hazard>,
    /// Randomness for frames.
    frames: fastrand::Rng,
    /// Randomness for bytes: which frames share a write depends on timing, and must not change what happens to frames.
    bytes: fastrand::Rng,
    /// Number of frames so far.
    frames_seen: u64,
    /// Delayed ends of blocks; `None` without [`Hazard::LateEnds`].
    ends: Option<HeldEnds>,
    occurrences: Occurrences,
}

/// A step of the writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteStep {
    /// Write these bytes, by themselves.
    Write(Vec<u8>),
    /// Wait so long.
    Pause(Duration),
}

/// Longest wait for more frames of a batch, in milliseconds.
const LINGER_MS: u64 = 30;

/// Delay of the first byte, in milliseconds.
const SLOW_START_MS: std::ops::Range<u64> = 2000..4000;

impl Hazards {
    /// The stage before the first frame.
    pub fn new(enabled: Vec<Hazard>, seed: u64, dialect: Dialect) -> Self {
        let must = Rule::BlockProtocol.tier(dialect.base()) == Some(Tier::Must);
        let ends = (!must && enabled.contains(&Hazard::LateEnds)).then(HeldEnds::default);
        let mut frames = fastrand::Rng::with_seed(seed);
        let bytes = frames.fork();
        let occurrences = Occurrences::of(&enabled);
        Self { enabled, frames, bytes, frames_seen: 0, ends, occurrences }
    }

    /// How often each enabled hazard has occurred so far.
    pub const fn occurrences(&self) -> &Occurrences {
        &self.occurrences
    }

    /// How long to wait for more frames before what there is is handed over.
    pub fn linger(&mut self) -> Duration {
        let lingers =
            [Hazard::Coalesce, Hazard::EarlyEvents, Hazard::LateAnswers].into_iter().any(|it| self.has(it));
        Duration::from_millis(if lingers { self.bytes.u64(0..=LINGER_MS) } else { 0 })
    }

    /// Turns lines into the steps of the writer.
    pub fn transform(&mut self, frames: &[u8]) -> Vec<WriteStep> {
        let mut steps = Vec::new();
        if self.frames_seen == 0 && self.has(Hazard::SlowStart) {
            steps.push(WriteStep::Pause(Duration::from_millis(self.frames.u64(SLOW_START_MS))));
            self.occurrences.add(Hazard::SlowStart, 1);
        }
        let lines = frames.split_inclusive(|byte| *byte == b'\n');
        let passed: Vec<Vec<u8>>;
        let mut lines: Vec<&[u8]> = match &mut self.ends {
            Some(ends) => {
                passed = lines.flat_map(|line| ends.pass(line)).collect();
                self.occurrences.set(Hazard::LateEnds, ends.delayed());
                passed.iter().map(Vec::as_slice).collect()
            }
            None => lines.collect(),
        };
        for (hazard, commands) in DELAYED_RESPONSES {
            if self.has(hazard) {
                let delayed = late_responses::delay(&mut lines, commands, &mut self.bytes);
                self.occurrences.add(hazard, delayed);
            }
        }
        if lines.len() > 1 && self.has(Hazard::Coalesce) {
            self.occurrences.add(Hazard::Coalesce, 1);
        }
        let mut out = Vec::with_capacity(frames.len());
        for line in lines {
            self.frames_seen += 1;
            self.add(line, &mut out);
        }
        if !out.is_empty() {
            steps.extend(self.split(out));
        }
        steps
    }

    fn has(&self, hazard: Hazard) -> bool {
        self.enabled.contains(&hazard)
    }

    /// Adds members to a frame and frames after it.
    fn add(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let mut frame = line.to_vec();
        for (hazard, one_in, member) in additions::MEMBERS {
            if self.has(hazard) && self.frames.u64(0..one_in) == 0 {
                additions::insert(&mut frame, &member(&mut self.frames), self.frames.bool());
                self.occurrences.add(hazard, 1);
            }
        }
        out.extend_from_slice(&frame);
        for (hazard, one_in, make) in additions::FRAMES {
            // Short tests see each kind once, early.
            let due = self.frames_seen == additions::FIRST || self.frames.u64(0..one_in) == 0;
            if self.has(hazard) && due {
                make(&mut self.frames, out);
                self.occurrences.add(hazard, 1);
            }
        }
    }

    fn split(&mut self, out: Vec<u8>) -> Vec<WriteStep> {
        let (hazard, steps) = match (self.has(Hazard::Dribble), self.has(Hazard::Chunks)) {
            (true, _) => (Hazard::Dribble, splits::dribble(&out)),
            (_, true) => (Hazard::Chunks, splits::chunks(&out, &mut self.bytes)),
            _ => return vec![WriteStep::Write(out)],
        };
        if steps.len() > 1 {
            self.occurrences.add(hazard, 1);
        }
        steps
    }
}

/// Responses that may be delayed, by their commands.
const DELAYED_RESPONSES: [(Hazard, &[RpcCommandKind]); 2] = [
    // The documents put the response to a prompt before its run; hosts must not depend on that.
    (Hazard::EarlyEvents, &[RpcCommandKind::Prompt]),
    // No event depends on these commands.
    (
        Hazard::LateAnswers,
        &[
            RpcCommandKind::GetAvailableModels,
            RpcCommandKind::GetCommands,
            RpcCommandKind::SetAutoCompaction,
            RpcCommandKind::SetAutoRetry,
            RpcCommandKind::SetSessionName,
            RpcCommandKind::ExportHtml,
            RpcCommandKind::Bash,
            RpcCommandKind::AbortBash,
            RpcCommandKind::Login,
            RpcCommandKind::Logout,
        ],
    ),
];
