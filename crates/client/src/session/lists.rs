//! Members that are lists of messages or entries, and the sum of usage.

use pi_rpc_protocol::{AgentMessage, StopReason, TokenTotals, Usage};

/// Items at the end of a list from a response that events may repeat.
const REPEATED: usize = 16;

/// A list that events append to and that responses contain as a whole. Methods that change it return whether they did.
#[derive(Clone, Debug)]
pub(super) struct List<T> {
    items: Option<Vec<T>>,
    /// How many of them are from a response.
    known_from_read: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: None, known_from_read: 0 }
    }
}

impl<T: Clone + PartialEq> List<T> {
    /// The items, where they are known.
    pub fn items(&self) -> Option<&[T]> {
        self.items.as_deref()
    }

    /// Replaces the list by that of a response.
    pub fn replace(&mut self, items: &[T]) -> bool {
        self.known_from_read = items.len();
        let changes = self.items() != Some(items);
        if changes {
            self.items = Some(items.to_vec());
        }
        changes
    }

    /// Appends the item of an event, unless a response contained it already.
    pub fn append(&mut self, item: &T) -> bool {
        let Some(items) = &mut self.items else { return false };
        let known_from_read = items
            .get(self.known_from_read.saturating_sub(REPEATED)..self.known_from_read)
            .unwrap_or_default();
        let is_new = !known_from_read.contains(item);
        if is_new {
            items.push(item.clone());
        }
        is_new
    }

    /// Empties the list.
    pub fn clear(&mut self) -> bool {
        self.known_from_read = 0;
        self.items.replace(Vec::new()).is_none_or(|before| !before.is_empty())
    }

    /// Makes the list unknown.
    pub fn forget(&mut self) -> bool {
        self.known_from_read = 0;
        self.items.take().is_some()
    }
}

impl List<AgentMessage> {
    /// Removes the last message if it is a failed one of the assistant.
    pub fn remove_failed(&mut self) -> Option<AgentMessage> {
        let items = self.items.as_mut()?;
        let is_failed = |last: &mut AgentMessage| matches!(last, AgentMessage::Assistant(it) if it.stop_reason == StopReason::Error);
        let failed = items.pop_if(is_failed)?;
        self.known_from_read = self.known_from_read.min(items.len());
        Some(failed)
    }
}

/// A sum of no tokens.
pub(super) const fn no_tokens() -> TokenTotals {
    TokenTotals { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0, reasoning: None }
}

/// Adds the usage of a message to a sum.
pub(super) const fn add_usage(known: &TokenTotals, usage: &Usage) -> TokenTotals {
    let input = known.input.saturating_add(usage.input);
    let output = known.output.saturating_add(usage.output);
    let cache_read = known.cache_read.saturating_add(usage.cache_read);
    let cache_write = known.cache_write.saturating_add(usage.cache_write);
    let total = input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write);
    TokenTotals { input, output, cache_read, cache_write, total, reasoning: None }
}
