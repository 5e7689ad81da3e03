//! Entries for hosts: as a list, or as a tree.

use super::{entry::Entry, time::iso, tree::Tree};
use pi_rpc_protocol::{Base, EntryNode, MessageEntry, SessionEntry};

/// Deepest nesting of [`Tree::entry_tree`]: parsers of JSON that is nested deeper give up or crash.
pub const MAX_TREE_DEPTH: usize = 400;

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
    /// without its parent is a root. `None`: the tree is deeper than [`MAX_TREE_DEPTH`].
    pub fn entry_tree(&self, base: Base) -> Option<Vec<EntryNode>> {
        let mut nodes: Vec<Option<EntryNode>> = self.unlinked_nodes(base);
        let (roots, children) = self.roots_and_children(&nodes);
        // Each entry comes before its children.
        let mut order = Vec::with_capacity(nodes.len());
        let mut next: Vec<(usize, usize)> = roots.iter().map(|root| (*root, 1)).collect();
        while let Some((place, depth)) = next.pop() {
            if depth > MAX_TREE_DEPTH {
                return None;
            }
            order.push(place);
            next.extend(children.get(place).into_iter().flatten().map(|child| (*child, depth + 1)));
        }
        for place in order.into_iter().rev() {
            let own: Vec<EntryNode> = children
                .get(place)
                .into_iter()
                .flatten()
                .filter_map(|child| nodes.get_mut(*child).and_then(Option::take))
                .collect();
            if let Some(node) = nodes.get_mut(place).and_then(Option::as_mut) {
                node.children = own;
            }
        }
        Some(roots.into_iter().filter_map(|root| nodes.get_mut(root).and_then(Option::take)).collect())
    }

    /// Builds a node with its label for each entry that the dialect has.
    fn unlinked_nodes(&self, base: Base) -> Vec<Option<EntryNode>> {
        let mut marks = self.label_entries();
        let nodes = self.entries().iter().map(|entry| {
            let mark = marks.remove(entry.id().as_ref());
            let (label, label_timestamp) = mark.map(|mark| (mark.label, mark.timestamp)).unzip();
            let label = label.flatten();
            Some(EntryNode { entry: host_entry(entry, base)?, children: Vec::new(), label, label_timestamp })
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
