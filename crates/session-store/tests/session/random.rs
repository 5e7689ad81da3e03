//! Whatever a session holds reads back the same, and whatever is done to its bytes costs no more than those bytes.

use crate::session_support::*;
use pi_rpc_protocol::{AgentMessage, Dialect, ThinkingLevel};
use pi_rpc_session::{FileEnd, NewEntry, ReadError, Tree};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::json;
use std::sync::Arc;

/// One step of a session.
#[derive(Clone, Debug)]
enum Step {
    Append(Box<NewEntry>),
    /// Goes on after one of the entries, or from the beginning.
    Move(Option<Index>),
    Rename(String),
}

fn new_entry() -> impl Strategy<Value = NewEntry> {
    let level = proptest::option::of(proptest::sample::select(&ThinkingLevel::ALL[..]));
    prop_oneof![
        4 => any::<String>().prop_map(|text| NewEntry::Message(asked(&text))),
        4 => any::<String>().prop_map(|text| NewEntry::Message(message(answered(&text)))),
        1 => any::<String>().prop_map(|text| {
            let custom = json!({
                "role": "custom", "customType": "x", "content": text, "display": true, "timestamp": 1,
            });
            NewEntry::Message(message(custom))
        }),
        1 => (any::<String>(), any::<String>()).prop_map(|(provider, id)| NewEntry::Model { provider, id }),
        1 => level.prop_map(NewEntry::Level),
        1 => (any::<String>(), any::<f64>()).prop_map(|(kind, n)| {
            NewEntry::Custom { kind, data: Some(json!({ "n": n })) }
        }),
        1 => any::<(String, String)>().prop_map(|(from, summary)| {
            NewEntry::BranchSummary { from, summary, details: None, from_hook: false, usage: None }
        }),
        1 => any::<(String, Option<String>)>().prop_map(|(target, label)| NewEntry::Label { target, label }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => new_entry().prop_map(|new| Step::Append(Box::new(new))),
        1 => any::<Option<Index>>().prop_map(Step::Move),
        1 => "[a-z ]{1,9}".prop_map(Step::Rename),
    ]
}

fn grown(dialect: Dialect, steps: Vec<Step>) -> Tree {
    let (mut tree, mut random) = (fresh(), random());
    for (seconds, step) in steps.into_iter().enumerate() {
        let stamp = stamp(dialect, seconds as u64);
        match step {
            Step::Append(mut new) => {
                // In the file these have the time of their entry.
                if let NewEntry::Message(message) = &mut *new
                    && let AgentMessage::Custom(custom) = Arc::make_mut(message)
                {
                    custom.timestamp = stamp.wall_ms;
                }
                tree.append(*new, stamp, &mut random);
            }
            Step::Rename(name) => {
                tree.rename(&name, stamp, &mut random);
            }
            Step::Move(to) => {
                let ids: Vec<_> = tree.entries().iter().map(|entry| entry.id().clone()).collect();
                let to = to.filter(|_| !ids.is_empty()).map(|to| to.get(&ids).clone());
                assert!(tree.move_to(to.as_deref()));
            }
        }
    }
    tree
}

fn session() -> impl Strategy<Value = Tree> {
    let dialect = proptest::sample::select(vec![Dialect::Pi, Dialect::Xcsh]);
    (dialect, vec(step(), 0..30)).prop_map(|(dialect, steps)| grown(dialect, steps))
}

/// Everything that is asked of a tree.
fn all_of(tree: &Tree) -> impl PartialEq + std::fmt::Debug + use<> {
    let path: Vec<_> = tree.path().iter().map(|entry| (entry.id().clone(), entry.at())).collect();
    (path, tree.context(), tree.path_entries(), tree.name(), tree.labels(), tree.fork_messages())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_reads_back_the_same(tree in session()) {
        let text = bytes(&tree);
        let mut read = read(text.clone());
        prop_assert_eq!((notices(&read), read.ending), (vec![], FileEnd::Whole));
        prop_assert_eq!(bytes(&read.tree), text);
        prop_assert!(read.tree.move_to(tree.leaf_id().map(AsRef::as_ref)));
        prop_assert_eq!(format!("{:?}", all_of(&read.tree)), format!("{:?}", all_of(&tree)));
    }

    #[test]
    fn cut_file_keeps_lines_before_cut(tree in session(), at in any::<Index>()) {
        let text = bytes(&tree).into_bytes();
        let cut = &text[..at.index(text.len() + 1)];
        let whole_lines = cut.iter().filter(|byte| **byte == b'\n').count();
        match try_read(cut) {
            Ok(read) => {
                // A last line of which only the line feed is missing counts.
                let is_whole = read.ending == FileEnd::NoLineFeed;
                let expected: Vec<u8> = tree.lines()[..whole_lines + usize::from(is_whole)].concat();
                prop_assert_eq!(bytes(&read.tree).into_bytes(), expected);
                let last_feed = cut.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
                let torn = FileEnd::Torn { at: last_feed };
                let expected = match (cut.ends_with(b"\n"), is_whole) {
                    (true, _) => FileEnd::Whole,
                    (false, true) => FileEnd::NoLineFeed,
                    (false, false) => torn,
                };
                prop_assert_eq!(read.ending, expected);
            }
            Err(why) => {
                let expected = if cut.is_empty() { ReadError::Empty } else { ReadError::TornHeader };
                prop_assert_eq!((why, whole_lines), (expected, 0));
            }
        }
    }

    #[test]
    fn rewritten_damaged_file_reads_the_same(
        tree in session(),
        damage in vec((any::<Index>(), any::<u8>()), 0..8),
        doubled in vec((any::<Index>(), any::<Index>()), 0..4),
    ) {
        let mut lines = tree.lines();
        for (from, to) in doubled {
            let line = from.get(&lines).clone();
            lines.insert(to.index(lines.len() + 1), line);
        }
        let mut text = lines.concat();
        for (at, byte) in damage {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let Ok(once) = try_read(text) else { return Ok(()) };
        // What could not be read stays as it was, which need not be UTF-8.
        let written = once.tree.lines().concat();
        let again = read(written.clone());
        prop_assert_eq!(again.tree.lines().concat(), written);
        let mut again = again.tree;
        prop_assert!(again.move_to(once.tree.leaf_id().map(AsRef::as_ref)));
        prop_assert_eq!(format!("{:?}", all_of(&again)), format!("{:?}", all_of(&once.tree)));
    }

    #[test]
    fn random_fork_holds_entries_before_message(tree in session(), at in any::<Index>()) {
        let messages = tree.fork_messages();
        prop_assume!(!messages.is_empty());
        let message = at.get(&messages);
        let forked = tree.fork(&message.id, header("s-2"), stamp(Dialect::Pi, 99), &mut random()).unwrap();
        prop_assert_eq!(&forked.text, &message.text);
        let mut old = read(bytes(&tree)).tree;
        let parent = old.get(&message.id).unwrap().parent().cloned();
        prop_assert!(old.move_to(parent.as_deref()));
        prop_assert_eq!(told(&forked.tree.context()), told(&old.context()));
        let again = read(bytes(&forked.tree));
        prop_assert_eq!((again.notices.len(), told(&again.tree.context())), (0, told(&old.context())));
    }
}
