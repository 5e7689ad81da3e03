//! Divides the tree of entries into straight segments, each leaving another where it branches off.
//!
//! The first segment is the leaf's path. Every other segment follows, at each fork, the child with the most entries
//! below it; so segments are nested no deeper than the logarithm of the number of entries.

use std::collections::HashMap;
use std::iter::successors;

use super::input::PageEntry;

/// The segments of a tree. Entries and segments are identified by their indices.
pub(super) struct Layout<'a> {
    /// All segments. The first is the leaf's path, which is empty only if there are no entries.
    pub segments: Vec<Segment>,
    /// The segments that leave after each entry, or begin at a root of their own.
    branches: HashMap<Option<usize>, Vec<usize>>,
    ids: HashMap<&'a str, usize>,
}

/// Entries in a row, oldest first.
pub(super) struct Segment {
    pub entries: Vec<usize>,
    /// The entry that it leaves after; `None`: it begins at a root.
    pub from: Option<usize>,
}

impl<'a> Layout<'a> {
    /// Divides `entries`; the path leads to the entry with the id `leaf`, or to the newest one.
    pub fn of(entries: &'a [PageEntry], leaf: Option<&str>) -> Self {
        let (parents, ids) = parents(entries);
        let leaf = leaf.and_then(|leaf| ids.get(leaf).copied()).or(entries.len().checked_sub(1));
        let mut path: Vec<usize> = successors(leaf, |entry| parents[*entry]).collect();
        path.reverse();
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (entry, parent) in parents.iter().enumerate() {
            children.entry(*parent).or_default().push(entry);
        }
        let segments = segments(path, &children, &weights(&parents));
        let mut branches: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (number, segment) in segments.iter().enumerate().skip(1) {
            branches.entry(segment.from).or_default().push(number);
        }
        Self { segments, branches, ids }
    }

    /// The segments that leave after `entry`; `None`: those that begin at a root of their own.
    pub fn branching_after(&self, entry: Option<usize>) -> &[usize] {
        self.branches.get(&entry).map_or(&[], Vec::as_slice)
    }

    /// The index of the entry with an id.
    pub fn entry(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }
}

/// Builds all segments: the path, then the others, in the order in which they leave.
fn segments(
    path: Vec<usize>,
    children: &HashMap<Option<usize>, Vec<usize>>,
    weights: &[usize],
) -> Vec<Segment> {
    let below = |entry| children.get(&entry).map_or(&[][..], Vec::as_slice);
    let begin = |first: usize, from| {
        let heaviest =
            |entry: &usize| below(Some(*entry)).iter().copied().max_by_key(|child| weights[*child]);
        Segment { entries: successors(Some(first), heaviest).collect(), from }
    };
    let others = |from: Option<usize>, next: Option<&usize>| -> Vec<Segment> {
        let others = below(from).iter().filter(|child| next != Some(child));
        others.map(|child| begin(*child, from)).collect()
    };
    let mut segments = vec![Segment { entries: path, from: None }];
    segments.extend(others(None, segments[0].entries.first()));
    let mut done = 0;
    while done < segments.len() {
        let entries = &segments[done].entries;
        let branches: Vec<Segment> = entries
            .iter()
            .enumerate()
            .flat_map(|(at, entry)| others(Some(*entry), entries.get(at + 1)))
            .collect();
        segments.extend(branches);
        done += 1;
    }
    segments
}

/// The parent of each entry, and the entry of each id. Parents are searched among earlier entries only, so there are
/// no cycles.
fn parents(entries: &[PageEntry]) -> (Vec<Option<usize>>, HashMap<&str, usize>) {
    let mut ids = HashMap::with_capacity(entries.len());
    let mut parents = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        parents.push(entry.parent.as_deref().and_then(|parent| ids.get(parent).copied()));
        ids.insert(entry.id.as_str(), number);
    }
    (parents, ids)
}

/// The number of entries in each entry's subtree.
fn weights(parents: &[Option<usize>]) -> Vec<usize> {
    let mut weights = vec![1; parents.len()];
    for (entry, parent) in parents.iter().enumerate().rev() {
        if let Some(parent) = parent {
            weights[*parent] += weights[entry];
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    fn entries(of: &[(&str, Option<&str>)]) -> Vec<PageEntry> {
        let entry = |(id, parent): &(&str, Option<&str>)| PageEntry {
            id: (*id).to_owned(),
            parent: parent.map(str::to_owned),
            at: 0,
            line: None,
            body: Body::Name(String::new()),
        };
        of.iter().map(entry).collect()
    }

    fn laid_out(of: &[(&str, Option<&str>)], leaf: Option<&str>) -> Vec<(Vec<usize>, Option<usize>)> {
        Layout::of(&entries(of), leaf)
            .segments
            .into_iter()
            .map(|segment| (segment.entries, segment.from))
            .collect()
    }

    #[test]
    fn path_comes_before_branches() {
        let tree = [
            ("a", None),
            ("b", Some("a")),
            ("c", Some("b")),
            ("x", Some("a")),
            ("y", Some("x")),
            ("z", Some("x")),
            ("z2", Some("z")),
        ];
        let expected = [(vec![0, 1, 2], None), (vec![3, 5, 6], Some(0)), (vec![4], Some(3))];
        assert_eq!(laid_out(&tree, Some("c")), expected);
    }

    #[test]
    fn leaf_in_middle_ends_path() {
        let tree = [("a", None), ("b", Some("a")), ("c", Some("b"))];
        assert_eq!(laid_out(&tree, Some("a")), [(vec![0], None), (vec![1, 2], Some(0))]);
    }

    #[test]
    fn damaged_parents_make_roots() {
        let tree = [("a", Some("b")), ("b", Some("a")), ("a", Some("a")), ("c", Some("gone"))];
        assert_eq!(laid_out(&tree, Some("a")), [(vec![0, 2], None), (vec![3], None), (vec![1], Some(0))]);
        assert_eq!(laid_out(&[], None), [(vec![], None)]);
    }
}
