//! A session grows entry by entry, and what was written reads back the same.

use crate::session_support::*;
use bytes::Bytes;
use pi_rpc_protocol::{AgentMessage, CompactionResult, Dialect, SessionEntryKind, ThinkingLevel};
use pi_rpc_session::{FileEnd, NewEntry, RenameEffect, Tree};
use serde_json::json;

/// One entry of each kind that the dialect writes.
fn one_of_each(dialect: Dialect) -> Vec<NewEntry> {
    let custom = json!({
        "role": "custom", "customType": "note", "content": "mind the gap", "display": true,
        "details": { "of": 2 }, "attribution": "agent", "timestamp": MORNING,
    });
    let mut answer = answered("Hello.");
    answer["duration"] = 12.into();
    answer["responseId"] = "r-1".into();
    let shell = json!({
        "role": "bashExecution", "command": "ls", "output": "a\n", "exitCode": 0, "cancelled": false,
        "truncated": false, "timestamp": MORNING,
    });
    let result = CompactionResult {
        summary: "They greeted.".to_owned(),
        short_summary: Some("Greetings".to_owned()),
        first_kept_entry_id: "kept".to_owned(),
        tokens_before: 900,
        details: Some(json!({ "readFiles": [], "modifiedFiles": ["a.rs"] })),
        preserve_data: Some(serde_json::Map::new()),
        estimated_tokens_after: None,
        usage: None,
    };
    let mut entries = vec![
        NewEntry::Model { provider: "acme".to_owned(), id: "a/1".to_owned() },
        NewEntry::Level(Some(ThinkingLevel::Medium)),
        NewEntry::Message(asked("Hi 👋\u{2028}")),
        NewEntry::Message(message(answer)),
        NewEntry::Level(None),
        NewEntry::Message(message(shell)),
        NewEntry::Message(message(custom)),
        NewEntry::Custom { kind: "counter".to_owned(), data: Some(json!({ "n": 1.5, "none": null })) },
        NewEntry::Custom { kind: "empty".to_owned(), data: None },
        NewEntry::Compaction { result: Box::new(result), from_hook: false, system_message: None },
        NewEntry::BranchSummary {
            from: "root".to_owned(),
            summary: "A dead end.".to_owned(),
            details: None,
            from_hook: true,
            usage: None,
        },
        NewEntry::Label { target: "kept".to_owned(), label: Some("start".to_owned()) },
        NewEntry::Label { target: "kept".to_owned(), label: None },
        NewEntry::Name(" Greeting ".to_owned()),
        NewEntry::Model { provider: "acme".to_owned(), id: "b".to_owned() },
    ];
    if dialect == Dialect::Xcsh {
        entries.push(NewEntry::RulesInjected(vec!["style".to_owned(), "safety".to_owned()]));
    }
    entries
}

