//! Draws the lies for a recording.

use crate::{
    free_members::mark_of,
    mutation_support::{Trace, half, label, walk, why},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A lie at a place of a recording.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The way of lying, the kind of frame and the member.
    pub kind: String,
    /// The index of the record.
    pub line: usize,
    /// Whether the wire betrays it.
    pub is_betrayed: bool,
    lie: Lie,
}

#[derive(Clone, Debug)]
enum Lie {
    Lost,
    Twice,
    Cut,
    /// The frame and the next one of the server have changed places.
    Exchanged(usize),
    /// The frame stands behind another one.
    Behind(usize),
    /// Two responses have each other's id.
    AnswersOther(usize),
    /// A response is an error.
    Refused,
    /// A value is another: its place in the frame, its new value (`None`: it is left out), and where else.
    Value(Vec<String>, Option<Value>, Reach),
}

/// The frames in which a value is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// In one frame.
    Once,
    /// In this frame and all later ones of its kind that have the same value.
    Kind,
    /// In this frame and wherever a later one of the server has the same value.
    Rest,
}

/// Draws lies for a recording: as many, of different kinds; always the same ones.
pub fn plans(name: &str, trace: &Trace, many: usize) -> Vec<Plan> {
    let mut by_kind: BTreeMap<String, Vec<Plan>> = BTreeMap::new();
    let told = Told::of(trace);
    for (line, record) in trace.iter().enumerate().filter(|(_, record)| record["dir"] == "out") {
        let all = frame_lies(trace, line).into_iter().chain(value_lies(trace, line, record, &told));
        all.for_each(|plan| by_kind.entry(plan.kind.clone()).or_default().push(plan));
    }
    let mut drawn: Vec<(u64, Plan)> = by_kind
        .into_iter()
        .map(|(kind, mut plans)| {
            let order = number(&format!("{name} {kind}"));
            let place = number(&format!("{kind} {name}")) as usize % plans.len();
            (order, plans.swap_remove(place))
        })
        .collect();
    drawn.sort_by_key(|(order, _)| *order);
    drawn.into_iter().take(many).map(|(_, plan)| plan).collect()
}

/// A number that looks drawn: FNV-1a of the text.
fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The lies about a frame as a whole.
fn frame_lies(trace: &Trace, line: usize) -> Vec<Plan> {
    let record = &trace[line];
    let what = label(record);
    let mut plans = Vec::new();
    let mut add = |way: &str, legal: Option<&str>, lie| {
        let is_betrayed = legal.is_none_or(|legal| why(legal, &what).is_none());
        plans.push(Plan { kind: format!("{way}: {what}"), line, is_betrayed, lie });
    };
    add("lost", Some("dropped"), Lie::Lost);
    add("told twice", Some("said twice"), Lie::Twice);
    add("cut", None, Lie::Cut);
    let later = |wanted: &dyn Fn(&Value) -> bool| {
        (line + 1..trace.len()).find(|at| trace[*at]["dir"] == "out" && wanted(&trace[*at]))
    };
    if let Some(next) =
        later(&|_| true).filter(|next| *next == line + 1 && trace[*next]["frame"] != record["frame"])
    {
        add("exchanged with the next", Some("swapped with the next"), Lie::Exchanged(next));
    }
    if let Some(next) = later(&|other| label(other) == what) {
        add("behind the next of its kind", Some("swapped with the next"), Lie::Behind(next));
    }
    if record["frame"]["type"] == "response" && record["frame"]["id"].is_string() {
        if let Some(next) =
            later(&|other| other["frame"]["type"] == "response" && other["frame"]["id"].is_string())
        {
            add("answers another", None, Lie::AnswersOther(next));
        }
        if record["frame"]["success"] == true {
            add("is refused", None, Lie::Refused);
        }
    }
    plans
}

/// The values of a recording by the name of their member, with the lines that tell them.
struct Told(BTreeMap<(String, String), Vec<usize>>);

impl Told {
    fn of(trace: &Trace) -> Self {
        let mut told = Self(BTreeMap::new());
        for (line, record) in trace.iter().enumerate() {
            for place in walk(record) {
                let value = at(record, &place);
                told.0.entry((name_of(&place), value.to_string())).or_default().push(line);
            }
        }
        told
    }

    /// Whether another line tells the value under this name; with `before`, an earlier one.
    fn elsewhere(&self, place: &[String], value: &Value, line: usize, before: bool) -> bool {
        let lines = self.0.get(&(name_of(place), value.to_string()));
        lines.is_some_and(|lines| {
            lines.iter().any(|other| if before { *other < line } else { *other != line })
        })
    }
}

/// The name of a member; of an item, that of its list.
fn name_of(place: &[String]) -> String {
    let is_name = |step: &&String| step.parse::<usize>().is_err();
    place.iter().rev().find(is_name).cloned().unwrap_or_default()
}

fn at<'v>(record: &'v Value, place: &[String]) -> &'v Value {
    place.iter().fold(record, |value, step| match value {
        Value::Array(items) => {
            step.parse::<usize>().ok().and_then(|at| items.get(at)).unwrap_or(&Value::Null)
        }
        value => &value[step],
    })
}

