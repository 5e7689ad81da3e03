//! Exports a dialect as a plain JSON Schema.

use super::parts::{Part, reachable, ref_name, target_name};
use pi_rpc_protocol::{BUNDLE, Dialect, DialectVersion, Version};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The frames of `dialect` as one JSON Schema 2020-12, without other dialects and annotations.
///
/// `$defs` has every definition of the dialect, in the order of `schema/`: the frames, and the conventional content of
/// free-form members (details of tools). The root accepts `Inbound` and `Outbound`. The `$id` is a URN of dialect and version.
/// An overlay without frames of its own has those of its base. Every union whose branches differ in a tag has a
/// `discriminator`, unions of unions included, so that validators can report the errors of the intended branch. A constant is
/// also an `enum` of one value, for generators without `const`.
///
/// ```
/// use pi_rpc_export::json_schema;
/// use pi_rpc_protocol::Dialect;
///
/// let schema = json_schema(Dialect::Pi);
/// assert_eq!(schema["$defs"]["SteerCommand"]["required"], serde_json::json!(["type", "message"]));
/// assert!(schema["$defs"].get("SetTodosCommand").is_none());
/// ```
pub fn json_schema(dialect: Dialect) -> Value {
    part_schema(dialect, Part::All)
}

/// A part of the protocol as JSON Schema: the root accepts the part's unions, and `$defs` has the definitions they refer to.
///
/// ```
/// use pi_rpc_export::{Part, part_schema};
/// use pi_rpc_protocol::Dialect;
///
/// let schema = part_schema(Dialect::Pi, Part::Extension);
/// assert_eq!(schema["oneOf"][1]["$ref"], "#/$defs/FromExtension");
/// assert!(schema["$defs"].get("PromptCommand").is_none());
/// ```
pub fn part_schema(dialect: Dialect, part: Part) -> Value {
    schema_of(dialect, None, part)
}

/// The frames of a version of a dialect, as [`json_schema`] has those of the dialect: without what a later version added.
///
/// ```
/// use pi_rpc_export::{json_schema, version_schema};
/// use pi_rpc_protocol::{Dialect, DialectVersion};
///
/// let old = version_schema(DialectVersion::parse("pi-1@0.80").ok_or("a version")?);
/// assert!(old["$defs"].get("AgentSettledEvent").is_none());
/// assert!(json_schema(Dialect::Pi1)["$defs"].get("AgentSettledEvent").is_some());
/// # Ok::<(), &str>(())
/// ```
pub fn version_schema(version: DialectVersion) -> Value {
    schema_of(version.dialect, version.version, Part::All)
}

/// The definitions of a dialect; `version`: those of this version only.
fn schema_of(dialect: Dialect, version: Option<Version>, part: Part) -> Value {
    let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
    let export = Export { base: dialect.base().as_str(), version, defs: &bundle["$defs"] };
    let own = export.defs.as_object().into_iter().flatten().filter(|(_, def)| export.has(def));
    let mut defs: Map<String, Value> =
        own.map(|(name, def)| (name.clone(), export.plain(def, false))).collect();
    let roots: Vec<&str> = part.roots().iter().copied().filter(|root| defs.contains_key(*root)).collect();
    if part != Part::All {
        let reached = reachable(&defs, &[&roots[..], part.values()].concat());
        defs.retain(|name, _| reached.contains(name));
    } else {
        // The wire around the sessions is no part of a dialect.
        let others: Vec<&str> = Part::ALL
            .into_iter()
            .filter(|part| *part != Part::MultiSession)
            .flat_map(|part| part.roots().iter().copied())
            .collect();
        let own = [Part::MultiSession.roots(), Part::MultiSession.values()].concat();
        let own = reachable(&defs, &own);
        let others = reachable(&defs, &others);
        defs.retain(|name, _| !own.contains(name) || others.contains(name));
    }
    let record = dialect.record();
    let roots: Vec<Value> = roots.into_iter().map(reference).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id(dialect, part),
        "title": format!("{} of {}", part.title(), record.title),
        "description": format!("{} Each frame is one JSON object on a line of its own.", record.description),
        "oneOf": roots,
        "discriminator": export.nested_discriminator(&roots, "type"),
        "$defs": defs,
    })
}

/// The `$id` of a part's schema: a URN of dialect, version and part.
pub fn schema_id(dialect: Dialect, part: Part) -> String {
    let id = format!("urn:pi-rpc:{dialect}:{}", dialect.record().version);
    if part == Part::All { id } else { format!("{id}:{}", part.as_str()) }
}

