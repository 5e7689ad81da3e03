//! The rules of session files that their readers rely on.

use serde_json::Value;
use std::collections::HashMap;

/// Violations in a file: the rule's name and the line.
pub fn violations(file: &[u8]) -> Vec<String> {
    let mut found = Found(Vec::new());
    if !file.ends_with(b"\n") {
        found.push("line-feed", file.split(|byte| *byte == b'\n').count());
    }
    let lines = file.strip_suffix(b"\n").unwrap_or(file).split(|byte| *byte == b'\n');
    let mut known = HashMap::new();
    let mut time = String::new();
    for (number, line) in (1..).zip(lines) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else {
            found.push("json", number);
            continue;
        };
        let now = line["timestamp"].as_str().unwrap_or_default();
        // As text: times of one form are in the order of their letters.
        if !is_iso(now) || now < time.as_str() {
            found.push("ts-iso", number);
        }
        now.clone_into(&mut time);
        if (number == 1) != (line["type"] == "session") {
            found.push("hdr-first", number);
        }
        match number {
            1 if line["version"] != 3 => found.push("hdr-v3", number),
            1 => {}
            _ => entry(&line, number, &mut known, &mut found),
        }
    }
    found.0
}

struct Found(Vec<String>);

impl Found {
    fn push(&mut self, rule: &str, line: usize) {
        self.0.push(format!("{rule}: line {line}"));
    }
}

/// The id of each entry so far, with that of its parent.
type Known = HashMap<String, Option<String>>;

fn entry(line: &Value, number: usize, known: &mut Known, found: &mut Found) {
    let parent = line["parentId"].as_str().map(str::to_owned);
    let is_null = line.get("parentId").is_some_and(Value::is_null);
    if !parent.as_ref().map_or(is_null, |parent| known.contains_key(parent)) {
        found.push("parent-earlier", number);
    }
    if line["type"] == "compaction" && !is_before(line["firstKeptEntryId"].as_str(), parent.clone(), known) {
        found.push("kept-on-path", number);
    }
    if line["type"] == "label" && !line["targetId"].as_str().is_some_and(|id| known.contains_key(id)) {
        found.push("label-target", number);
    }
    let is_new = line["id"].as_str().is_some_and(|id| known.insert(id.to_owned(), parent).is_none());
    if !is_new {
        found.push("ids-unique", number);
    }
}

/// Whether the entry `id` is on the path that ends with `leaf`.
fn is_before(id: Option<&str>, leaf: Option<String>, known: &Known) -> bool {
    let path = std::iter::successors(leaf, |at| known.get(at).cloned().flatten());
    // A circle has been reported; it must not be followed for ever.
    path.take(known.len()).any(|at| Some(at.as_str()) == id)
}

/// Whether the text is a timestamp such as `2026-01-05T10:00:00.000Z`.
fn is_iso(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}
