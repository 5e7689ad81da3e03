//! Randomness as a list of numbers: a shorter list of smaller numbers leads to a simpler value, so that proptest
//! shrinks the numbers and the value follows.

use proptest::prelude::*;

/// The numbers behind one value.
pub fn choices() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..500)
}

/// Reader of the numbers; after the last one, every choice is the first.
pub struct Choices<'a>(std::slice::Iter<'a, u32>);

impl<'a> Choices<'a> {
    /// From the first number on.
    pub fn new(numbers: &'a [u32]) -> Self {
        Self(numbers.iter())
    }

    /// The next number.
    pub fn number(&mut self) -> u32 {
        self.0.next().copied().unwrap_or(0)
    }

    /// A number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.number() as usize % count
    }

    /// One of `options`.
    pub fn pick<'o, T: ?Sized>(&mut self, options: &[&'o T]) -> &'o T {
        options[self.below(options.len())]
    }

    /// True once in `odds`, never when the numbers are used up.
    pub fn once_in(&mut self, odds: usize) -> bool {
        self.below(odds) == odds - 1
    }
}