/// The lies about values of a frame.
fn value_lies(trace: &Trace, line: usize, record: &Value, told: &Told) -> Vec<Plan> {
    let what = label(record);
    let mut plans = Vec::new();
    for place in walk(record).into_iter().filter(|place| place[0] == "frame" && place.len() > 1) {
        let value = at(record, &place);
        let shown: Vec<&str> =
            place[1..].iter().map(|step| if step.parse::<usize>().is_ok() { "*" } else { step }).collect();
        let member = format!("{what} /{}", shown.join("/"));
        let is_free = mark_of(&record["frame"], &place[1..]).is_some();
        for (way, other) in others(trace, line, &place, value, &what) {
            for reach in [Reach::Once, Reach::Kind, Reach::Rest] {
                let is_long = value.as_str().is_some_and(|text| text.len() > 3);
                let before = told.elsewhere(&place, value, line, true);
                if reach == Reach::Rest && !(is_long && before) || other.is_none() && reach != Reach::Once {
                    continue;
                }
                let is_told = match reach {
                    Reach::Once => told.elsewhere(&place, value, line, false),
                    Reach::Kind | Reach::Rest => before,
                };
                let may_lack = other.is_none() && why("renamed", &member).is_some();
                plans.push(Plan {
                    kind: format!("{way}, {reach:?}: {member}"),
                    line,
                    is_betrayed: is_told && !is_free && !may_lack,
                    lie: Lie::Value(place.clone(), other.clone(), reach),
                });
            }
        }
    }
    plans
}

/// Other values in place of this one, each with the way of lying; `None` leaves it out.
fn others(
    trace: &Trace,
    line: usize,
    place: &[String],
    value: &Value,
    what: &str,
) -> Vec<(&'static str, Option<Value>)> {
    let mut others = vec![("left out", None)];
    let mut add = |way, other: Value| others.push((way, Some(other)));
    match value {
        Value::String(text) => {
            add("half", json!(text.chars().take(text.chars().count() / 2).collect::<String>()));
            add("empty", json!(""));
            add("longer", json!(format!("{text} and more")));
        }
        Value::Number(number) if number.is_u64() => {
            let number = number.as_u64().unwrap_or_default();
            add("one more", json!(number + 1));
            add("one less", json!(number.saturating_sub(1)));
            add("nothing", json!(0));
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            add("twice as much", json!(number * 2.0));
            add("nothing", json!(0));
        }
        Value::Bool(flag) => add("the opposite", json!(!flag)),
        Value::Array(items) if !items.is_empty() => {
            add("without its first", json!(items[1..]));
            add("without its last", json!(items[..items.len() - 1]));
            add("its last twice", json!([items.as_slice(), &items[items.len() - 1..]].concat()));
            if items.len() > 1 {
                let mut moved = items.clone();
                moved.swap(0, 1);
                add("its first two exchanged", Value::Array(moved));
            }
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
    // What was true in another frame of the kind.
    let same = trace.iter().enumerate().filter(|(at, other)| *at != line && label(other) == what);
    let stale = same.map(|(_, other)| at(other, place)).find(|other| *other != value && !other.is_null());
    if let (Some(stale), false) = (stale, value.is_object()) {
        add("as another has it", stale.clone());
    }
    others
}

impl Plan {
    /// Tells the lie.
    pub fn apply(&self, trace: &mut Trace) {
        let line = self.line;
        match &self.lie {
            Lie::Lost => drop(trace.remove(line)),
            Lie::Twice => trace.insert(line, trace[line].clone()),
            Lie::Cut => trace[line] = half(&trace[line]),
            Lie::Exchanged(next) => trace.swap(line, *next),
            Lie::Behind(next) => {
                let record = trace.remove(line);
                trace.insert(*next, record);
            }
            Lie::AnswersOther(next) => {
                let id = trace[line]["frame"]["id"].take();
                trace[line]["frame"]["id"] = trace[*next]["frame"]["id"].take();
                trace[*next]["frame"]["id"] = id;
            }
            Lie::Refused => {
                let frame = &trace[line]["frame"];
                trace[line]["frame"] = json!({
                    "id": frame["id"], "type": "response", "command": frame["command"], "success": false,
                    "error": "Something went wrong"
                });
            }
            Lie::Value(place, other, reach) => {
                let value = at(&trace[line], place).clone();
                let what = label(&trace[line]);
                replace(&mut trace[line], place, other.as_ref());
                for record in trace.iter_mut().skip(line + 1).filter(|record| record["dir"] == "out") {
                    let is_kind = *reach == Reach::Kind && label(record) == what;
                    match reach {
                        Reach::Kind if is_kind && *at(record, place) == value => {
                            replace(record, place, other.as_ref());
                        }
                        Reach::Rest => {
                            exchange(&mut record["frame"], &value, other.as_ref().unwrap_or(&Value::Null))
                        }
                        Reach::Once | Reach::Kind => {}
                    }
                }
            }
        }
    }
}

/// Replaces the value at a place, or leaves it out.
fn replace(record: &mut Value, place: &[String], other: Option<&Value>) {
    let Some((last, above)) = place.split_last() else { return };
    let parent = above.iter().fold(record, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().expect("an index")],
        value => &mut value[step],
    });
    match (parent, other) {
        (Value::Array(items), Some(other)) => items[last.parse::<usize>().expect("an index")] = other.clone(),
        (Value::Array(items), None) => drop(items.remove(last.parse::<usize>().expect("an index"))),
        (Value::Object(members), Some(other)) => drop(members.insert(last.clone(), other.clone())),
        (Value::Object(members), None) => drop(members.shift_remove(last)),
        _ => {}
    }
}

/// Replaces every value that equals `old`.
fn exchange(value: &mut Value, old: &Value, new: &Value) {
    if value == old {
        *value = new.clone();
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| exchange(item, old, new)),
        Value::Object(members) => members.values_mut().for_each(|member| exchange(member, old, new)),
        _ => {}
    }
}
