//! What the checks of a frame found, and which rules they had something to look at.

use crate::{
    machine::difference::Difference,
    protocol::{Area, RuleId as Rule},
};
use serde::Serialize;

/// What is wrong with one frame, and the rules that it put to the test.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong, in the order in which it was found.
    pub broken: Vec<BrokenRule>,
    /// The rules that were put to the test since it was made.
    pub exercised: RuleSet,
    /// The number of the frame that is looked at, both directions counted together; 0: of none.
    frame: u64,
    /// The number of the frame to which what is found next goes back.
    cause: Option<u64>,
}

/// A rule that a frame breaks.
#[derive(Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule.
    pub rule: Rule,
    /// What the rule wanted instead, in words.
    pub expected: String,
    /// The member that is wrong, where it is one.
    pub difference: Option<Difference>,
    /// The number of the earlier frame that this one goes back to: of a response the request, of a state what set it.
    pub cause: Option<u64>,
}

impl BrokenRule {
    /// Whether runs, or what follows them, are not as they have to be. How far a tool has come is nothing of that, nor how
    /// long something takes.
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
    /// The findings about the frame with this number.
    pub fn for_frame(frame: u64) -> Self {
        Self { frame, ..Self::default() }
    }

    /// The number of the frame that is looked at: to remember as what later findings go back to.
    pub const fn frame(&self) -> u64 {
        self.frame
    }

    /// Puts `rule` to the test.
    pub fn expect(&mut self, rule: Rule, holds: bool, expected: impl FnOnce() -> String) {
        match holds {
            true => self.pass(rule),
            false => self.fail(rule, expected()),
        }
    }

    /// The rule was put to the test, and holds.
    pub fn pass(&mut self, rule: Rule) {
        self.exercised.insert(rule);
    }

    /// The rule was put to the test, and is broken.
    pub fn fail(&mut self, rule: Rule, expected: impl Into<String>) {
        self.push(rule, expected.into(), None);
    }

    /// Puts `rule` to the test: `got`, which stands at the JSON pointer `at` of the frame, equals `expected`. `what`: the
    /// expected value in words, such as "the model that was set last".
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

    /// The rule is broken: `got`, which stands at the JSON pointer `at` of the frame, is not `expected`.
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

    /// Names the frame to which everything that is found from here on goes back, as reports show it, too.
    pub const fn set_cause(&mut self, frame: Option<u64>) {
        self.cause = frame;
    }

    /// The frame to which what is found goes back.
    pub const fn cause(&self) -> Option<u64> {
        self.cause
    }

    /// Runs tests whose findings go back to the frame `cause`, where one is known.
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

/// A set of rules: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet([u128; 2]);

const _: () = assert!(Rule::ALL.len() <= 256, "a set of rules has 256 bits");

impl RuleSet {
    /// Adds `rule`.
    pub const fn insert(&mut self, rule: Rule) {
        self.0[rule as usize / 128] |= 1 << (rule as u32 % 128);
    }

    /// Whether `rule` is in it.
    pub const fn contains(&self, rule: Rule) -> bool {
        self.0[rule as usize / 128] & 1 << (rule as u32 % 128) != 0
    }

    /// Adds those of `other`.
    pub const fn extend(&mut self, other: &Self) {
        self.0[0] |= other.0[0];
        self.0[1] |= other.0[1];
    }

    /// Those in it, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(|rule| self.contains(*rule))
    }
}
