//! Judges listed entries and branches of the session, against messages and commands.
//!
//! Rules: `fork-messages`, `compaction-result`, `entries-kept`, `entries-said`, `entries-caused`, `tree-navigation`.

use super::{
    frame_context::FrameContext,
    pending_read::{Interference, PendingRead},
    session_checks::{CommandArguments, SessionChecks},
};
use crate::{
    findings::Findings,
    session_state::{
        digest::text_digest,
        entries::{BranchPoint, EntryMismatch, KnownEntry},
        list_match::ListFault,
        message_log::{ListedMessages, is_entry},
        totals::Totals,
    },
};
use pi_rpc_protocol::{
    AgentMessage, EntryList, EntryTree, ForkMessage, ForkResult, RuleId as Rule, SessionEntry,
};
use std::collections::HashMap;

impl SessionChecks {
    /// Takes in a fork or branch at a user message.
    pub(super) fn forked(
        &mut self,
        arguments: Option<CommandArguments>,
        result: &ForkResult,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.has_forked = true;
        let Some(CommandArguments::Fork(entry)) = arguments else { return self.leave() };
        if let (Some(text), false) =
            (result.text.as_ref().filter(|_| !at.cut), self.may_be_changed_by_extensions())
        {
            let known = self.forks.text_of(&entry).or_else(|| self.entry_text(&entry));
            if let Some(known) = known {
                found.expect(Rule::ForkMessages, known == text_digest(text).max(1), || {
                    format!("the text of the message `{entry}` at /data/text")
                });
            }
        }
        if result.cancelled {
            return;
        }
        let (mut forks, mut log) = (self.forks.clone(), self.log.clone());
        let later = forks.branch(&entry, result.text.as_deref().filter(|_| !at.cut));
        // The originals do not end an open run.
        let is_known = later.is_some_and(|later| log.branch(Some(later))) && !at.met.flow.is_streaming();
        let entries = self.entries.clone().forked(Some(&entry));
        self.leave();
        self.has_begun = true;
        if is_known {
            (self.forks, self.log, self.entries) = (forks, log, entries);
            if self.log.is_memory_known() {
                self.memory = Totals::of(self.log.in_memory());
                // It is not known which shell commands came before it.
                self.memory.lose_count();
            }
        }
    }

    /// The digest of the text of a listed entry, if it is a user message.
    fn entry_text(&self, entry: &str) -> Option<u64> {
        let key = self.entries.get(self.entries.place(entry)?)?.message?;
        self.log.text_of(&key)
    }

    /// Takes in that the session continues in a copy.
    pub(super) fn cloned(&mut self) {
        let (forks, mut log, memory) = (self.forks.clone(), self.log.clone(), self.memory.clone());
        let is_known = log.branch(None);
        let entries = self.entries.clone().forked(None);
        self.leave();
        self.has_begun = true;
        if is_known {
            (self.forks, self.log, self.entries) = (forks, log, entries);
            if self.log.is_memory_known() {
                self.memory = memory;
            }
        }
    }

    /// Judges a list of entries.
    pub(super) fn entries_listed(
        &mut self,
        list: &EntryList,
        read: &PendingRead,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if at.cut || read.epoch != self.epoch {
            return;
        }
        let reported: Vec<KnownEntry> = list.entries.iter().map(KnownEntry::of).collect();
        let from = match &read.since {
            None => Some(0),
            Some(since) => self.entries.place(since).map(|place| place + 1),
        };
        // All entries are known, and this is not one of them.
        if let (Some(since), None) = (&read.since, from)
            && sight == Interference::None
            && !self.may_be_changed_by_extensions()
            && self.entries.version == Some(self.version)
        {
            found.fail(Rule::EntriesKept, format!("an error, as no entry has the id `{since}`"));
        }
        let (Some(from), true) = (from, read.since.is_none() || self.entries.listed().is_some()) else {
            return;
        };
        let known = self.entries.listed();
        let change = self.entries.compare(from, &reported, read.entries);
        found.expect(Rule::EntriesKept, change.is_ok(), || match change {
            Err(EntryMismatch::Altered(place)) => {
                format!("the entry at /data/entries/{place} as it was listed before")
            }
            Err(EntryMismatch::Other(place)) => {
                format!(
                    "the entry that was listed before at /data/entries/{place}, and new ones behind the last"
                )
            }
            Err(EntryMismatch::Gone(count)) => {
                format!("at least the {count} entries that were listed before")
            }
            Ok(()) => String::new(),
        });
        let new_from = known.map_or(reported.len(), |known| known.saturating_sub(from).min(reported.len()));
        if !self.may_be_changed_by_extensions() {
            self.follow_on(list, from, new_from, found);
        }
        let calm = sight == Interference::None && !self.may_be_changed_by_extensions();
        if calm {
            if let Some(holds) = self.entries.contains_announced(from, &reported) {
                found.expect(Rule::EntriesKept, holds, || {
                    "the entries that `entry_appended` has told, unchanged, in /data/entries".to_owned()
                });
            }
            let new = if known.is_some() { &reported[new_from..] } else { &reported[..] };
            if let Some(holds) = self.entries.contains_expected(new) {
                found.expect(Rule::EntriesCaused, holds, || {
                    "an entry in /data/entries for each change that was made".to_owned()
                });
            }
        }
        if change.is_err() || (!calm && known.is_some_and(|known| from + reported.len() < known)) {
            return;
        }
        self.entries.learn(from, &reported, list.leaf_id.as_deref());
        if calm {
            self.entries.version = Some(self.version);
        }
        self.said_in_entries(list, from, read, sight, found);
    }