/// Note in the description of a command that this server does not implement. Not a keyword, as strict validators refuse
/// unknown ones.
const UNSERVED: &str = "`pi-rpc serve` does not do it and answers that it is not implemented.";

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The tag that tells the unions in a union apart, if there is one.
fn nested_tag(union: &Value) -> Option<&'static str> {
    match union["x-union"].as_str()? {
        "families" => Some("type"),
        "response" => Some("success"),
        _ => None,
    }
}

/// Export of one base dialect from the bundle.
struct Export<'a> {
    base: &'static str,
    /// Version whose later additions are left out; `None`: nothing is.
    version: Option<Version>,
    defs: &'a Value,
}

impl Export<'_> {
    /// `schema` as the dialect has it, without annotations; `never_null`: null would mean absent, but the member is required.
    fn plain(&self, schema: &Value, never_null: bool) -> Value {
        if let Some(name) = ref_name(schema) {
            return reference(name);
        }
        let Value::Object(map) = schema else { return schema.clone() };
        let mut out = Map::new();
        for (key, value) in map.iter().filter(|(key, _)| !key.starts_with("x-")) {
            let value = match key.as_str() {
                "type" if is_text_constant(map) => continue,
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
                "description" if schema["x-served"] == false => {
                    json!(format!("{} {UNSERVED}", value.as_str().unwrap_or_default()))
                }
                _ => value.clone(),
            };
            if key == "const" {
                out.insert("enum".to_owned(), json!([value]));
            }
            out.insert(key.clone(), value);
            if key == "properties" {
                let required = self.required(schema);
                if !required.is_empty() {
                    out.insert("required".to_owned(), json!(required));
                }
            }
        }
        if let (Some(tag), Some(Value::Array(branches))) = (nested_tag(schema), out.get("oneOf")) {
            let discriminator = self.nested_discriminator(branches, tag);
            out.insert("discriminator".to_owned(), discriminator);
        }
        Value::Object(out)
    }

    /// Whether the dialect has this definition or property.
    fn has(&self, schema: &Value) -> bool {
        self.is_in(schema, "x-dialects").unwrap_or(true) && self.has_since(&schema["x-since"])
    }

    /// Whether the version has what came into pi with the version `since`.
    fn has_since(&self, since: &Value) -> bool {
        let since = since.as_str().and_then(Version::parse);
        self.version.zip(since).is_none_or(|(version, since)| since <= version)
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
            (name.clone(), of_any_type(self.plain(&self.own_type(property), never_null)))
        })
        .collect()
    }

    /// The property with the type that it has in this dialect.
    fn own_type<'p>(&self, property: &'p Value) -> Cow<'p, Value> {
        let rows = property["x-type-in"].as_array().into_iter().flatten();
        let own =
            rows.filter(|row| self.is_in(row, "dialects") == Some(true)).map(|row| &row["schema"]).next();
        let Some(own) = own else { return Cow::Borrowed(property) };
        if own.get("$ref").is_some() {
            return Cow::Borrowed(own);
        }
        let mut typed = property.clone();
        if let (Value::Object(typed), Value::Object(own)) = (&mut typed, own) {
            typed.extend(own.clone());
        }
        Cow::Owned(typed)
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
            let Some(text) = value.as_str() else { return true };
            self.is_in(&def["x-enum-in"], text).unwrap_or(true) && self.has_since(&def["x-since"][text])
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

    /// A discriminator for unions, by the values of `tag` in the objects that they consist of.
    fn nested_discriminator(&self, branches: &[Value], tag: &str) -> Value {
        let mut mapping = Map::new();
        for branch in branches {
            self.tags(branch, tag, &mut |value| drop(mapping.insert(value, branch["$ref"].clone())));
        }
        json!({ "propertyName": tag, "mapping": mapping })
    }

    fn tags(&self, branch: &Value, tag: &str, found: &mut impl FnMut(String)) {
        let def = ref_name(branch).map_or(&Value::Null, |name| &self.defs[name]);
        match (def["oneOf"].as_array(), &def["properties"][tag]["const"]) {
            (Some(inner), _) if self.has(def) => inner.iter().for_each(|inner| self.tags(inner, tag, found)),
            (None, Value::String(value)) if self.has(def) => found(value.clone()),
            (None, value) if self.has(def) => found(value.to_string()),
            _ => {}
        }
    }

    fn discriminator(&self, discriminator: &Value) -> Value {
        let mut out = discriminator.clone();
        if let Some(mapping) = out.get_mut("mapping").and_then(Value::as_object_mut) {
            mapping.retain(|_, target| target_name(target).is_none_or(|name| self.has(&self.defs[name])));
        }
        out
    }
}

