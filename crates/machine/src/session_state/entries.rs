//! The entries of the session, as the server has listed them.
//!
//! Takes some 50 bytes for each entry, up to [`MAX_ENTRIES`]. Of a session with more, nothing is known.

use super::{
    digest::{digest, text_digest},
    message_record::{MessageKey, MessageRecord},
    shells::shell_digest,
};
use pi_rpc_protocol::{AgentMessage, AgentMessageKind as Role, SessionEntry};
use std::collections::HashMap;

/// The most entries that are kept.
const MAX_ENTRIES: usize = 1 << 16;

/// The known entries, in their order.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    known: Vec<KnownEntry>,
    places: HashMap<u64, usize>,
    /// Whether the list begins with the session's first entry.
    are_listed: bool,
    /// The version of the session in which all of them were listed, if known.
    pub version: Option<u64>,
    /// Entries announced by events and not listed yet: id and digest.
    announced: Vec<(u64, u64)>,
    /// The digests of entries that the next list must contain, in any order.
    expected: Vec<u64>,
    /// The digests of entries that the next list must contain in this order.
    expected_in_order: Vec<u64>,
    branching: BranchPoint,
}

/// Where the entries behind the known ones begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BranchPoint {
    /// Behind the last known entry: the session has stayed on its branch.
    #[default]
    Nowhere,
    /// Behind the entry with this id, as a digest; `None`: at the beginning of the session.
    At(Option<u64>),
    /// Behind any entry.
    Unknown,
}

/// A known entry, as digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownEntry {
    /// The digest of its id.
    pub id: u64,
    /// The digest of the whole.
    pub digest: u64,
    /// The digest of the entry without its id, parent and timestamp.
    pub says: u64,
    /// The digest of the parent's id.
    pub parent: Option<u64>,
    /// The key of the message, if the entry is one.
    pub message: Option<MessageKey>,
    /// The digest of the text of a user message; 0 if it has no text.
    pub text: Option<u64>,
    /// The digest of the message of a shell command.
    pub shell: Option<u64>,
    /// Whether the entry is a label, which a fork does not copy.
    pub is_label: bool,
}

impl KnownEntry {
    /// Extracts what is kept of an entry.
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

/// A difference between a list and the known entries. Places are indices of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryMismatch {
    /// The entry at this place has changed.
    Altered(usize),
    /// A different entry is at this place.
    Other(usize),
    /// Entries are missing; there should be at least this many.
    Gone(usize),
}

impl Entries {
    /// The number of known entries, if they begin with the session's first.
    pub fn listed(&self) -> Option<usize> {
        self.are_listed.then_some(self.known.len())
    }

    /// Forgets all entries: the session has changed, or frames were missed.
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

    /// Notes where the next entries begin.
    pub const fn branch(&mut self, branching: BranchPoint) {
        self.branching = branching;
    }

    /// Where the next entries begin.
    pub const fn branching(&self) -> BranchPoint {
        self.branching
    }

    /// The leaf, if the known entries are all there are.
    pub fn leaf(&self) -> BranchPoint {
        match self.branching {
            BranchPoint::Nowhere => BranchPoint::At(self.known.last().map(|entry| entry.id)),
            other => other,
        }
    }

    /// Adds an entry that an event has announced.
    pub fn announce(&mut self, entry: &SessionEntry) {
        if self.announced.len() < MAX_ENTRIES {
            self.announced.push((text_digest(entry.id()), digest(entry)));
        }
    }

    /// Expects an entry with this digest in the next list.
    pub fn expect(&mut self, says: u64) {
        if self.expected.len() < MAX_ENTRIES {
            self.expected.push(says);
        }
    }

    /// Expects an entry with this digest in the next list, after those expected in order before.
    pub fn expect_next(&mut self, says: u64) {
        if self.expected_in_order.len() < MAX_ENTRIES {
            self.expected_in_order.push(says);
        }
    }

    /// Compares a list that begins at the place `from` with the known entries, of which `held` must be there.
    pub fn compare(&self, from: usize, listed: &[KnownEntry], held: usize) -> Result<(), EntryMismatch> {
        let known = self.known.get(from..).unwrap_or_default();
        for (place, (known, listed)) in known.iter().zip(listed).enumerate() {
            if known.id != listed.id {
                return Err(EntryMismatch::Other(place));
            }
            if known.digest != listed.digest {
                return Err(EntryMismatch::Altered(place));
            }
        }
        let held = held.min(self.known.len()).saturating_sub(from);
        if listed.len() < held { Err(EntryMismatch::Gone(held)) } else { Ok(()) }
    }