    /// Judges that new entries follow the last one, and that the leaf is the newest.
    fn follow_on(&self, list: &EntryList, from: usize, new_from: usize, found: &mut Findings) {
        let mut before: Option<u64> = match new_from.checked_sub(1) {
            Some(last) => list.entries.get(last).map(|entry| text_digest(entry.id())),
            None => from.checked_sub(1).and_then(|last| self.entries.get(last)).map(|entry| entry.id),
        };
        let branching = self.entries.branching();
        match branching {
            BranchPoint::Nowhere => {}
            BranchPoint::At(parent) => before = parent,
            BranchPoint::Unknown => return,
        }
        for (place, entry) in list.entries.iter().enumerate().skip(new_from) {
            let parent = entry.parent_id().map(text_digest);
            found.expect(Rule::EntriesKept, parent == before || before.is_none(), || {
                format!("the entry before it at /data/entries/{place}/parentId")
            });
            before = Some(text_digest(entry.id()));
        }
        let is_again = |pair: &[SessionEntry]| match pair {
            [SessionEntry::ThinkingLevelChange(one), SessionEntry::ThinkingLevelChange(next)] => {
                next.parent_id.as_ref() == Some(&one.id) && one.thinking_level == next.thinking_level
            }
            _ => false,
        };
        let again = list.entries.windows(2).position(is_again);
        found.expect(Rule::EntriesCaused, again.is_none(), || {
            let place = again.unwrap_or_default() + 1;
            format!("another level than that of the entry before it at /data/entries/{place}")
        });
        let told = list.leaf_id.as_deref().map(text_digest);
        match (branching, list.entries.last()) {
            (BranchPoint::At(leaf), _) if list.entries.len() <= new_from => {
                found.expect(Rule::TreeNavigation, told == leaf, || {
                    "the entry that the navigation has led to at /data/leafId".to_owned()
                });
            }
            (_, Some(last)) => {
                found.expect(Rule::EntriesKept, list.leaf_id.as_deref() == Some(last.id()), || {
                    format!("the newest entry, `{}`, at /data/leafId", last.id())
                });
            }
            (_, None) => {}
        }
    }

    /// Judges that the emitted messages are among the entries.
    fn said_in_entries(
        &self,
        list: &EntryList,
        from: usize,
        read: &PendingRead,
        sight: Interference,
        found: &mut Findings,
    ) {
        if self.may_be_changed_by_extensions() || self.has_branched || sight == Interference::Unknown {
            return;
        }
        let is_calm = sight == Interference::None;
        let held = if is_calm { self.log.len() } else { read.messages };
        let marks = self.entries.messages().filter(|(_, key)| is_entry(key.role));
        let listed = ListedMessages::of_keys(marks);
        let fault = self.log.match_entries(&listed, held, is_calm).err();
        found.expect(Rule::EntriesSaid, fault.is_none(), || {
            let behind = |place: usize| place.checked_sub(from).filter(|at| *at < list.entries.len());
            match fault {
                Some(ListFault::Missing(key, _)) => format!("the {} message that was said", key.role),
                Some(ListFault::Altered(place)) => match behind(place) {
                    Some(at) => {
                        format!("the message at /data/entries/{at}/message as its `message_end` said it")
                    }
                    None => "the messages as they were said".to_owned(),
                },
                Some(
                    ListFault::Repeated(place) | ListFault::NeverEmitted(place) | ListFault::Misplaced(place),
                ) => match behind(place) {
                    Some(at) => {
                        format!("the messages that were said, in order, at /data/entries/{at}/message")
                    }
                    None => "the messages that were said, in order".to_owned(),
                },
                None => String::new(),
            }
        });
        if fault.is_none() && self.log.is_whole() && read.since.is_none() && !self.has_forked {
            of_set_models(&list.entries, found);
        }
        if is_calm {
            let missing = self.shells.missing_from(self.entries.shells());
            found.expect(Rule::EntriesSaid, missing == 0, || {
                format!(
                    "an entry for each command that `bash` has run, with its output: {missing} are missing"
                )
            });
        }
        let kept = |entry: &SessionEntry| match entry {
            SessionEntry::Compaction(entry) => Some(entry.first_kept_entry_id.clone()),
            _ => None,
        };
        for (place, first) in
            list.entries.iter().enumerate().filter_map(|(at, entry)| Some((at, kept(entry)?)))
        {
            let is_before = self.entries.place(&first).is_some_and(|at| at < from + place);
            found.expect(Rule::CompactionResult, is_before, || {
                format!("an entry above it at /data/entries/{place}/firstKeptEntryId")
            });
        }
    }