/// Whether the type is left out beside a constant: typify reads the `enum` of one value only without a type.
fn is_text_constant(schema: &Map<String, Value>) -> bool {
    schema.get("const").is_some_and(Value::is_string)
}

/// Marks a property that may have any value; json-schema-to-typescript would take it for an object otherwise.
fn of_any_type(mut property: Value) -> Value {
    let says_what = ["$ref", "type", "const", "enum", "oneOf"].iter().any(|key| property.get(key).is_some());
    if !says_what && let Some(map) = property.as_object_mut() {
        map.insert("oneOf".to_owned(), json!([{}]));
    }
    property
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
        Export { base: "pi", version: None, defs }
    }

    #[test]
    fn property_is_required_by_its_dialect() {
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
    fn required_nullable_reference_loses_null() {
        let property = json!({ "oneOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }], "description": "d" });
        assert_eq!(export(&json!({ "A": {} })).plain(&property, true), json!({ "$ref": "#/$defs/A" }));
    }

    #[test]
    fn foreign_values_and_branches_are_removed() {
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
    fn unserved_command_is_described_as_such() {
        let def = json!({ "description": "Greets.", "x-served": false });
        let expected = json!({ "description": format!("Greets. {UNSERVED}") });
        assert_eq!(export(&json!({})).plain(&def, false), expected);
    }

    #[test]
    fn constants_are_also_single_value_enums() {
        let def = json!({
            "properties": {
                "type": { "type": "string", "const": "a", "description": "d" },
                "success": { "type": "boolean", "const": true },
                "details": { "description": "d" },
            },
        });
        let expected = json!({
            "properties": {
                "type": { "const": "a", "enum": ["a"], "description": "d" },
                "success": { "type": "boolean", "const": true, "enum": [true] },
                "details": { "description": "d", "oneOf": [{}] },
            },
        });
        assert_eq!(export(&json!({})).plain(&def, false), expected);
    }

    #[test]
    fn nested_unions_get_a_discriminator() {
        let leaf = |tag: &str| json!({ "properties": { "type": { "const": tag } } });
        let defs = json!({
            "A": leaf("a"),
            "B": leaf("b"),
            "C": { "x-dialects": ["xcsh"], "properties": { "type": { "const": "c" } } },
            "AC": { "oneOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/C" }] },
        });
        let union =
            json!({ "oneOf": [{ "$ref": "#/$defs/AC" }, { "$ref": "#/$defs/B" }], "x-union": "families" });
        let mapping = json!({ "a": "#/$defs/AC", "b": "#/$defs/B" });
        let discriminator = json!({ "propertyName": "type", "mapping": mapping });
        assert_eq!(export(&defs).plain(&union, false)["discriminator"], discriminator);
        let response = &json_schema(Dialect::Pi)["$defs"]["RpcResponse"]["discriminator"]["mapping"];
        assert_eq!(response, &json!({ "true": "#/$defs/RpcSuccess", "false": "#/$defs/RpcErrorResponse" }));
    }

    #[test]
    fn hosts_and_servers_share_no_tag() {
        for dialect in Dialect::ALL {
            for schema in [json_schema(dialect), part_schema(dialect, Part::Extension)] {
                let tags = |root: &Value| {
                    let def = &schema["$defs"][ref_name(root).expect("a ref")];
                    def["discriminator"]["mapping"].as_object().expect("a mapping").len()
                };
                let apart: usize = schema["oneOf"].as_array().expect("roots").iter().map(tags).sum();
                let all = schema["discriminator"]["mapping"].as_object().expect("a mapping").len();
                assert_eq!(all, apart, "{dialect}: {}", schema["title"]);
            }
        }
    }

    #[test]
    fn annotations_and_siblings_of_refs_are_removed() {
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
    fn overlay_with_frames_replaces_its_bases() {
        let (base, overlay) = (json_schema(Dialect::Pi), json_schema(Dialect::Pi073));
        let id = format!("urn:pi-rpc:pi@0.73:{}", Dialect::Pi073.record().version);
        assert_eq!(overlay["$id"], id);
        let has = |schema: &Value| {
            ["AutoCompactionStartEvent", "CompactionStartEvent", "AgentSettledEvent"]
                .map(|name| schema["$defs"].get(name).is_some())
        };
        assert_eq!((has(&base), has(&overlay)), ([true, false, false], [false, true, false]));
    }

    #[test]
    fn overlay_without_frames_has_its_bases() {
        let (base, overlay) = (json_schema(Dialect::Pi), json_schema(Dialect::Pi0584));
        assert_eq!(base["$defs"], overlay["$defs"]);
        assert_ne!(base["title"], overlay["title"]);
    }
}
