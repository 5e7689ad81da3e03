//! Changes across a whole recording, which make a lie consistent with itself.

use super::catalogue::includes;
use crate::mutation_support::{Op, Trace, place, set};
use serde::Deserialize;
use serde_json::{Value, json};

/// One step of a lie: a change in one place, or across the recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// A change in one place.
    At(Op),
    /// A change across the recording.
    Wide(Wide),
}

/// A change across the recording, in frames of the server only. Places are those of [`Op`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Wide {
    /// From a place on, every value that equals the first is the second.
    Everywhere(String, Value, Value),
    /// From a place on, every value that equals the one in a frame is another.
    Replace(String, String, String, Value),
    /// From a place on, a text within texts is another.
    Words(String, String, String),
    /// From a place on, two values have changed places.
    Trade(String, Value, Value),
    /// In all frames of that name from the n-th on, something is another; null takes it away.
    SetAll(String, String, Value),
    /// Something in a frame is null.
    Null(String, String),
    /// In all frames of that name from the n-th on, so much more.
    Add(String, String, f64),
    /// Something in a frame is what it is in another frame: to, pointer, from, pointer.
    Copy(String, String, String, String),
    /// The same in all frames of that name from the n-th on.
    CopyAll(String, String, String, String),
    /// A value of another frame is put into a list: to, pointer of the list, index, from, pointer.
    Put(String, String, String, String, String),
    /// From a place on, no list has an item that equals the value in a frame.
    Forget(String, String, String),
    /// From a place on, what that model answers costs this: input, output, cache read, cache write, for a million tokens.
    Prices(String, String, [f64; 4]),
    /// Two frames have exchanged something.
    Exchange(String, String, String),
    /// No record of that name, from the n-th on.
    DropAll(String),
    /// Nothing that the server wrote from one record to another, both included.
    DropPart(String, String),
    /// What the server wrote from one record to another is written again behind a third.
    Again(String, String, String),
    /// What the server wrote from one record to another stands behind a third.
    MovePart(String, String, String),
    /// The host writes this behind that record.
    Host(String, Value),
    /// The server writes this behind that record.
    Out(String, Value),
    /// Only in those dialects.
    For(Vec<String>, Vec<Step>),
}

impl Step {
    /// Does it to a recording of that dialect.
    pub fn apply(&self, dialect: &str, trace: &mut Trace) {
        match self {
            Self::At(op) => op.apply(trace),
            Self::Wide(wide) => wide.apply(dialect, trace),
        }
    }
}

impl Wide {
    fn apply(&self, dialect: &str, trace: &mut Trace) {
        match self {
            Self::Everywhere(from, old, new) => replace(trace, from, old, new),
            Self::Replace(from, at, pointer, new) => {
                let old = value(trace, at, pointer);
                replace(trace, from, &old, new);
            }
            Self::Words(from, old, new) => {
                let mut found = false;
                each_from(trace, from, &mut |text| {
                    if let Value::String(text) = text
                        && text.contains(old.as_str())
                    {
                        *text = text.replace(old.as_str(), new);
                        found = true;
                    }
                });
                assert!(found, "no {old:?} from {from} on");
            }
            Self::Trade(from, one, other) => each_from(trace, from, &mut |value| {
                if value == one {
                    *value = other.clone();
                } else if value == other {
                    *value = one.clone();
                }
            }),
            Self::SetAll(name, pointer, value) => {
                for at in places(trace, name) {
                    set(&mut trace[at]["frame"], pointer, value);
                }
            }
            Self::Null(at, pointer) => {
                let at = place(trace, at);
                let null = trace[at]["frame"].pointer_mut(pointer);
                *null.unwrap_or_else(|| panic!("no {pointer}")) = Value::Null;
            }
            Self::Add(name, pointer, more) => {
                for at in places(trace, name) {
                    let number = trace[at]["frame"].pointer_mut(pointer);
                    let number = number.unwrap_or_else(|| panic!("no {pointer} in {name}"));
                    *number = sum(number, *more);
                }
            }
            Self::Copy(to, to_pointer, from, from_pointer) => {
                let value = value(trace, from, from_pointer);
                let at = place(trace, to);
                set(&mut trace[at]["frame"], to_pointer, &value);
            }
            Self::CopyAll(to, to_pointer, from, from_pointer) => {
                let value = value(trace, from, from_pointer);
                for at in places(trace, to) {
                    set(&mut trace[at]["frame"], to_pointer, &value);
                }
            }
            Self::Put(to, list, index, from, pointer) => {
                let value = value(trace, from, pointer);
                let at = place(trace, to);
                let list = trace[at]["frame"].pointer_mut(list).and_then(Value::as_array_mut);
                list.unwrap_or_else(|| panic!("no list in {to}"))
                    .insert(index.parse().expect("an index"), value);
            }
            Self::Forget(from, at, pointer) => {
                let gone = value(trace, at, pointer);
                each_from(trace, from, &mut |value| {
                    if let Value::Array(items) = value {
                        items.retain(|item| *item != gone);
                    }
                });
            }
            Self::Prices(from, model, prices) => price(trace, place(trace, from), model, *prices),
            Self::Exchange(one, other, pointer) => {
                let (first, second) = (value(trace, one, pointer), value(trace, other, pointer));
                let (one, other) = (place(trace, one), place(trace, other));
                set(&mut trace[one]["frame"], pointer, &second);
                set(&mut trace[other]["frame"], pointer, &first);
            }
            Self::DropAll(name) => {
                for at in places(trace, name).into_iter().rev() {
                    trace.remove(at);
                }
            }
            Self::DropPart(from, to) => drop(cut_out(trace, from, to)),
            Self::Again(from, to, after) => {
                let (first, last) = (place(trace, from), place(trace, to));
                let part = trace[first..=last].iter().filter(|record| is_written(record)).cloned().collect();
                write_behind(trace, after, part);
            }
            Self::MovePart(from, to, after) => {
                // The place is named as it is before anything moves.
                let mark = place(trace, after);
                trace[mark]["mark"] = json!(true);
                let part = cut_out(trace, from, to);
                let mark = trace.iter().position(|record| record["mark"] == true).expect("it stays");
                trace[mark].as_object_mut().expect("a record").remove("mark");
                write_at(trace, mark, part);
            }
            Self::Host(after, frame) => {
                write_behind(trace, after, vec![json!({ "dir": "in", "frame": frame })])
            }
            Self::Out(after, frame) => {
                write_behind(trace, after, vec![json!({ "dir": "out", "frame": frame })])
            }
            Self::For(dialects, steps) => {
                if includes(dialects, dialect) {
                    steps.iter().for_each(|step| step.apply(dialect, trace));
                }
            }
        }
    }
}

