//! The entries of the session, as the server lists them.
//!
//! It grows with the session: some 50 bytes an entry, up to [`MOST`]. Of a session with more, nothing is known.

use super::{
    digest::{digest, text_digest},
    message_record::{MessageKey, MessageRecord},
    shells::shell_digest,
};
use crate::protocol::{AgentMessage, AgentMessageKind as Role, SessionEntry};
use std::collections::HashMap;

/// Entries that are kept.
const MOST: usize = 1 << 16;

/// The entries that are known, in their order.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    known: Vec<KnownEntry>,
    places: HashMap<u64, usize>,
    /// They were listed from the first on.
    are_listed: bool,
    /// The version of the session in which all of them were listed, where that is known.
    pub version: Option<u64>,
    /// Those that were told as they came and are in no list yet: id and digest.
    announced: Vec<(u64, u64)>,
    /// The digests of what has to be among those that are listed next.
    expected: Vec<u64>,
    /// What was done whose entries come in this order.
    expected_in_order: Vec<u64>,
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownEntry {
    /// The digest of its id.
    pub id: u64,
    /// The digest of the whole.
    pub digest: u64,
    /// The digest of what it says besides its id, its parent and its time.
    pub says: u64,
    /// The digest of its parent's id.
    pub parent: Option<u64>,
    /// The message that it is.
    pub message: Option<MessageKey>,
    /// The digest of what a message of the user says; 0: it has no text.
    pub text: Option<u64>,
    /// The digest of the message of a shell command.
    pub shell: Option<u64>,
    /// It marks another entry: such a mark is not taken along into a fork.
    pub is_label: bool,
}

impl KnownEntry {
    /// What is kept of `entry`.
    pub fn of(entry: &SessionEntry) -> Self {
        let message = match entry {
            SessionEntry::Message(entry) => Some(&entry.message),
            _ => None,
        };
        let text = message.filter(|message| message.kind() == Role::User);
        let shell = match message {
            Some(AgentMessage::BashExecution(message)) => Some(shell_digest(message)),
            _ => None,
        };
        Self {
            id: text_digest(entry.id()),
            digest: digest(entry),
            says: content_digest(entry),
            parent: entry.parent_id().map(text_digest),
            message: message.map(|message| MessageKey::of(message, true)),
            text: text.and_then(|message| MessageRecord::of(message, true).text),
            shell,
            is_label: matches!(entry, SessionEntry::Label(_)),
        }
    }
}

/// How a list differs from what is known. Places are those of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryMismatch {
    /// The entry at this place was another.
    Altered(usize),
    /// At this place stands another entry than before.
    Other(usize),
    /// Entries that were there are gone: there should be so many at least.
    Gone(usize),
}

impl Entries {
    /// How many are known, where they were listed from the first on.
    pub fn listed(&self) -> Option<usize> {
        self.are_listed.then_some(self.known.len())
    }

    /// Another session has taken the place of this one, or something was missed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The place of an entry.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(&text_digest(id)).copied()
    }

    /// The entry at a place.
    pub fn get(&self, place: usize) -> Option<&KnownEntry> {
        self.known.get(place)
    }

    /// An entry was told as it came.
    pub fn announce(&mut self, entry: &SessionEntry) {
        if self.announced.len() < MOST {
            self.announced.push((text_digest(entry.id()), digest(entry)));
        }
    }

    /// Something was done that has an entry: the digest of what it says.
    pub fn expect(&mut self, says: u64) {
        if self.expected.len() < MOST {
            self.expected.push(says);
        }
    }

    /// The same of what has its entry in the order in which it was done.
    pub fn expect_next(&mut self, says: u64) {
        if self.expected_in_order.len() < MOST {
            self.expected_in_order.push(says);
        }
    }

    /// Holds a list that begins at the place `from` against what is known. `held`: so many have to be there.
    pub fn compare(&self, from: usize, told: &[KnownEntry], held: usize) -> Result<(), EntryMismatch> {
        let known = self.known.get(from..).unwrap_or_default();
        for (place, (known, told)) in known.iter().zip(told).enumerate() {
            if known.id != told.id {
                return Err(EntryMismatch::Other(place));
            }
            if known.digest != told.digest {
                return Err(EntryMismatch::Altered(place));
            }
        }
        let held = held.min(self.known.len()).saturating_sub(from);
        if told.len() < held { Err(EntryMismatch::Gone(held)) } else { Ok(()) }
    }

    /// Whether those that were told as they came are in a list as they were told; `None`: none were.
    pub fn contains_announced(&self, from: usize, told: &[KnownEntry]) -> Option<bool> {
        let at: HashMap<u64, u64> = told.iter().map(|entry| (entry.id, entry.digest)).collect();
        let is = |(id, digest): &(u64, u64)| match self.places.get(id) {
            // The list may begin behind it.
            Some(place) if *place < from => true,
            _ => at.get(id) == Some(digest),
        };
        (!self.announced.is_empty()).then(|| self.announced.iter().all(is))
    }

    /// Whether the list has what commands have caused since the last; `None`: nothing was caused. `new`: what it has more
    /// than the last.
    pub fn contains_expected(&self, new: &[KnownEntry]) -> Option<bool> {
        let mut says: HashMap<u64, usize> = HashMap::new();
        new.iter().for_each(|entry| *says.entry(entry.says).or_default() += 1);
        let mut is =
            |cause: &u64| says.get_mut(cause).filter(|left| **left > 0).map(|left| *left -= 1).is_some();
        let mut rest = new.iter();
        let mut comes = |cause: &u64| rest.any(|entry| entry.says == *cause);
        let owed = !self.expected.is_empty() || !self.expected_in_order.is_empty();
        owed.then(|| self.expected.iter().all(&mut is) && self.expected_in_order.iter().all(&mut comes))
    }

    /// The entries from that place on are these, and nothing is owed any more.
    pub fn learn(&mut self, from: usize, told: &[KnownEntry]) {
        self.version = None;
        self.known.truncate(from);
        self.known.extend(told);
        self.are_listed = self.known.len() <= MOST;
        if !self.are_listed {
            self.known.clear();
        }
        self.places = self.known.iter().enumerate().map(|(place, entry)| (entry.id, place)).collect();
        self.announced.clear();
        self.expected.clear();
        self.expected_in_order.clear();
    }

    /// What is known when the session is read again: what was told as it came was in no list.
    pub fn reopened(self) -> Self {
        Self {
            version: None,
            announced: Vec::new(),
            expected: Vec::new(),
            expected_in_order: Vec::new(),
            ..self
        }
    }

    /// What a fork at the entry with that id has of them; `None`: a copy of all. Where they are no plain row, nothing is known.
    pub fn forked(mut self, id: Option<&str>) -> Self {
        let end = match id {
            Some(id) => self.place(id),
            None => Some(self.known.len()),
        };
        let mut before = None;
        for (place, entry) in self.known.iter().enumerate() {
            let is_copied = end.is_some_and(|end| place < end);
            let is_in_row = entry.parent == before && !(is_copied && entry.is_label);
            // The parent of the entry at which it is forked is the last that is copied.
            if end.is_none_or(|end| place <= end) && !is_in_row {
                return Self::default();
            }
            before = Some(entry.id);
        }
        let Some(end) = end.filter(|_| self.are_listed) else { return Self::default() };
        self.known.truncate(end);
        self.places.retain(|_, place| *place < end);
        self.reopened()
    }

    /// The first message of host or model from the entry with that id on, where only plain followers stand behind it.
    pub fn first_from(&self, id: &str) -> Option<MessageKey> {
        let from = &self.known[self.place(id)?..];
        let is_row = from.windows(2).all(|pair| pair[1].parent == Some(pair[0].id));
        from.iter().filter_map(|entry| entry.message).find(MessageKey::is_core).filter(|_| is_row)
    }

    /// The messages of shell commands among them.
    pub fn shells(&self) -> impl Iterator<Item = u64> {
        self.known.iter().filter_map(|entry| entry.shell)
    }

    /// The messages among them.
    pub fn messages(&self) -> impl Iterator<Item = (usize, MessageKey)> {
        self.known.iter().enumerate().filter_map(|(place, entry)| Some((place, entry.message?)))
    }
}

