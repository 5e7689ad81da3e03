//! Violations: the machine's reports of frames that break rules.

use crate::{difference::Difference, kind::Kind, state::State};
use pi_rpc_protocol::{RuleId as Rule, Tier};
use std::fmt;

/// A frame that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The tier of the rule in this dialect.
    pub tier: Tier,
    /// The number of the frame, counting both directions from 1.
    pub frame: u64,
    /// The kind of the frame.
    pub kind: Kind,
    /// The state before the frame.
    pub state: State,
    /// The expectation of the rule, in words.
    pub expected: String,
    /// The member that differs, if the violation lies in one member.
    pub difference: Option<Difference>,
    /// The number of the earlier frame that caused the violation, if known.
    pub cause: Option<u64>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, frame, kind, state, .. } = self;
        write!(f, "{rule}: frame {frame}, {kind} in {state}: expected {}", self.expectation())
    }
}

impl Violation {
    /// The expectation of the rule, with the differing member if there is one.
    pub fn expectation(&self) -> String {
        Difference::append_to(&self.expected, self.difference.as_ref())
    }
}
