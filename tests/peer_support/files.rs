//! Session files that do not arise in a short conversation.

use serde_json::{Value, json};
use std::path::Path;

/// A file's name, its text for a working directory, how many messages pi reads, and how many more before those are read
/// here: pi forgets what stands before a damaged line.
type File = (&'static str, fn(&Path) -> String, usize, usize);

/// All files.
pub fn files() -> [File; 4] {
    [
        ("branches", branches, 7, 0),
        ("first-version", first_version, 4, 0),
        ("second-version", second_version, 2, 0),
        ("damaged", damaged, 3, 1),
    ]
}

const TIME: &str = "2026-01-05T10:00:00.000Z";

fn header(directory: &Path, version: u64) -> Value {
    json!({ "type": "session", "version": version, "id": "talk-1", "timestamp": TIME, "cwd": directory })
}

/// An entry with the fields that all have.
fn entry(kind: &str, id: &str, parent: Option<&str>, fields: Value) -> Value {
    let mut entry = json!({ "type": kind, "id": id, "parentId": parent, "timestamp": TIME });
    let Value::Object(fields) = fields else { panic!("not fields: {fields}") };
    entry.as_object_mut().expect("an object").extend(fields);
    entry
}

fn level(id: &str, parent: Option<&str>) -> Value {
    entry("thinking_level_change", id, parent, json!({ "thinkingLevel": "high" }))
}

fn said(id: &str, parent: Option<&str>, message: Value) -> Value {
    entry("message", id, parent, json!({ "message": message }))
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1_767_607_200_000_u64 })
}

fn assistant(text: &str) -> Value {
    json!({
        "role": "assistant", "content": [{ "type": "text", "text": text }],
        "api": "anthropic-messages", "provider": "first", "model": "model",
        "usage": {
            "input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7,
            "cost": { "input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3 },
        },
        "stopReason": "stop", "timestamp": 1_767_607_200_500_u64,
    })
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A tree whose newest branch leaves the first behind, with an entry of every type on it.
fn branches(directory: &Path) -> String {
    let custom = json!({
        "customType": "note", "content": "Mind the gap.", "display": true, "details": { "line": 4 },
    });
    text(&[
        header(directory, 3),
        entry("model_change", "a0", None, json!({ "provider": "first", "modelId": "model" })),
        level("a1", Some("a0")),
        said("b0", Some("a1"), user("One way.")),
        said("b1", Some("b0"), assistant("Gone.")),
        said("c0", Some("b1"), user("Left behind.")),
        said("c1", Some("c0"), assistant("Never seen.")),
        entry("session_info", "c2", Some("c1"), json!({ "name": "A name from elsewhere" })),
        entry(
            "branch_summary",
            "d0",
            Some("b1"),
            json!({ "fromId": "b1", "summary": "What was left behind.", "fromHook": false }),
        ),
        said("d1", Some("d0"), user("Another way.")),
        entry("label", "d2", Some("d1"), json!({ "targetId": "d1", "label": "here" })),
        entry("custom", "d3", Some("d2"), json!({ "customType": "state", "data": { "seen": 1 } })),
        entry("custom_message", "d4", Some("d3"), custom),
        entry("from_the_future", "d5", Some("d4"), json!({ "what": "nobody knows" })),
        entry("model_change", "d6", Some("d5"), json!({ "provider": "second", "modelId": "model" })),
        entry("thinking_level_change", "d7", Some("d6"), json!({ "thinkingLevel": "low" })),
        said("d8", Some("d7"), user("And on.")),
        said("d9", Some("d8"), assistant("On it goes.")),
    ])
}

/// Lines without ids, and a compaction that counts them.
fn first_version(directory: &Path) -> String {
    let line = |message: Value| json!({ "type": "message", "timestamp": TIME, "message": message });
    let compaction = json!({
        "type": "compaction", "timestamp": TIME, "summary": "It began.", "firstKeptEntryIndex": 4, "tokensBefore": 99,
    });
    let mut header = header(directory, 1);
    header.as_object_mut().expect("an object").remove("version");
    text(&[
        header,
        json!({ "type": "thinking_level_change", "timestamp": TIME, "thinkingLevel": "high" }),
        line(user("Forgotten.")),
        line(assistant("Forgotten, too.")),
        line(user("Kept.")),
        compaction,
        line(user("After.")),
        line(assistant("All well.")),
    ])
}

/// A message of a role that was renamed.
fn second_version(directory: &Path) -> String {
    let hook = json!({
        "role": "hookMessage", "customType": "note", "content": "From a hook.", "display": true,
        "timestamp": 1_767_607_200_000_u64,
    });
    text(&[
        header(directory, 2),
        level("a0", None),
        said("a1", Some("a0"), hook),
        said("a2", Some("a1"), assistant("Heard.")),
    ])
}

/// Unreadable lines, a repeated id, and a missing parent.
fn damaged(directory: &Path) -> String {
    let header = header(directory, 3);
    let lost = said("a0", None, user("Cut off."));
    let level = level("b0", Some("missing"));
    let first = said("b1", Some("b0"), user("The path begins here."));
    let one = said("b2", Some("b1"), assistant("One."));
    let two = said("b2", Some("b1"), assistant("Two."));
    let last = said("b3", Some("b2"), user("Here it ends."));
    let torn = &last.to_string()[..40];
    format!("{header}\n{lost}\n\n  \nnot JSON\n{level}\n{first}\n{torn}\n{one}\n{two}\n{last}\n")
}
