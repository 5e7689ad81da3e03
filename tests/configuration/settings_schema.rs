//! The schema of `settings.json` says what is read of it: it refuses what a warning leaves out, and nothing else.

use pi_rpc::config::{Settings, settings::SETTINGS_SCHEMA};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

fn schema() -> Value {
    serde_json::from_str(SETTINGS_SCHEMA).expect("JSON")
}

/// The JSON pointers of everything that the schema describes, without the objects that only hold others.
fn leaves() -> BTreeSet<String> {
    fn walk(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            match inner.get("properties") {
                Some(_) => walk(inner, &at, found),
                None => drop(found.insert(at)),
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(&schema(), "", &mut found);
    found.remove("/$schema");
    found
}

/// An object in which `value` is at the pointer.
fn with(pointer: &str, value: &Value) -> Value {
    pointer[1..].rsplit('/').fold(value.clone(), |inner, key| json!({ key: inner }))
}

#[test]
fn settings_schema_refuses_values_that_warn() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let probes = json!([
        null, true, 0, 7, -1, 1.5, 4294967296_u64, "all", "one-at-a-time", "wait", "off", "xhigh", "disabled", "other", "never", [],
        ["a"], [1], {}, {"a": 1}
    ]);
    let mut refused = BTreeSet::new();
    for pointer in leaves() {
        for value in probes.as_array().expect("a list") {
            let settings = with(&pointer, value);
            let (read, warnings) = Settings::read(&settings.to_string(), Path::new("s.json"));
            // What narrows a session and cannot be heeded is a fault, not a warning.
            let warnings = [warnings, read.faults].concat();
            assert_eq!(validator.is_valid(&settings), warnings.is_empty(), "{settings}: {warnings:?}");
            if !warnings.is_empty() {
                refused.insert(pointer.clone());
            }
        }
    }
    assert_eq!(refused, leaves(), "what is never refused is not read");
}

#[test]
fn settings_schema_has_every_member() {
    let source = include_str!("../../crates/config/src/settings.rs");
    let texts = source.split('"').skip(1).step_by(2);
    let read: BTreeSet<&str> = texts.filter(|text| text.starts_with('/') && text.len() > 1).collect();
    let described = leaves();
    let members = ["/thinkingBudgets/{level}", "/skills/customDirectories"];
    let missing: Vec<&str> = read
        .into_iter()
        .filter(|pointer| !described.contains(*pointer) && !members.contains(pointer))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
