//! The messages of the session, as far as frames have shown them: those in memory (the context of the model), and those
//! among the entries, which are never removed.
//!
//! Takes some 100 bytes for each message, up to [`MAX_MESSAGES`] messages. Of more, the earlier ones are forgotten.

use super::{
    list_match::{Bounds, ExpectedMessage, ListFault, Pairs, pair_up},
    message_record::{MessageKey, MessageRecord, Presence},
};
use pi_rpc_protocol::{AgentMessage, AgentMessageKind as Role};
use std::{collections::HashMap, mem};

/// The most messages that are kept.
const MAX_MESSAGES: usize = 1 << 16;

/// The messages of a session.
#[derive(Clone, Debug, Default)]
pub struct MessageLog {
    /// The messages that were emitted or listed, in the order of the session's entries.
    items: Vec<MessageRecord>,
    /// Whether the first of them is the first of the session.
    is_whole: bool,
    /// Whether answers were removed from memory, which stay in the file.
    has_removed: bool,
    memory: Memory,
    /// The index of the first message of the current run; `None` if no run is open, or its beginning was missed.
    run: Option<usize>,
}

/// The messages in memory before the latest ones.
#[derive(Clone, Debug, Default)]
enum Memory {
    /// Unknown messages, then all emitted ones.
    #[default]
    Unknown,
    /// These messages, which replace earlier ones, then the emitted ones from an index on.
    From(Vec<MessageRecord>, usize),
    /// A summary, the last of the messages before an index, and those from it on.
    Compacted {
        /// The summary; `None` if it was shortened.
        summary: Option<Summary>,
        at: usize,
        /// The first kept message, if known.
        first: Option<MessageKey>,
        /// The newest message, if it is certainly kept.
        last: Option<MessageKey>,
    },
}

/// The summary of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The digest of the text.
    pub text: u64,
    /// The digest of the short text, if there is one.
    pub short: Option<u64>,
    /// Tokens of the context before it.
    pub tokens_before: u64,
}

/// A fault of the messages after a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptFault {
    /// They do not begin with the entry that the compaction named.
    First,
    /// The newest message is missing.
    Last,
}

/// A list of messages from the server.
pub struct ListedMessages {
    /// The keys of the messages, without those of shell commands.
    keys: Vec<MessageKey>,
    /// Their places in the list.
    places: Vec<usize>,
}

impl ListedMessages {
    /// Creates a list from messages with their places; `whole`: no text in the frame was shortened.
    pub fn of<'m>(messages: impl IntoIterator<Item = (usize, &'m AgentMessage)>, whole: bool) -> Self {
        let without_shells =
            messages.into_iter().filter(|(_, message)| message.kind() != Role::BashExecution);
        let (places, keys) =
            without_shells.map(|(place, message)| (place, MessageKey::of(message, whole))).unzip();
        Self { keys, places }
    }

    /// Creates a list from keys with their places.
    pub fn of_keys(keys: impl IntoIterator<Item = (usize, MessageKey)>) -> Self {
        let (places, keys) = keys.into_iter().unzip();
        Self { keys, places }
    }

    /// Converts a fault to the places of the server's list.
    fn placed(&self, fault: ListFault, from: usize) -> ListFault {
        let place = |at: usize| {
            let behind = self.places.last().map_or(0, |last| last + 1);
            self.places.get(from + at).copied().unwrap_or(behind)
        };
        match fault {
            ListFault::Altered(at) => ListFault::Altered(place(at)),
            ListFault::Repeated(at) => ListFault::Repeated(place(at)),
            ListFault::NeverEmitted(at) => ListFault::NeverEmitted(place(at)),
            ListFault::Misplaced(at) => ListFault::Misplaced(place(at)),
            ListFault::Missing(key, at) => ListFault::Missing(key, place(at)),
        }
    }
}

/// The match of a list in memory with the emitted messages.
pub struct MemoryMatch {
    /// The number of messages of the list before the paired ones, which replace others.
    head: usize,
    /// The index of the first message that the pairs may refer to.
    from: usize,
    pairs: Pairs,
}

