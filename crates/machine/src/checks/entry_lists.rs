//! Judges the form of lists and trees of session entries, and the uniqueness of announced entries.
//!
//! Rule: `entries-tree`.

use crate::findings::Findings;
use pi_rpc_protocol::{EntryList, EntryTree, RuleId as Rule, SessionEntry};
use std::collections::HashSet;

/// The ids of entries announced by events, which must not repeat.
#[derive(Clone, Debug, Default)]
pub struct AppendedEntries(HashSet<String>);

/// The most ids that are remembered.
const MAX_IDS: usize = 4096;

impl AppendedEntries {
    /// Takes in an announced entry.
    pub fn on_entry(&mut self, entry: &SessionEntry, found: &mut Findings) {
        if self.0.len() == MAX_IDS {
            self.0.clear();
        }
        let new = self.0.insert(entry.id().to_owned());
        found.expect(Rule::EntriesTree, new, || "an entry that was not told before".to_owned());
    }

    /// Forgets all ids: the session has changed.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// Judges a list of entries; `whole`: it begins with the session's first entry.
pub fn check_list(list: &EntryList, whole: bool, found: &mut Findings) {
    let mut ids = HashSet::new();
    for entry in &list.entries {
        let known = entry.parent_id().is_none_or(|parent| ids.contains(parent));
        found.expect(Rule::EntriesTree, known || !whole, || {
            format!("the parent of the entry `{}` above it", entry.id())
        });
        found.expect(Rule::EntriesTree, ids.insert(entry.id()), || {
            format!("an id of its own, not `{}` again", entry.id())
        });
    }
    if whole {
        check_leaf(list.leaf_id.as_deref(), &ids, found);
    }
}

/// The leaf, if there is one, is one of the entries.
fn check_leaf(leaf: Option<&str>, ids: &HashSet<&str>, found: &mut Findings) {
    match leaf.filter(|leaf| !ids.contains(leaf)) {
        None => found.pass(Rule::EntriesTree),
        Some(leaf) => {
            found.fail(Rule::EntriesTree, format!("one of the entries as `/data/leafId`, not `{leaf}`"));
        }
    }
}

/// Judges a tree of entries.
pub fn check_tree(tree: &EntryTree, found: &mut Findings) {
    let mut ids = HashSet::new();
    for (above, node) in tree.tree.with_parents() {
        let id = node.entry.id();
        found.expect(Rule::EntriesTree, ids.insert(id), || format!("an id of its own, not `{id}` again"));
        // A root may name a missing parent.
        let below = above.is_none_or(|above| node.entry.parent_id() == Some(above.entry.id()));
        found.expect(Rule::EntriesTree, below, || format!("`{id}` below its parent"));
    }
    check_leaf(tree.leaf_id.as_deref(), &ids, found);
}
