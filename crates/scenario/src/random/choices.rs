//! A source of random choices that can be replayed: each choice takes one or two bytes, so that changing a byte changes one
//! choice.

use fastrand::Rng;
use std::collections::VecDeque;

/// Random choices from bytes of a fuzzer or of an earlier run, or from a seeded generator. When the bytes are used up, every
/// further choice is the first option; a seeded generator never ends.
pub struct Choices {
    taken: Vec<u8>,
    source: ChoiceSource,
}

enum ChoiceSource {
    Bytes(VecDeque<u8>),
    Seed(Rng),
}

impl Choices {
    /// Creates a source from bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self { taken: Vec::new(), source: ChoiceSource::Bytes(bytes.iter().copied().collect()) }
    }

    /// Creates a source from a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { taken: Vec::new(), source: ChoiceSource::Seed(Rng::with_seed(seed)) }
    }

    /// The bytes used so far, from which [`Choices::new`] makes the same choices.
    pub fn taken(&self) -> &[u8] {
        &self.taken
    }

    /// Draws a number below `count`, which is from 1 to 65536.
    pub fn below(&mut self, count: usize) -> usize {
        match count {
            ..=256 => usize::from(self.byte()) % count,
            _ => (usize::from(self.byte()) << 8 | usize::from(self.byte())) % count,
        }
    }

    /// Draws one of `options`.
    pub fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())].clone()
    }

    /// Draws one of `options` by weight.
    pub fn weighted<'o, T>(&mut self, options: &'o [(u32, T)]) -> &'o T {
        let all: u32 = options.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(all as usize) as u32;
        let chosen = options.iter().find(|(weight, _)| {
            let is_it = left < *weight;
            left = left.wrapping_sub(*weight);
            is_it
        });
        &chosen.unwrap_or(&options[0]).1
    }

    /// Draws true with a probability of 1 in `odds`; false when the bytes are used up.
    pub fn once_in(&mut self, odds: usize) -> bool {
        self.below(odds) == odds - 1
    }

    /// Draws a list of fewer than `count` items, shorter when the bytes are used up.
    pub fn several<T>(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(count);
        let mut all = Vec::new();
        while all.len() < count && !matches!(&self.source, ChoiceSource::Bytes(bytes) if bytes.is_empty()) {
            all.push(one(self));
        }
        all
    }

    fn byte(&mut self) -> u8 {
        let byte = match &mut self.source {
            ChoiceSource::Bytes(bytes) => bytes.pop_front(),
            ChoiceSource::Seed(rng) => Some(rng.u8(..)),
        };
        self.taken.extend(byte);
        byte.unwrap_or(0)
    }
}
