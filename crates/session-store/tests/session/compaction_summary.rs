//! What a model is asked to sum up, and what becomes of its answers.

use crate::compaction_support::{self, answer, compaction, said};
use pi_rpc_protocol::Dialect;
use pi_rpc_session::compaction::{
    PathEntry, PathEntryKind, Preparation, SummaryRequest, prepare, short_request,
};
use serde_json::{Value, json};

/// A conversation with something of everything, whose last turn is too long.
fn conversation() -> Vec<PathEntry> {
    let result = |text: &str, more: Value| {
        json!({ "role": "toolResult", "toolCallId": "1", "toolName": "read", "isError": false, "timestamp": 1,
                "content": [{ "type": "text", "text": text }, more] })
    };
    let calls = |calls: Value| {
        let mut answer = answer("Let me see.", &[], 0, false);
        answer["content"].as_array_mut().unwrap().extend(calls.as_array().unwrap().clone());
        answer
    };
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let bash = |excluded: bool| {
        json!({ "role": "bashExecution", "command": "make", "output": "failed", "exitCode": 2, "cancelled": false,
                "truncated": false, "timestamp": 1, "excludeFromContext": excluded })
    };
    let messages = [
        json!({ "role": "user", "content": [{ "type": "text", "text": "What is wrong?" }, image], "timestamp": 1 }),
        calls(json!([
            { "type": "thinking", "thinking": "It may be the build." },
            { "type": "redactedThinking", "data": "secret" },
            { "type": "toolCall", "id": "1", "name": "read", "arguments": { "path": "src/a.rs", "limit": 5 } },
            { "type": "toolCall", "id": "2", "name": "bash", "arguments": { "command": "echo \"hi\"" } },
        ])),
        result("fn main() {}", image.clone()),
        result(&format!("{}😀{}", "x".repeat(1999), "y".repeat(500)), image),
        bash(false),
        bash(true),
        answer("", &[], 0, true),
        json!({ "role": "custom", "customType": "c", "content": "From an extension.", "display": true, "timestamp": 1 }),
        json!({ "role": "developer", "content": "Go on.", "timestamp": 1 }),
        json!({ "role": "fileMention", "files": [{ "path": "b.rs", "content": "// b" }], "timestamp": 1 }),
        json!({ "role": "branchSummary", "summary": "Tried c.", "fromId": "e0", "timestamp": 1 }),
        json!({ "role": "user", "content": "Now mend it.", "timestamp": 1 }),
        calls(
            json!([{ "type": "toolCall", "id": "3", "name": "edit", "arguments": { "path": "src/a.rs" } }]),
        ),
        answer(&"z".repeat(400), &[], 0, false),
    ];
    messages.into_iter().enumerate().map(|(place, message)| said(&format!("e{place}"), message)).collect()
}

/// The conversation after a compaction that noted `details`.
fn continued(summary: &str, details: Option<Value>, from_hook: bool) -> Preparation {
    let mut path = conversation();
    path.insert(0, PathEntry { id: "c".into(), kind: compaction(summary, "gone", details, from_hook) });
    prepare(&path, 50).unwrap()
}

fn first() -> Preparation {
    prepare(&conversation(), 50).unwrap()
}

#[test]
fn the_requests_are_reviewed_by_people() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let shown = |request: &SummaryRequest| {
        // Nobody needs to read it.
        let text = request.text.replace(&"x".repeat(1999), "xxx…");
        format!("{}\n\n===\n\n{text}\n", request.system_prompt)
    };
    settings.bind(|| {
        let first = first();
        insta::assert_snapshot!("compaction_first", shown(&first.history_request(None).unwrap()));
        insta::assert_snapshot!(
            "compaction_prefix",
            shown(&first.prefix_request(Some("the build")).unwrap())
        );
        let next = continued("It was about a.", None, false);
        insta::assert_snapshot!("compaction_next", shown(&next.history_request(Some("the build")).unwrap()));
        insta::assert_snapshot!("compaction_short", shown(&short_request("It was about a.")));
    });
}

#[test]
fn empty_history_needs_no_request() {
    let path = compaction_support::path("u10 a10 a10");
    let split = prepare(&path, 10).unwrap();
    assert_eq!(split.history_request(None), None);
    assert!(split.prefix_request(None).is_some());
    let path = compaction_support::path("u10 a10 u10 a10");
    let whole = prepare(&path, 20).unwrap();
    assert!(whole.history_request(None).is_some());
    assert_eq!(whole.prefix_request(None), None);
    // The user keeps the only message from the model.
    let excluded = json!({ "role": "bashExecution", "command": "x", "output": "", "cancelled": false,
                           "truncated": false, "timestamp": 1, "excludeFromContext": true });
    let path = [vec![said("e", excluded)], compaction_support::path("u10 a10")].concat();
    assert_eq!(prepare(&path, 20).unwrap().history_request(None), None);
}

