//! How much work a schema makes for one value: parts that are applied to the same value, over and over by references.
//!
//! Small schemas can be enormous: `a` refers to `b` twice, `b` to `c` twice, and so on. Parts that are applied to members of the value
//! are as many as the value has, so that only those in place count.

use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::collections::HashMap;

/// The most parts in place.
pub(crate) const MAX_COST: u64 = 10_000;

/// Keywords with a schema that is applied to the same value.
const ONE: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords with a list of such schemas.
const MANY: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords with an object of such schemas.
const NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Whether no part of the schema makes more than [`MAX_COST`] parts in place.
pub(crate) fn is_bounded(schema: &JsonObject) -> bool {
    let root = Value::Object(schema.clone());
    let mut counter = Counter { root: &root, anchors: HashMap::new(), costs: HashMap::new() };
    counter.note_anchors(&root);
    counter.every_part_is_bounded(&root)
}

struct Counter<'a> {
    root: &'a Value,
    /// Schemas by their names, beside their places.
    anchors: HashMap<&'a str, &'a Value>,
    /// The cost of each schema that was referred to, by its address; `None`: it is being counted.
    costs: HashMap<*const Value, Option<u64>>,
}

impl<'a> Counter<'a> {
    fn note_anchors(&mut self, part: &'a Value) {
        match part {
            Value::Object(members) => {
                for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                    if let Some(name) = members.get(key).and_then(Value::as_str) {
                        self.anchors.insert(name, part);
                    }
                }
                members.values().for_each(|member| self.note_anchors(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.note_anchors(item)),
            _ => {}
        }
    }

    fn every_part_is_bounded(&mut self, part: &'a Value) -> bool {
        if self.cost(part).is_none_or(|cost| cost > MAX_COST) {
            return false;
        }
        match part {
            Value::Object(members) => members.values().all(|member| self.every_part_is_bounded(member)),
            Value::Array(items) => items.iter().all(|item| self.every_part_is_bounded(item)),
            _ => true,
        }
    }

    /// The parts in place of this schema; `None`: it refers to itself in place.
    fn cost(&mut self, schema: &'a Value) -> Option<u64> {
        let Value::Object(members) = schema else { return Some(1) };
        let address: *const Value = schema;
        if let Some(known) = self.costs.get(&address) {
            return *known;
        }
        self.costs.insert(address, None);
        let mut cost = 1_u64;
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let target = members.get(key).and_then(Value::as_str).and_then(|name| self.target(name));
            if let Some(target) = target {
                cost = cost.saturating_add(self.cost(target)?);
            }
        }
        let one = ONE.iter().filter_map(|key| members.get(*key));
        let many = MANY.iter().filter_map(|key| members.get(*key)?.as_array()).flatten();
        let named = NAMED.iter().filter_map(|key| members.get(*key)?.as_object());
        let named = named.flat_map(|schemas| schemas.values());
        for part in one.chain(many).chain(named) {
            cost = cost.saturating_add(self.cost(part)?);
        }
        self.costs.insert(address, Some(cost));
        Some(cost)
    }

    /// The schema that a reference names; `None`: it is none of this document, and nothing else is loaded.
    fn target(&self, name: &str) -> Option<&'a Value> {
        match name.strip_prefix('#') {
            Some("") => Some(self.root),
            Some(pointer) if pointer.starts_with('/') => {
                self.root.pointer(&pi_rpc_files::secrets::percent_decoded(pointer))
            }
            Some(anchor) => self.anchors.get(anchor).copied(),
            None => self.anchors.get(name).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bounded(schema: Value) -> bool {
        is_bounded(schema.as_object().unwrap())
    }

    #[test]
    fn references_in_place_are_counted() {
        let doubling = |levels: u32| {
            let mut schema = json!({ "properties": { "x": { "$ref": "#/$defs/d0" } } });
            for level in 0..levels {
                let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
                schema["$defs"][format!("d{level}")] = json!({ "anyOf": [next, next] });
            }
            schema
        };
        assert!(bounded(doubling(8)) && !bounded(doubling(30)));
        let named = json!({ "$anchor": "a", "anyOf": [{ "$ref": "#a" }] });
        assert!(!bounded(named));
    }

    #[test]
    fn recursive_data_is_no_circle() {
        let list = json!({ "$ref": "#/$defs/list", "$defs": { "list": {
            "anyOf": [{ "type": "null" }, { "properties": { "next": { "$ref": "#/$defs/list" } } }],
        } } });
        assert!(bounded(list));
        assert!(bounded(json!({ "properties": { "child": { "$ref": "#" } } })));
    }
}