impl MessageLog {
    /// The number of messages.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the first known message is the first of the session.
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether all messages in memory are known.
    pub fn is_memory_known(&self) -> bool {
        matches!(self.memory, Memory::From(..)) && self.in_memory().all(|item| item.memory != Presence::Maybe)
    }

    /// The emitted messages that are or may be in memory, without those that replace others.
    pub fn in_memory(&self) -> impl DoubleEndedIterator<Item = &MessageRecord> {
        self.items[self.in_memory_from()..].iter().filter(|item| item.memory != Presence::Out)
    }

    const fn in_memory_from(&self) -> usize {
        match &self.memory {
            Memory::From(_, from) => *from,
            Memory::Unknown | Memory::Compacted { .. } => 0,
        }
    }

    /// The assistant messages that are or may be in memory, newest first, each with whether it certainly is. Those that were
    /// aborted before they had content are left out.
    pub fn answers(&self) -> impl Iterator<Item = (&MessageRecord, bool)> {
        let certain_from = match &self.memory {
            Memory::Unknown => 0,
            Memory::From(_, from) => *from,
            Memory::Compacted { at, .. } => *at,
        };
        let items = self.items.iter().enumerate().skip(self.in_memory_from()).rev();
        let answers = items.filter(|(_, item)| {
            item.key.role == Role::Assistant && item.memory != Presence::Out && !item.is_empty_abort
        });
        answers.map(move |(place, item)| (item, item.memory == Presence::In && place >= certain_from))
    }

    /// Whether the first of [`in_memory`](Self::in_memory) is the first there is.
    pub const fn begins_in_memory(&self) -> bool {
        matches!(self.memory, Memory::From(..))
    }

    /// The messages in memory that replace earlier ones.
    pub fn replacements(&self) -> &[MessageRecord] {
        match &self.memory {
            Memory::From(head, _) => head,
            Memory::Unknown | Memory::Compacted { .. } => &[],
        }
    }

    /// Adds a complete message.
    pub fn add(&mut self, item: MessageRecord) {
        if self.items.len() == MAX_MESSAGES {
            self.forget();
        }
        self.items.push(item);
    }

    /// Begins a run.
    pub const fn begin_run(&mut self) {
        self.run = Some(self.items.len());
    }

    /// The digest of a message's text, if it was not shortened.
    pub fn text_of(&self, key: &MessageKey) -> Option<u64> {
        self.items.iter().find(|item| item.key.is(key))?.text
    }

    /// Ends the run. Returns its messages; `None` if they are not all known.
    pub fn end_run(&mut self) -> Option<&[MessageRecord]> {
        self.items.get(self.run.take()?..)
    }

    /// The messages of the open run may be no entries; those of all, where its beginning was missed.
    pub fn doubt_run_entries(&mut self) {
        let from = self.run.unwrap_or_default().min(self.items.len());
        self.items[from..].iter_mut().for_each(|item| item.file = Presence::Maybe);
    }

    /// Forgets all messages: frames were missed.
    pub fn forget(&mut self) {
        *self = Self { has_removed: self.has_removed, ..Self::default() };
    }

    /// Whether answers were removed from memory, which stay in the file.
    pub const fn has_removed(&self) -> bool {
        self.has_removed
    }

    /// Clears the log for a new session.
    pub fn clear(&mut self) {
        *self = Self { is_whole: true, memory: Memory::From(Vec::new(), 0), ..Self::default() };
    }

    /// Notes that there were no messages in memory before the known ones.
    pub fn mark_beginning(&mut self) {
        if matches!(self.memory, Memory::Unknown) {
            // A removed answer may be one that was forgotten.
            (self.memory, self.is_whole) = (Memory::From(Vec::new(), 0), !self.has_removed);
        }
    }