fn is_written(record: &Value) -> bool {
    record["dir"] == "out"
}

/// The value at a pointer of a frame.
fn value(trace: &[Value], at: &str, pointer: &str) -> Value {
    let value = trace[place(trace, at)]["frame"].pointer(pointer).cloned();
    value.unwrap_or_else(|| panic!("no {pointer} in {at}"))
}

/// All records of that name, from the n-th on.
fn places(trace: &[Value], name: &str) -> Vec<usize> {
    let bare = name.split_once('#').map_or(name, |(bare, _)| bare);
    let first = place(trace, name);
    (first..trace.len()).filter(|at| crate::mutation_support::is_named(&trace[*at], bare)).collect()
}

fn replace(trace: &mut Trace, from: &str, old: &Value, new: &Value) {
    let mut found = false;
    each_from(trace, from, &mut |value| {
        if value == old {
            *value = new.clone();
            found = true;
        }
    });
    assert!(found, "no {old} from {from} on");
}

/// Visits every value that the server wrote from a record on.
fn each_from(trace: &mut Trace, from: &str, visit: &mut impl FnMut(&mut Value)) {
    let first = place(trace, from);
    for record in trace.iter_mut().skip(first).filter(|record| record["dir"] != "in") {
        each(&mut record["frame"], visit);
    }
}

fn each(value: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| each(member, visit)),
        _ => {}
    }
}

/// The members of a usage and of its cost.
const KINDS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

/// Computes anew what the answers of a model cost.
fn price(trace: &mut Trace, first: usize, model: &str, prices: [f64; 4]) {
    let compute = |usage: &mut Value| {
        let costs: Vec<f64> = KINDS
            .iter()
            .zip(prices)
            .map(|(kind, price)| usage[*kind].as_f64().unwrap_or_default() * price / 1e6)
            .collect();
        for (kind, cost) in KINDS.iter().zip(&costs) {
            usage["cost"][*kind] = json!(cost);
        }
        usage["cost"]["total"] = json!(costs.iter().sum::<f64>());
    };
    let mut open = false;
    for record in trace.iter_mut().skip(first).filter(|record| record["dir"] != "in") {
        let frame = &mut record["frame"];
        if frame["type"] == "message_start" && frame["message"]["role"] == "assistant" {
            open = frame["message"]["model"] == model;
        }
        if open && frame["type"] == "message_update" && frame["usage"].is_object() {
            compute(&mut frame["usage"]);
        }
        each(frame, &mut |value| {
            if value["role"] == "assistant" && value["model"] == model && value["usage"].is_object() {
                compute(&mut value["usage"]);
            }
        });
    }
}

/// A sum that stays a whole number where both are.
fn sum(number: &Value, more: f64) -> Value {
    match number.as_i64() {
        Some(number) if more.fract() == 0.0 => json!(number + more as i64),
        _ => json!(number.as_f64().expect("a number") + more),
    }
}

/// Takes out what the server wrote from one record to another.
fn cut_out(trace: &mut Trace, from: &str, to: &str) -> Vec<Value> {
    let (first, last) = (place(trace, from), place(trace, to));
    assert!(first <= last, "{from} stands behind {to}");
    let part: Vec<Value> = trace.drain(first..=last).collect();
    let (written, kept) = part.into_iter().partition(is_written);
    let kept: Vec<Value> = kept;
    trace.splice(first..first, kept);
    written
}

fn write_behind(trace: &mut Trace, after: &str, part: Vec<Value>) {
    let at = place(trace, after);
    write_at(trace, at, part);
}

/// Puts records behind one, at its time.
fn write_at(trace: &mut Trace, at: usize, mut part: Vec<Value>) {
    let now = trace[at]["t"].clone();
    part.iter_mut().for_each(|record| record["t"] = now.clone());
    trace.splice(at + 1..at + 1, part);
}
