//! Best-effort parser for the arguments of a tool call while they are streamed.

use super::JsonObject;
use jiter::{JsonValue, PartialMode};
use serde_json::Value;

/// Parses the beginning of a JSON object: complete members, and strings up to the end of the
/// text. Empty if nothing can be parsed. The originals have this as `arguments` of a partial call. For display only: no
/// call runs with it.
pub fn parse_partial(text: &str) -> JsonObject {
    // A complete text is parsed by serde_json, so that numbers and the order of keys are those of every other reader.
    if let Ok(Value::Object(map)) = serde_json::from_str(text) {
        return map;
    }
    match JsonValue::parse_with_config(text.as_bytes(), false, PartialMode::TrailingStrings) {
        Ok(JsonValue::Object(members)) => {
            members.iter().map(|(key, value)| (key.to_string(), to_value(value))).collect()
        }
        _ => JsonObject::new(),
    }
}

fn to_value(value: &JsonValue) -> Value {
    match value {
        JsonValue::Null => Value::Null,
        JsonValue::Bool(flag) => (*flag).into(),
        JsonValue::Int(number) => (*number).into(),
        JsonValue::Float(number) => (*number).into(),
        JsonValue::Str(text) => text.as_ref().into(),
        JsonValue::Array(items) => items.iter().map(to_value).collect(),
        JsonValue::Object(members) => members.iter().map(|(k, v)| (k.to_string(), to_value(v))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn partial_object_reads_as_its_prefix() {
        let whole = r#"{"command":"echo \"hi\"","n":[1,2.5,{"x":null}],"ok":true}"#;
        let read = |end: usize| Value::Object(parse_partial(&whole[..end]));
        assert_eq!(read(0), json!({}));
        assert_eq!(read(5), json!({}));
        assert_eq!(read(15), json!({ "command": "ech" }));
        assert_eq!(read(17), json!({ "command": "echo " }));
        assert_eq!(
            read(whole.len()),
            json!({ "command": "echo \"hi\"", "n": [1, 2.5, { "x": null }], "ok": true })
        );
        (0..=whole.len()).for_each(|end| drop(read(end)));
    }

    #[test]
    fn other_values_read_as_empty_object() {
        assert_eq!(parse_partial("[1,2"), JsonObject::new());
        assert_eq!(parse_partial("nonsense"), JsonObject::new());
    }
}
