//! Trees that may be as deep as they are long, such as the entries of a session.
//!
//! A session of 10,000 entries in a row is a tree that is 10,000 deep. [`Forest`] has its nodes in one list, and reads,
//! writes, compares and drops them without recursion, so that no stack limits the depth.

use super::{
    Base,
    check::Check,
    fault::Faults,
    json::{FromJson, JsonError, JsonReader, Members, deserialize, from_str},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;
use std::ops::Range;

/// Most levels of a forest that is read or written; the originals refuse fewer.
pub const MAX_FOREST_DEPTH: usize = 20_000;

/// Levels that an error names, counted from the node.
const NAMED_LEVELS: usize = 16;

/// Text in the place of the children while their parent is written. The writer of JSON puts no blanks anywhere else.
const PLACE_OF_CHILDREN: &str = "[ ]";

/// A node of a [`Forest`]. Generated for every type of the schema that has a list of its own type.
pub trait ForestNode: Check + FromJson + Serialize {
    /// Name of the member with the children.
    const CHILDREN: &'static str;
}

/// Place of the children in a node; the children themselves are in the [`Forest`], behind the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Children;

/// Trees: each node with its level, from 0, and the nodes below it behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest<T> {
    nodes: Vec<(usize, T)>,
}

impl<T> Default for Forest<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T> Forest<T> {
    /// Adds a node at `level`, which is at most one below that of the last node.
    pub fn push(&mut self, level: usize, node: T) {
        let deepest = self.nodes.last().map_or(0, |(last, _)| last + 1);
        self.nodes.push((level.min(deepest), node));
    }

    /// The nodes with their levels, each before those below it.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.nodes.iter().map(|(level, node)| (*level, node))
    }

    /// The nodes, each with the one above it.
    pub fn with_parents(&self) -> impl Iterator<Item = (Option<&T>, &T)> {
        let mut branch: Vec<&T> = Vec::new();
        self.nodes.iter().map(move |(level, node)| {
            branch.truncate(*level);
            let parent = branch.last().copied();
            branch.push(node);
            (parent, node)
        })
    }
}

impl<T: ForestNode> Check for Forest<T> {
    fn check(&self, base: Base, faults: &mut Faults) {
        let mut branch: Vec<usize> = Vec::new();
        for (level, node) in &self.nodes {
            let place = branch.get(*level).map_or(0, |last| last + 1);
            branch.truncate(*level);
            branch.push(place);
            let mark = faults.mark();
            node.check(base, faults);
            if !faults.mark_is(mark) {
                for (step, index) in branch.iter().rev().take(NAMED_LEVELS).enumerate() {
                    if step > 0 {
                        faults.within(mark, T::CHILDREN);
                    }
                    faults.at(mark, *index);
                }
            }
        }
    }
    fn fit(&mut self, base: Base) {
        self.nodes.iter_mut().for_each(|(_, node)| node.fit(base));
    }
}

impl Check for Children {
    fn check(&self, _: Base, _: &mut Faults) {}
    fn fit(&mut self, _: Base) {}
}

impl<T: ForestNode> Serialize for Forest<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (mut text, mut ends) = (String::from("["), Vec::<String>::new());
        let place = format!("\"{}\":{PLACE_OF_CHILDREN}", T::CHILDREN);
        for (level, node) in &self.nodes {
            if *level >= MAX_FOREST_DEPTH {
                return Err(S::Error::custom(format_args!("deeper than {MAX_FOREST_DEPTH} levels")));
            }
            let has_sibling = ends.len() > *level;
            ends.drain(*level..).rev().for_each(|end| text.push_str(&end));
            if has_sibling {
                text.push(',');
            }
            let own = serde_json::to_string(node).map_err(S::Error::custom)?;
            let parts = own.split_once(&place);
            let (head, tail) = parts.ok_or_else(|| S::Error::custom("a node has no place for children"))?;
            text.push_str(&format!("{head}\"{}\":[", T::CHILDREN));
            ends.push(format!("]{tail}"));
        }
        ends.into_iter().rev().for_each(|end| text.push_str(&end));
        text.push(']');
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(to)
    }
}

impl Serialize for Children {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(PLACE_OF_CHILDREN.to_owned()).map_err(S::Error::custom)?.serialize(to)
    }
}

impl FromJson for Children {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        let mut list = json.array("a sequence")?;
        match json.has_next(&mut list, b']')? {
            false => Ok(Self),
            true => Err(JsonError::new("children without their tree")),
        }
    }
}

impl<T: ForestNode> FromJson for Forest<T> {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        // A list and a node for each level, and the empty list below the last.
        json.with_depth(2 * MAX_FOREST_DEPTH + 1, read_nodes)
    }
}

impl<'de, T: ForestNode> Deserialize<'de> for Forest<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        deserialize(from)
    }
}

/// A node whose end has not been read.
struct OpenNode {
    /// Place in the list of nodes.
    place: usize,
    /// Where the node begins.
    start: usize,
    members: Members,
    /// Where its children begin and end.
    children: Option<Range<usize>>,
}

