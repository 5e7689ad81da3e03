//! Recorded conversations: JSON Lines with `dir` (`in`, `out`, `meta`) and `frame`, or `raw` for what is no frame.

use super::Record;
use pi_rpc::protocol::Dialect;
use serde_json::Value;
use std::path::Path;

/// The dialects that were recorded, and from what.
pub const RECORDED: [(Dialect, &str); 4] = [
    (Dialect::Pi, "pi-0.52.12"),
    (Dialect::Pi115, "pi-1.5.2"),
    (Dialect::Xcsh, "xcsh-19.54.0"),
    (Dialect::Omp, "omp-18.2.3"),
];

/// Reads a recording.
pub fn records(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| record(&json(line))).collect()
}

/// A line as JSON. Some hold half a character as an escape, which no Rust string can; no text is looked at, so such
/// escapes are dropped.
fn json(line: &str) -> Value {
    let half = regex_lite::Regex::new(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}").unwrap();
    let whole = serde_json::from_str(line);
    whole.or_else(|_| serde_json::from_str(&half.replace_all(line, ""))).unwrap()
}

fn record(line: &Value) -> Option<Record> {
    let frame = line.get("frame");
    match (line["dir"].as_str()?, frame) {
        ("in", Some(frame)) => Some(Record::Sent(frame.clone())),
        ("in", None) => Some(Record::SentBytes),
        ("out", Some(frame)) => Some(Record::Said(frame.clone())),
        ("out", None) => Some(Record::Said(serde_json::json!({"type": "no frame"}))),
        ("meta", Some(meta)) => match meta["event"].as_str()? {
            "spawn" => Some(Record::Spawned),
            "session file" => Some(Record::Stored(meta["lines"].as_array()?.clone())),
            "files in cwd" => {
                let names = meta["names"].as_array()?.iter().filter_map(Value::as_str);
                Some(Record::Folder(names.filter(|name| !name.starts_with('.')).map(str::to_owned).collect()))
            }
            "exit" => Some(Record::Exited(meta["code"].as_i64())),
            "did not exit, killed" => Some(Record::Exited(None)),
            _ => None,
        },
        _ => None,
    }
}
