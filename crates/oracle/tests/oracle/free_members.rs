//! The members that the schema marks as free by `x-free`: no frame before them tells their value.

use serde_json::{Map, Value};
use std::{fs, path::Path, sync::LazyLock};

/// The defs of the schema, read when the test runs, so that a mark takes no compilation.
static DEFS: LazyLock<Value> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    let files = fs::read_dir(folder).expect("the schema").map(|file| file.expect("a file").path());
    let mut defs = Map::new();
    for path in files.filter(|path| path.extension().is_some_and(|it| it == "json")) {
        let text = fs::read_to_string(&path).expect("a file of the schema");
        let mut file: Value = serde_json::from_str(&text).expect("JSON");
        if let Value::Object(own) = file["$defs"].take() {
            defs.extend(own);
        }
    }
    Value::Object(defs)
});

/// A mark of the schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The property, with the pointer from its value on if the mark is for a part.
    pub place: String,
    /// Why the member is free.
    pub reason: String,
}

/// All marks of the schema.
pub fn marks() -> Vec<Mark> {
    let defs = DEFS.as_object().expect("defs");
    let mut all = Vec::new();
    for (title, def) in defs {
        for (name, property) in def["properties"].as_object().into_iter().flatten() {
            all.extend(marks_of(title, name, property).into_iter().map(|(_, mark)| mark));
        }
    }
    all
}

/// The mark that holds for a member of a server's frame, or for what is around it.
pub fn mark_of(frame: &Value, place: &[String]) -> Option<Mark> {
    find("Outbound", &DEFS["Outbound"], frame, place)
}

fn find(title: &str, schema: &Value, value: &Value, place: &[String]) -> Option<Mark> {
    if let Some(target) = schema["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/")) {
        return find(target, &DEFS[target], value, place);
    }
    if let Some(branches) = schema["oneOf"].as_array() {
        return branches
            .iter()
            .filter(|branch| fits(branch, value))
            .find_map(|branch| find(title, branch, value, place));
    }
    let (step, rest) = place.split_first()?;
    if value.is_array() {
        return find(title, &schema["items"], &value[step.parse::<usize>().ok()?], rest);
    }
    let property = schema["properties"].get(step)?;
    let marks = marks_of(title, step, property);
    let is_for = |pointer: &str| {
        let steps: Vec<&str> = pointer.split('/').skip(1).collect();
        steps.len() <= rest.len()
            && steps
                .iter()
                .zip(rest)
                .all(|(want, step)| want == step || *want == "*" && step.parse::<usize>().is_ok())
    };
    let mark = marks.into_iter().find(|(pointer, _)| is_for(pointer)).map(|(_, mark)| mark);
    mark.or_else(|| find(title, property, &value[step], rest))
}

/// The marks of a property: for its whole value, or for parts of it by pointer.
fn marks_of(title: &str, name: &str, property: &Value) -> Vec<(String, Mark)> {
    let mark = |pointer: &str, reason: &Value| {
        let reason = reason.as_str().unwrap_or_else(|| panic!("{title}.{name}: a reason")).to_owned();
        (pointer.to_owned(), Mark { place: format!("{title}.{name}{pointer}"), reason })
    };
    match &property["x-free"] {
        Value::Null => Vec::new(),
        Value::Object(parts) => parts.iter().map(|(pointer, reason)| mark(pointer, reason)).collect(),
        reason => vec![mark("", reason)],
    }
}

/// Whether the constants of a branch are those of the value.
fn fits(branch: &Value, value: &Value) -> bool {
    if let Some(target) = branch["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/")) {
        return fits(&DEFS[target], value);
    }
    if let Some(branches) = branch["oneOf"].as_array() {
        return branches.iter().any(|branch| fits(branch, value));
    }
    match (branch["properties"].as_object(), value.as_object()) {
        (Some(properties), Some(members)) => properties
            .iter()
            .filter_map(|(name, schema)| Some((name, schema.get("const")?)))
            .all(|(name, constant)| members.get(name) == Some(constant)),
        (Some(_), None) => false,
        (None, _) => branch["type"] != "array" || value.is_array(),
    }
}