    /// Removes the last assistant message and its tool results from memory. Returns the message if nothing else is removed, and
    /// that is certain.
    pub fn remove_last_answer(&mut self, certain: bool) -> Option<MessageRecord> {
        self.has_removed = true;
        let at = self.items.iter().rposition(|item| item.key.role == Role::Assistant)?;
        let was_in = self.items[at].memory == Presence::In;
        let results = &mut self.items[at + 1..];
        let is_last = results.is_empty();
        results.iter_mut().for_each(|item| item.memory = Presence::Maybe);
        self.items[at].memory = if certain && is_last { Presence::Out } else { Presence::Maybe };
        (certain && is_last && was_in).then(|| self.items[at])
    }

    /// Whether the last message is a failed assistant message that may still be in memory.
    pub fn ends_in_failure(&self) -> bool {
        self.items.last().is_some_and(|item| item.has_failed && item.memory != Presence::Out)
    }

    /// Replaces messages in memory by a summary (`None` if it was shortened). `first` is the first kept message, if known;
    /// `keeps_last`: the newest message is certainly kept.
    pub fn compact(&mut self, summary: Option<Summary>, first: Option<MessageKey>, keeps_last: bool) {
        let is_certain = |item: &MessageRecord| item.memory == Presence::In && item.file == Presence::In;
        let is_there = |key: &MessageKey| self.items.iter().any(|item| is_certain(item) && item.key.is(key));
        let first = first.filter(is_there);
        let newest = self.items.last().filter(|item| keeps_last && is_certain(item) && item.key.is_core());
        let last = newest.map(|item| item.key);
        self.rebuild();
        self.memory = Memory::Compacted { summary, at: self.items.len(), first, last };
    }

    /// The fault of the messages after the summary in a list; `None` if none is known.
    pub fn kept_fault(&self, listed: &ListedMessages) -> Option<KeptFault> {
        let Memory::Compacted { first, last, .. } = &self.memory else { return None };
        let keys = &listed.keys;
        let summary = keys.iter().position(|key| key.role == Role::CompactionSummary)?;
        let mut kept = keys[summary + 1..].iter().filter(|key| key.is_core());
        let is_missing = last.is_some_and(|last| !kept.clone().any(|key| last.is(key)));
        let begins = kept.next();
        let is_other = first.is_some_and(|first| !begins.is_some_and(|key| first.is(key)));
        is_other.then_some(KeptFault::First).or_else(|| is_missing.then_some(KeptFault::Last))
    }

    /// Whether a run is open.
    pub const fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Whether the session has an assistant message; without one, some servers write no file.
    pub fn has_answer(&self) -> bool {
        self.items.iter().any(|item| item.key.role == Role::Assistant && item.file == Presence::In)
    }

    /// Reopens the session from its file. Returns whether its messages are known.
    pub fn reopen(&mut self) -> bool {
        let is_known = self.branch(None);
        // Some servers store large content in another form.
        for item in self.items.iter_mut().filter(|item| item.is_large) {
            item.key.digest = None;
        }
        is_known
    }

    /// Keeps the messages before the user message that `later` others follow, or all for `None`, for a fork. Returns whether
    /// they are known.
    pub fn branch(&mut self, later: Option<usize>) -> bool {
        let place = match later {
            None => Some(self.items.len()),
            Some(later) => {
                let mut users = self.items.iter().enumerate().rev().filter(|(_, item)| is_fork_point(item));
                users.nth(later).map(|(place, _)| place)
            }
        };
        // A branch from before a compaction has other messages in memory.
        let is_plain = match &self.memory {
            Memory::Unknown => true,
            Memory::From(head, from) => head.is_empty() && *from == 0,
            Memory::Compacted { .. } => false,
        };
        let Some(place) = place.filter(|_| is_plain) else {
            self.forget();
            return false;
        };
        self.items.truncate(place);
        self.rebuild();
        self.run = None;
        true
    }

    /// Rebuilds memory from the entries: messages that a retry had removed return in some servers, messages that are not entries
    /// are gone, and those of another kind of entry have the entry's timestamp.
    fn rebuild(&mut self) {
        for item in &mut self.items {
            if item.memory == Presence::Out || item.file != Presence::In || !is_entry(item.key.role) {
                item.memory = Presence::Maybe;
            }
        }
    }

