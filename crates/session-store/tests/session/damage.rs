//! Files that are old, damaged, or were written by programs with defects: what can be read is read, and what cannot is told.

use crate::session_support::*;
use pi_rpc_session::{FileEnd, ReadError};
use serde_json::{Value, json};

/// What is told of a file, the branch, and how it ends.
fn found(file: impl Into<Vec<u8>>) -> (Vec<String>, Vec<String>, FileEnd) {
    let read = read(file);
    (notices(&read), path(&read.tree).into_iter().map(str::to_owned).collect(), read.ending)
}

#[test]
fn file_without_header_is_no_session() {
    for (text, expected) in [
        ("", ReadError::Empty),
        ("\n \r\n\n", ReadError::Empty),
        ("\u{feff}", ReadError::Empty),
        ("# Notes\n\nBuy milk.\n", ReadError::NoHeader),
        ("Buy milk", ReadError::NoHeader),
        ("{}\n", ReadError::NoHeader),
        (r#"{"type":"session"}"#, ReadError::NoHeader),
        (r#"{"type":"session","id":5}"#, ReadError::NoHeader),
        (r#"{"type":"message","id":"a"}"#, ReadError::NoHeader),
        ("[1,2]\n", ReadError::NoHeader),
        ("null", ReadError::NoHeader),
        ("\0\0\0\0\n", ReadError::NoHeader),
        (r#"{"type":"#, ReadError::TornHeader),
        (r#"{"type":"session","vers"#, ReadError::TornHeader),
        // A file whose lines end as they did on old machines is not torn.
        ("{\"type\":\"session\",\"id\":\"a\"}\r{\"type\":\"message\"", ReadError::NoHeader),
        (r#"{"type":"else""#, ReadError::NoHeader),
        ("# Notes\n{\"type\":\"session\"", ReadError::NoHeader),
    ] {
        assert_eq!(try_read(text).err(), Some(expected), "{text:?}");
    }
    assert_eq!(try_read(b"\xff\xfe{\0\"\0".to_vec()).err(), Some(ReadError::NoHeader));
}

#[test]
fn header_needs_only_id() {
    let read = read(r#"{"id":"s","type":"session","version":3,"cwd":7,"title":null,"future":{"a":1}}"#);
    let header = read.tree.header();
    assert_eq!((header.id.as_str(), header.cwd.as_str(), header.version), ("s", "", 3));
    let expected = r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"","future":{"a":1}}"#;
    assert_eq!(bytes(&read.tree), file(&[expected]));
}

#[test]
fn later_version_is_read_with_notice() {
    let later = HEADER.replace("3", "4");
    let text = file(&[later, user("a", None, "one")]);
    let expected = vec!["the file is of version 4, later than 3".to_owned()];
    assert_eq!(found(text.clone()), (expected, vec!["a".to_owned()], FileEnd::Whole));
    assert_eq!(bytes(&read(text.clone()).tree), text);
}

#[test]
fn garbage_is_passed_over_and_kept() {
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        "Segmentation fault".to_owned(),
        "[1]".to_owned(),
        "null".to_owned(),
        "{\"type\":\"message\"".to_owned(),
        "\0\0\0".to_owned(),
        user("b", Some("a"), "two"),
        json!({ "type": "message", "message": { "role": "user" } }).to_string(),
        "the end".to_owned(),
    ];
    let expected = vec![
        "lines 3, 4, 5, 6, 7 and 1 more passed over: no JSON object".to_owned(),
        "line 9 passed over: an entry without an id".to_owned(),
    ];
    assert_eq!(found(file(&lines)), (expected, vec!["a".to_owned(), "b".to_owned()], FileEnd::Whole));
    assert_eq!(bytes(&read(file(&lines)).tree), file(&lines));
}

#[test]
fn blank_lines_and_carriage_returns_are_nothing() {
    let text =
        format!("{HEADER}\r\n\r\n\n  {}\r\n \n{}", user("a", None, "one"), user("b", Some("a"), "two"));
    let lines = [HEADER.to_owned(), user("a", None, "one"), user("b", Some("a"), "two")];
    assert_eq!(found(text.clone()), (vec![], vec!["a".to_owned(), "b".to_owned()], FileEnd::NoLineFeed));
    assert_eq!(bytes(&read(text).tree), file(&lines));
    assert_eq!(found(format!("\u{feff}{}", file(&lines))).0, Vec::<String>::new());
}

#[test]
fn torn_line_is_noticed_with_its_offset() {
    let whole = file(&[HEADER.to_owned(), user("a", None, "one é")]);
    let last =
        entry("custom", "b", Some("a"), json!({ "customType": "é\n\u{1}", "data": [-1.5e-300, true, null] }));
    let torn = |tail: &[u8]| found([whole.as_bytes(), tail].concat());
    for cut in 1..last.len() {
        let expected = format!("line 3 is incomplete ({cut} bytes): its writer was stopped");
        let found = torn(&last.as_bytes()[..cut]);
        assert_eq!(found, (vec![expected], vec!["a".to_owned()], FileEnd::Torn { at: whole.len() }), "{cut}");
    }
    assert_eq!(torn(last.as_bytes()).2, FileEnd::NoLineFeed);
    // What some file systems leave of bytes that never reached the disk.
    assert_eq!(torn(b"\0\0\0\0").2, FileEnd::Torn { at: whole.len() });
    assert_eq!(torn(b"{\"type\":\"mess\0\0\0\0").2, FileEnd::Torn { at: whole.len() });
    // What is no beginning of an entry was not torn, and stays.
    for words in [&b"Segmentation fault"[..], b"\"Segmentation fault", b"[1, 2", b"17"] {
        let (told, _, ending) = torn(words);
        let expected = vec!["line 3 passed over: no JSON object".to_owned()];
        assert_eq!((told, ending), (expected, FileEnd::NoLineFeed));
    }
}

#[test]
fn bad_bytes_become_replacement_characters() {
    let mut text = file(&[HEADER.to_owned(), user("a", None, "caf?!")]).into_bytes();
    let at = text.iter().position(|byte| *byte == b'?').unwrap();
    text[at] = 0xe9;
    let read = read(text);
    assert_eq!(notices(&read), ["line 2: not UTF-8; bad bytes are read as U+FFFD"]);
    assert_eq!(told(&read.tree.context()), ["user: caf\u{fffd}!"]);
}

#[test]
fn a_missing_parent_begins_the_conversation() {
    let lines = [HEADER.to_owned(), user("a", None, "one"), user("c", Some("b"), "two")];
    let expected = vec!["entry c: its parent b is missing; the conversation begins here".to_owned()];
    assert_eq!(found(file(&lines)), (expected, vec!["c".to_owned()], FileEnd::Whole));
}

#[test]
fn damaged_line_hides_nothing_before_it() {
    let damaged = answer("b", Some("a"), "two").replace("\"id\"", "id\"");
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        damaged,
        user("c", Some("b"), "three"),
        answer("d", Some("c"), "four"),
        user("e", Some("b"), "three again"),
    ];
    let bridge = |id: &str| {
        format!(
            "entry {id}: its parent b is missing (line 3 is damaged); the conversation goes on from entry a"
        )
    };
    let expected = vec!["line 3 passed over: no JSON object".to_owned(), bridge("c"), bridge("e")];
    let (told, branch, ending) = found(file(&lines));
    assert_eq!((told, ending), (expected, FileEnd::Whole));
    assert_eq!(branch, ["a", "e"], "both children of the lost entry follow the one before it");
    let mut tree = read(file(&lines)).tree;
    assert!(tree.move_to(Some("d")));
    assert_eq!(path(&tree), ["a", "c", "d"]);
    // A copy has no damaged line, and holds together all the same.
    let copy = read(file(
        &[HEADER.to_owned()]
            .into_iter()
            .chain(
                tree.path()
                    .iter()
                    .map(|entry| String::from_utf8(entry.line().trim_ascii().to_vec()).unwrap()),
            )
            .collect::<Vec<_>>(),
    ));
    assert_eq!((notices(&copy), path(&copy.tree)), (vec![], vec!["a", "c", "d"]));
}

#[test]
fn two_damaged_lines_bridge_two_gaps() {
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        "{".to_owned() + "\"type\"}",
        answer("c", Some("b"), "three"),
        "\0\0\0".to_owned(),
        answer("e", Some("d"), "five"),
    ];
    let (_, branch, _) = found(file(&lines));
    assert_eq!(branch, ["a", "c", "e"]);
}

#[test]
fn circle_of_parents_is_followed_once() {
    let lines = [
        HEADER.to_owned(),
        user("a", Some("c"), "one"),
        user("b", Some("a"), "two"),
        user("c", Some("b"), "three"),
        user("d", Some("b"), "four"),
    ];
    let expected = vec!["entry c: its parents go round in a circle; the conversation begins here".to_owned()];
    let branch = ["c", "a", "b", "d"].map(str::to_owned).to_vec();
    assert_eq!(found(file(&lines)), (expected, branch, FileEnd::Whole));
    let alone = [HEADER.to_owned(), user("a", Some("a"), "one")];
    assert_eq!(found(file(&alone)).1, ["a"]);
}

/// The originals write everything again when they go on with a file that has no answer yet.
#[test]
fn file_written_twice_is_read_once() {
    let begun = [
        HEADER.to_owned(),
        entry("label", "l", None, json!({ "targetId": "x" })),
        user("a", Some("l"), "one"),
    ];
    let more = [answer("b", Some("a"), "two"), user("c", Some("b"), "three")];
    let doubled = file(&[&begun[..], &begun, &more].concat());
    let read = read(doubled);
    assert_eq!(notices(&read), ["line 4: a second header, ignored"]);
    assert_eq!(told(&read.tree.context()), ["user: one", "assistant: two", "user: three"]);
    assert_eq!(read.tree.fork_messages().len(), 2);
    assert_eq!(bytes(&read.tree), file(&[&begun[..], &more].concat()));
}

#[test]
fn unreadable_message_is_left_out_with_notice() {
    let odd = |id: &str, parent: &str, message: Value| {
        entry("message", id, Some(parent), json!({ "message": message }))
    };
    let lines = [
        HEADER.to_owned(),
        user("a", None, "one"),
        odd("b", "a", json!({ "role": "oracle", "content": "…" })),
        odd("c", "b", json!("two")),
        entry("thinking_level_change", "d", Some("c"), json!({ "thinkingLevel": "cosmic" })),
        entry("compaction", "e", Some("d"), json!({ "summary": 5 })),
        user("f", Some("e"), "three"),
    ];
    let context = read(file(&lines)).tree.context();
    assert_eq!(told(&context), ["user: one", "user: three"]);
    assert_eq!(context.level, None);
    let notices: Vec<String> = context.notices.iter().map(ToString::to_string).collect();
    let begins = ["entry b could not", "entry c could not", "entry e could not", "entry d could not"];
    assert_eq!(notices.len(), begins.len(), "{notices:?}");
    assert!(notices.iter().zip(begins).all(|(notice, begin)| notice.starts_with(begin)), "{notices:?}");
    assert!(notices[0].contains("`oracle`") && notices[3].contains("`cosmic`"), "{notices:?}");
}

#[test]
fn missing_members_of_old_messages_are_filled() {
    let lines = [
        HEADER.to_owned(),
        entry("message", "a", None, json!({ "message": { "role": "user", "content": "one" } })),
        entry(
            "message",
            "b",
            Some("a"),
            json!({ "message": {
            "role": "assistant", "content": "two", "usage": { "input": 3, "output": -5, "cost": { "total": null } }, "stopReason": "odd",
        } }),
        ),
        entry(
            "message",
            "c",
            Some("b"),
            json!({ "message": {
            "role": "toolResult", "toolCallId": "t", "content": [{ "type": "text", "text": "three" }, { "type": "smell" }],
        } }),
        ),
    ];
    let context = read(file(&lines)).tree.context();
    let messages: Vec<Value> =
        context.messages.iter().map(|message| serde_json::to_value(message.as_ref()).unwrap()).collect();
    let mut answer = answered("two");
    for key in ["api", "provider", "model"] {
        answer[key] = "".into();
    }
    answer["usage"]["input"] = 3.into();
    answer["timestamp"] = MORNING.into();
    let expected = [
        json!({ "role": "user", "content": "one", "timestamp": MORNING }),
        answer,
        json!({
            "role": "toolResult", "toolCallId": "t", "toolName": "",
            "content": [{ "type": "text", "text": "three" }], "isError": false, "timestamp": MORNING,
        }),
    ];
    assert_eq!(messages, expected);
    let notices: Vec<String> = context.notices.iter().map(ToString::to_string).collect();
    assert_eq!(notices, ["entry c could not be read whole: 1 of its blocks left out"]);
}

#[test]
fn version_1_file_gets_ids_and_parents() {
    let bare = |kind: &str, own: Value| {
        let mut map = json!({ "type": kind, "timestamp": "2026-01-05T10:00:00.000Z" });
        map.as_object_mut().unwrap().extend(own.as_object().cloned().unwrap());
        map.to_string()
    };
    let said = |text: &str| {
        bare("message", json!({ "message": { "role": "user", "content": text, "timestamp": 1 } }))
    };
    let lines = [
        r#"{"type":"session","id":"s-1","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/w"}"#.to_owned(),
        said("one"),
        "garbage".to_owned(),
        said("two"),
        // Counts the header, and not the garbage.
        bare("compaction", json!({ "summary": "until now", "firstKeptEntryIndex": 2, "tokensBefore": 9 })),
        said("three"),
    ];
    let read = read(file(&lines));
    assert!(read.migrated);
    assert_eq!(told(&read.tree.context()), ["compactionSummary: until now", "user: two", "user: three"]);
    let ids = path(&read.tree);
    let chained = |line: &str, at: usize| {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |before| format!("{:?}", ids[before]));
        line.replace(r#""firstKeptEntryIndex":2,"#, "")
            .replace("}\n", "}")
            .strip_suffix('}')
            .map(|line| format!(r#"{line},"id":"{}","parentId":{parent}}}"#, ids[at]))
            .unwrap()
    };
    let compaction = chained(&lines[4], 2)
        .strip_suffix('}')
        .map(|line| format!(r#"{line},"firstKeptEntryId":"{}"}}"#, ids[1]))
        .unwrap();
    let expected = [
        HEADER.to_owned(),
        chained(&lines[1], 0),
        "garbage".to_owned(),
        chained(&lines[3], 1),
        compaction,
        chained(&lines[5], 3),
    ];
    assert_eq!(bytes(&read.tree), file(&expected));
}

#[test]
fn huge_line_is_an_entry() {
    let text = "x\\\"".repeat(1 << 20);
    let lines = [HEADER.to_owned(), user("a", None, &text), user("b", Some("a"), "two")];
    let read = read(file(&lines));
    assert_eq!(notices(&read), Vec::<String>::new());
    assert_eq!(told(&read.tree.context()), [format!("user: {text}"), "user: two".to_owned()]);
}
