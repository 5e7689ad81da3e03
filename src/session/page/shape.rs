//! The tree of entries laid out for reading: straight runs of entries, each leaving another where it branched off.
//!
//! The first run is the leaf's path. Every other run follows, at each fork, the child with the most entries below it;
//! so runs are nested no deeper than the logarithm of the number of entries.

use std::collections::HashMap;
use std::iter::successors;

use super::input::PageEntry;

/// Entries and runs are named by their place in their list.
pub(super) struct Shape<'a> {
    /// The first one is the leaf's path; it is empty only if there are no entries.
    pub runs: Vec<Run>,
    /// The runs that leave after an entry, or begin at a root of their own.
    leaving: HashMap<Option<usize>, Vec<usize>>,
    ids: HashMap<&'a str, usize>,
}

/// A line of entries, oldest first, that goes straight on at every fork.
pub(super) struct Run {
    pub entries: Vec<usize>,
    /// The entry that it leaves after; none if it begins at a root.
    pub from: Option<usize>,
}

impl<'a> Shape<'a> {
    /// Lays out `entries`; the path is that of the entry called `leaf`, or of the newest one.
    pub fn of(entries: &'a [PageEntry], leaf: Option<&str>) -> Self {
        let (parents, ids) = parents(entries);
        let leaf = leaf.and_then(|leaf| ids.get(leaf).copied()).or(entries.len().checked_sub(1));
        let mut path: Vec<usize> = successors(leaf, |entry| parents[*entry]).collect();
        path.reverse();
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (entry, parent) in parents.iter().enumerate() {
            children.entry(*parent).or_default().push(entry);
        }
        let runs = runs(path, &children, &weights(&parents));
        let mut leaving: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (number, run) in runs.iter().enumerate().skip(1) {
            leaving.entry(run.from).or_default().push(number);
        }
        Self { runs, leaving, ids }
    }

    /// The runs that leave after `entry`; without one, those that begin at a root of their own.
    pub fn leaving(&self, entry: Option<usize>) -> &[usize] {
        self.leaving.get(&entry).map_or(&[], Vec::as_slice)
    }

    /// The entry of an id.
    pub fn entry(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }
}

/// The path, then every other run; those that leave one run come in the order of its entries.
fn runs(path: Vec<usize>, children: &HashMap<Option<usize>, Vec<usize>>, weights: &[usize]) -> Vec<Run> {
    let below = |entry| children.get(&entry).map_or(&[][..], Vec::as_slice);
    let begin = |first: usize, from| {
        let heaviest =
            |entry: &usize| below(Some(*entry)).iter().copied().max_by_key(|child| weights[*child]);
        Run { entries: successors(Some(first), heaviest).collect(), from }
    };
    let others = |from: Option<usize>, next: Option<&usize>| -> Vec<Run> {
        let others = below(from).iter().filter(|child| next != Some(child));
        others.map(|child| begin(*child, from)).collect()
    };
    let mut runs = vec![Run { entries: path, from: None }];
    runs.extend(others(None, runs[0].entries.first()));
    let mut done = 0;
    while done < runs.len() {
        let entries = &runs[done].entries;
        let leaving: Vec<Run> = entries
            .iter()
            .enumerate()
            .flat_map(|(at, entry)| others(Some(*entry), entries.get(at + 1)))
            .collect();
        runs.extend(leaving);
        done += 1;
    }
    runs
}

/// The parent of each entry, and the entry of each id. A parent is looked for among earlier entries only, so nothing is
/// its own ancestor.
fn parents(entries: &[PageEntry]) -> (Vec<Option<usize>>, HashMap<&str, usize>) {
    let mut ids = HashMap::with_capacity(entries.len());
    let mut parents = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        parents.push(entry.parent.as_deref().and_then(|parent| ids.get(parent).copied()));
        ids.insert(entry.id.as_str(), number);
    }
    (parents, ids)
}

/// How many entries are below each one, itself among them.
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
    use crate::session::page::Body;

    fn entries(of: &[(&str, Option<&str>)]) -> Vec<PageEntry> {
        let entry = |(id, parent): &(&str, Option<&str>)| PageEntry {
            id: (*id).to_owned(),
            parent: parent.map(str::to_owned),
            at: 0,
            body: Body::Name(String::new()),
        };
        of.iter().map(entry).collect()
    }

    fn laid_out(of: &[(&str, Option<&str>)], leaf: Option<&str>) -> Vec<(Vec<usize>, Option<usize>)> {
        Shape::of(&entries(of), leaf).runs.into_iter().map(|run| (run.entries, run.from)).collect()
    }

    #[test]
    fn the_path_comes_first_and_every_branch_after_it() {
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
    fn a_leaf_in_the_middle_ends_the_path_and_what_follows_is_a_branch() {
        let tree = [("a", None), ("b", Some("a")), ("c", Some("b"))];
        assert_eq!(laid_out(&tree, Some("a")), [(vec![0], None), (vec![1, 2], Some(0))]);
    }

    #[test]
    fn damaged_parents_make_roots_and_never_a_circle() {
        let tree = [("a", Some("b")), ("b", Some("a")), ("a", Some("a")), ("c", Some("gone"))];
        assert_eq!(laid_out(&tree, Some("a")), [(vec![0, 2], None), (vec![3], None), (vec![1], Some(0))]);
        assert_eq!(laid_out(&[], None), [(vec![], None)]);
    }
}
