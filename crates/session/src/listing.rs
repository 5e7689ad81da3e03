//! Entries for hosts: as a list, or as a tree.

use super::{entry::Entry, time::iso, tree::Tree};
use pi_rpc_protocol::{Base, Children, EntryNode, Forest, MAX_FOREST_DEPTH, MessageEntry, SessionEntry};

impl Tree {
    /// Lists entries in the order of the file, as dialects built on `base` have them; with `since`, those behind that
    /// entry (`None`: there is none). Entries that the dialect does not have are left out.
    pub fn list_entries(&self, since: Option<&str>, base: Base) -> Option<Vec<SessionEntry>> {
        let from = match since {
            Some(id) => self.index_of(id)? + 1,
            None => 0,
        };
        Some(self.entries().iter().skip(from).filter_map(|entry| host_entry(entry, base)).collect())
    }

    /// Builds the tree of entries: roots in the order of the file, children by time (source: pi 1 source). An entry
    /// without its parent is a root. `None`: the tree is deeper than [`MAX_FOREST_DEPTH`].
    pub fn entry_tree(&self, base: Base) -> Option<Forest<EntryNode>> {
        let mut nodes = self.nodes(base);
        let (roots, children) = self.roots_and_children(&nodes);
        let mut forest = Forest::default();
        let mut next: Vec<(usize, usize)> = roots.into_iter().rev().map(|root| (root, 0)).collect();
        while let Some((place, level)) = next.pop() {
            if level == MAX_FOREST_DEPTH {
                return None;
            }
            if let Some(node) = nodes.get_mut(place).and_then(Option::take) {
                forest.push(level, node);
            }
            let below = children.get(place).into_iter().flatten().rev();
            next.extend(below.map(|child| (*child, level + 1)));
        }
        Some(forest)
    }

    /// Builds a node with its label for each entry that the dialect has.
    fn nodes(&self, base: Base) -> Vec<Option<EntryNode>> {
        let mut marks = self.label_entries();
        let nodes = self.entries().iter().map(|entry| {
            let mark = marks.remove(entry.id().as_ref());
            let (label, label_timestamp) = mark.map(|mark| (mark.label, mark.timestamp)).unzip();
            let label = label.flatten();
            Some(EntryNode { entry: host_entry(entry, base)?, children: Children, label, label_timestamp })
        });
        nodes.collect()
    }

    /// Indices of the roots, and of the children of each entry.
    fn roots_and_children(&self, nodes: &[Option<EntryNode>]) -> (Vec<usize>, Vec<Vec<usize>>) {
        let (mut roots, mut children) = (Vec::new(), vec![Vec::new(); nodes.len()]);
        for (place, entry) in self.entries().iter().enumerate() {
            let parent = entry.parent().and_then(|parent| self.index_of(parent));
            let parent =
                parent.filter(|parent| *parent != place && matches!(nodes.get(*parent), Some(Some(_))));
            match parent.and_then(|parent| children.get_mut(parent)) {
                Some(siblings) => siblings.push(place),
                None => roots.push(place),
            }
        }
        for siblings in &mut children {
            siblings.sort_by_key(|place| self.entries().get(*place).map(Entry::at));
        }
        (roots, children)
    }
}

/// Parses an entry in the form of a dialect, repairing its message; `None`: the dialect has no such entry.
fn host_entry(entry: &Entry, base: Base) -> Option<SessionEntry> {
    entry.kind().filter(|kind| kind.is_in(base))?;
    if entry.role().is_some_and(|role| !role.is_in(base)) {
        return None;
    }
    entry.content().or_else(|| {
        let message = entry.message()?.as_ref().clone();
        Some(SessionEntry::Message(MessageEntry {
            id: entry.id().to_string(),
            parent_id: entry.parent().map(ToString::to_string),
            timestamp: iso(entry.at()),
            message,
        }))
    })
}
