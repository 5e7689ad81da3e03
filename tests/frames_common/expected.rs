//! Expected result of reading and writing a frame.

use super::{Frames, ref_name, strings};
use serde_json::{Map, Value};

impl Frames {
    /// `value`, a `def`, without members that the dialect does not have; null counts as absent where it means that.
    pub fn known_part(&self, def: &str, value: &Value) -> Value {
        let schema = &self.defs[def];
        let (Some(properties), Some(map)) = (schema["properties"].as_object(), value.as_object()) else {
            return self.known_inner(schema, value);
        };
        let mut out = Map::new();
        for (key, value) in map {
            let absent = value.is_null() && self.bundle[def]["properties"][key]["x-null"] == true;
            match properties.get(key) {
                Some(_) if absent => {}
                Some(property) => {
                    out.insert(key.clone(), self.known_inner(property, value));
                }
                None if schema.get("additionalProperties").is_some() => {
                    out.insert(key.clone(), value.clone());
                }
                None => {}
            }
        }
        for key in properties.keys() {
            if self.bundle[def]["properties"][key]["x-writes-null"] == true {
                out.entry(key.clone()).or_insert(Value::Null);
            }
        }
        Value::Object(out)
    }

    fn known_inner(&self, schema: &Value, value: &Value) -> Value {
        if let Some(name) = ref_name(schema) {
            return self.known_part(name, value);
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            let branch = branches.iter().find(|branch| self.may_be(branch, value));
            return self.known_inner(branch.expect("a branch for a valid value"), value);
        }
        match (schema.get("items"), value) {
            (Some(items), Value::Array(list)) => {
                list.iter().map(|one| self.known_inner(items, one)).collect()
            }
            _ => value.clone(),
        }
    }

    /// `value`, read as a `def`, without the optional members that are `null`; of unions each branch counts that it may
    /// be.
    pub fn without_nulls(&self, def: &str, value: &Value) -> Value {
        let mut value = value.clone();
        self.drop_nulls(&self.defs[def], &mut value);
        value
    }

    fn drop_nulls(&self, schema: &Value, value: &mut Value) {
        if let Some(name) = ref_name(schema) {
            return self.drop_nulls(&self.defs[name], value);
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            let tag = |branch: &Value| self.tagged(branch, value);
            let own: Vec<&Value> = branches.iter().filter(|branch| tag(branch)).collect();
            return own.into_iter().for_each(|branch| self.drop_nulls(branch, value));
        }
        if let (Some(items), Value::Array(list)) = (schema.get("items"), &mut *value) {
            list.iter_mut().for_each(|one| self.drop_nulls(items, one));
        }
        let (Some(properties), Value::Object(map)) = (schema["properties"].as_object(), value) else {
            return;
        };
        for (key, property) in properties {
            let is_optional = strings(&schema["required"]).all(|required| required != *key);
            match map.get_mut(key) {
                Some(inner) if inner.is_null() && is_optional => drop(map.shift_remove(key)),
                Some(inner) => self.drop_nulls(property, inner),
                None => {}
            }
        }
    }

    /// Whether `value` has the constants of this branch, or of a branch of it, that tell branches apart.
    fn tagged(&self, schema: &Value, value: &Value) -> bool {
        if let Some(name) = ref_name(schema) {
            return self.tagged(&self.defs[name], value);
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            return branches.iter().any(|branch| self.tagged(branch, value));
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        let mut tags = properties.filter(|(key, it)| *key == "type" && it.get("const").is_some());
        tags.all(|(key, it)| value.get(key) == it.get("const"))
    }

    /// Whether `value`, which some branch fits, fits this one: by the types and constants of what it must have.
    pub(super) fn may_be(&self, schema: &Value, value: &Value) -> bool {
        if let Some(name) = ref_name(schema) {
            return self.may_be(&self.defs[name], value);
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            return branches.iter().any(|branch| self.may_be(branch, value));
        }
        let of_type = match schema["type"].as_str() {
            Some("null") => value.is_null(),
            Some("boolean") => value.is_boolean(),
            Some("integer" | "number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        };
        let has = |key: &str| value.get(key).is_some_and(|it| self.may_be(&schema["properties"][key], it));
        of_type
            && schema.get("const").is_none_or(|constant| value == constant)
            && strings(&schema["required"]).all(|key| has(&key))
    }
}

/// Whether two values are the same, numbers by their value, objects whatever the order.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
