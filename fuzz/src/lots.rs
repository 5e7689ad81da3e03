//! Things chosen by the bytes of an input, a byte for each choice: where a byte changes, one choice does. When they are
//! used up, every choice is the first.

/// Hands the choices out.
pub struct Lots<'d>(std::slice::Iter<'d, u8>);

impl<'d> Lots<'d> {
    /// From the first byte on.
    pub fn new(data: &'d [u8]) -> Self {
        Self(data.iter())
    }

    /// A number below `count`, which is from 1 to 256.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    /// One of `options`.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    /// True once in `odds`, never when the bytes are used up.
    pub fn once_in(&mut self, odds: usize) -> bool {
        self.below(odds) == odds - 1
    }

    /// Fewer than `count`, as long as there are bytes.
    pub fn several<T>(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(count);
        let mut all = Vec::new();
        while all.len() < count && !self.0.as_slice().is_empty() {
            all.push(one(self));
        }
        all
    }
}