#[test]
fn a_blank_focus_is_none() {
    let first = first();
    assert_eq!(first.history_request(Some(" \n")), first.history_request(None));
    assert!(first.history_request(Some(" a ")).unwrap().text.ends_with("\n\nAdditional focus: a"));
}

#[test]
fn answers_are_joined() {
    let pi = &Dialect::Pi.record().compaction;
    let path = compaction_support::path("u10 a10 u10 a10 a10");
    let plain = prepare(&path, 10).unwrap();
    assert_eq!(plain.summary(Some("H"), None, pi), "H");
    assert_eq!(plain.summary(Some("H"), Some("P"), pi), "H\n\n---\n\n**Turn Context (split turn):**\n\nP");
    let nothing = "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nP";
    assert_eq!(plain.summary(None, Some("P"), pi), nothing);
    // What looks like a place for the other answer is none.
    assert_eq!(
        plain.summary(Some("{prefix}"), Some("{history}"), pi),
        "{prefix}\n\n---\n\n**Turn Context (split turn):**\n\n{history}"
    );
}

#[test]
fn previous_summary_replaces_missing_history() {
    let path = compaction_support::path("C9 u10 a10 a10");
    let prepared = prepare(&path, 10).unwrap();
    assert_eq!(prepared.history_request(None), None);
    let pi = &Dialect::Pi.record().compaction;
    let kept = "Earlier.\n\n---\n\n**Turn Context (split turn):**\n\nP";
    assert_eq!(prepared.summary(None, Some("P"), pi), kept);
}

#[test]
fn files_are_listed_once_and_carried_on() {
    let pi = &Dialect::Pi.record().compaction;
    let noted = json!({ "readFiles": ["z", "b", "src/a.rs"], "modifiedFiles": ["b"] });
    let list = |read: &str, modified: &str| {
        format!("H\n\n<read-files>\n{read}\n</read-files>\n\n<modified-files>\n{modified}\n</modified-files>")
    };
    let only_modified = "H\n\n<modified-files>\nsrc/a.rs\n</modified-files>";
    for (prepared, expected) in [
        (first(), only_modified.to_owned()),
        (continued("S", Some(noted.clone()), false), list("z", "b\nsrc/a.rs")),
        // Of an extension, or of a shape of its own.
        (continued("S", Some(noted), true), only_modified.to_owned()),
        (continued("S", Some(json!({ "readFiles": "z" })), false), only_modified.to_owned()),
        (continued("S", Some(json!(["z"])), false), only_modified.to_owned()),
    ] {
        assert_eq!(prepared.summary(Some("H"), None, pi), expected);
    }
}

#[test]
fn new_file_lists_replace_copied_ones() {
    let pi = &Dialect::Pi.record().compaction;
    let taken_over = "H\n\n<read-files>\nold\n</read-files>\n\n<modified-files>\nold\n</modified-files>";
    let expected = "H\n\n<modified-files>\nsrc/a.rs\n</modified-files>";
    assert_eq!(first().summary(Some(taken_over), None, pi), expected);
    // A tag alone is part of the text.
    let open = "Write <read-files> and\n<modified-files>\nx";
    let kept = format!("{open}\n\n<modified-files>\nsrc/a.rs\n</modified-files>");
    assert_eq!(first().summary(Some(open), None, pi), kept);
}

#[test]
fn calls_of_failed_answers_touch_nothing() {
    let write = |reason: &str| {
        let mut answer = answer("", &[], 0, false);
        answer["content"] = json!([
            { "type": "toolCall", "id": "1", "name": "write", "arguments": { "path": reason, "content": "" } },
            { "type": "toolCall", "id": "2", "name": "read", "arguments": { "path": 5 } },
            { "type": "toolCall", "id": "3", "name": "grep", "arguments": { "path": "g" } },
        ]);
        answer["stopReason"] = json!(reason);
        answer
    };
    let mut path: Vec<PathEntry> =
        ["error", "aborted", "length", "toolUse"].map(|reason| said(reason, write(reason))).into();
    path.extend(compaction_support::path("u10 a10"));
    let details = serde_json::to_value(prepare(&path, 20).unwrap().files.details()).unwrap();
    assert_eq!(details, json!({ "readFiles": [], "modifiedFiles": ["length", "toolUse"] }));
}

