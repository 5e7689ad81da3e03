//! Inconvenience on purpose, to try a host: everything that is said stays legal, and nothing is as a host would like it.
//!
//! A stage between the encoder and the pipe, which is not there unless it was asked for. What it is handed are whole
//! frames; what it gives back are the writes to make:
//!
//! ```text
//! frames ─→ ends: ends of blocks together ─→ order: some later than others ─→ added: members, frames ─→ cut: writes and pauses ─→ pipe
//! ```
//!
//! What is added in a place where no schema has anything bears the mark [`HAZARD_PREFIX`](crate::protocol::HAZARD_PREFIX) in its name.

mod additions;
mod late_ends;
mod late_responses;
mod splits;

use crate::{
    machine::{Rule, Tier},
    protocol::{Dialect, RpcCommandKind},
};
use late_ends::HeldEnds;
use std::time::Duration;

/// One way to be inconvenient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// Writes end anywhere, also within a character and before a line feed.
    Chunks,
    /// Several frames come in one write.
    Coalesce,
    /// A byte at a time.
    Dribble,
    /// A run begins before its prompt is acknowledged, where that is no more than unusual.
    EarlyEvents,
    /// Members that nobody knows.
    UnknownFields,
    /// Events that nobody knows.
    UnknownEvents,
    /// Texts with separators, marks of direction and other characters that break what is not careful.
    U2028,
    /// Frames of five megabytes.
    Huge,
    /// Some seconds before the first byte.
    SlowStart,
    /// Dialogs at any moment, with a time limit, that do not wait for an answer.
    Dialogs,
    /// Responses behind the events that came after them, where nothing depends on the order.
    LateAnswers,
    /// The ends of a message's blocks all together at its end, in dialects that let the next block begin before.
    LateEnds,
}

impl Hazard {
    /// Every one.
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

    /// As options spell it.
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

    /// Those of a list with commas, in which `all` stands for every one.
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

/// The stage. Chance decides, and the seed decides chance: the same frames are treated in the same way.
#[derive(Clone, Debug)]
pub struct Hazards {
    enabled: Vec<Hazard>,
    /// For what happens to frames.
    frames: fastrand::Rng,
    /// For what happens to bytes: how frames come together in writes is not the seed's to say.
    bytes: fastrand::Rng,
    /// Frames so far.
    frames_seen: u64,
    /// `None`: each end comes when the block ends.
    ends: Option<HeldEnds>,
}

/// What the writer is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteStep {
    /// Write these bytes, by themselves.
    Write(Vec<u8>),
    /// Wait.
    Pause(Duration),
}

/// The longest that frames are waited for that could go together, in milliseconds.
const LINGER_MS: u64 = 30;

/// How long the first byte is waited for, in milliseconds.
const SLOW_START_MS: std::ops::Range<u64> = 2000..4000;

impl Hazards {
    /// The stage before the first frame.
    pub fn new(asked: Vec<Hazard>, seed: u64, dialect: Dialect) -> Self {
        let must = Rule::BlockProtocol.tier(dialect.base()) == Some(Tier::Must);
        let ends = (!must && asked.contains(&Hazard::LateEnds)).then(HeldEnds::default);
        let mut frames = fastrand::Rng::with_seed(seed);
        let bytes = frames.fork();
        Self { enabled: asked, frames, bytes, frames_seen: 0, ends }
    }

    /// How long to wait for more frames before what there is is handed over.
    pub fn linger(&mut self) -> Duration {
        let lingers =
            [Hazard::Coalesce, Hazard::EarlyEvents, Hazard::LateAnswers].into_iter().any(|it| self.has(it));
        Duration::from_millis(if lingers { self.bytes.u64(0..=LINGER_MS) } else { 0 })
    }

    /// What becomes of these frames, each with its line feed.
    pub fn transform(&mut self, frames: &[u8]) -> Vec<WriteStep> {
        let mut steps = Vec::new();
        if self.frames_seen == 0 && self.has(Hazard::SlowStart) {
            steps.push(WriteStep::Pause(Duration::from_millis(self.frames.u64(SLOW_START_MS))));
        }
        let lines = frames.split_inclusive(|byte| *byte == b'\n');
        let passed: Vec<Vec<u8>>;
        let mut lines: Vec<&[u8]> = match &mut self.ends {
            Some(ends) => {
                passed = lines.flat_map(|line| ends.pass(line)).collect();
                passed.iter().map(Vec::as_slice).collect()
            }
            None => lines.collect(),
        };
        for (hazard, commands) in DELAYED_RESPONSES {
            if self.has(hazard) {
                late_responses::delay(&mut lines, commands, &mut self.bytes);
            }
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

    /// The frame with what is added to it, and behind it.
    fn add(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let mut frame = line.to_vec();
        for (hazard, one_in, member) in additions::MEMBERS {
            if self.has(hazard) && self.frames.u64(0..one_in) == 0 {
                additions::insert(&mut frame, &member(&mut self.frames), self.frames.bool());
            }
        }
        out.extend_from_slice(&frame);
        for (hazard, one_in, make) in additions::FRAMES {
            // Some hosts are not tried for long: each shows itself early.
            let due = self.frames_seen == additions::FIRST || self.frames.u64(0..one_in) == 0;
            if self.has(hazard) && due {
                make(&mut self.frames, out);
            }
        }
    }

    fn split(&mut self, out: Vec<u8>) -> Vec<WriteStep> {
        match (self.has(Hazard::Dribble), self.has(Hazard::Chunks)) {
            (true, _) => splits::dribble(&out),
            (_, true) => splits::chunks(&out, &mut self.bytes),
            _ => vec![WriteStep::Write(out)],
        }
    }
}

/// Responses that may come later than they were made, by what asks for them.
const DELAYED_RESPONSES: [(Hazard, &[RpcCommandKind]); 2] = [
    // The run of a prompt begins before it is acknowledged: the documents want it the other way round, hosts must not
    // depend on it.
    (Hazard::EarlyEvents, &[RpcCommandKind::Prompt]),
    // What these say, or have done, no event tells of.
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
        ],
    ),
];
