//! What the checks of a frame found, and which rules they had something to look at.

use crate::protocol::RuleId as Rule;

/// What is wrong with one frame, and the rules that it put to the test.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong: the rule, and what it wanted instead, in words.
    pub broken: Vec<(Rule, String)>,
    /// The rules that were put to the test since it was made.
    pub exercised: RuleSet,
}

impl Findings {
    /// Puts `rule` to the test.
    pub fn expect(&mut self, rule: Rule, holds: bool, expected: impl FnOnce() -> String) {
        match holds {
            true => self.kept(rule),
            false => self.broken(rule, expected()),
        }
    }

    /// The rule was put to the test, and holds.
    pub fn kept(&mut self, rule: Rule) {
        self.exercised.insert(rule);
    }

    /// The rule was put to the test, and is broken.
    pub fn broken(&mut self, rule: Rule, expected: impl Into<String>) {
        self.exercised.insert(rule);
        self.broken.push((rule, expected.into()));
    }
}

/// A set of rules: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(u128);

const _: () = assert!(Rule::ALL.len() <= 128, "a set of rules has 128 bits");

impl RuleSet {
    /// Adds `rule`.
    pub const fn insert(&mut self, rule: Rule) {
        self.0 |= 1 << rule as u32;
    }

    /// Whether `rule` is in it.
    pub const fn contains(&self, rule: Rule) -> bool {
        self.0 & 1 << rule as u32 != 0
    }

    /// Adds those of `other`.
    pub const fn extend(&mut self, other: &Self) {
        self.0 |= other.0;
    }

    /// Those in it, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(|rule| self.contains(*rule))
    }
}
