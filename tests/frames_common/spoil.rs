//! Spoiled values, with one change somewhere; the schema refuses most of them.

use super::{Choices, Frames, generate::free};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

impl Frames {
    /// Changes one place in `frame`; `leaves` are the kinds of frames.
    pub fn spoil(&self, frame: &mut Value, leaves: &[String], choices: &mut Choices) {
        if choices.once_in(10) {
            return self.merge(frame, leaves, choices);
        }
        let mut places = Vec::new();
        walk(frame, String::new(), &mut places);
        let place = &places[choices.below(places.len())];
        let target = frame.pointer_mut(place).expect("a place in the frame");
        // What an object or a number can suffer is worth more tries than its place alone would get.
        match (&mut *target, choices.below(4)) {
            (Value::Object(map), 0 | 1) => self.spoil_object(map, choices),
            (Value::Object(map), 2) => *target = map.values().cloned().collect(),
            (Value::Number(_), 0 | 1) => *target = edge(choices),
            (Value::String(_), 0 | 1) => *target = json!(self.words[choices.below(self.words.len())]),
            (Value::Array(list), 0) if !list.is_empty() => *target = list[0].clone(),
            (Value::Bool(flag), 0) => *target = json!(flag.to_string()),
            (Value::Bool(flag), 1) => *target = json!(!*flag),
            (_, 3) => *target = json!([target.take()]),
            _ => *target = stranger(choices),
        }
    }

    /// Two frames at once: what the one lacks comes from the other.
    fn merge(&self, frame: &mut Value, leaves: &[String], choices: &mut Choices) {
        let other = &leaves[choices.below(leaves.len())];
        let other = self.value(other, choices, &mut BTreeSet::new());
        if let (Value::Object(map), Value::Object(other)) = (frame, other) {
            for (key, value) in other {
                map.entry(key).or_insert(value);
            }
        }
    }

    fn spoil_object(&self, map: &mut Map<String, Value>, choices: &mut Choices) {
        let key = map.keys().nth(choices.below(map.len().max(1))).cloned();
        let name = &self.keys[choices.below(self.keys.len())];
        match (choices.below(3), key) {
            (0, Some(key)) => drop(map.shift_remove(&key)),
            (1, Some(key)) => {
                let value = map.shift_remove(&key).expect("a key of the map");
                map.insert(name.clone(), value);
            }
            _ => drop(map.insert(name.clone(), free(choices, 2))),
        }
    }
}

fn walk(value: &Value, place: String, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            walk(inner, format!("{place}/{key}"), into);
        }),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, inner)| walk(inner, format!("{place}/{index}"), into));
        }
        _ => {}
    }
    into.push(place);
}

/// A value of another type, most likely.
fn stranger(choices: &mut Choices) -> Value {
    let options = [
        Value::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!("x"),
        json!(""),
        json!([]),
        json!({}),
        json!([{}]),
        json!({ "type": "text", "text": "x" }),
    ];
    options[choices.below(options.len())].clone()
}

/// A number at an edge or past it.
fn edge(choices: &mut Choices) -> Value {
    let options = [
        json!(-1),
        json!(0.5),
        json!(7.0),
        json!(-0.0),
        json!(9_007_199_254_740_991_u64),
        json!(9_007_199_254_740_991.0),
        json!(9_007_199_254_740_992_u64),
        json!(9_007_199_254_740_992.0),
        json!(-9_007_199_254_740_992_i64),
        json!(i32::MAX),
        json!(i64::from(i32::MAX) + 1),
        json!(i64::from(i32::MIN) - 1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(-1e-300),
    ];
    options[choices.below(options.len())].clone()
}
