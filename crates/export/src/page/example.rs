//! Generates a valid example of every definition from the schema and `schema/examples.json`.

use serde_json::{Map, Value};

const DATA: &str = include_str!("../../../../schema/examples.json");

/// Generator of examples.
///
/// An object has the properties that its dialect requires, and those in `schema/examples.json`. A value comes from there, by
/// definition or name of the property, or from the definition that it refers to.
pub struct Examples {
    data: Value,
}

impl Examples {
    /// Reads `schema/examples.json`, which is compiled in.
    pub fn new() -> Self {
        Self { data: serde_json::from_str(DATA).expect("a test reads it") }
    }

    /// An example of the definition `name`. `defs`: the definitions of one dialect, from
    /// [`json_schema`](crate::json_schema). Null if there is none; a test ensures that every example is valid.
    pub fn of(&self, defs: &Value, name: &str) -> Value {
        Maker { defs, data: &self.data }.of_def(name, None, "")
    }

    /// An example result of a hook; empty if no member has an effect.
    pub fn hook_result(&self, defs: &Value, hook: &str) -> Value {
        let own = self.data["hookResults"].get(hook).cloned().unwrap_or_default();
        Maker { defs, data: &self.data }.of_schema(&defs["HookResult"], Some(&own), "")
    }

    /// A small conversation in a base dialect: the frames of both sides in order, each with the name of its definition.
    pub fn conversation(&self, defs: &Value) -> Vec<(String, Value)> {
        let steps = self.data["conversation"].as_array().into_iter().flatten();
        let own = steps.filter(|step| step["where"].as_str().is_none_or(|def| defs.get(def).is_some()));
        let own = own.filter_map(|step| Some((step["def"].as_str()?, step.get("with"))));
        let own = own.filter(|(name, _)| defs.get(name).is_some());
        own.map(|(name, with)| (name.to_owned(), Maker { defs, data: &self.data }.of_def(name, with, "")))
            .collect()
    }
}

impl Default for Examples {
    fn default() -> Self {
        Self::new()
    }
}

struct Maker<'a> {
    defs: &'a Value,
    data: &'a Value,
}

impl Maker<'_> {
    /// An example of a definition. `own`: given content; the rest is generated. `property`: the property that has it.
    fn of_def(&self, name: &str, own: Option<&Value>, property: &str) -> Value {
        let schema = &self.defs[name];
        let usual = self.data["defs"].get(name);
        if let (Some(Value::Object(own)), Some(Value::Object(usual))) = (own, usual)
            && schema.get("properties").is_some()
        {
            let mut both = usual.clone();
            both.extend(own.clone());
            return self.of_schema(schema, Some(&Value::Object(both)), property);
        }
        let is_scalar = ["properties", "oneOf", "enum"].iter().all(|key| schema.get(key).is_none());
        let by_property = || self.by_property(property).filter(|value| is_scalar && fits(schema, value));
        self.of_schema(schema, own.or_else(by_property).or(usual), property)
    }

    fn of_schema(&self, schema: &Value, own: Option<&Value>, property: &str) -> Value {
        if let Some(name) = crate::parts::ref_name(schema) {
            return self.of_def(name, own, property);
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let known = own.filter(|own| values.contains(own));
            return known.or(values.first()).cloned().unwrap_or_default();
        }
        if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
            let branch = branches.iter().find(|branch| own.is_none_or(|own| self.is_meant(branch, own)));
            // The given content may be that of another dialect; the tag is the same.
            let tagged = || branches.iter().find(|branch| own.is_some_and(|own| self.has_tag(branch, own)));
            let branch = branch.or_else(tagged);
            return branch.map_or(Value::Null, |branch| self.of_schema(branch, own, property));
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            return self.object(schema, properties, own);
        }
        if let Some(items) = schema.get("items") {
            let own = own.and_then(Value::as_array);
            let given = own.map(|list| list.iter().map(|own| self.of_schema(items, Some(own), property)));
            // Null: the dialect has no such item.
            let given = given.map(|list| list.filter(|item| !item.is_null()).collect());
            return given.unwrap_or_else(|| vec![self.of_schema(items, None, property)].into());
        }
        let by_property = || self.by_property(property).filter(|value| fits(schema, value));
        own.or_else(by_property).cloned().unwrap_or_default()
    }

    fn object(&self, schema: &Value, properties: &Map<String, Value>, own: Option<&Value>) -> Value {
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let own = |name: &str| own.and_then(|own| own.get(name));
        // Optional ids are shown, too, as they pair requests and responses.
        let is_shown = |name: &str| name == "id" || own(name).is_some() || required.contains(&name.into());
        let shown = properties.iter().filter(|(name, _)| is_shown(name));
        shown.map(|(name, schema)| (name.clone(), self.of_schema(schema, own(name), name))).collect()
    }

    /// Whether `own` belongs to this branch: same kind of value, no contradicting constant.
    fn is_meant(&self, branch: &Value, own: &Value) -> bool {
        let schema = crate::parts::ref_name(branch).map_or(branch, |name| &self.defs[name]);
        if let Some(inner) = schema.get("oneOf").and_then(Value::as_array) {
            return inner.iter().any(|inner| self.is_meant(inner, own));
        }
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return fits(schema, own);
        };
        own.as_object().is_some_and(|own| {
            own.iter().all(|(name, value)| {
                properties
                    .get(name)
                    .is_some_and(|property| property.get("const").is_none_or(|only| only == value))
            })
        })
    }

    /// Whether `own` has this branch's constant.
    fn has_tag(&self, branch: &Value, own: &Value) -> bool {
        let schema = crate::parts::ref_name(branch).map_or(branch, |name| &self.defs[name]);
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties
            .filter(|(_, property)| property.get("const").is_some())
            .any(|(name, property)| own.get(name) == property.get("const"))
    }

    fn by_property(&self, name: &str) -> Option<&Value> {
        self.data["properties"].get(name)
    }
}

/// Whether a value is of a type that the schema allows.
fn fits(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    };
    match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
