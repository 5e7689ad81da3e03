//! How old a server is, as far as its frames tell: members that came later need not be there while nothing shows that the
//! server is as new as they are.

use super::recent_records::FramePosition;
use crate::{
    machine::{Kind, State},
    protocol::{Faults, Version},
};

/// What is known of the version of a server.
#[derive(Clone, Debug, Default)]
pub struct VersionEstimate {
    /// The latest version of which something was there.
    newest: Option<Version>,
    /// The earliest version of which something was missing.
    before: Option<Version>,
    /// Members that were missing, as they would be of an older server.
    missing: Vec<MissingMember>,
}

/// A frame that lacks a member, unless the server is older than that.
#[derive(Clone, Debug)]
pub struct MissingMember {
    /// The version that brought the member.
    pub since: Version,
    /// The frame.
    pub place: FramePosition,
    /// What the frame was.
    pub kind: Kind,
    /// The state that it met.
    pub state: State,
    /// What was expected, in words.
    pub expected: String,
}

/// Members that are remembered, each once.
const MISSING_MEMBERS: usize = 64;

impl VersionEstimate {
    /// The version that the server is older than, as far as it has shown nothing of that or of a later one.
    pub const fn upper_bound(&self) -> Option<Version> {
        self.before
    }

    /// A frame was read that says and lacks this. Gives what turns out to be missing: what lacks a member though the
    /// server is as new as that, this frame's own among it.
    pub fn observe(
        &mut self,
        faults: &Faults,
        missing_member: impl Fn(Version, &dyn std::fmt::Display) -> MissingMember,
    ) -> Vec<MissingMember> {
        // Nearly every frame says nothing new.
        if faults.later().is_empty() && faults.newest() <= self.newest {
            return Vec::new();
        }
        self.newest = self.newest.max(faults.newest());
        for later in faults.later() {
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
