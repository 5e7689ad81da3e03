//! Reader of session files, independent of the tested library.

use serde_json::{Value, json};

/// The entries of a file in which every line is one, the header left out.
#[track_caller]
pub fn entries(file: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(file).expect("UTF-8");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    lines.filter(|entry: &Value| entry["type"] != "session").collect()
}

/// Messages of the branch that ends with the file's last line, as models get them.
pub fn messages(file: &[u8]) -> Vec<Value> {
    let entries = entries(file);
    let path = path(&entries);
    let compaction = path.iter().rposition(|entry| entry["type"] == "compaction");
    let (before, after) = path.split_at(compaction.unwrap_or(0));
    let first = compaction.and_then(|at| path[at]["firstKeptEntryId"].as_str());
    let kept = before.iter().position(|entry| entry["id"].as_str() == first).unwrap_or(before.len());
    let summary = compaction.map(|at| summary(path[at]));
    summary.into_iter().chain(before[kept..].iter().chain(after).filter_map(|entry| message(entry))).collect()
}

/// The user's messages that a fork can begin at.
pub fn fork_messages(file: &[u8]) -> Vec<Value> {
    let entries = entries(file);
    let asked = entries.iter().filter(|entry| entry["message"]["role"] == "user");
    let told = asked.map(|entry| {
        let blocks = entry["message"]["content"].as_array().expect("blocks");
        let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        json!({ "entryId": entry["id"], "text": text })
    });
    told.collect()
}

/// The entries from the first of the branch to the last of the file.
fn path(entries: &[Value]) -> Vec<&Value> {
    let mut path: Vec<&Value> = entries.last().into_iter().collect();
    while let Some(parent) = path.last().and_then(|entry| entry["parentId"].as_str()) {
        path.extend(entries.iter().find(|entry| entry["id"] == parent));
    }
    path.reverse();
    path
}

fn message(entry: &Value) -> Option<Value> {
    (entry["type"] == "message").then(|| entry["message"].clone())
}

fn summary(compaction: &Value) -> Value {
    let time: jiff::Timestamp = compaction["timestamp"].as_str().expect("a time").parse().expect("ISO");
    let mut message = json!({
        "role": "compactionSummary",
        "summary": compaction["summary"],
        "tokensBefore": compaction["tokensBefore"],
        "timestamp": time.as_millisecond(),
    });
    if let Some(short) = compaction.get("shortSummary") {
        message["shortSummary"] = short.clone();
    }
    message
}
