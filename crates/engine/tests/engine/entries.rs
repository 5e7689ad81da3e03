//! Commands that read the entries of a session, and clones of its branch.

use pi_rpc_protocol::Dialect::{Pi1, Pi073};
use pi_rpc_test_kit::{Playback, Scenario, scenario, shorthand::*};
use serde_json::{Value, json};
use std::path::Path;

const PATH: &str = "/sessions/other.jsonl";

const AT: &str = "2025-01-01T00:00:00.000Z";

/// Something was said twice in the place of `b`; the leaf is on the second way. `a` is marked.
fn branched() -> Vec<Value> {
    let user = |id: &str, parent: &str, text: &str, at: &str| {
        json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": at,
            "message": { "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 },
        })
    };
    vec![
        json!({ "type": "model_change", "id": "m", "parentId": null, "timestamp": AT, "provider": "scripted", "modelId": "work" }),
        json!({ "type": "thinking_level_change", "id": "t", "parentId": "m", "timestamp": AT, "thinkingLevel": "low" }),
        user("a", "t", "first", "2025-01-01T00:00:01.000Z"),
        user("b", "a", "left", "2025-01-01T00:00:03.000Z"),
        json!({ "type": "label", "id": "l", "parentId": "b", "timestamp": AT, "targetId": "a", "label": "here" }),
        json!({ "type": "future", "id": "f", "parentId": "l", "timestamp": AT, "what": "nobody knows" }),
        user("c", "a", "second", "2025-01-01T00:00:02.000Z"),
    ]
}

fn file(entries: &[Value]) -> String {
    let header =
        json!({ "type": "session", "version": 3, "id": "0193f00d", "timestamp": AT, "cwd": "/work" });
    std::iter::once(&header).chain(entries).map(|line| format!("{line}\n")).collect()
}

fn opened(frames: &[Value]) -> Scenario {
    let scenario = scenario(json!([])).file(PATH, file(&branched())).opened(PATH);
    frames.iter().fold(scenario, |scenario, frame| scenario.host(0, frame.clone()))
}

fn answer(played: &Playback, id: &str) -> Value {
    let answers = played.answers(id);
    assert_eq!(answers.len(), 1, "{}", played.log);
    answers[0].clone()
}

fn since(id: &str) -> Value {
    json!({ "id": "get_entries", "type": "get_entries", "since": id })
}

fn refused(id: &str, text: &str) -> Value {
    json!({ "id": id, "type": "response", "command": id, "success": false, "error": text })
}

/// The entries without those that the dialect does not know.
fn known() -> Vec<Value> {
    branched().into_iter().filter(|entry| entry["type"] != "future").collect()
}

#[test]
fn entries_of_all_branches_keep_file_order() {
    let all = opened(&[command("get_entries")]).finish(Pi1).data("get_entries");
    assert_eq!(all, json!({ "entries": known(), "leafId": "c" }));
}

#[test]
fn entries_since_one_follow_it_in_file() {
    let behind = |id: &str| opened(&[since(id)]).finish(Pi1).data("get_entries")["entries"].clone();
    assert_eq!(behind("b"), json!(&known()[4..]));
    assert_eq!(behind("f"), json!(&known()[5..]), "also behind one of an unknown kind");
    assert_eq!(behind("c"), json!([]));
}

#[test]
fn entries_since_unknown_entry_are_refused() {
    let played = opened(&[since("nonexistent")]).finish(Pi1);
    assert_eq!(answer(&played, "get_entries"), refused("get_entries", "Entry not found: nonexistent"));
}