    /// Matches a list of the messages in memory with the emitted ones, of which the first `held` must be there. `is_calm`:
    /// nothing is running that adds messages.
    pub fn match_memory(
        &self,
        listed: &ListedMessages,
        held: usize,
        is_calm: bool,
    ) -> Result<MemoryMatch, ListFault> {
        let keys = &listed.keys;
        let (skip, starts, is_open_before) = match &self.memory {
            Memory::Unknown => (0, vec![0], true),
            Memory::From(_, from) => (0, vec![*from], false),
            Memory::Compacted { at, .. } => {
                if let Some(fault) = self.altered(listed) {
                    return Err(fault);
                }
                let summary = keys.iter().position(|key| key.role == Role::CompactionSummary);
                let skip = summary.map_or(0, |place| place + 1);
                let kept = keys[skip..].iter().find(|key| key.is_core());
                let is_first = |place: &usize| kept.is_some_and(|kept| self.items[*place].key.is(kept));
                // Equal messages of one millisecond cannot be told apart: the kept one may be any of them.
                let starts: Vec<usize> = (0..*at).filter(is_first).collect();
                match starts.is_empty() {
                    true => (skip, vec![*at], !self.is_whole),
                    false => (skip, starts, false),
                }
            }
        };
        if let Some(place) = keys[..skip].iter().position(MessageKey::is_core) {
            return Err(listed.placed(ListFault::NeverEmitted(place), 0));
        }
        let bounds = Bounds { is_open_before, is_open_behind: !is_calm };
        let mut fits = starts.iter().map(|from| self.fit_from(*from, skip, &keys[skip..], held, bounds));
        let first = fits.next().unwrap_or(Err(ListFault::NeverEmitted(0)));
        first.or_else(|fault| fits.find_map(Result::ok).ok_or_else(|| listed.placed(fault, skip)))
    }

    /// Pairs the listed messages behind the first `skip` with those in memory from the place `from` on.
    fn fit_from(
        &self,
        from: usize,
        skip: usize,
        keys: &[MessageKey],
        held: usize,
        bounds: Bounds,
    ) -> Result<MemoryMatch, ListFault> {
        let is_compacted = self.is_compacted();
        let mut all: Vec<ExpectedMessage> = self
            .replacements()
            .iter()
            .map(|item| ExpectedMessage { key: item.key, is_needed: true })
            .collect();
        let (heads, mut places) = (all.len(), Vec::new());
        for (place, item) in self.items.iter().enumerate().skip(from) {
            // A compaction may write the system message anew.
            let may_change = is_compacted && item.key.role == Role::System;
            if item.memory != Presence::Out {
                let is_needed = item.memory == Presence::In && place < held && !may_change;
                all.push(ExpectedMessage { key: item.key, is_needed });
                places.push(place);
            }
        }
        let pairs = pair_up(&all, keys, bounds)?;
        let own = |pair: Option<usize>| pair.and_then(|at| at.checked_sub(heads)).map(|at| places[at]);
        let head = pairs.iter().filter(|pair| pair.is_some_and(|at| at < heads)).count();
        Ok(MemoryMatch { head: skip + head, from, pairs: pairs.into_iter().skip(head).map(own).collect() })
    }

    /// Whether memory must begin with a summary.
    pub const fn is_compacted(&self) -> bool {
        matches!(self.memory, Memory::Compacted { .. })
    }

    /// The summary at the beginning of memory, if known.
    pub const fn summary(&self) -> Option<Summary> {
        match &self.memory {
            Memory::Compacted { summary, .. } => *summary,
            Memory::Unknown | Memory::From(..) => None,
        }
    }

