//! One dialect as a plain JSON Schema.

use crate::protocol::{BUNDLE, Base, Dialect};
use serde_json::{Map, Value, json};

/// What a host may write, and what a server may write.
const FRAMES: [&str; 2] = ["Inbound", "Outbound"];

/// What a server may write to an extension, and an extension to the server.
const EXTENSION: [&str; 2] = ["ToExtension", "FromExtension"];

/// The frames of `dialect` as one JSON Schema 2020-12, without a trace of the other dialects and of the annotations.
///
/// `$defs` holds every def of the dialect, in the order of `schema/`: the frames, and what free-form fields hold by
/// convention (the details of tools). The root accepts `Inbound` and `Outbound`.
/// An overlay speaks the frames of its base.
///
/// ```
/// use pi_rpc::{export::json_schema, protocol::Dialect};
///
/// let schema = json_schema(Dialect::Pi);
/// assert_eq!(schema["$defs"]["SteerCommand"]["required"], serde_json::json!(["type", "message"]));
/// assert!(schema["$defs"].get("SetTodosCommand").is_none());
/// ```
pub fn json_schema(dialect: Dialect) -> Value {
    bundled(dialect, "RPC frames", FRAMES)
}

/// The frames between a server that speaks `dialect` and a process that extends it, in the same way. The root accepts
/// `ToExtension` and `FromExtension`.
///
/// ```
/// use pi_rpc::{export::extension_schema, protocol::Dialect};
///
/// let schema = extension_schema(Dialect::Pi);
/// assert_eq!(schema["oneOf"][1]["$ref"], "#/$defs/FromExtension");
/// ```
pub fn extension_schema(dialect: Dialect) -> Value {
    bundled(dialect, "Extension frames", EXTENSION)
}

fn bundled(dialect: Dialect, what: &str, roots: [&str; 2]) -> Value {
    let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
    let export = Export { base: base_id(dialect.base()), defs: &bundle["$defs"] };
    let own = export.defs.as_object().into_iter().flatten().filter(|(_, def)| export.has(def));
    let defs: Map<String, Value> = own.map(|(name, def)| (name.clone(), export.plain(def, false))).collect();
    let record = dialect.record();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("{what} of {}", record.title),
        "description": format!("{} Each frame is one JSON object on a line of its own.", record.description),
        "oneOf": roots.map(reference),
        "$defs": defs,
    })
}

/// How the schema spells a base: as the dialect that it is, which comes before those that extend it.
fn base_id(base: Base) -> &'static str {
    Dialect::ALL.into_iter().find(|dialect| dialect.base() == base).map_or("", Dialect::as_str)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The def that `{"$ref": "#/$defs/X"}` names.
fn ref_name(schema: &Value) -> Option<&str> {
    target_name(schema.get("$ref")?)
}

fn target_name(target: &Value) -> Option<&str> {
    target.as_str()?.strip_prefix("#/$defs/")
}

/// One base dialect, as it is taken out of the bundle.
struct Export<'a> {
    base: &'static str,
    defs: &'a Value,
}

impl Export<'_> {
    /// `schema` as the dialect has it; `never_null`: null would mean absent, and absent it may not be.
    fn plain(&self, schema: &Value, never_null: bool) -> Value {
        if let Some(name) = ref_name(schema) {
            return reference(name);
        }
        let Value::Object(map) = schema else { return schema.clone() };
        let mut out = Map::new();
        for (key, value) in map.iter().filter(|(key, _)| !key.starts_with("x-")) {
            let value = match key.as_str() {
                "type" if never_null => without_null_type(value),
                "enum" => self.values(schema, value),
                "properties" => self.properties(schema, value),
                "required" => continue,
                "oneOf" => match self.branches(value, never_null) {
                    // A nullable $ref that lost its null.
                    only if never_null && only.len() == 1 => return only[0].clone(),
                    branches => Value::Array(branches),
                },
                "discriminator" => self.discriminator(value),
                "items" | "additionalProperties" => self.plain(value, false),
                _ => value.clone(),
            };
            out.insert(key.clone(), value);
            if key == "properties" {
                let required = self.required(schema);
                if !required.is_empty() {
                    out.insert("required".to_owned(), json!(required));
                }
            }
        }
        Value::Object(out)
    }

    /// Whether the dialect has this def or property.
    fn has(&self, schema: &Value) -> bool {
        self.is_in(schema, "x-dialects").unwrap_or(true)
    }

    /// Whether the list under `key` names the dialect; `None`: there is no list.
    fn is_in(&self, schema: &Value, key: &str) -> Option<bool> {
        Some(schema.get(key)?.as_array()?.iter().any(|id| id == self.base))
    }

    fn properties(&self, def: &Value, properties: &Value) -> Value {
        let required = self.required(def);
        let own = properties.as_object().into_iter().flatten().filter(|(_, property)| self.has(property));
        own.map(|(name, property)| {
            let never_null = required.contains(&name.as_str()) && property["x-null"] == true;
            (name.clone(), self.plain(property, never_null))
        })
        .collect()
    }

    /// The names of the properties that the dialect requires, in the order of the properties.
    fn required<'d>(&self, def: &'d Value) -> Vec<&'d str> {
        let listed = def["required"].as_array().map_or(&[][..], Vec::as_slice);
        let own = def["properties"].as_object().into_iter().flatten().filter(|(name, property)| {
            let listed = listed.iter().any(|other| other == *name);
            self.has(property) && (listed || self.is_in(property, "x-required-in").unwrap_or(false))
        });
        own.map(|(name, _)| name.as_str()).collect()
    }

    fn values(&self, def: &Value, values: &Value) -> Value {
        let own = |value: &&Value| {
            value.as_str().and_then(|text| self.is_in(&def["x-enum-in"], text)).unwrap_or(true)
        };
        values.as_array().into_iter().flatten().filter(own).cloned().collect()
    }

    fn branches(&self, branches: &Value, never_null: bool) -> Vec<Value> {
        let own = branches.as_array().into_iter().flatten().filter(|branch| {
            ref_name(branch).is_none_or(|name| self.has(&self.defs[name]))
                && !(never_null && branch["type"] == "null")
        });
        own.map(|branch| self.plain(branch, false)).collect()
    }

    fn discriminator(&self, discriminator: &Value) -> Value {
        let mut out = discriminator.clone();
        if let Some(mapping) = out.get_mut("mapping").and_then(Value::as_object_mut) {
            mapping.retain(|_, target| target_name(target).is_none_or(|name| self.has(&self.defs[name])));
        }
        out
    }
}