#[test]
fn tree_has_sorted_children_labels_and_orphans() {
    let known = known();
    let leaf = |entry: usize| json!({ "entry": known[entry], "children": [] });
    let mut entries = branched();
    entries.push(json!({ "type": "custom", "customType": "x", "id": "o", "parentId": "f", "timestamp": AT }));
    let opened = scenario(json!([])).file(PATH, file(&entries)).opened(PATH).host(0, command("get_tree"));
    let tree = json!([
        { "entry": known[0], "children": [
            { "entry": known[1], "children": [
                { "entry": known[2], "label": "here", "labelTimestamp": AT, "children": [
                    leaf(5),
                    { "entry": known[3], "children": [leaf(4)] },
                ] },
            ] },
        ] },
        { "entry": entries[7], "children": [] },
    ]);
    assert_eq!(opened.finish(Pi1).data("get_tree"), json!({ "tree": tree, "leafId": "o" }));
}

#[test]
fn overly_deep_tree_is_refused() {
    let named = |at: usize| {
        let parent = (at > 0).then(|| (at - 1).to_string());
        json!({ "type": "session_info", "id": at.to_string(), "parentId": parent, "timestamp": AT, "name": "n" })
    };
    // One more is added where the session is taken up: the level.
    let entries: Vec<Value> = (0..20_000).map(named).collect();
    let deep = scenario(json!([])).file(PATH, file(&entries)).opened(PATH).host(0, command("get_tree"));
    let played = deep.finish(Pi1);
    let text = "The session has more than 20000 entries in a row, too deep for a tree. get_entries tells them with \
                their parents.";
    assert_eq!(answer(&played, "get_tree"), refused("get_tree", text));
}

#[test]
fn clone_copies_branch_into_own_file() {
    for dialect in [Pi073, Pi1] {
        let played = opened(&[command("clone"), command("get_state")]).finish(dialect);
        assert_eq!(answer(&played, "clone")["data"], json!({ "cancelled": false }), "{dialect}");
        assert_eq!(answer(&played, "get_state")["data"]["messageCount"], 2, "{dialect}");
        let tree = played.disk.tree().expect("a session");
        assert_eq!(tree.header().parent_session.as_deref(), Some(PATH), "{dialect}");
        let ids: Vec<&str> = tree.entries().iter().map(|entry| entry.id().as_ref()).collect();
        assert_eq!(ids[..4], ["m", "t", "a", "c"], "{dialect}: {ids:?}");
        assert_eq!(tree.labels()["a"], "here", "{dialect}");
        assert_eq!(played.disk.text(Path::new(PATH)), Some(file(&branched()).as_str()), "{dialect}");
    }
}

#[test]
fn unsaved_session_is_cloned_only_in_memory() {
    let begun = scenario(json!([])).host(0, command("clone"));
    let text = "This session has not been saved yet. Send a message before cloning or forking it.";
    for dialect in [Pi073, Pi1] {
        assert_eq!(
            begun.finish(dialect).data("clone"),
            json!({ "cancelled": false }),
            "{dialect}: in memory"
        );
        let played = scenario(json!([])).kept().host(0, command("clone")).finish(dialect);
        assert_eq!(answer(&played, "clone"), refused("clone", text), "{dialect}");
    }
}

#[test]
fn pi_1_forks_only_from_the_branch() {
    let fork = |entry: &str| json!({ "id": "fork", "type": "fork", "entryId": entry });
    let listed = |dialect| opened(&[command("get_fork_messages")]).finish(dialect).data("get_fork_messages");
    let message = |id: &str, text: &str| json!({ "entryId": id, "text": text });
    let (first, left, second) = (message("a", "first"), message("b", "left"), message("c", "second"));
    assert_eq!(listed(Pi1), json!({ "messages": [first, second] }));
    assert_eq!(listed(Pi073), json!({ "messages": [first, left, second] }));
    let played = opened(&[fork("b")]).finish(Pi1);
    assert_eq!(answer(&played, "fork"), refused("fork", "Invalid entry ID for forking"));
    let forked = opened(&[fork("c")]);
    assert_eq!(forked.finish(Pi1).data("fork"), json!({ "text": "second", "cancelled": false }));
    assert_eq!(
        opened(&[fork("b")]).finish(Pi073).data("fork"),
        json!({ "text": "left", "cancelled": false })
    );
}
