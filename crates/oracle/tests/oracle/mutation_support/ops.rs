//! The operations that plant faults in recordings, and in the output of a server.

use serde::Deserialize;
use serde_json::{Value, json};

/// One change of a recording. A place is `dir type[.detail][#n]`: the n-th record of that direction and
/// type (from 1, or from the end where it is negative) of which some of role, update, method, command, event or id is
/// `detail`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Op {
    /// Removes the record.
    Drop(String),
    /// Repeats the record.
    Twice(String),
    /// Moves the first record behind the second.
    Move(String, String),
    /// Replaces a value in the frame; null removes it, and the place `-` of a list is the one behind its last.
    Set(String, String, Value),
    /// Swaps two items of a list in the frame.
    Swap(String, String, usize, usize),
    /// Inserts a record behind this one.
    Insert(String, Value),
    /// Cuts the line in the middle.
    Break(String),
    /// Ends the recording before the record.
    End(String),
    /// Delays everything from this record on, by milliseconds.
    Later(String, f64),
}

impl Op {
    /// Applies the change.
    pub fn apply(&self, trace: &mut Vec<Value>) {
        match self {
            Self::Drop(at) => drop(trace.remove(place(trace, at))),
            Self::Twice(at) => {
                let at = place(trace, at);
                trace.insert(at, trace[at].clone());
            }
            Self::Move(what, after) => {
                let record = trace.remove(place(trace, what));
                let to = place(trace, after) + 1;
                trace.insert(to, record);
            }
            Self::Set(at, pointer, value) => {
                let at = place(trace, at);
                set(&mut trace[at]["frame"], pointer, value);
            }
            Self::Swap(at, pointer, one, other) => {
                let at = place(trace, at);
                let list = trace[at]["frame"].pointer_mut(pointer).and_then(Value::as_array_mut);
                list.unwrap_or_else(|| panic!("no {pointer}")).swap(*one, *other);
            }
            Self::Insert(after, record) => {
                let before = place(trace, after);
                let mut record = record.clone();
                record["t"] = trace[before]["t"].clone();
                trace.insert(before + 1, record);
            }
            Self::Break(at) => {
                let at = place(trace, at);
                trace[at] = half(&trace[at]);
            }
            Self::Later(at, ms) => {
                let from = place(trace, at);
                for record in trace.iter_mut().skip(from) {
                    record["t"] = json!(record["t"].as_f64().unwrap_or_default() + ms);
                }
            }
            Self::End(at) => trace.truncate(place(trace, at)),
        }
    }
}

/// Replaces a value in a frame.
pub fn set(frame: &mut Value, pointer: &str, value: &Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match frame.pointer_mut(parent).unwrap_or_else(|| panic!("no {pointer}")) {
        Value::Array(list) if value.is_null() => drop(list.remove(key.parse().expect("an index"))),
        Value::Array(list) if key == "-" => list.push(value.clone()),
        Value::Array(list) => list[key.parse::<usize>().expect("an index")] = value.clone(),
        Value::Object(map) if value.is_null() => drop(map.shift_remove(key)),
        parent => parent[key] = value.clone(),
    }
}

/// The number of the record that a place names.
pub fn place(trace: &[Value], at: &str) -> usize {
    let (name, nth) =
        at.split_once('#').map_or((at, 1), |(name, nth)| (name, nth.parse::<i64>().expect("a number")));
    let fits: Vec<usize> = (0..trace.len()).filter(|n| is_named(&trace[*n], name)).collect();
    let index = if nth < 0 { fits.len() as i64 + nth } else { nth - 1 };
    *fits.get(usize::try_from(index).expect("a place")).unwrap_or_else(|| panic!("no {at}"))
}

/// Whether a place without its number is that of the record.
pub fn is_named(record: &Value, name: &str) -> bool {
    let (dir, kind) = name.split_once(' ').expect("a direction and a type");
    let (kind, detail) = kind.split_once('.').map_or((kind, None), |(kind, detail)| (kind, Some(detail)));
    let frame = &record["frame"];
    let details =
        ["/message/role", "/assistantMessageEvent/type", "/method", "/command", "/id", "/toolCallId"];
    record["dir"] == dir
        && (frame["type"] == kind || frame["event"] == kind)
        && detail.is_none_or(|detail| {
            details.iter().any(|pointer| frame.pointer(pointer).is_some_and(|value| value == detail))
        })
}

/// First half of the record's text.
pub fn half(record: &Value) -> Value {
    let line = record["frame"].to_string();
    let half: String = line.chars().take(line.chars().count() / 2).collect();
    json!({ "t": record["t"], "dir": record["dir"], "raw": half })
}
