//! Coercion of arguments: models write `"5"` for 5, a single value for a list, and `null` for what they leave out.
//!
//! Only what the schema refuses is changed, and only to what it seems to accept; the validator decides afterwards.

use serde_json::{Map, Value};

/// Keywords with alternatives, of which one has to fit.
const UNIONS: [&str; 2] = ["anyOf", "oneOf"];

/// Makes the value what the schema asks for, where nothing is lost.
pub(super) fn coerce(value: &mut Value, schema: &Value) {
    if let Some(branches) = union(schema) {
        coerce_to_branch(value, branches);
    }
    schema.get("allOf").and_then(Value::as_array).into_iter().flatten().for_each(|part| coerce(value, part));
    if let Some(members) = members(schema)
        && !members.contains(value)
        && let Some(member) =
            members.iter().find(|member| text(member).is_some_and(|it| Some(it) == text(value)))
    {
        *value = member.clone();
    }
    if !fits(schema, value)
        && let Some(made) = types(schema).iter().find_map(|wanted| convert(value, wanted))
    {
        *value = made;
    }
    match value {
        Value::Object(map) => coerce_members(map, schema),
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| coerce(item, schema));
            }
        }
        _ => {}
    }
}

/// Takes the first branch that the value fits as it is, else the first that it fits once it is coerced.
fn coerce_to_branch(value: &mut Value, branches: &[Value]) {
    if let Some(branch) = branches.iter().find(|branch| fits(branch, value)) {
        // Which of several branches an object is meant for, only the validator knows.
        if !value.is_object() || branches.iter().filter(|branch| fits(branch, value)).count() == 1 {
            coerce(value, branch);
        }
        return;
    }
    let coerced = branches.iter().find_map(|branch| {
        let mut candidate = value.clone();
        coerce(&mut candidate, branch);
        fits_within(branch, &candidate).then_some(candidate)
    });
    if let Some(coerced) = coerced {
        *value = coerced;
    }
}

/// Coerces the members that the schema names; an optional one that is `null` although its schema refuses `null` is as
/// if it were absent.
fn coerce_members(map: &mut Map<String, Value>, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
    map.retain(|key, value| {
        let refuses = || properties.get(key).is_some_and(|schema| !fits(schema, &Value::Null));
        !value.is_null() || is_required(key) || !refuses()
    });
    for (key, value) in map {
        if let Some(schema) = properties.get(key) {
            coerce(value, schema);
        }
    }
}

/// Whether the value has a type or is a member of a list that the schema allows. What else it asks for is left to the
/// validator, and so is what a reference leads to.
fn fits(schema: &Value, value: &Value) -> bool {
    let types = types(schema);
    (types.is_empty() || types.iter().any(|wanted| is_of(value, wanted)))
        && members(schema).is_none_or(|members| members.contains(value))
        && union(schema).is_none_or(|branches| branches.iter().any(|branch| fits(branch, value)))
        && schema
            .get("allOf")
            .and_then(Value::as_array)
            .is_none_or(|all| all.iter().all(|part| fits(part, value)))
}

/// Whether the value and all that is in it [fit](fits): what does not is better reported as it came.
fn fits_within(schema: &Value, value: &Value) -> bool {
    fits(schema, value)
        && match value {
            Value::Object(map) => {
                let declared = schema.get("properties").and_then(Value::as_object);
                let declared = |key: &str| declared.and_then(|it| it.get(key));
                map.iter().all(|(key, it)| declared(key).is_none_or(|schema| fits_within(schema, it)))
            }
            Value::Array(items) => {
                let schema = schema.get("items");
                items.iter().all(|it| schema.is_none_or(|schema| fits_within(schema, it)))
            }
            _ => true,
        }
}

/// Whether a value has a type of JSON Schema.
pub(super) fn is_of(value: &Value, wanted: &str) -> bool {
    match wanted {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn union(schema: &Value) -> Option<&Vec<Value>> {
    UNIONS.iter().find_map(|keyword| schema.get(keyword)?.as_array())
}

/// The values of `enum` or `const`.
fn members(schema: &Value) -> Option<&[Value]> {
    let all = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    all.or_else(|| schema.get("const").map(std::slice::from_ref))
}

/// The types that the schema names.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A scalar as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn convert(value: &Value, wanted: &str) -> Option<Value> {
    match (wanted, value) {
        ("number", Value::String(text)) => text.trim().parse::<f64>().ok().and_then(whole_or_float),
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        ("number" | "integer", Value::Bool(flag)) => Some(Value::from(i64::from(*flag))),
        ("boolean", Value::Number(number)) => match number.as_f64() {
            Some(0.0) => Some(false.into()),
            Some(1.0) => Some(true.into()),
            _ => None,
        },
        ("boolean", Value::String(text)) => text.parse::<bool>().ok().map(Value::from),
        ("string", Value::Number(number)) => Some(Value::from(number.to_string())),
        ("string", Value::Bool(flag)) => Some(Value::from(flag.to_string())),
        ("array", Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_)) => {
            Some(Value::Array(vec![value.clone()]))
        }
        _ => None,
    }
}

fn whole_or_float(number: f64) -> Option<Value> {
    let whole = number as i64;
    match whole as f64 == number {
        true => Some(Value::from(whole)),
        false => serde_json::Number::from_f64(number).map(Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_what_schema_allows() {
        let number_or_null = json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] });
        let schema = json!({
            "type": "object",
            "properties": {
                "a": number_or_null, "b": { "type": ["string", "null"] }, "c": { "type": "string" },
                "d": { "type": "array", "items": number_or_null }, "e": { "enum": ["x", 5, null] },
                "f": { "$ref": "#/$defs/f" }, "g": { "type": ["integer", "null"] }, "h": { "type": "object" },
                "k": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
            },
            "required": ["a"],
        });
        for (given, expected) in [
            (json!({ "a": null, "b": null, "d": [1, null], "e": null, "f": null, "z": null }), None),
            (json!({ "a": 1, "c": null, "h": null }), Some(json!({ "a": 1 }))),
            (json!({ "a": "5", "d": "7", "e": "5" }), Some(json!({ "a": 5, "d": [7], "e": 5 }))),
            (json!({ "a": "x", "g": "6", "b": true }), Some(json!({ "a": "x", "g": 6, "b": "true" }))),
            (json!({ "a": 1, "k": { "x": 1 } }), None),
            (json!({ "a": [1], "d": ["1", "x"] }), Some(json!({ "a": [1], "d": [1, "x"] }))),
        ] {
            let mut value = given.clone();
            coerce(&mut value, &schema);
            assert_eq!(value, expected.unwrap_or(given));
        }
    }
}
