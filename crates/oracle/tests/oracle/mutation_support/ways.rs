//! The simple ways to spoil a recording, each tried with every frame of the server.

use super::{Trace, half};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A spoilt record.
pub struct Spoilt {
    /// The way of spoiling.
    pub way: &'static str,
    /// The label: the type of the frame, with its role, method or command, and the place in it.
    pub what: String,
    /// Records that replace the spoilt one.
    pub lines: Vec<String>,
    /// The number of records that are replaced.
    pub replaces: usize,
}

/// Spoils the record at that place in every simple way. A change inside frames is made once for each kind of frame:
/// `done` has those that were made.
pub fn ways(trace: &Trace, at: usize, done: &mut BTreeSet<String>) -> Vec<Spoilt> {
    let Some(record) = trace.get(at).filter(|record| record["dir"] == "out") else { return Vec::new() };
    let what = label(record);
    let spoilt = |way, records: &[&Value], replaces| Spoilt {
        way,
        what: what.clone(),
        lines: records.iter().map(ToString::to_string).collect(),
        replaces,
    };
    let mut ways = vec![
        spoilt("dropped", &[], 1),
        spoilt("said twice", &[record, record], 1),
        spoilt("cut in half", &[&half(record)], 1),
    ];
    if let Some(next) = trace.get(at + 1).filter(|next| next["dir"] == "out")
        && next["frame"] != record["frame"]
    {
        ways.push(spoilt("swapped with the next", &[next, record], 2));
    }
    for (way, pointer, frame) in changes(&record["frame"]) {
        let what = format!("{what} {pointer}");
        if done.insert(format!("{way} {what}")) {
            let record = json!({ "t": record["t"], "dir": "out", "frame": frame });
            ways.push(Spoilt { way, what, lines: vec![record.to_string()], replaces: 1 });
        }
    }
    ways
}

/// The kind of a frame: its type, with its role, method or command.
pub fn label(record: &Value) -> String {
    let frame = &record["frame"];
    let details = ["/assistantMessageEvent/type", "/message/role", "/method", "/command"];
    let detail = details.iter().find_map(|pointer| frame.pointer(pointer)?.as_str());
    let kind = frame["type"].as_str().unwrap_or_default();
    detail.map_or_else(|| kind.to_owned(), |detail| format!("{kind} {detail}"))
}

/// Every frame that differs from this one in the type of one value, or in the name of one member.
fn changes(frame: &Value) -> Vec<(&'static str, String, Value)> {
    let places = walk(frame);
    let mut changes = Vec::new();
    for place in places {
        let pointer: String = place.iter().map(|step| format!("/{step}")).collect();
        // Items of a list are alike.
        let shown: Vec<&str> =
            place.iter().map(|step| if step.parse::<usize>().is_ok() { "*" } else { step }).collect();
        let shown = format!("/{}", shown.join("/"));
        let (above, name) = pointer.rsplit_once('/').expect("a place in the frame");
        if let Some(other) = frame.pointer(&pointer).and_then(retyped) {
            let mut changed = frame.clone();
            *changed.pointer_mut(&pointer).expect("the same frame") = other;
            changes.push(("retyped", shown.clone(), changed));
        }
        let mut changed = frame.clone();
        if let Some(Value::Object(members)) = changed.pointer_mut(above) {
            *members = renamed(std::mem::take(members), name);
            changes.push(("renamed", shown, changed));
        }
    }
    changes
}

/// A record with another value in one member.
pub struct OtherValue {
    /// The label of the member.
    pub what: String,
    /// The place of the member in the frame.
    pub place: Vec<String>,
    /// The changed record.
    pub record: Value,
}

/// Every record that differs from this one in one value, which keeps its type.
pub fn other_values(record: &Value) -> Vec<OtherValue> {
    let places = walk(&record["frame"]);
    let what = label(record);
    let changed = |place: Vec<String>| {
        let pointer: String = place.iter().map(|step| format!("/{step}")).collect();
        let other = match record["frame"].pointer(&pointer)? {
            Value::String(text) => json!([text, "x"].concat()),
            Value::Number(number) => json!(number.as_f64()? + 1.0),
            Value::Bool(flag) => json!(!flag),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let mut changed = record.clone();
        *changed["frame"].pointer_mut(&pointer)? = other;
        let shown = place.iter().map(|step| if step.parse::<usize>().is_ok() { "*" } else { step });
        let shown: String = shown.map(|step| format!("/{step}")).collect();
        // A tree of any depth has the same members everywhere.
        let flat = shown.replace("/children/*", "");
        Some(OtherValue { what: format!("{what} {flat}"), place, record: changed })
    };
    places.into_iter().filter_map(changed).collect()
}

/// The places of all members and items of a record.
pub fn walk(record: &Value) -> Vec<Vec<String>> {
    let mut places = Vec::new();
    collect(record, &mut Vec::new(), &mut places);
    places
}

/// The places of all members and items below `value`.
fn collect(value: &Value, path: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    let steps: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => return,
    };
    for (step, value) in steps {
        path.push(step);
        places.push(path.clone());
        collect(value, path, places);
        path.pop();
    }
}

/// A value of another type.
fn retyped(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(json!(7)),
        Value::Number(number) => Some(json!(number.to_string())),
        Value::Bool(flag) => Some(json!(flag.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn renamed(members: Map<String, Value>, name: &str) -> Map<String, Value> {
    let other = |key: String| if key == name { format!("{key}_") } else { key };
    members.into_iter().map(|(key, value)| (other(key), value)).collect()
}
