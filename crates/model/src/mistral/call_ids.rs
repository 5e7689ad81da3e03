//! Ids of calls as Mistral accepts them: nine letters and digits.

use crate::openai::ContentHash;
use std::collections::{HashMap, HashSet};

/// Length of every id.
const LENGTH: usize = 9;

/// The ids of one conversation. The same calls get the same ids in every request, so that the cache still fits.
#[derive(Debug, Default)]
pub struct CallIds {
    /// Sent ids by the ids of the conversation.
    sent: HashMap<String, String>,
    taken: HashSet<String>,
}

impl CallIds {
    /// The id to send for `id`: itself if it is valid, else one derived from it, which no other call has.
    pub fn sent(&mut self, id: &str) -> String {
        if let Some(sent) = self.sent.get(id) {
            return sent.clone();
        }
        let own = Some(id.to_owned()).filter(|id| is_valid(id)).into_iter();
        let mut candidates = own.chain((0_u64..).map(|attempt| derived(id, attempt)));
        let sent = candidates.find(|id| !self.taken.contains(id)).unwrap_or_default();
        self.taken.insert(sent.clone());
        self.sent.insert(id.to_owned(), sent.clone());
        sent
    }
}

fn is_valid(id: &str) -> bool {
    id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn derived(id: &str, attempt: u64) -> String {
    let mut hash = ContentHash::default();
    hash.add(id);
    hash.add(&format!("#{attempt}"));
    hash.digits()[..LENGTH].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_nine_letters_and_digits() {
        let mut ids = CallIds::default();
        let all = ["abc123XYZ", "call_1|fc_2", "", "日本", "abc123XYZ0"].map(|id| ids.sent(id));
        assert_eq!(all[0], "abc123XYZ");
        assert!(all.iter().all(|id| is_valid(id)), "{all:?}");
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 5);
        assert_eq!(ids.sent("call_1|fc_2"), all[1]);
        assert_eq!(CallIds::default().sent("call_1|fc_2"), all[1]);
    }

    #[test]
    fn taken_id_gets_another() {
        let mut ids = CallIds::default();
        let first = ids.sent("call_1");
        let second = ids.sent(&first);
        assert!(is_valid(&second) && second != first, "{first} {second}");
    }
}
