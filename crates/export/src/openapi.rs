//! Exports a dialect as an OpenAPI document: components alone, as nothing of the protocol is HTTP.

use super::{
    Part, part_schema,
    parts::{ref_name, target_name},
};
use pi_rpc_protocol::Dialect;
use serde_json::{Map, Value, json};

/// The frames of a part of `dialect` as an OpenAPI 3.1 document, in which generators find a discriminator that they take.
///
/// - The mapping of a union of unions names the innermost variant, as far as a text tells it apart.
/// - Variants that no text tells apart are one object with the members of all: `RpcResponse`, whose `success` is a boolean,
///   with `data` of any kind, beside `RpcSuccess` with each command's `data`; and the responses to dialogs.
/// - A constant is an `enum` of one value; one that is a boolean is left to its description.
///
/// ```
/// use pi_rpc_export::{Part, openapi};
/// use pi_rpc_protocol::Dialect;
///
/// let document = openapi(Dialect::Pi, Part::All);
/// let variants = &document["components"]["schemas"]["Inbound"]["discriminator"]["mapping"];
/// assert_eq!(variants["steer"], "#/components/schemas/SteerCommand");
/// ```
pub fn openapi(dialect: Dialect, part: Part) -> Value {
    let schema = part_schema(dialect, part);
    let empty = Map::new();
    let defs = schema["$defs"].as_object().unwrap_or(&empty);
    let schemas: Map<String, Value> =
        defs.iter().map(|(name, def)| (name.clone(), plain(&definition(defs, def)))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": schema["title"],
            "version": dialect.record().version,
            "summary": schema["$id"],
            "description": schema["description"],
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "components": { "schemas": schemas },
    })
}

/// A definition with the unions that generators take.
fn definition(defs: &Map<String, Value>, def: &Value) -> Value {
    let branches = def["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    if branches.is_empty() || branches.iter().any(|branch| ref_name(branch).is_none()) {
        return def.clone();
    }
    let mut out = def.clone();
    match text_tag(defs, def) {
        Some(tag) => {
            let mut mapping = Map::new();
            innermost(defs, def, &tag, &mut mapping);
            let mut targets: Vec<&Value> = Vec::new();
            mapping.values().for_each(|target| {
                if !targets.contains(&target) {
                    targets.push(target)
                }
            });
            out["oneOf"] = targets.iter().map(|target| json!({ "$ref": target })).collect();
            out["discriminator"] = json!({ "propertyName": tag, "mapping": mapping });
            out
        }
        None => merged(defs, def),
    }
}

/// The member by whose texts a union's variants are told apart.
fn text_tag(defs: &Map<String, Value>, def: &Value) -> Option<String> {
    let tag = def["discriminator"]["propertyName"].as_str()?;
    let variants = variants(defs, def);
    variants.iter().all(|variant| variant["properties"][tag]["const"].is_string()).then(|| tag.to_owned())
}

/// Collects the value of `tag` for each variant. An inner union whose variants share one value, or that has no tag of
/// texts, is a variant itself.
fn innermost(defs: &Map<String, Value>, def: &Value, tag: &str, into: &mut Map<String, Value>) {
    for (value, target) in def["discriminator"]["mapping"].as_object().into_iter().flatten() {
        match target_name(target).map(|name| &defs[name]) {
            Some(inner) if text_tag(defs, inner).as_deref() == Some(tag) => innermost(defs, inner, tag, into),
            _ => drop(into.insert(value.clone(), target.clone())),
        }
    }
}

/// The objects that a union consists of.
fn variants<'a>(defs: &'a Map<String, Value>, def: &'a Value) -> Vec<&'a Value> {
    match def["oneOf"].as_array() {
        Some(branches) => {
            branches.iter().filter_map(ref_name).flat_map(|name| variants(defs, &defs[name])).collect()
        }
        None => vec![def],
    }
}

/// One object with the members of all variants. A member has its schema where all agree, its type where they agree in that,
/// and any value otherwise; it is required where all variants require it.
fn merged(defs: &Map<String, Value>, def: &Value) -> Value {
    let variants = variants(defs, def);
    let mut properties: Map<String, Value> = Map::new();
    for (name, schema) in variants.iter().filter_map(|it| it["properties"].as_object()).flatten() {
        let merged = match properties.get(name) {
            Some(known) if known != schema => common(defs, known, schema),
            _ => schema.clone(),
        };
        properties.insert(name.clone(), merged);
    }
    let requires = |variant: &Value, name: &str| {
        variant["required"].as_array().is_some_and(|required| required.iter().any(|known| known == name))
    };
    let required: Vec<&String> =
        properties.keys().filter(|name| variants.iter().all(|variant| requires(variant, name))).collect();
    json!({
        "title": def["title"],
        "description": def["description"],
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

/// What two schemas of a member have in common.
fn common(defs: &Map<String, Value>, one: &Value, other: &Value) -> Value {
    let type_of = |schema: &Value| -> Option<String> {
        let schema = ref_name(schema).map_or(schema, |name| &defs[name]);
        match schema.get("const") {
            Some(Value::String(_)) => Some("string".to_owned()),
            Some(Value::Bool(_)) => Some("boolean".to_owned()),
            _ => schema["type"].as_str().map(str::to_owned),
        }
    };
    match (type_of(one), type_of(other)) {
        (Some(one), Some(other)) if one == other && ["string", "boolean"].contains(&one.as_str()) => {
            json!({ "type": one })
        }
        _ => json!({ "description": "A value of any kind: it depends on the variant." }),
    }
}

/// The schema with the references of a document, and without what generators do not take.
fn plain(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        return match schema {
            Value::Array(list) => list.iter().map(plain).collect(),
            _ => target_name(schema).map_or_else(|| schema.clone(), reference),
        };
    };
    if map.get("const").is_some_and(Value::is_boolean) {
        return json!({ "type": "boolean", "description": map.get("description") });
    }
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "const" => drop(out.insert("type".to_owned(), json!("string"))),
            // The name of the component is its title.
            "title" => {}
            // Any value is what a schema without a type takes.
            "oneOf" if value.as_array().is_some_and(|branches| branches == &[json!({})]) => {}
            "properties" => {
                let named = |(name, schema): (&String, &Value)| (name.clone(), plain(schema));
                let properties = value.as_object().into_iter().flatten().map(named).collect();
                out.insert(key.clone(), properties);
            }
            "type" if value == "integer" => {
                out.insert(key.clone(), value.clone());
                out.insert("format".to_owned(), json!("int64"));
            }
            _ => drop(out.insert(key.clone(), plain(value))),
        }
    }
    Value::Object(out)
}

fn reference(name: &str) -> Value {
    json!(format!("#/components/schemas/{name}"))
}
