//! Frames with one mistake each: each kind of mistake once for every member.

use crate::{
    corpus::{Dir, Sample},
    frames_common::{Frames, ref_name},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// A required member is missing.
    Missing,
    /// The value has another type.
    Type,
    /// The value is null, which is not allowed.
    Null,
    /// The value is not in the enumeration; for a tag: an unknown tag.
    Word,
    /// The value is not an integer.
    Fraction,
    /// The value is out of bounds.
    Range,
}

/// Frame with one mistake.
#[derive(Clone, Debug)]
pub struct Spoiled {
    pub dir: Dir,
    pub frame: Value,
    pub mistake: Mistake,
    /// Which field of which def is wrong.
    pub at: String,
    /// Whether the field may be absent.
    pub optional: bool,
    /// The types that it may have.
    pub types: BTreeSet<String>,
    /// Whether the mistake lies in a union that has no tag: it is one in each branch, then.
    pub untagged: bool,
}

impl Spoiled {
    /// The def that it would be one of.
    pub fn root(&self) -> &'static str {
        self.dir.root()
    }
}

/// Every mistake once, each in the smallest possible frame.
pub fn spoiled(dialect: Dialect, samples: &[Sample]) -> Vec<Spoiled> {
    let frames = Frames::of(dialect);
    let mut samples: Vec<&Sample> = samples.iter().collect();
    samples.sort_by_cached_key(|sample| sample.frame.to_string().len());
    let mut made = BTreeSet::new();
    let mut out = Vec::new();
    for sample in samples {
        for place in frames.places(sample.root(), &sample.frame) {
            let schema = frames.def(&place.def);
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let at = format!("{}.{key}", place.def);
                for (mistake, wrong) in mistakes(&frames, schema, key, property) {
                    if place.value.get(key).is_some() && made.insert((at.clone(), mistake)) {
                        let frame = with(sample, &place.pointer, key, wrong);
                        let untagged = place.untagged || is_untagged(&frames, property);
                        let optional = !is_required(schema, key);
                        out.push(Spoiled {
                            dir: sample.dir,
                            frame,
                            mistake,
                            at: at.clone(),
                            optional,
                            types: types(&frames, property),
                            untagged,
                        });
                    }
                }
            }
        }
    }
    out
}

/// What a property can be instead of what it must be; `None`: nothing.
fn mistakes(frames: &Frames, def: &Value, key: &str, property: &Value) -> Vec<(Mistake, Option<Value>)> {
    let mut out = Vec::new();
    if is_required(def, key) {
        out.push((Mistake::Missing, None));
    }
    let types = types(frames, property);
    if types.is_empty() {
        return out;
    }
    let others = [("boolean", json!(true)), ("string", json!("no such word")), ("array", json!([]))];
    let other = others.into_iter().find(|(name, _)| !types.contains(*name)).map(|(_, value)| value);
    out.push((Mistake::Type, other));
    if !types.contains("null") {
        out.push((Mistake::Null, Some(Value::Null)));
    }
    let schema = ref_name(property).map_or(property, |name| frames.def(name));
    if schema.get("enum").is_some() || schema["const"].is_string() {
        out.push((Mistake::Word, Some(json!("no such word"))));
    }
    if types.contains("integer") {
        out.push((Mistake::Fraction, Some(json!(0.5))));
    }
    if let Some(least) = schema["minimum"].as_i64() {
        out.push((Mistake::Range, Some(json!(least - 1))));
    }
    out
}

fn is_required(def: &Value, key: &str) -> bool {
    def["required"].as_array().is_some_and(|list| list.iter().any(|it| it == key))
}

/// The types that a value of that schema may have; none: all.
fn types(frames: &Frames, schema: &Value) -> BTreeSet<String> {
    if let Some(name) = ref_name(schema) {
        return types(frames, frames.def(name));
    }
    if let Some(branches) = schema["oneOf"].as_array() {
        return branches.iter().flat_map(|branch| types(frames, branch)).collect();
    }
    let named = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    named.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_untagged(frames: &Frames, schema: &Value) -> bool {
    let schema = ref_name(schema).map_or(schema, |name| frames.def(name));
    let nullable = |branches: &Vec<Value>| branches.iter().any(|branch| branch["type"] == "null");
    schema["oneOf"].as_array().is_some_and(|branches| !nullable(branches))
        && schema.get("discriminator").is_none()
}

fn with(sample: &Sample, pointer: &str, key: &str, wrong: Option<Value>) -> Value {
    let mut frame = sample.frame.clone();
    let object = frame.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object");
    match wrong {
        Some(wrong) => drop(object.insert(key.to_owned(), wrong)),
        None => drop(object.shift_remove(key)),
    }
    frame
}
