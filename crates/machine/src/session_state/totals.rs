//! Totals of messages, tokens and dollars, as far as they are known.

use super::message_record::{MessageRecord, MessageUsage};

/// Totals over the messages of a list. Each part is known or `None`; a value that the server reports makes it known.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The number of messages of all roles.
    pub all: Option<u64>,
    /// The number of further messages that may be there.
    pub slack: u64,
    /// The number of messages of shell commands that were waiting at the last reported number, which may include them already.
    pub maybe_reported: u64,
    /// How many of these wait still.
    pub unsettled: u64,
    /// The numbers of user messages, assistant messages, tool calls, and tool results.
    pub counts: Option<[u64; 4]>,
    /// Tokens by kind.
    pub tokens: Option<[u64; 4]>,
    /// US dollars.
    pub cost: Option<f64>,
}

/// The tolerated rounding error, in dollars and relative to a total.
pub const ROUNDED: f64 = 1e-9;

impl Totals {
    /// The totals of an empty list.
    pub const fn empty() -> Self {
        Self {
            all: Some(0),
            slack: 0,
            maybe_reported: 0,
            unsettled: 0,
            counts: Some([0; 4]),
            tokens: Some([0; 4]),
            cost: Some(0.0),
        }
    }

    /// The totals of some messages.
    pub fn of<'i>(items: impl IntoIterator<Item = &'i MessageRecord>) -> Self {
        let mut account = Self::empty();
        items.into_iter().for_each(|item| account.add(item));
        account
    }

    /// Adds a message.
    pub fn add(&mut self, item: &MessageRecord) {
        self.add_other();
        if let Some(counts) = &mut self.counts {
            item.column().into_iter().for_each(|column| counts[column] += 1);
            counts[2] += item.contribution.calls;
        }
        self.spend(&item.contribution);
    }

    /// Adds a message without tokens or costs.
    pub fn add_other(&mut self) {
        self.all = self.all.map(|all| all + 1);
    }

    /// Adds tokens and costs.
    pub fn spend(&mut self, contribution: &MessageUsage) {
        if contribution.is_vague {
            (self.tokens, self.cost) = (None, None);
        }
        if let Some(tokens) = &mut self.tokens {
            tokens
                .iter_mut()
                .zip(contribution.tokens)
                .for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
        self.cost = self.cost.map(|cost| cost + contribution.cost);
    }

    /// Removes a message.
    pub fn remove(&mut self, item: &MessageRecord) {
        self.all = self.all.and_then(|all| all.checked_sub(1));
        if let Some(mut counts) = self.counts.take() {
            let parts =
                item.column().map(|column| (column, 1)).into_iter().chain([(2, item.contribution.calls)]);
            let fits = parts.into_iter().all(|(column, less)| {
                let rest = counts[column].checked_sub(less);
                counts[column] = rest.unwrap_or_default();
                rest.is_some()
            });
            self.counts = fits.then_some(counts);
        }
        if let Some(mut tokens) = self.tokens.take() {
            let fits = tokens.iter_mut().zip(item.contribution.tokens).all(|(sum, less)| {
                let rest = sum.checked_sub(less);
                *sum = rest.unwrap_or_default();
                rest.is_some()
            });
            self.tokens = fits.then_some(tokens);
        }
        self.cost = self.cost.map(|cost| cost - item.contribution.cost);
    }

    /// Allows for one message that may or may not be there.
    pub const fn allow_one(&mut self) {
        self.slack += 1;
    }

    /// Turns the `count` oldest of the possible messages into actual ones. Those that the last reported number may include are
    /// not counted.
    pub fn settle(&mut self, count: u64) {
        let reported = count.min(self.unsettled);
        self.unsettled -= reported;
        let uncounted = (count - reported).min(self.slack);
        self.all = self.all.map(|all| all + uncounted);
        self.slack -= uncounted;
    }

    /// Takes in the number of messages that the server reports, while `waiting` messages wait for the end of a run.
    pub const fn take_reported(&mut self, count: u64, waiting: u64) {
        (self.all, self.slack, self.maybe_reported, self.unsettled) = (Some(count), 0, waiting, waiting);
    }

    /// Takes in that the number of messages is not known.
    pub const fn lose_count(&mut self) {
        (self.all, self.slack, self.maybe_reported, self.unsettled) = (None, 0, 0, 0);
    }

    /// How many messages beyond `all` there may be.
    pub const fn possible(&self) -> u64 {
        self.slack + self.maybe_reported
    }

    /// Whether the reported number of messages is possible.
    pub fn fits_all(&self, reported: u64) -> bool {
        self.all.is_none_or(|all| (all..=all + self.possible()).contains(&reported))
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn reported_messages_settle_before_later_ones() {
        let mut totals = Totals::empty();
        totals.take_reported(3, 1);
        totals.allow_one();
        totals.settle(1);
        assert_eq!([2, 3, 5, 6].map(|count| totals.fits_all(count)), [false, true, true, false]);
        totals.settle(1);
        assert_eq!([3, 4, 5, 6].map(|count| totals.fits_all(count)), [false, true, true, false]);
    }
}