#[test]
fn dialect_caps_long_file_lists() {
    let path = |count: usize| {
        let calls = (0..count).map(|file| {
            json!({ "type": "toolCall", "id": file.to_string(), "name": "read",
                    "arguments": { "path": format!("{file:02}") } })
        });
        let mut answer = answer("", &[], 0, false);
        answer["content"] = calls.collect();
        [vec![said("e", answer)], compaction_support::path("u10 a10")].concat()
    };
    let lines = |count: usize, dialect: Dialect| {
        let summary =
            prepare(&path(count), 20).unwrap().summary(Some("H"), None, &dialect.record().compaction);
        summary.lines().skip(3).map(str::to_owned).filter(|line| !line.starts_with('<')).collect::<Vec<_>>()
    };
    let numbers = |count: usize| (0..count).map(|file| format!("{file:02}")).collect::<Vec<_>>();
    assert_eq!(lines(21, Dialect::Pi), numbers(21));
    assert_eq!(lines(20, Dialect::Xcsh), numbers(20));
    assert_eq!(lines(22, Dialect::Xcsh), [numbers(19), vec!["(3 more)".to_owned()]].concat());
}

/// The sizes of the recorded conversations, in characters and tokens; what was said is not of interest.
mod recorded {
    use super::*;

    const SAID: &str = "## Goal\nFake summary of the conversation.\n\n## Progress\n- [x] everything\n\n## Next Steps\n1. none";

    fn user(id: &str, length: usize) -> PathEntry {
        said(id, json!({ "role": "user", "content": "u".repeat(length), "timestamp": 1 }))
    }

    fn long(id: &str) -> PathEntry {
        said(id, answer(&"a".repeat(90_000), &[], 22_511, false))
    }

    fn short(id: &str, counted: u64) -> PathEntry {
        said(id, answer("Hello from the fake model.", &[], counted, false))
    }

    fn settings(id: &str) -> PathEntry {
        PathEntry { id: id.into(), kind: PathEntryKind::Other }
    }

    /// Three turns of which each is larger than what is kept.
    fn three_turns() -> Vec<PathEntry> {
        let turns = ["0", "1", "2"].map(|turn| [user(&format!("u{turn}"), 29), long(&format!("a{turn}"))]);
        [vec![settings("model"), settings("level")], turns.concat()].concat()
    }

    fn result(path: &[PathEntry], dialect: Dialect) -> Value {
        let rules = &dialect.record().compaction;
        let prepared = prepare(path, dialect.record().defaults.keep_recent_tokens).unwrap();
        let answer = |request: Option<SummaryRequest>| request.map(|_| SAID);
        let history = answer(prepared.history_request(None));
        let prefix = answer(prepared.prefix_request(None));
        let summary = prepared.summary(history, prefix, rules);
        serde_json::to_value(prepared.result(summary, Some(SAID.to_owned()), rules)).unwrap()
    }

    #[test]
    fn requested_compaction_splits_last_turn() {
        let summary = format!("{SAID}\n\n---\n\n**Turn Context (split turn):**\n\n{SAID}");
        let details = json!({ "readFiles": [], "modifiedFiles": [] });
        let pi = json!({ "summary": summary, "firstKeptEntryId": "a2", "tokensBefore": 22_511, "details": details });
        let xcsh = json!({ "summary": summary, "shortSummary": SAID, "firstKeptEntryId": "a2",
                           "tokensBefore": 22_511, "details": details, "preserveData": {} });
        assert_eq!(result(&three_turns(), Dialect::Pi).to_string(), pi.to_string());
        assert_eq!(result(&three_turns(), Dialect::Xcsh).to_string(), xcsh.to_string());
    }

    #[test]
    fn full_context_keeps_part_of_earlier_turn() {
        let mut path = three_turns();
        path.truncate(6);
        path.extend([user("u2", 33), said("a2", answer(&"a".repeat(60), &[], 195_016, false))]);
        let found = result(&path, Dialect::Pi);
        // Three messages are kept; the host was told of four, with the summary.
        assert_eq!((&found["firstKeptEntryId"], &found["tokensBefore"]), (&json!("a1"), &json!(195_016)));
    }

    #[test]
    fn small_conversation_is_not_compacted() {
        let keep = Dialect::Pi.record().defaults.keep_recent_tokens;
        let empty = [settings("model"), settings("level")];
        let short_session = [settings("model"), settings("level"), user("u", 5), short("a", 17)];
        let kind = compaction(SAID, "a2", None, false);
        let after = [PathEntry { id: "c".into(), kind }, user("u3", 16), short("a3", 17)];
        let second = [three_turns(), after.into()].concat();
        for path in [&empty[..], &short_session, &second] {
            assert_eq!(compaction_support::shown(path, &prepare(path, keep)), "TooSmall");
        }
    }
}