    /// Judges that the fork points are among the entries, if those are known.
    pub(super) fn fork_entries(&self, reported: &[ForkMessage], at: &FrameContext, found: &mut Findings) {
        let are_all = self.entries.version == Some(self.version);
        for (place, message) in reported.iter().enumerate() {
            let entry = self.entries.place(&message.entry_id).and_then(|entry| self.entries.get(entry));
            let text = text_digest(&message.text).max(1);
            match entry {
                Some(entry) => found.expect(Rule::ForkMessages, at.cut || entry.text == Some(text), || {
                    format!("the id of the entry with this text at /data/messages/{place}/entryId")
                }),
                None if are_all => found.fail(
                    Rule::ForkMessages,
                    format!("the id of one of the entries at /data/messages/{place}/entryId"),
                ),
                None => {}
            }
        }
    }

    /// Judges the tree of entries.
    pub(super) fn tree_listed(
        &self,
        tree: &EntryTree,
        read: &PendingRead,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let Some(known) = self.entries.listed() else { return };
        if at.cut || read.epoch != self.epoch || self.entries.version.is_none() {
            return;
        }
        let mut reported: HashMap<u64, u64> = HashMap::new();
        for (_, node) in tree.tree.iter() {
            let entry = KnownEntry::of(&node.entry);
            reported.insert(entry.id, entry.digest);
        }
        let held = known.min(read.entries);
        let missing = (0..held)
            .filter_map(|place| self.entries.get(place))
            .find(|entry| reported.get(&entry.id) != Some(&entry.digest));
        found.expect(Rule::EntriesKept, missing.is_none(), || {
            "the entries that were listed before, unchanged, in /data/tree".to_owned()
        });
        if sight == Interference::None && self.entries.version == Some(self.version) {
            found.expect(Rule::EntriesKept, reported.len() == known, || {
                format!("the {known} entries that `get_entries` has, in /data/tree")
            });
            let leaf = BranchPoint::At(tree.leaf_id.as_deref().map(text_digest));
            let is_known =
                !self.may_be_changed_by_extensions() && self.entries.leaf() != BranchPoint::Unknown;
            found.expect(Rule::EntriesKept, !is_known || leaf == self.entries.leaf(), || {
                "the leaf that `get_entries` has at /data/leafId".to_owned()
            });
        }
    }
}

/// Judges that answers are of models and levels that an entry above has set.
fn of_set_models(entries: &[SessionEntry], found: &mut Findings) {
    let (mut models, mut levels) = (Vec::new(), Vec::new());
    for (place, entry) in entries.iter().enumerate() {
        match entry {
            SessionEntry::ModelChange(change) => {
                models.extend(change.provider.as_deref().zip(change.model_id.as_deref()));
            }
            SessionEntry::ThinkingLevelChange(change) => levels.extend(change.thinking_level.as_deref()),
            SessionEntry::Message(entry) => {
                let AgentMessage::Assistant(answer) = &entry.message else { continue };
                if answer.error_message.is_some() {
                    continue;
                }
                let at = format!("/data/entries/{place}/message");
                let model = (answer.provider.as_str(), answer.model.as_str());
                if let Some(set) = models.last().filter(|_| !models.contains(&model)) {
                    let (at, what) = (format!("{at}/model"), "a model that an entry above has set");
                    return found.fail_with_difference(Rule::EntriesCaused, &at, what, &set.1, &model.1);
                }
                let level = answer.thinking_level.map(|level| level.as_str());
                if let (Some(set), Some(level)) = (levels.last(), level.filter(|it| !levels.contains(it))) {
                    let (at, what) = (format!("{at}/thinkingLevel"), "a level that an entry above has set");
                    return found.fail_with_difference(Rule::EntriesCaused, &at, what, set, &level);
                }
            }
            _ => {}
        }
    }
}
