//! A fast check of values against a schema, for files that are read at each start and nearly always valid.

use serde_json::Value;

/// Whether `value` certainly fits the schema `of`.
///
/// `false` decides nothing: the value is invalid, or the schema has a keyword that is unknown here, and a validator has to
/// find out. Compiling one takes more than half of the time of a start. The `$ref`s of `of` are names in `$defs` of `root`.
pub fn certainly_fits(value: &Value, of: &Value, root: &Value) -> bool {
    let Value::Object(schema) = of else { return false };
    schema.iter().all(|(keyword, wanted)| match (keyword.as_str(), value) {
        ("$schema" | "$id" | "$defs" | "title" | "description", _) => true,
        ("$ref", _) => {
            let name = wanted.as_str().and_then(|name| name.strip_prefix("#/$defs/"));
            name.and_then(|name| root["$defs"].get(name)).is_some_and(|of| certainly_fits(value, of, root))
        }
        ("type", _) => match wanted {
            Value::Array(kinds) => kinds.iter().any(|kind| has_type(value, kind)),
            kind => has_type(value, kind),
        },
        ("enum", _) => wanted.as_array().is_some_and(|all| all.contains(value)),
        ("minLength", Value::String(text)) => {
            wanted.as_u64().is_some_and(|least| text.chars().count() as u64 >= least)
        }
        ("minimum", Value::Number(_)) => value.as_f64() >= wanted.as_f64(),
        ("maximum", Value::Number(_)) => value.as_f64() <= wanted.as_f64(),
        ("items", Value::Array(items)) => items.iter().all(|item| certainly_fits(item, wanted, root)),
        ("required", Value::Object(members)) => {
            let names = wanted.as_array();
            names.is_some_and(|names| {
                names.iter().all(|name| name.as_str().is_some_and(|name| members.contains_key(name)))
            })
        }
        ("properties", Value::Object(members)) => {
            let fit = |(name, of): (&String, &Value)| {
                members.get(name).is_none_or(|member| certainly_fits(member, of, root))
            };
            wanted.as_object().is_some_and(|all| all.iter().all(fit))
        }
        ("additionalProperties", Value::Object(members)) => {
            let known = schema.get("properties").and_then(Value::as_object);
            members.iter().all(|(name, member)| {
                known.is_some_and(|it| it.contains_key(name)) || certainly_fits(member, wanted, root)
            })
        }
        // A keyword for other types does not apply.
        (
            "minLength"
            | "minimum"
            | "maximum"
            | "items"
            | "required"
            | "properties"
            | "additionalProperties",
            _,
        ) => true,
        _ => false,
    })
}

fn has_type(value: &Value, kind: &Value) -> bool {
    match (kind.as_str(), value) {
        (Some("object"), Value::Object(_))
        | (Some("array"), Value::Array(_))
        | (Some("string"), Value::String(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("null"), Value::Null)
        | (Some("number"), Value::Number(_)) => true,
        (Some("integer"), Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models_file::SCHEMA;
    use serde_json::json;

    /// Every value that differs from `value` in one place.
    fn mutations(value: &Value, odd: &[Value]) -> Vec<Value> {
        let mut all = odd.to_vec();
        match value {
            Value::Object(members) => {
                for name in members.keys() {
                    let with = |member: Option<Value>| {
                        let mut members = members.clone();
                        match member {
                            Some(member) => members.insert(name.clone(), member),
                            None => members.shift_remove(name),
                        };
                        Value::Object(members)
                    };
                    all.push(with(None));
                    all.extend(mutations(&members[name], odd).into_iter().map(|it| with(Some(it))));
                }
            }
            Value::Array(items) => {
                for at in 0..items.len() {
                    for item in mutations(&items[at], odd) {
                        let mut items = items.clone();
                        items[at] = item;
                        all.push(Value::Array(items));
                    }
                }
            }
            _ => {}
        }
        all
    }

    #[test]
    fn quick_check_agrees_with_validator() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let cost = json!({ "input": 1, "output": 2.5, "cacheRead": 0, "cacheWrite": 0,
            "tiers": [{ "input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 1, "inputTokensAbove": 200_000 }] });
        let file = json!({ "providers": { "p": {
            "name": "P", "baseUrl": "http://localhost", "authHeader": true, "headers": { "x-a": "b" }, "compat": { "a": [] },
            "models": [{ "id": "m", "input": ["text", "image"], "cost": cost, "contextWindow": 1,
                "thinkingLevelMap": { "off": null, "high": "most" }, "promptCache": { "short": 300 } }],
            "modelOverrides": { "m": { "cost": { "input": 3 }, "maxTokens": 5 } },
        } } });
        assert!(certainly_fits(&file, &schema, &schema));
        let odd = [
            json!(null),
            json!(true),
            json!(""),
            json!("x"),
            json!(-1),
            json!(1.5),
            json!([]),
            json!([1]),
            json!({}),
            json!({ "a": 1 }),
        ];
        let mutations = mutations(&file, &odd);
        assert!(mutations.len() > 400);
        for file in mutations {
            assert_eq!(certainly_fits(&file, &schema, &schema), validator.is_valid(&file), "{file}");
        }
        assert!(
            !certainly_fits(&json!(5), &json!({ "multipleOf": 2 }), &json!({})),
            "a keyword that is not known"
        );
    }
}
