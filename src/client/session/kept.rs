//! Members that are lists of messages or entries, and the sum of usage.

use crate::protocol::{AgentMessage, TokenTotals, Usage};

/// How many of the last items of a list that was told may come once more as events.
const REPEATED: usize = 16;

/// A list that grows by events and is told as a whole by a read.
#[derive(Clone, Debug)]
pub(super) struct List<T> {
    items: Option<Vec<T>>,
    /// How many of them were told by a read.
    told: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: None, told: 0 }
    }
}

impl<T: Clone + PartialEq> List<T> {
    /// The items, where they are known.
    pub fn items(&self) -> Option<&[T]> {
        self.items.as_deref()
    }

    /// A read has told all of it.
    pub fn learn(&mut self, items: &[T]) {
        self.told = items.len();
        // What is equal stays where it is.
        if self.items() != Some(items) {
            self.items = Some(items.to_vec());
        }
    }

    /// An event has brought an item, which a read may have told already.
    pub fn append(&mut self, item: &T) {
        let Some(items) = &mut self.items else { return };
        let told = items.get(self.told.saturating_sub(REPEATED)..self.told).unwrap_or_default();
        if !told.contains(item) {
            items.push(item.clone());
        }
    }

    /// It is empty, or not known.
    pub fn replace(&mut self, items: Option<Vec<T>>) {
        (self.items, self.told) = (items, 0);
    }
}

impl List<AgentMessage> {
    /// The answer that failed leaves it. Gives that message, if it was the last.
    pub fn drop_failed(&mut self) -> Option<AgentMessage> {
        let items = self.items.as_mut()?;
        let is_failed = items.last().is_some_and(
            |last| matches!(last, AgentMessage::Assistant(it) if it.stop_reason.as_str() == "error"),
        );
        let last = if is_failed { items.pop() } else { None };
        match last {
            Some(_) => self.told = self.told.min(items.len()),
            None => self.replace(None),
        }
        last
    }
}

/// A sum of nothing.
pub(super) const fn nothing() -> TokenTotals {
    TokenTotals { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 }
}

/// A sum with the usage of one more message.
pub(super) const fn sum(known: &TokenTotals, usage: &Usage) -> TokenTotals {
    let input = known.input.saturating_add(usage.input);
    let output = known.output.saturating_add(usage.output);
    let cache_read = known.cache_read.saturating_add(usage.cache_read);
    let cache_write = known.cache_write.saturating_add(usage.cache_write);
    let total = input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write);
    TokenTotals { input, output, cache_read, cache_write, total }
}
