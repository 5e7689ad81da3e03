//! Lines that a client has sent and keeps until the host confirms them.

use std::collections::VecDeque;

/// The lines of a client that the host has not confirmed, and how many it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SentLines<T> {
    confirmed: u64,
    unconfirmed: VecDeque<T>,
}

impl<T> Default for SentLines<T> {
    fn default() -> Self {
        Self { confirmed: 0, unconfirmed: VecDeque::new() }
    }
}

impl<T> SentLines<T> {
    /// Keeps a line.
    pub fn push(&mut self, line: T) {
        self.unconfirmed.push_back(line);
    }

    /// The lines without confirmation, oldest first.
    pub fn unconfirmed(&self) -> impl ExactSizeIterator<Item = &T> {
        self.unconfirmed.iter()
    }

    /// Drops the lines that the host has received: `received` counts from the first line of the client. Returns them.
    pub fn confirm(&mut self, received: u64) -> impl Iterator<Item = T> {
        let count = received.saturating_sub(self.confirmed).min(self.unconfirmed.len() as u64);
        self.confirmed += count;
        self.unconfirmed.drain(..usize::try_from(count).unwrap_or_default())
    }

    /// Goes on with a connection whose host has received so many lines. Returns those that it need not be sent again.
    ///
    /// A host that counts less than was confirmed has refused a line with an answer, or has forgotten the client: the lines that
    /// it is sent next have the numbers behind its own count.
    pub fn resume(&mut self, received: u64) -> impl Iterator<Item = T> {
        self.confirmed = self.confirmed.min(received);
        self.confirm(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmed_lines_are_dropped() {
        let mut sent = SentLines::default();
        (1..=4).for_each(|line| sent.push(line));
        assert!(sent.confirm(2).eq([1, 2]));
        assert!(sent.confirm(1).next().is_none());
        assert!(sent.resume(3).eq([3]));
        assert!(sent.unconfirmed().eq([&4]));
    }

    #[test]
    fn host_that_counts_less_is_followed() {
        let mut sent = SentLines::default();
        (1..=2).for_each(|line| sent.push(line));
        assert!(sent.confirm(2).eq([1, 2]));
        assert!(sent.resume(1).next().is_none());
        sent.push(3);
        assert!(sent.confirm(2).eq([3]));
    }
}