/// Reads the lists of nodes. Each node is read by its own reader, without its children, once its end is known.
fn read_nodes<T: ForestNode>(json: &mut JsonReader<'_>) -> Result<Forest<T>, JsonError> {
    let mut nodes: Vec<(usize, Option<T>)> = Vec::new();
    let mut open: Vec<OpenNode> = Vec::new();
    // The roots, and the children of every open node but the last, whose members are read.
    let mut lists = vec![(json.array("a sequence")?, 0_usize)];
    while let Some((list, count)) = lists.last_mut() {
        if json.has_next(list, b']')? {
            *count += 1;
            if json.peek() != Some(b'{') {
                T::from_json(json).map_err(|error| in_lists::<T>(error, &lists))?;
                continue;
            }
            open.push(OpenNode {
                place: nodes.len(),
                start: json.position(),
                members: json.object("an object")?,
                children: None,
            });
            nodes.push((lists.len() - 1, None));
        } else {
            lists.pop();
            let children = open.last_mut().and_then(|node| node.children.as_mut());
            children.into_iter().for_each(|children| children.end = json.position());
        }
        while open.len() == lists.len() {
            let Some(node) = open.last_mut() else { break };
            match json.next_key(&mut node.members)? {
                Some(key) if key == T::CHILDREN && node.children.is_none() && json.peek() == Some(b'[') => {
                    let start = json.position();
                    node.children = Some(start..start);
                    lists.push((json.array("a sequence")?, 0));
                }
                Some(_) => json.skip()?,
                None => {
                    let read = from_str(&own_text(node, json));
                    let read = read.map_err(|error| in_lists::<T>(error, &lists))?;
                    if let Some((_, slot)) = nodes.get_mut(node.place) {
                        *slot = Some(read);
                    }
                    open.pop();
                }
            }
        }
    }
    let nodes = nodes.into_iter().filter_map(|(level, node)| Some((level, node?))).collect();
    Ok(Forest { nodes })
}

/// Text of a node that has just ended, with an empty list of children.
fn own_text(node: &OpenNode, json: &JsonReader<'_>) -> String {
    let whole = node.start..json.position();
    match &node.children {
        None => json.slice(whole).to_owned(),
        Some(children) => {
            let head = json.slice(whole.start..children.start);
            format!("{head}[]{}", json.slice(children.end..whole.end))
        }
    }
}

/// The error, seen from the list of roots; `lists` are those that the node is in.
fn in_lists<T: ForestNode>(error: JsonError, lists: &[(Members, usize)]) -> JsonError {
    let named = lists.iter().rev().take(NAMED_LEVELS).enumerate();
    named.fold(error, |error, (step, (_, count))| {
        let error = if step > 0 { error.in_member(T::CHILDREN) } else { error };
        error.in_element(count.saturating_sub(1))
    })
}

#[cfg(test)]
mod tests {
    //! A tree is read and written as serde would, and as deep as a session is long.

    use super::*;
    use crate::{EntryNode, EntryTree};
    use serde_json::{Value, json};

    const AT: &str = "2026-01-01T00:00:00.000Z";

    fn node(id: &str, children: Value) -> Value {
        let entry = json!({ "type": "session_info", "id": id, "parentId": null, "timestamp": AT, "name": "\"children\":[ ]" });
        json!({ "entry": entry, "children": children, "label": "l" })
    }

    /// A row of `count` nodes as text.
    fn row(count: usize) -> String {
        let whole = node("a", json!([])).to_string();
        let (head, tail) = whole.split_once("[],").unwrap();
        format!("[{}{}]", format!("{head}[").repeat(count), format!("],{tail}").repeat(count))
    }

    #[test]
    fn branches_are_read_and_written() {
        let twice = node("a", json!([node("b", json!([node("c", json!([]))])), node("d", json!([]))]));
        let tree = json!([twice, node("e", json!([]))]);
        let text = format!(" {} ", serde_json::to_string_pretty(&tree).unwrap());
        let forest: Forest<EntryNode> = from_str(&text).unwrap();
        let ids: Vec<(usize, &str)> = forest.iter().map(|(level, node)| (level, node.entry.id())).collect();
        assert_eq!(ids, [(0, "a"), (1, "b"), (2, "c"), (1, "d"), (0, "e")]);
        assert_eq!(serde_json::to_string(&forest).unwrap(), tree.to_string());
    }

    #[test]
    fn error_names_the_node() {
        let bad = json!({ "entry": 5, "children": [] });
        let tree = json!({ "tree": [node("a", json!([node("b", json!([])), bad]))], "leafId": null });
        let error = from_str::<EntryTree>(&tree.to_string()).unwrap_err().to_string();
        assert!(error.starts_with("`tree[0].children[1].entry`: "), "{error}");
    }

    #[test]
    fn node_without_children_is_refused() {
        let bare = json!([{ "entry": node("a", json!([]))["entry"] }]);
        let error = from_str::<Forest<EntryNode>>(&bare.to_string()).unwrap_err().to_string();
        assert_eq!(error, "`[0]`: missing field `children`");
    }

    #[test]
    fn deepest_row_is_read_and_written() {
        let text = row(MAX_FOREST_DEPTH);
        let mut forest: Forest<EntryNode> = from_str(&text).unwrap();
        forest.fit(Base::Pi1);
        assert!(!forest.is_refused(Base::Pi1));
        assert_eq!(serde_json::to_string(&forest.clone()).unwrap(), text);
        let error = from_str::<Forest<EntryNode>>(&row(MAX_FOREST_DEPTH + 1)).unwrap_err().to_string();
        assert!(error.starts_with("recursion limit exceeded at "), "{error}");
    }
}
