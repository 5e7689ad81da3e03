//! Digests of the texts of all assistant messages of a process, across its sessions. A reopened session must list each of its
//! messages with a text that was emitted for it.

use std::collections::HashMap;

/// The most messages that are kept; of more, nothing is known.
const MAX_ANSWERS: usize = 1 << 16;

/// Digests of the texts, by the identity of the message.
#[derive(Clone, Debug, Default)]
pub struct AnswerTexts {
    texts: HashMap<u64, Vec<Option<u64>>>,
}

impl AnswerTexts {
    /// Adds a complete message; `text` is the digest of its text, if it is known and final.
    pub fn add(&mut self, name: u64, text: Option<u64>) {
        if self.texts.len() < MAX_ANSWERS || self.texts.contains_key(&name) {
            let texts = self.texts.entry(name).or_default();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }

    /// Whether the message was emitted, and never with this text.
    pub fn contradicts(&self, name: u64, text: u64) -> bool {
        let is_same = |known: &Option<u64>| known.is_none_or(|known| known == text);
        self.texts.get(&name).is_some_and(|texts| !texts.iter().any(is_same))
    }
}
