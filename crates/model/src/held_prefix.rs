//! The beginning of a conversation that a vendor holds, as a hash.

use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Hash of the settings and of the first items of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPrefix {
    /// Number of items.
    pub count: usize,
    hash: u64,
}

impl HeldPrefix {
    /// Hashes `settings`, which every request repeats, and all `items`.
    pub fn of(settings: &str, items: &[Value]) -> Self {
        let mut hasher = DefaultHasher::new();
        settings.hash(&mut hasher);
        items.iter().for_each(|item| item.to_string().hash(&mut hasher));
        Self { count: items.len(), hash: hasher.finish() }
    }

    /// Whether a conversation begins so.
    pub fn begins(self, settings: &str, items: &[Value]) -> bool {
        items.get(..self.count).is_some_and(|items| Self::of(settings, items) == self)
    }
}
