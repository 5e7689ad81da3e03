//! What the machine reports when a frame may not be said.

use crate::{
    machine::{difference::Difference, kind::Kind, state::State},
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
    /// The member that is wrong, where it is one.
    pub difference: Option<Difference>,
    /// The number of the earlier frame that it goes back to, where one is known.
    pub cause: Option<u64>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, frame, kind, state, .. } = self;
        write!(f, "{rule}: frame {frame}, {kind} in {state}: expected {}", self.expectation())
    }
}

impl Violation {
    /// What the rule wanted instead, with the member that is wrong, where it is one.
    pub fn expectation(&self) -> String {
        Difference::append_to(&self.expected, self.difference.as_ref())
    }
}