/// The digest of what an entry says besides its id, its parent and its time, of the kinds that commands cause.
fn content_digest(entry: &SessionEntry) -> u64 {
    match entry {
        SessionEntry::ModelChange(it) => model_change(
            it.provider.as_deref().unwrap_or_default(),
            it.model_id.as_deref().unwrap_or_default(),
        ),
        SessionEntry::ThinkingLevelChange(it) => {
            level_change(it.thinking_level.as_deref().unwrap_or_default())
        }
        SessionEntry::SessionInfo(it) => name_change(it.name.as_deref().unwrap_or_default()),
        SessionEntry::Compaction(it) => compaction(&it.summary, &it.first_kept_entry_id, it.tokens_before),
        _ => 0,
    }
}

/// What the entry of a change of the model says.
pub fn model_change(provider: &str, model: &str) -> u64 {
    digest(&("model_change", provider, model))
}

/// What the entry of a change of the thinking level says.
pub fn level_change(level: &str) -> u64 {
    digest(&("thinking_level_change", level))
}

/// What the entry of a session's name says.
pub fn name_change(name: &str) -> u64 {
    digest(&("session_info", name))
}

/// What the entry of a compaction says.
pub fn compaction(summary: &str, first_kept: &str, tokens_before: u64) -> u64 {
    digest(&("compaction", summary, first_kept, tokens_before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn listed(entries: &[Value]) -> Entries {
        let known: Vec<KnownEntry> = entries
            .iter()
            .map(|entry| KnownEntry::of(&serde_json::from_value(entry.clone()).expect("an entry")))
            .collect();
        let mut listed = Entries::default();
        listed.learn(0, &known);
        listed
    }

    fn named(id: &str, parent: Option<&str>) -> Value {
        let time = "2026-11-24T15:17:46.806Z";
        json!({ "type": "session_info", "id": id, "parentId": parent, "timestamp": time, "name": id })
    }

    fn label(id: &str, parent: &str) -> Value {
        let time = "2026-11-24T15:17:46.806Z";
        json!({ "type": "label", "id": id, "parentId": parent, "timestamp": time, "targetId": parent })
    }

    #[test]
    fn fork_copies_entries_before_its_message() {
        let row = listed(&[named("a", None), named("b", Some("a")), named("c", Some("b"))]);
        assert_eq!(row.clone().forked(Some("c")).listed(), Some(2));
        assert_eq!(row.clone().forked(Some("a")).listed(), Some(0));
        assert_eq!(row.clone().forked(None).listed(), Some(3));
        assert_eq!(row.forked(Some("nowhere")).listed(), None);
    }

    #[test]
    fn copy_of_branches_or_labels_is_unknown() {
        let branched = listed(&[named("a", None), named("b", Some("a")), named("c", Some("a"))]);
        assert_eq!(branched.clone().forked(Some("c")).listed(), None);
        assert_eq!(branched.forked(Some("b")).listed(), Some(1));
        let labelled = listed(&[named("a", None), label("b", "a"), named("c", Some("b"))]);
        assert_eq!(labelled.forked(Some("c")).listed(), None);
    }
}