/// A tree of one of each, and the lines that its file got.
fn grown(dialect: Dialect) -> (Tree, String) {
    let (mut tree, mut random) = (fresh(), random());
    let mut lines = bytes(&tree);
    for (seconds, new) in one_of_each(dialect).into_iter().enumerate() {
        let line = tree.append(new, stamp(dialect, seconds as u64), &mut random);
        lines.push_str(std::str::from_utf8(&line).unwrap());
    }
    (tree, lines)
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn dialect_decides_keys_and_their_order() {
    snapshot("session_file_pi", &grown(Dialect::Pi).1);
    snapshot("session_file_xcsh", &grown(Dialect::Xcsh).1);
}

#[test]
fn what_was_written_reads_back_the_same() {
    for dialect in [Dialect::Pi, Dialect::Xcsh] {
        let (tree, lines) = grown(dialect);
        assert_eq!(bytes(&tree), lines);
        let read = read(lines.clone());
        assert_eq!(
            (bytes(&read.tree), notices(&read), read.migrated, read.ending),
            (lines, vec![], false, FileEnd::Whole)
        );
        assert_eq!(path(&read.tree), path(&tree));
        assert_eq!(read.tree.context(), tree.context());
        assert_eq!(read.tree.path_entries(), tree.path_entries());
        assert_eq!(read.tree.name(), Some("Greeting".to_owned()));
        let kinds = |tree: &Tree| -> Vec<_> {
            tree.entries().iter().map(|entry| (entry.kind(), entry.role(), entry.at())).collect()
        };
        assert_eq!(kinds(&read.tree), kinds(&tree));
        assert!(read.tree.entries().iter().all(|entry| entry.content().is_some()));
    }
}

#[test]
fn each_dialect_reads_what_the_other_wrote() {
    let [pi, xcsh] = [Dialect::Pi, Dialect::Xcsh].map(|dialect| read(grown(dialect).1).tree.context());
    assert_eq!(told(&pi), told(&xcsh));
    assert_eq!((pi.level, pi.model.clone()), (Some(ThinkingLevel::Off), Some(("acme".into(), "b".into()))));
    assert_eq!((pi.level, pi.model), (xcsh.level, xcsh.model));
}

#[test]
fn entry_shares_bytes_of_file() {
    let (_, lines) = grown(Dialect::Pi);
    let file = Bytes::from(lines);
    let tree = Tree::read(file.clone(), &mut random()).unwrap().tree;
    let inside = file.as_ptr_range();
    assert!(tree.entries().iter().all(|entry| inside.contains(&entry.line().as_ptr())));
}

#[test]
fn the_last_changes_can_be_taken_back() {
    let (mut tree, mut random) = (fresh(), random());
    tree.append(NewEntry::Message(asked("one")), stamp(Dialect::Pi, 0), &mut random);
    let before = (bytes(&tree), tree.leaf_id().cloned());
    let taken = NewEntry::Message(asked("two"));
    let first = tree.append(taken.clone(), stamp(Dialect::Pi, 1), &mut random);
    tree.append(NewEntry::Message(asked("three")), stamp(Dialect::Pi, 1), &mut random);
    tree.undo();
    tree.undo();
    assert_eq!((bytes(&tree), tree.leaf_id().cloned()), before);
    let second = tree.append(taken, stamp(Dialect::Pi, 1), &mut random);
    assert_eq!(first.len(), second.len());
    assert_eq!(told(&tree.context()), ["user: one", "user: two"]);
}

#[test]
fn new_entry_follows_moved_leaf() {
    let (mut tree, mut random) = (fresh(), random());
    let mut say = |tree: &mut Tree, text: &str| {
        tree.append(NewEntry::Message(asked(text)), stamp(Dialect::Pi, 0), &mut random);
        tree.leaf_id().cloned().unwrap()
    };
    let one = say(&mut tree, "one");
    say(&mut tree, "two");
    assert!(tree.move_to(Some(&one)));
    say(&mut tree, "other two");
    assert_eq!(told(&tree.context()), ["user: one", "user: other two"]);
    assert!(tree.move_to(None));
    assert_eq!(told(&tree.context()), Vec::<String>::new());
    let root = say(&mut tree, "other one");
    assert_eq!(tree.get(&root).unwrap().parent(), None);
    assert!(!tree.move_to(Some("nowhere")));
    assert_eq!(told(&read(bytes(&tree)).tree.context()), ["user: other one"]);
}

#[test]
fn ids_are_unique_in_a_file() {
    // The generator is wound back, so that it draws an id that is taken.
    let (mut tree, random) = (fresh(), random());
    for seconds in 0..50 {
        tree.append(NewEntry::Level(None), stamp(Dialect::Pi, seconds), &mut random.clone());
    }
    let mut ids: Vec<_> = tree.entries().iter().map(|entry| entry.id().clone()).collect();
    assert!(ids.iter().all(|id| id.len() == 8), "{ids:?}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 50);
}

#[test]
fn name_is_entry_or_header_title() {
    let mut random = random();
    let mut rename = |tree: &mut Tree, dialect, name| tree.rename(name, stamp(dialect, 0), &mut random);

    let mut pi = fresh();
    assert!(
        matches!(rename(&mut pi, Dialect::Pi, "one"), RenameEffect::Line(line) if line.ends_with(b"}\n"))
    );
    assert_eq!((pi.name(), pi.header().title.clone()), (Some("one".to_owned()), None));

    let mut xcsh = fresh();
    assert_eq!(rename(&mut xcsh, Dialect::Xcsh, "one"), RenameEffect::Header);
    assert_eq!(rename(&mut xcsh, Dialect::Xcsh, "two"), RenameEffect::Header);
    assert_eq!((xcsh.name(), xcsh.entries().len()), (Some("two".to_owned()), 0));
    let titled = HEADER.replace('}', r#","title":"two","titleSource":"user"}"#);
    assert_eq!(bytes(&xcsh), file(&[titled]));
    xcsh.undo();
    assert_eq!(xcsh.name(), Some("one".to_owned()));
}

#[test]
fn name_may_precede_header() {
    let title = |name: &str| json!({ "type": "title", "v": 1, "title": name, "pad": "   " }).to_string();
    let titled = |name: &str| read(file(&[title(name), HEADER.to_owned()]));
    let read_file = titled("A name");
    assert_eq!((read_file.tree.name(), read_file.notices), (Some("A name".to_owned()), vec![]));
    assert_eq!(titled(" ").tree.name(), None);
    let header = HEADER.replace('}', r#","title":"Newer","titleSource":"user"}"#);
    assert_eq!(read(file(&[title("Older"), header])).tree.name(), Some("Newer".to_owned()));
}

#[test]
fn newest_name_counts_in_any_dialect() {
    let mut random = random();
    let mut tree = fresh();
    for (dialect, name) in [
        (Dialect::Xcsh, "one"),
        (Dialect::Pi, "two"),
        (Dialect::Xcsh, "three"),
        (Dialect::Pi, "four"),
        (Dialect::Pi, "five"),
        (Dialect::Xcsh, "six"),
    ] {
        tree.rename(name, stamp(dialect, 0), &mut random);
        assert_eq!(tree.name(), Some(name.to_owned()));
        assert_eq!(read(bytes(&tree)).tree.name(), Some(name.to_owned()));
    }
    tree.undo();
    assert_eq!((tree.name(), tree.header().title.as_deref()), (Some("five".to_owned()), Some("three")));
}

#[test]
fn the_name_is_found_on_any_branch() {
    let tree = read(file(&[
        HEADER,
        &user("a", None, "hi"),
        &entry("session_info", "b", Some("a"), json!({ "name": " First " })),
        &entry("session_info", "c", Some("a"), json!({ "name": "  " })),
        &entry("session_info", "d", Some("a"), json!({ "name": 5 })),
        &user("e", Some("a"), "on"),
    ]))
    .tree;
    assert_eq!(tree.name(), Some("First".to_owned()));
    assert_eq!(path(&tree), ["a", "e"]);
}

#[test]
fn the_last_label_counts() {
    let label = |id: &str, target: &str, label: Option<&str>| {
        let own = label
            .map_or(json!({ "targetId": target }), |label| json!({ "targetId": target, "label": label }));
        entry("label", id, None, own)
    };
    let lines = [
        HEADER.to_owned(),
        label("1", "a", Some("old")),
        label("2", "b", Some("gone")),
        label("3", "c", Some("cleared")),
        label("4", "a", Some("new")),
        label("5", "b", None),
        label("6", "c", Some("")),
    ];
    let labels: Vec<_> = read(file(&lines)).tree.labels().into_iter().collect();
    assert_eq!(labels, [("a".to_owned(), "new".to_owned())]);
}

#[test]
fn message_is_kept_as_read_back() {
    let (mut tree, mut random) = (fresh(), random());
    let mut answer = answered("Hello.");
    answer["duration"] = 12.into();
    tree.append(NewEntry::Message(message(answer.clone())), stamp(Dialect::Pi, 0), &mut random);
    tree.append(NewEntry::Message(message(answer)), stamp(Dialect::Xcsh, 0), &mut random);
    let durations = |tree: &Tree| -> Vec<Option<u64>> {
        let one = |message: &AgentMessage| match message {
            AgentMessage::Assistant(message) => {
                message.duration.as_ref().and_then(|duration| duration.as_u64())
            }
            _ => None,
        };
        tree.context().messages.iter().map(|message| one(message)).collect()
    };
    assert_eq!(durations(&tree), [None, Some(12)]);
    assert_eq!(durations(&read(bytes(&tree)).tree), [None, Some(12)]);
}

#[test]
fn unknown_entries_stay_in_chain() {
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        entry("from_the_future", "b", Some("a"), json!({ "message": { "role": "user" }, "deep": [[{}]] })),
        entry("mode_change", "c", Some("b"), json!({ "mode": "plan" })),
        user("d", Some("c"), "two"),
    ];
    let read = read(file(&lines));
    assert_eq!(
        (told(&read.tree.context()), notices(&read)),
        (vec!["user: one".into(), "user: two".into()], vec![])
    );
    let kinds: Vec<_> = read.tree.entries().iter().map(|entry| entry.kind()).collect();
    use SessionEntryKind::{Message, ModeChange};
    assert_eq!(kinds, [Some(Message), None, Some(ModeChange), Some(Message)]);
    assert_eq!(bytes(&read.tree), file(&lines));
}