    /// Replaces memory by a list of the server. `fit` is its match with the emitted messages; `None` if there is none.
    pub fn learn(&mut self, messages: &[AgentMessage], whole: bool, fit: Option<MemoryMatch>) {
        let without_shells = messages.iter().filter(|message| message.kind() != Role::BashExecution);
        let listed: Vec<MessageRecord> =
            without_shells.map(|message| MessageRecord::of(message, whole)).collect();
        if listed.len() > MAX_MESSAGES {
            return self.forget();
        }
        self.is_whole &= fit.is_some();
        let (items, fit) = match fit {
            Some(fit) => (mem::take(&mut self.items), fit),
            None => (Vec::new(), MemoryMatch { head: 0, from: 0, pairs: vec![None; listed.len()] }),
        };
        let summary = listed.iter().position(|item| item.key.role == Role::CompactionSummary);
        let heads = fit.head.max(summary.map_or(0, |place| place + 1));
        let (head, rest) = listed.split_at(heads.min(listed.len()));
        let pairs = fit.pairs.iter().skip(heads.saturating_sub(fit.head));
        let mut learned: Vec<MessageRecord> = items[..fit.from.min(items.len())].to_vec();
        let from = learned.len();
        let mut next = from;
        for (item, pair) in rest.iter().zip(pairs.chain(std::iter::repeat(&None))) {
            match pair {
                Some(at) => {
                    let left_out = items.get(next..*at).unwrap_or_default();
                    learned
                        .extend(left_out.iter().map(|item| MessageRecord { memory: Presence::Out, ..*item }));
                    learned.push(MessageRecord { memory: Presence::In, file: items[*at].file, ..*item });
                    next = at + 1;
                }
                // A message that was never emitted may not be an entry.
                None => learned.push(MessageRecord { file: Presence::Maybe, ..*item }),
            }
        }
        let left_out = items.get(next..).unwrap_or_default();
        learned.extend(left_out.iter().map(|item| MessageRecord { memory: Presence::Out, ..*item }));
        (self.items, self.memory, self.run) = (learned, Memory::From(head.to_vec(), from), None);
    }

    /// Matches the messages among the entries with the emitted ones, of which the first `held` must be there.
    pub fn match_entries(
        &self,
        listed: &ListedMessages,
        held: usize,
        is_calm: bool,
    ) -> Result<(), ListFault> {
        let kept = self.items.iter().enumerate().filter(|(_, item)| is_entry(item.key.role));
        let expected = kept.filter(|(_, item)| item.file != Presence::Out).map(|(place, item)| {
            ExpectedMessage { key: item.key, is_needed: item.file == Presence::In && place < held }
        });
        let bounds = Bounds { is_open_before: !self.is_whole, is_open_behind: !is_calm };
        let expected: Vec<ExpectedMessage> = expected.collect();
        pair_up(&expected, &listed.keys, bounds).map(drop).map_err(|fault| listed.placed(fault, 0))
    }

    /// The first listed message that was emitted with other content, which is a fault in any case.
    pub fn altered(&self, listed: &ListedMessages) -> Option<ListFault> {
        let mut by_name: HashMap<u64, Vec<&MessageRecord>> = HashMap::new();
        for item in &self.items {
            by_name.entry(item.key.name).or_default().push(item);
        }
        // Prompts, and answers that fail at once, may have the millisecond of a message that was missed.
        let is_sure =
            |item: &MessageRecord| self.is_whole || !(item.key.role == Role::User || item.has_failed);
        let is_emitted =
            |key: &MessageKey, named: &[&MessageRecord]| named.iter().any(|item| item.key.is(key));
        let altered = |key: &MessageKey| {
            let Some(named) = by_name.get(&key.name).filter(|_| key.is_core()) else { return false };
            // The list may have the emitted message, and beside it the one that was missed.
            let is_beside = |other: &MessageKey| other.name == key.name && is_emitted(other, named);
            named.iter().all(|item| is_sure(item))
                && !is_emitted(key, named)
                && (self.is_whole || !listed.keys.iter().any(is_beside))
        };
        let place = listed.keys.iter().position(altered)?;
        Some(listed.placed(ListFault::Altered(place), 0))
    }
}

/// Whether messages of this role are entries of the kind `message`.
pub const fn is_entry(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant | Role::ToolResult | Role::System)
}

/// Whether a session can be forked at the message.
pub fn is_fork_point(item: &MessageRecord) -> bool {
    item.key.role == Role::User && item.text != Some(0)
}
