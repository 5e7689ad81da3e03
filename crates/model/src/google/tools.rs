//! Declarations of the tools that a Gemini model may call.

use crate::types::ToolSpec;
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};

/// Encodes the request's `tools`.
pub fn offer(tools: &[ToolSpec]) -> Value {
    let declaration = |tool: &ToolSpec| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": without_const(&tool.parameters),
        })
    };
    json!([{"functionDeclarations": tools.iter().map(declaration).collect::<Vec<_>>()}])
}

/// Keywords of JSON Schema whose value is a schema or a list of schemas.
const SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords of JSON Schema whose value maps names to schemas.
const NAMED_SCHEMAS: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Replaces `const` with a string or a number by an `enum` of one value: the service ignores `const`.
fn without_const(schema: &Value) -> Value {
    let members = match schema {
        Value::Array(schemas) => return schemas.iter().map(without_const).collect(),
        Value::Object(members) => members,
        other => return other.clone(),
    };
    let named = |schemas: &Value| match schemas {
        Value::Object(schemas) => {
            schemas.iter().map(|(name, schema)| (name.clone(), without_const(schema))).collect()
        }
        other => other.clone(),
    };
    let has_enum = members.contains_key("enum");
    let member = |(key, value): (&String, &Value)| match key.as_str() {
        "const" if !has_enum && (value.is_string() || value.is_number()) => {
            ("enum".to_owned(), json!([value]))
        }
        keyword if SCHEMAS.contains(&keyword) => (key.clone(), without_const(value)),
        keyword if NAMED_SCHEMAS.contains(&keyword) => (key.clone(), named(value)),
        _ => (key.clone(), value.clone()),
    };
    members.iter().map(member).collect::<JsonObject>().into()
}
