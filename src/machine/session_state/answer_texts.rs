//! The texts of all answers of a process, to know them again in a session that is taken up once more.

use std::collections::HashMap;

/// Answers that are kept; of more, nothing is known.
const MOST: usize = 1 << 16;

/// Digests of the texts, by what tells an answer from others.
#[derive(Clone, Debug, Default)]
pub struct AnswerTexts {
    texts: HashMap<u64, Vec<Option<u64>>>,
}

impl AnswerTexts {
    /// An answer is complete; `text`: the digest of its text, where it is known and stays as it is.
    pub fn add(&mut self, name: u64, text: Option<u64>) {
        if self.texts.len() < MOST || self.texts.contains_key(&name) {
            let texts = self.texts.entry(name).or_default();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }

    /// Whether that answer was said, and never with that text.
    pub fn contradicts(&self, name: u64, text: u64) -> bool {
        let is_same = |said: &Option<u64>| said.is_none_or(|said| said == text);
        self.texts.get(&name).is_some_and(|texts| !texts.iter().any(is_same))
    }
}
