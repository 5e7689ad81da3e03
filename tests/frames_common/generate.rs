//! Generator of values that the schema allows.

use super::{Choices, Frames, ref_name, strings};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const TEXTS: [&str; 14] = [
    "a",
    "",
    "null",
    "true",
    "5",
    "prompt",
    "response",
    "/plan now",
    "\"quoted\" \\ / \n\r\t",
    "\u{0}\u{1}\u{7f}",
    "\u{2028}\u{2029}\u{feff}",
    "Grüße, 日本 🎉 e\u{301}",
    "\u{10ffff}\u{fffd}",
    "a rather long text, longer than a small buffer would hold without being moved elsewhere",
];

/// Keys that no def has.
const STRANGE_KEYS: [&str; 6] = ["x", "", "Type", "$ref", "ключ 🔑", "__proto__"];

impl Frames {
    /// Generates a value of `def`; adds every def in it to `seen`.
    pub fn value(&self, def: &str, choices: &mut Choices, seen: &mut BTreeSet<String>) -> Value {
        seen.insert(def.to_owned());
        match self.defs[def].get("properties") {
            Some(_) => self.object(def, choices, seen),
            None => self.inner(&self.defs[def], choices, seen),
        }
    }

    fn inner(&self, schema: &Value, choices: &mut Choices, seen: &mut BTreeSet<String>) -> Value {
        if let Some(name) = ref_name(schema) {
            return self.value(name, choices, seen);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(list) = schema["enum"].as_array().or(schema["oneOf"].as_array()) {
            let one = &list[choices.below(list.len())];
            return if one.is_object() { self.inner(one, choices, seen) } else { one.clone() };
        }
        let types: Vec<String> = match &schema["type"] {
            Value::String(one) => vec![one.clone()],
            list => strings(list).collect(),
        };
        if types.is_empty() {
            return free(choices, 3);
        }
        match types[choices.below(types.len())].as_str() {
            "null" => Value::Null,
            "boolean" => json!(choices.below(2) == 1),
            "string" => json!(text(choices)),
            "integer" => integer(schema, choices),
            "number" => number(schema, choices),
            "array" => {
                let count = choices.below(4);
                (0..count).map(|_| self.inner(&schema["items"], choices, seen)).collect()
            }
            "object" => self.map(schema, choices, seen),
            other => panic!("a value of type {other}?"),
        }
    }

    fn object(&self, def: &str, choices: &mut Choices, seen: &mut BTreeSet<String>) -> Value {
        let schema = &self.defs[def];
        let required: Vec<String> = strings(&schema["required"]).collect();
        let mut out = Map::new();
        for (key, property) in schema["properties"].as_object().expect("properties") {
            if required.contains(key) || choices.once_in(2) {
                out.insert(key.clone(), self.inner(property, choices, seen));
            }
        }
        if choices.once_in(3) {
            for _ in 0..=choices.below(2) {
                let (key, value) = self.unknown(def, choices);
                out.entry(key).or_insert(value);
            }
        }
        if choices.once_in(2) {
            out = shuffled(out, choices);
        }
        Value::Object(out)
    }

    /// Generates a member that `def` does not have in the dialect: one of another dialect, valid or not there, or of
    /// none.
    fn unknown(&self, def: &str, choices: &mut Choices) -> (String, Value) {
        let known = &self.defs[def]["properties"];
        let everywhere = self.bundle[def]["properties"].as_object().expect("properties");
        let foreign: Vec<_> = everywhere.iter().filter(|(key, _)| known.get(key).is_none()).collect();
        if !foreign.is_empty() && choices.below(4) > 0 {
            let (key, schema) = foreign[choices.below(foreign.len())];
            let value = match choices.once_in(2) {
                true => self.foreign(schema, choices),
                false => free(choices, 2),
            };
            return (key.clone(), value);
        }
        (choices.pick(&STRANGE_KEYS).to_owned(), free(choices, 2))
    }

    /// A value of a property that another dialect has, as long as this is simple.
    fn foreign(&self, schema: &Value, choices: &mut Choices) -> Value {
        match ref_name(schema) {
            Some(name) if self.bundle[name].get("properties").is_some() => {
                let properties = self.bundle[name]["properties"].as_object().expect("properties");
                properties.iter().map(|(key, inner)| (key.clone(), self.foreign(inner, choices))).collect()
            }
            Some(name) if self.bundle[name].get("oneOf").is_none() => {
                self.foreign(&self.bundle[name], choices)
            }
            Some(_) => free(choices, 2),
            None if schema.get("items").is_some() => json!([self.foreign(&schema["items"], choices)]),
            None => self.inner(schema, choices, &mut BTreeSet::new()),
        }
    }

    fn map(&self, schema: &Value, choices: &mut Choices, seen: &mut BTreeSet<String>) -> Value {
        let values = &schema["additionalProperties"];
        let count = choices.below(4);
        (0..count).map(|_| (key(choices), self.inner(values, choices, seen))).collect()
    }
}

/// Any JSON, `depth` levels of it at most.
pub fn free(choices: &mut Choices, depth: usize) -> Value {
    match choices.below(if depth > 0 { 9 } else { 7 }) {
        0 => Value::Null,
        1 => json!(choices.below(2) == 1),
        2 => json!(choices.number() as i32),
        3 => json!(f64::from(choices.number()) / 1024.0),
        4 => json!([0, u64::MAX, i64::MIN as u64][choices.below(3)]),
        5 | 6 => json!(text(choices)),
        7 => (0..choices.below(3)).map(|_| free(choices, depth - 1)).collect(),
        _ => (0..choices.below(3)).map(|_| (key(choices), free(choices, depth - 1))).collect(),
    }
}

fn key(choices: &mut Choices) -> String {
    let name = choices.pick(&["type", "id", "value", "content", "x", "ü", ""]);
    match choices.below(3) {
        0 => name.to_owned(),
        number => format!("{name}{number}"),
    }
}

fn text(choices: &mut Choices) -> String {
    match choices.below(TEXTS.len() + 4) {
        known if known < TEXTS.len() => TEXTS[known].to_owned(),
        _ => (0..choices.below(5))
            .map(|_| char::from_u32(choices.number() % 0x11_0000).unwrap_or('?'))
            .collect(),
    }
}

/// A whole number between the bounds, also written as `5.0`.
fn integer(schema: &Value, choices: &mut Choices) -> Value {
    let bound = |key: &str| schema[key].as_i64().expect("integers have bounds");
    let (min, max) = (bound("minimum"), bound("maximum"));
    let small = i64::from(choices.number() % 100);
    let number = [small.clamp(min, max), min, max, max - small, min + small][choices.below(5)];
    if choices.once_in(6) { json!(number as f64) } else { json!(number) }
}

fn number(schema: &Value, choices: &mut Choices) -> Value {
    let lowest = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let small = choices.number() % 1000;
    let options = [
        json!(small),
        json!(f64::from(small) / 64.0),
        json!(-f64::from(small)),
        json!(1e300),
        json!(u64::MAX),
    ];
    let option = &options[choices.below(options.len())];
    if option.as_f64().is_some_and(|it| it >= lowest) { option.clone() } else { json!(lowest) }
}

fn shuffled(map: Map<String, Value>, choices: &mut Choices) -> Map<String, Value> {
    let mut members: Vec<_> = map.into_iter().collect();
    for end in (1..members.len()).rev() {
        members.swap(end, choices.below(end + 1));
    }
    members.into_iter().collect()
}
