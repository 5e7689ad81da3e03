//! Generated frames of the exported schema, valid and spoiled, for tests that compare readers with it.
#![allow(dead_code, unused_imports)] // Each test file uses its part.

mod choices;
mod expected;
mod generate;
mod places;
mod spoil;

pub use choices::{Choices, choices};
pub use expected::same;
pub use places::Place;

use pi_rpc_export::json_schema;
use pi_rpc_protocol::{BUNDLE, Dialect};
use serde_json::Value;
use std::collections::BTreeSet;

/// Exported schema of one dialect, with the vocabulary of the others.
pub struct Frames {
    dialect: Dialect,
    defs: Value,
    /// Every def with every property of every dialect, annotations included.
    bundle: Value,
    /// Every constant and every word of an enumeration, of all dialects.
    words: Vec<String>,
    /// The name of every property, of all dialects.
    keys: Vec<String>,
}

impl Frames {
    /// Loads the frames of `dialect`.
    pub fn of(dialect: Dialect) -> Self {
        let bundle: Value = serde_json::from_str(BUNDLE).expect("JSON");
        let bundle = bundle["$defs"].clone();
        let (mut words, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for def in bundle.as_object().expect("defs").values() {
            words.extend(strings(&def["enum"]));
            for (key, property) in def["properties"].as_object().into_iter().flatten() {
                keys.insert(key.clone());
                words.extend(property["const"].as_str().map(str::to_owned));
            }
        }
        let defs = json_schema(dialect)["$defs"].clone();
        let (words, keys) = (words.into_iter().collect(), keys.into_iter().collect());
        Self { dialect, defs, bundle, words, keys }
    }

    /// Validator of `def`.
    pub fn validator(&self, def: &str) -> jsonschema::Validator {
        let mut schema = json_schema(self.dialect);
        schema.as_object_mut().expect("an object").remove("oneOf");
        schema["$ref"] = format!("#/$defs/{def}").into();
        jsonschema::draft202012::new(&schema).expect("a JSON Schema")
    }

    /// The objects that the union `root` consists of.
    pub fn leaves(&self, root: &str) -> Vec<String> {
        match self.defs[root]["oneOf"].as_array() {
            Some(branches) => branches.iter().filter_map(ref_name).flat_map(|b| self.leaves(b)).collect(),
            None => vec![root.to_owned()],
        }
    }

    /// A def as the dialect has it.
    pub fn def(&self, name: &str) -> &Value {
        &self.defs[name]
    }

    /// Every def that `root` leads to, itself not counted.
    pub fn reachable(&self, root: &str) -> BTreeSet<String> {
        fn walk(frames: &Frames, schema: &Value, into: &mut BTreeSet<String>) {
            if let Some(name) = ref_name(schema)
                && into.insert(name.to_owned())
            {
                walk(frames, &frames.defs[name], into);
            }
            match schema {
                Value::Object(map) => map.values().for_each(|inner| walk(frames, inner, into)),
                Value::Array(list) => list.iter().for_each(|inner| walk(frames, inner, into)),
                _ => {}
            }
        }
        let mut into = BTreeSet::new();
        walk(self, &self.defs[root], &mut into);
        into
    }
}

/// The def that `{"$ref": "#/$defs/X"}` names.
pub fn ref_name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn strings(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}
