//! What the machine reports when a frame may not be said.

use crate::{
    machine::{kind::Kind, state::State},
    protocol::{RuleId as Rule, Tier},
};
use std::fmt;

/// A frame that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// How much it asks in this dialect.
    pub tier: Tier,
    /// The number of the frame, both directions counted together from 1.
    pub frame: u64,
    /// What the frame was.
    pub kind: Kind,
    /// The state that it met.
    pub state: State,
    /// What the rule wanted instead, in words.
    pub expected: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, frame, kind, state, expected, .. } = self;
        write!(f, "{rule}: frame {frame}, {kind} in {state}: expected {expected}")
    }
}
