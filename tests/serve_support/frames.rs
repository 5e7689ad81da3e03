//! Queries on lists of frames.

use serde_json::{Value, json};

/// Types of the frames, with the finer type of updates; repetitions count once.
pub fn types(frames: &[Value]) -> Vec<String> {
    let mut types: Vec<String> = frames
        .iter()
        .map(|frame| match frame["assistantMessageEvent"]["type"].as_str() {
            Some(update) => update.to_owned(),
            None => frame["type"].as_str().unwrap().to_owned(),
        })
        .collect();
    types.dedup();
    types
}

/// The frames of that type.
pub fn of_type<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

/// The keys of an object, sorted.
pub fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// A turn that calls bash, and one that speaks once it has ended.
pub fn bash_turns(command: &str) -> Value {
    json!([
        {"onResult": "", "repeat": true, "say": [{"text": "It has ended."}]},
        {"repeat": true, "say": [{"tool": "bash", "arguments": {"command": command}}]},
    ])
}
