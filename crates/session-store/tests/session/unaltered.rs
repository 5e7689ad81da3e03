//! What is written of a file a second time says what it said before, letter by letter.

use crate::session_support::*;
use pi_rpc_protocol::Dialect;
use serde_json::json;

/// A member of a message that no parser gives back as it is: half a character, numbers of odd forms, blanks, a key twice.
const ODD: &str = r#""odd":{"half":"\ud83d", "long":12345678901234567890123, "round":1.10,"k":1,"k":2}"#;

/// `line` with [`ODD`] in its message.
fn odd(line: &str) -> String {
    line.replacen(r#""message":{"#, &format!(r#""message":{{{ODD},"#), 1)
}

#[test]
fn fork_changes_only_parents_behind_labels() {
    let label = entry("label", "l", Some("a"), json!({ "targetId": "gone", "label": "x" }));
    let after = |parent| odd(&answer("b", Some(parent), "two"));
    let lines = [HEADER.to_owned(), user("a", None, "one"), label, after("l"), user("c", Some("b"), "three")];
    let tree = read(file(&lines)).tree;
    let forked = tree.fork("c", header("s-2"), stamp(Dialect::Pi, 0), &mut random()).unwrap();
    let expected = [HEADER.replace("s-1", "s-2"), user("a", None, "one"), after("a")];
    assert_eq!(bytes(&forked.tree), file(&expected));
}

#[test]
fn migrated_version_1_file_is_unaltered() {
    let said = r#"{"type":"message","message":{"role":"user","content":"one","timestamp":1}}"#;
    let lines = [HEADER.replace(r#""version":3,"#, ""), odd(said), odd(said)];
    let old = read(file(&lines));
    let ids = path(&old.tree);
    let named = |id: &str, parent: &str| {
        let line = odd(said);
        format!(r#"{},"id":"{id}","parentId":{parent}}}"#, line.strip_suffix('}').unwrap())
    };
    let expected = [HEADER.to_owned(), named(ids[0], "null"), named(ids[1], &format!("{:?}", ids[0]))];
    assert_eq!(bytes(&old.tree), file(&expected));
    let again = read(bytes(&old.tree));
    assert_eq!((notices(&again), path(&again.tree)), (vec![], ids));
}

#[test]
fn migrated_version_2_file_is_unaltered() {
    let said = |role: &str| {
        let message = json!({ "customType": "note", "content": "mind", "display": true, "timestamp": 1 });
        let line = odd(&entry("message", "a", None, json!({ "message": message })));
        line.replacen(ODD, &format!(r#"{ODD},"role":"{role}""#), 1)
    };
    let compaction = r#"{"type":"compaction","id":"b","parentId":"a","summary":"s","firstKeptEntryId":"a","tokensBefore":1.0}"#;
    let lines = [HEADER.replace('3', "2"), said("hookMessage"), compaction.to_owned()];
    let expected = [HEADER.to_owned(), said("custom"), compaction.to_owned()];
    let old = read(file(&lines));
    assert_eq!((old.migrated, bytes(&old.tree)), (true, file(&expected)));
    assert_eq!(told(&old.tree.context()), ["custom: mind"]);
    let again = read(bytes(&old.tree));
    assert_eq!((again.migrated, again.tree.context()), (false, old.tree.context()));
}

#[test]
fn entry_with_used_id_replaces_earlier() {
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        "garbage".to_owned(),
        user("b", Some("a"), "two"),
        user("a", None, "other one"),
        user("a", None, "last one"),
        user("c", Some("b"), "three"),
    ];
    let once = read(file(&lines));
    let expected = [0, 1, 4, 5, 2, 3, 6].map(|line| lines[line].as_str());
    assert_eq!(bytes(&once.tree), file(&expected), "the earlier ones stay in the file");
    let branch = ["user: last one", "user: two", "user: three"];
    assert_eq!(told(&once.tree.context()), branch);
    let doubled = "lines 5, 6: an id that an earlier line has; the later one counts";
    assert!(notices(&once).iter().any(|notice| notice == doubled), "{:?}", notices(&once));
    let again = read(bytes(&once.tree));
    assert_eq!(
        (bytes(&again.tree), told(&again.tree.context())),
        (file(&expected), branch.map(str::to_owned).to_vec())
    );
}
