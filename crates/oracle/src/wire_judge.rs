//! Judges a connection of one session or of many, which the first lines tell.

use super::{
    Finding, Judge, View,
    shared_wire::{SharedJudge, is_shared},
};
use pi_rpc_machine::{RuleSet, State};
use pi_rpc_protocol::{Dialect, DialectVersion, Version};
use pi_rpc_recording::{Direction, Record};

/// Judges one connection, record by record. A clone is independent of the original.
#[derive(Clone)]
pub struct WireJudge {
    spoken: DialectVersion,
    view: View,
    judge: EitherJudge,
    /// Records before the first that tells how many sessions there are, and whether they are not judged yet.
    undecided: Option<Vec<(Record<'static>, bool)>>,
}

#[derive(Clone)]
enum EitherJudge {
    One(Box<Judge>),
    Many(Box<SharedJudge>),
}

/// The most records that are held until one tells.
const MAX_UNDECIDED: usize = 64;

impl WireJudge {
    /// Creates a judge for a connection of which nothing has been seen.
    pub fn new(spoken: impl Into<DialectVersion>, view: View) -> Self {
        let spoken = spoken.into();
        let judge = EitherJudge::One(Box::new(Judge::new(spoken, view)));
        Self { spoken, view, judge, undecided: Some(Vec::new()) }
    }

    /// Judges one record.
    pub fn observe(&mut self, record: &Record<'_>) -> Vec<Finding> {
        let Some(kept) = &mut self.undecided else { return self.judge_record(record) };
        let bytes = record.body.bytes();
        let tells = match record.direction {
            Direction::In | Direction::Out => {
                let text = str::from_utf8(bytes).unwrap_or_default();
                is_shared(record.direction, text.trim_end_matches('\n'))
            }
            Direction::Meta => is_shared_process(bytes).then_some(true),
            Direction::Err => None,
        };
        let is_full = kept.len() >= MAX_UNDECIDED;
        let Some(tells) = tells.or(is_full.then_some(false)) else {
            // A probe has to wait for its response; anything else is a line of one session as well.
            let waits = record.direction == Direction::In && is_probe(bytes);
            kept.push((record.to_static(), waits));
            return if waits { Vec::new() } else { self.judge_record(record) };
        };
        let kept = self.undecided.take().unwrap_or_default();
        let mut findings = Vec::new();
        if tells {
            self.judge = EitherJudge::Many(Box::new(SharedJudge::new(self.spoken, self.view)));
        }
        for (record, waits) in &kept {
            // What one session's judge has found about a line stands.
            if tells || *waits {
                findings.extend(self.judge_record(record));
            }
        }
        findings.extend(self.judge_record(record));
        findings
    }

    fn judge_record(&mut self, record: &Record<'_>) -> Vec<Finding> {
        match &mut self.judge {
            EitherJudge::One(judge) => judge.observe(record),
            EitherJudge::Many(judge) => judge.observe(record),
        }
    }

    /// Ends the recording, and returns findings about what is still owed.
    pub fn finish(&mut self) -> Vec<Finding> {
        let kept = self.undecided.take().unwrap_or_default();
        let waiting = kept.iter().filter(|(_, waits)| *waits);
        let mut findings: Vec<Finding> = waiting.flat_map(|(record, _)| self.judge_record(record)).collect();
        findings.extend(match &mut self.judge {
            EitherJudge::One(judge) => judge.finish(),
            EitherJudge::Many(judge) => judge.finish(),
        });
        findings
    }

    /// The dialect by which it judges.
    pub const fn dialect(&self) -> Dialect {
        self.spoken.dialect
    }

    /// Whether the connection carries many sessions.
    pub const fn is_shared(&self) -> bool {
        matches!(self.judge, EitherJudge::Many(_))
    }

    /// The session of the last record, on a connection that carries many.
    pub fn session(&self) -> Option<&str> {
        match &self.judge {
            EitherJudge::One(_) => None,
            EitherJudge::Many(judge) => judge.session(),
        }
    }

    /// The state after the last record: of its session, if there are many.
    pub fn state(&self) -> State {
        match &self.judge {
            EitherJudge::One(judge) => judge.state(),
            EitherJudge::Many(judge) => judge.state(),
        }
    }

    /// The version that the server must be older than, by its frames.
    pub const fn older_than(&self) -> Option<Version> {
        match &self.judge {
            EitherJudge::One(judge) => judge.older_than(),
            EitherJudge::Many(_) => None,
        }
    }

    /// Whether the host has sent a command and the server has never written a frame.
    pub const fn is_server_silent(&self) -> bool {
        match &self.judge {
            EitherJudge::One(judge) => judge.is_server_silent(),
            EitherJudge::Many(judge) => judge.is_server_silent(),
        }
    }

    /// The number of the conversation of the last record, as in [`Finding::lane`], and the number of its frames so far.
    pub fn position(&self) -> (u64, u64) {
        match &self.judge {
            EitherJudge::One(judge) => judge.position(),
            EitherJudge::Many(judge) => judge.position(),
        }
    }

    /// Whether the server's last frame only continues a message, a tool or a shell.
    pub fn is_last_frame_update(&self) -> bool {
        match &self.judge {
            EitherJudge::One(judge) => judge.is_last_frame_update(),
            EitherJudge::Many(judge) => judge.is_last_frame_update(),
        }
    }

    /// The rules that were put to the test so far.
    pub fn exercised(&self) -> RuleSet {
        match &self.judge {
            EitherJudge::One(judge) => judge.exercised(),
            EitherJudge::Many(judge) => judge.exercised(),
        }
    }
}

/// Whether a process that starts carries many sessions on its pipes.
fn is_shared_process(event: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(event, part).is_some();
    has(b"\"spawn\"") && has(b"\"--multi-session\"")
}

/// Whether a line is about which wire it is.
fn is_probe(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"\"get_protocol_info\"").is_some()
}
