//! Halves of characters, which the originals write where they cut a text in the middle of one: no Rust string holds
//! them, and nothing is lost for them.

use crate::session_support::*;
use serde_json::json;

/// `line` with half a character in place of each `?`.
fn half(line: &str) -> String {
    line.replace('?', r"\ud83d")
}

#[test]
fn title_with_lone_surrogate_is_read() {
    let header = half(&HEADER.replace(r#""cwd":"/w""#, r#""cwd":"/w","title":"Cut?""#));
    let read = read(file(&[header, user("a", None, "one")]));
    assert_eq!((read.tree.name().as_deref(), path(&read.tree)), (Some("Cut\u{fffd}"), vec!["a"]));
}

#[test]
fn an_entry_with_half_a_character_counts() {
    let change = json!({ "provider": "acme", "modelId": "m?" });
    let compaction = json!({ "summary": "Cut?", "firstKeptEntryId": "b", "tokensBefore": 9 });
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        user("b", Some("a"), "two?"),
        half(&entry("compaction", "c", Some("b"), compaction)),
        half(&entry("model_change", "d", Some("c"), change)),
        half(&entry("session_info", "e", Some("d"), json!({ "name": "Name?" }))),
        half(&entry("label", "f", Some("e"), json!({ "targetId": "a", "label": "Label?" }))),
    ];
    let tree = read(file(&lines)).tree;
    let context = tree.context();
    assert_eq!(told(&context), ["compactionSummary: Cut\u{fffd}", "user: two?"]);
    assert_eq!(context.model, Some(("acme".to_owned(), "m\u{fffd}".to_owned())));
    assert_eq!(
        (tree.name().as_deref(), tree.labels()["a"].as_str()),
        (Some("Name\u{fffd}"), "Label\u{fffd}")
    );
}
