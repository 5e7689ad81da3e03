//! Collects the broken rules and the exercised rules while one frame is checked.

use crate::difference::Difference;
use pi_rpc_protocol::{Area, RuleId as Rule};
use serde::Serialize;

/// The broken rules of one frame, and the rules that it exercised.
#[derive(Debug, Default)]
pub struct Findings {
    /// The broken rules, in the order of the checks.
    pub broken: Vec<BrokenRule>,
    /// The rules that applied, broken or not.
    pub exercised: RuleSet,
    /// The number of the frame, counting both directions; 0 for no frame.
    frame: u64,
    /// The number of the frame that caused whatever is found next.
    cause: Option<u64>,
    /// Whether extensions are loaded, which may change what frames hold.
    has_extensions: bool,
}

/// A rule that a frame breaks.
#[derive(Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule.
    pub rule: Rule,
    /// The expectation of the rule, in words.
    pub expected: String,
    /// The member that differs, if the violation lies in one member.
    pub difference: Option<Difference>,
    /// The number of the earlier frame that caused the violation: of a response, its command; of a state, the frame that set it.
    pub cause: Option<u64>,
}

impl BrokenRule {
    /// Whether the rule is about the order or the content of runs, and not about the progress of tools or about time.
    pub fn concerns_runs(&self) -> bool {
        use Area::{Compaction, Messages, Queues, Retry, Runs, Tools};
        matches!(self.rule.about().area, Runs | Messages | Tools | Retry | Compaction | Queues)
            && !matches!(
                self.rule,
                Rule::UpdateCumulative
                    | Rule::UpdateInResult
                    | Rule::CompactionResult
                    | Rule::InTime
                    | Rule::AbortEffect
                    | Rule::RetryDelay
            )
    }
}

impl Findings {
    /// Creates empty findings for the frame with this number.
    pub fn for_frame(frame: u64) -> Self {
        Self { frame, ..Self::default() }
    }

    /// Declares that extensions are loaded.
    #[must_use]
    pub fn with_extensions(self, has_extensions: bool) -> Self {
        Self { has_extensions, ..self }
    }

    /// Whether extensions are loaded, which may change what frames hold.
    pub const fn has_extensions(&self) -> bool {
        self.has_extensions
    }

    /// The number of the frame, to be stored as the cause of later findings.
    pub const fn frame(&self) -> u64 {
        self.frame
    }

    /// Exercises `rule`, and reports a violation unless it `holds`.
    pub fn expect(&mut self, rule: Rule, holds: bool, expected: impl FnOnce() -> String) {
        match holds {
            true => self.pass(rule),
            false => self.fail(rule, expected()),
        }
    }

    /// Exercises a rule that holds.
    pub fn pass(&mut self, rule: Rule) {
        self.exercised.insert(rule);
    }

    /// Exercises a rule that is broken.
    pub fn fail(&mut self, rule: Rule, expected: impl Into<String>) {
        self.push(rule, expected.into(), None);
    }

    /// Exercises `rule`: `got`, at the JSON pointer `at` of the frame, must equal `expected`. `what` describes the expected
    /// value, such as "the model that was set last".
    pub fn expect_same<T: Serialize + PartialEq>(
        &mut self,
        rule: Rule,
        at: &str,
        what: &str,
        expected: &T,
        got: &T,
    ) {
        match expected == got {
            true => self.pass(rule),
            false => self.push(rule, what.to_owned(), Difference::between(at, expected, got)),
        }
    }

    /// Exercises a rule that is broken because `got`, at the JSON pointer `at` of the frame, differs from `expected`.
    pub fn fail_with_difference(
        &mut self,
        rule: Rule,
        at: &str,
        what: impl Into<String>,
        expected: &impl Serialize,
        got: &impl Serialize,
    ) {
        self.push(rule, what.into(), Difference::between(at, expected, got));
    }

    /// Sets the frame that caused whatever is found from now on.
    pub const fn set_cause(&mut self, frame: Option<u64>) {
        self.cause = frame;
    }

    /// The frame that caused whatever is found, if set.
    pub const fn cause(&self) -> Option<u64> {
        self.cause
    }

    /// Runs checks whose findings are caused by the frame `cause`, if known.
    pub fn with_cause(&mut self, cause: Option<u64>, test: impl FnOnce(&mut Self)) {
        let before = self.cause;
        self.cause = cause.or(before);
        test(self);
        self.cause = before;
    }

    fn push(&mut self, rule: Rule, expected: String, difference: Option<Difference>) {
        self.exercised.insert(rule);
        self.broken.push(BrokenRule { rule, expected, difference, cause: self.cause });
    }
}

/// A set of rules, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet([u128; 2]);

const _: () = assert!(Rule::ALL.len() <= 256, "a set of rules has 256 bits");

impl RuleSet {
    /// Adds a rule.
    pub const fn insert(&mut self, rule: Rule) {
        self.0[rule as usize / 128] |= 1 << (rule as u32 % 128);
    }

    /// Whether the set contains `rule`.
    pub const fn contains(&self, rule: Rule) -> bool {
        self.0[rule as usize / 128] & 1 << (rule as u32 % 128) != 0
    }

    /// Adds the rules of `other`.
    pub const fn extend(&mut self, other: &Self) {
        self.0[0] |= other.0[0];
        self.0[1] |= other.0[1];
    }

    /// The rules of the set, in the order of [`Rule::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(|rule| self.contains(*rule))
    }
}