    /// Whether a list contains the announced entries unchanged; `None` if there are none.
    pub fn contains_announced(&self, from: usize, listed: &[KnownEntry]) -> Option<bool> {
        let at: HashMap<u64, u64> = listed.iter().map(|entry| (entry.id, entry.digest)).collect();
        let is = |(id, digest): &(u64, u64)| match self.places.get(id) {
            // The list may begin after it.
            Some(place) if *place < from => true,
            _ => at.get(id) == Some(digest),
        };
        (!self.announced.is_empty()).then(|| self.announced.iter().all(is))
    }

    /// Whether the `new` entries of a list contain the expected ones; `None` if none are expected.
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

    /// Replaces the entries from a place on by a list with this leaf, and clears all expectations.
    pub fn learn(&mut self, from: usize, listed: &[KnownEntry], leaf: Option<&str>) {
        self.version = None;
        let leaf = leaf.map(text_digest);
        let last = listed.last().or(from.checked_sub(1).and_then(|last| self.known.get(last)));
        self.branching = match last.map(|entry| entry.id) == leaf {
            true => BranchPoint::Nowhere,
            false => BranchPoint::At(leaf),
        };
        self.known.truncate(from);
        self.known.extend(listed);
        self.are_listed = self.known.len() <= MAX_ENTRIES;
        if !self.are_listed {
            self.known.clear();
        }
        self.places = self.known.iter().enumerate().map(|(place, entry)| (entry.id, place)).collect();
        self.announced.clear();
        self.expected.clear();
        self.expected_in_order.clear();
    }

    /// The known entries after the session was reopened, without those that were announced only.
    pub fn reopened(self) -> Self {
        Self {
            version: None,
            announced: Vec::new(),
            expected: Vec::new(),
            expected_in_order: Vec::new(),
            ..self
        }
    }

    /// The known entries of a fork at the entry `id`, or of a full copy for `None`. Nothing is known if the entries are not a
    /// plain sequence.
    pub fn forked(mut self, id: Option<&str>) -> Self {
        // The copy has the entries of the path alone, and a place of its own in them.
        if self.branching != BranchPoint::Nowhere {
            return Self::default();
        }
        let end = match id {
            Some(id) => self.place(id),
            None => Some(self.known.len()),
        };
        let mut before = None;
        for (place, entry) in self.known.iter().enumerate() {
            let is_copied = end.is_some_and(|end| place < end);
            let is_in_row = entry.parent == before && !(is_copied && entry.is_label);
            // The parent of the fork point is the last copied entry.
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

    /// The first message of host or model from the entry `id` on, if the entries from there are a plain sequence.
    pub fn first_from(&self, id: &str) -> Option<MessageKey> {
        let from = &self.known[self.place(id)?..];
        let is_row = from.windows(2).all(|pair| pair[1].parent == Some(pair[0].id));
        from.iter().filter_map(|entry| entry.message).find(MessageKey::is_core).filter(|_| is_row)
    }

    /// The digests of shell command messages among the entries.
    pub fn shells(&self) -> impl Iterator<Item = u64> {
        self.known.iter().filter_map(|entry| entry.shell)
    }

    /// The messages among the entries, with their places.
    pub fn messages(&self) -> impl Iterator<Item = (usize, MessageKey)> {
        self.known.iter().enumerate().filter_map(|(place, entry)| Some((place, entry.message?)))
    }
}

/// The digest of an entry without id, parent and timestamp, for the kinds of entries that commands cause; else 0.
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

/// The digest of the entry for a change of the model.
pub fn model_change(provider: &str, model: &str) -> u64 {
    digest(&("model_change", provider, model))
}

/// The digest of the entry for a change of the thinking level.
pub fn level_change(level: &str) -> u64 {
    digest(&("thinking_level_change", level))
}

/// The digest of the entry for a session's name.
pub fn name_change(name: &str) -> u64 {
    digest(&("session_info", name))
}

/// The digest of the entry for a compaction.
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
        let leaf = entries.last().and_then(|entry| entry["id"].as_str());
        listed.learn(0, &known, leaf);
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
