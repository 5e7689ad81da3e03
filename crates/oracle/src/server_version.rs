//! Estimates the version of a server from its frames.
//!
//! A member that a later version added may be missing as long as no frame shows that the server is that new. Missing
//! members are remembered, and become violations once a frame shows a version that has them.

use super::recent_records::FramePosition;
use pi_rpc_machine::{Kind, State};
use pi_rpc_protocol::{Faults, Version};

/// The range of versions that a server may have, by its frames so far.
#[derive(Clone, Debug, Default)]
pub struct VersionEstimate {
    /// The latest version that some frame needed: a lower bound.
    newest: Option<Version>,
    /// The earliest version that a missing member belongs to: an exclusive upper bound.
    before: Option<Version>,
    /// Missing members that an older server would not have either.
    missing: Vec<MissingMember>,
}

/// A member that a frame lacks: a violation unless the server is older than the member.
#[derive(Clone, Debug)]
pub struct MissingMember {
    /// The first version with the member.
    pub since: Version,
    /// The frame.
    pub place: FramePosition,
    /// The kind of the frame.
    pub kind: Kind,
    /// The state before the frame.
    pub state: State,
    /// The text of the finding.
    pub expected: String,
}

/// The most missing members that are remembered, each once.
const MISSING_MEMBERS: usize = 64;

impl VersionEstimate {
    /// The version that the server must be older than, if any.
    pub const fn upper_bound(&self) -> Option<Version> {
        self.before
    }

    /// Takes in the version evidence of one frame. Returns the members, of this frame and of earlier ones, that are known to
    /// be missing now: the server is new enough to have them.
    pub fn observe(
        &mut self,
        faults: &Faults,
        missing_member: impl Fn(Version, &dyn std::fmt::Display) -> MissingMember,
    ) -> Vec<MissingMember> {
        // Nearly every frame is without new evidence.
        if faults.late_members().is_empty() && faults.newest() <= self.newest {
            return Vec::new();
        }
        self.newest = self.newest.max(faults.newest());
        for later in faults.late_members() {
            let missing_member = missing_member(later.since, &later.fault);
            let known = self.missing.iter().any(|known| known.expected == missing_member.expected);
            if !known && self.missing.len() < MISSING_MEMBERS {
                self.missing.push(missing_member);
            }
        }
        let newest = self.newest;
        let missing: Vec<MissingMember> =
            self.missing.extract_if(.., |missing_member| Some(missing_member.since) <= newest).collect();
        self.before = self.missing.iter().map(|missing_member| missing_member.since).min();
        missing
    }
}