fn without_null_type(types: &Value) -> Value {
    let Value::Array(list) = types else { return types.clone() };
    let mut left: Vec<Value> = list.iter().filter(|ty| *ty != "null").cloned().collect();
    if left.len() == 1 { left.remove(0) } else { Value::Array(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(defs: &Value) -> Export<'_> {
        Export { base: "pi", defs }
    }

    #[test]
    fn a_property_is_required_where_its_dialect_says_so() {
        let def = json!({
            "type": "object",
            "properties": {
                "everywhere": { "type": "string" },
                "theirs": { "type": "string", "x-dialects": ["xcsh"] },
                "ours": { "type": ["string", "null"], "x-required-in": ["pi"], "x-null": true },
                "elsewhere": { "type": "string", "x-required-in": ["xcsh"] },
            },
            "required": ["everywhere", "theirs"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "everywhere": { "type": "string" },
                "ours": { "type": "string" },
                "elsewhere": { "type": "string" },
            },
            "required": ["everywhere", "ours"],
        });
        assert_eq!(export(&json!({})).plain(&def, false), expected);
    }

    #[test]
    fn a_nullable_def_that_must_be_there_is_the_def_alone() {
        let property = json!({ "oneOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }], "description": "d" });
        assert_eq!(export(&json!({ "A": {} })).plain(&property, true), json!({ "$ref": "#/$defs/A" }));
    }

    #[test]
    fn values_and_branches_of_other_dialects_are_left_out() {
        let defs = json!({ "A": {}, "B": { "x-dialects": ["xcsh"] } });
        let union = json!({
            "oneOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }],
            "discriminator": { "propertyName": "t", "mapping": { "a": "#/$defs/A", "b": "#/$defs/B" } },
        });
        let expected = json!({
            "oneOf": [{ "$ref": "#/$defs/A" }],
            "discriminator": { "propertyName": "t", "mapping": { "a": "#/$defs/A" } },
        });
        assert_eq!(export(&defs).plain(&union, false), expected);
        let list = json!({ "enum": ["x", "y", "z"], "x-enum-in": { "y": ["xcsh"], "z": ["pi"] } });
        assert_eq!(export(&defs).plain(&list, false), json!({ "enum": ["x", "z"] }));
    }

    #[test]
    fn nothing_of_the_annotations_and_nothing_beside_a_ref_is_left() {
        fn walk(schema: &Value, at: &str) {
            if let Value::Object(map) = schema {
                assert!(!map.contains_key("$ref") || map.len() == 1, "{at}");
                map.iter().for_each(|(key, inner)| {
                    assert!(!key.starts_with("x-"), "{at}: {key}");
                    walk(inner, &format!("{at}/{key}"));
                });
            } else if let Value::Array(list) = schema {
                list.iter().for_each(|inner| walk(inner, at));
            }
        }
        Dialect::ALL.into_iter().for_each(|dialect| walk(&json_schema(dialect), dialect.as_str()));
    }

    #[test]
    fn an_overlay_has_the_frames_of_its_base_under_its_own_title() {
        let (base, overlay) = (json_schema(Dialect::Pi), json_schema(Dialect::Pi0584));
        assert_eq!(base["$defs"], overlay["$defs"]);
        assert_ne!(base["title"], overlay["title"]);
    }
}
