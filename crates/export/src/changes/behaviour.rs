//! What differs between two meta files beside the frames: refusals, records, rules, texts of errors.

use super::advice::Advice;
use crate::diff::behaviour::{IDENTITY_KEYS, pairs, refusal_changes, show};
use pi_rpc_protocol::BUNDLE;
use serde_json::Value;

/// Most items of a list that are shown.
const MOST_ITEMS: usize = 4;

/// Properties of the records that are not about behaviour.
const APART: [&str; 2] = ["versionsFrom", "renames"];

pub(super) struct Behaviour {
    /// Commands that are refused where they were accepted.
    pub(super) refusals: Vec<[String; 3]>,
    /// Properties of the records that a client has to know.
    pub(super) changes: Vec<[String; 3]>,
    /// All other properties.
    pub(super) other: Vec<[String; 3]>,
    pub(super) texts: Vec<[String; 3]>,
    /// Rules of the server that no longer hold, and new ones.
    pub(super) lost: Vec<String>,
    pub(super) gained: Vec<String>,
    /// New rules of the host.
    pub(super) demands: Vec<String>,
}

impl Behaviour {
    pub(super) fn new([a, b]: &[Value; 2], schemas: [&Value; 2], advice: &Advice) -> Self {
        let rules = |by: &str, is_now: bool| -> Vec<String> {
            let changed = pairs("rules", a, b).into_iter().filter(|(_, _, old, new)| {
                let (holds, held) = if is_now { (new, old) } else { (old, new) };
                holds["tier"] == "MUST" && held["tier"] != "MUST" && holds["side"] == by
            });
            let line = |(_, name, old, new): (String, String, Value, Value)| {
                let says = if new.is_null() { &old } else { &new };
                format!("`{name}`: {}", text(&says["sentence"]))
            };
            changed.map(line).collect()
        };
        let (changes, other) = records(a, b, advice);
        let both = |(_, name, old, new): (String, String, Value, Value)| {
            let [old, new] = [&old, &new].map(|error| error["text"].as_str().map(code));
            Some([code(&name), old?, new?]).filter(|[_, old, new]| old != new)
        };
        Self {
            refusals: refusals(a, b, schemas, advice),
            changes,
            other,
            texts: pairs("errors", a, b).into_iter().filter_map(both).collect(),
            lost: rules("server", false),
            gained: rules("server", true),
            demands: rules("host", true),
        }
    }
}

/// Commands that both have, and that a state refuses now; states with the same change together.
fn refusals(a: &Value, b: &Value, schemas: [&Value; 2], advice: &Advice) -> Vec<[String; 3]> {
    let commands = |meta: &Value| meta["commands"].as_array().cloned().unwrap_or_default();
    let is_there = |name: &Value| {
        let mapping = |schema: &Value| schema["$defs"]["RpcCommand"]["discriminator"]["mapping"].clone();
        schemas.iter().all(|schema| mapping(schema).get(text(name)).is_some())
    };
    let mut rows: Vec<(Vec<String>, [String; 2])> = Vec::new();
    for old in commands(a).iter().filter(|old| is_there(&old["type"])) {
        let Some(new) = commands(b).into_iter().find(|new| new["type"] == old["type"]) else { continue };
        let mut of_command: Vec<(Vec<String>, [String; 2])> = Vec::new();
        for (state, before) in old["states"].as_object().into_iter().flatten() {
            let now = &new["states"][state];
            if now.is_null() || !refusal_changes(before, now)[0] {
                continue;
            }
            let row = [
                format!("command `{}`", text(&old["type"])),
                format!("{}; was: {}", show(now), show(before)),
            ];
            match of_command.iter_mut().find(|(_, known)| *known == row) {
                Some((states, _)) => states.push(code(state)),
                None => of_command.push((vec![code(state)], row)),
            }
        }
        rows.extend(of_command);
    }
    let row = |(states, [command, what]): (Vec<String>, [String; 2])| {
        [format!("{command} in {}", states.join(", ")), what, advice.of_kind("refused")]
    };
    rows.into_iter().map(row).collect()
}

/// Properties with other values: those with advice, and the rest.
fn records(a: &Value, b: &Value, advice: &Advice) -> (Vec<[String; 3]>, Vec<[String; 3]>) {
    let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    let mut found = (Vec::new(), Vec::new());
    for (name, schema) in bundle["record"]["properties"].as_object().into_iter().flatten() {
        if !IDENTITY_KEYS.contains(&name.as_str()) && !APART.contains(&name.as_str()) {
            property(name, schema, [&a["record"][name], &b["record"][name]], advice, &mut found);
        }
    }
    found
}

type Rows = (Vec<[String; 3]>, Vec<[String; 3]>);

fn property(path: &str, schema: &Value, [old, new]: [&Value; 2], advice: &Advice, found: &mut Rows) {
    if let Some(inner) = schema["properties"].as_object() {
        for (name, schema) in inner {
            property(&format!("{path}.{name}"), schema, [&old[name], &new[name]], advice, found);
        }
    } else if old != new {
        let change = match (old, new) {
            (Value::Array(old), Value::Array(new)) => lists(old, new),
            _ => format!("{} → {}", shown(old), shown(new)),
        };
        match advice.of_record(path, new) {
            Some(sentence) => {
                let description = text(&schema["description"]);
                let first = description
                    .split_once(". ")
                    .map_or(description.trim_end_matches('.'), |(first, _)| first);
                found.0.push([format!("{first} ({})", code(path)), change, sentence.to_owned()]);
            }
            None => found.1.push([code(path), change, text(&schema["description"]).to_owned()]),
        }
    }
}

/// What one list has and the other has not.
fn lists(old: &[Value], new: &[Value]) -> String {
    let part = |word: &str, of: &[Value], other: &[Value]| {
        let own: Vec<String> = of.iter().filter(|item| !other.contains(item)).map(shown).collect();
        let more = own.len().saturating_sub(MOST_ITEMS);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!own.is_empty()).then(|| format!("{word} {}{rest}", own[..own.len() - more].join(", ")))
    };
    [part("also", new, old), part("no longer", old, new)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => code(text),
        other => other.to_string(),
    }
}

/// A text as code, whatever is in it.
fn code(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
