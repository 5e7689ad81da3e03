//! How much work it is to check a value by a tool's schema, counted in steps before the work is done.
//!
//! A step is one schema that meets one value. A schema may send a value several ways (`anyOf`, `$ref`), and each of
//! those again: a few lines can ask for more steps than there is time. The count takes every way, as a validator does at
//! worst, and each pair of schema and value is counted once: counting is quick where checking is not.

use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// The most steps that one check may take.
pub const MOST_STEPS: u64 = 1_000_000;

/// The most schemas that may lead from one to the next without going into the value.
const MOST_WAY: usize = 64;

/// The most schemas that may lead from one to the next on the way into a value.
const MOST_DEPTH: usize = 500;

/// The most patterns of a schema.
const MOST_PATTERNS: usize = 1000;

/// Steps for a pattern that meets a text: most are quick, some try many ways.
const PATTERN_STEPS: u64 = 100;

/// How much more often a value is checked by a schema that asks what other schemas have looked at.
const UNEVALUATED_FACTOR: u64 = 4;

/// Keywords whose schema, list of schemas or schemas by name see the same value.
const SAME_VALUE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// Keywords whose schemas see what is inside a value.
const INNER_VALUE: [&str; 12] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "$defs",
    "definitions",
];

/// Those of both kinds that have schemas by name.
const BY_NAME: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Keywords that refer to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema, with what its references lead to.
pub struct Schema<'s> {
    root: &'s Value,
    /// By the root's `$id`, and by `$anchor` and `$dynamicAnchor`, these with `#`; `None`: the name is taken twice.
    named: HashMap<String, Option<&'s Value>>,
}

impl<'s> Schema<'s> {
    /// Indexes `root`.
    pub fn new(root: &'s Value) -> Self {
        let mut named = HashMap::new();
        index(root, &mut named);
        if let Some(id) = root.get("$id").and_then(Value::as_str) {
            named.insert(id.trim_end_matches('#').to_owned(), Some(root));
        }
        Self { root, named }
    }

    /// Refuses a schema that may ask for any amount of work, or leads where the work cannot be counted.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for its author.
    pub fn examine(&self) -> Result<(), String> {
        let mut walk = Walk { schema: self, ways: HashMap::new() };
        let mut open = vec![self.root];
        let mut seen = HashSet::new();
        let mut patterns = 0;
        let dialect = self.root.get("$schema").and_then(Value::as_str);
        let is_draft_4 = dialect.is_some_and(|it| it.contains("draft-04"));
        while let Some(schema) = open.pop() {
            let Value::Object(map) = schema else { continue };
            if !seen.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            let own_id = map.get("$id").or_else(|| map.get("id").filter(|_| is_draft_4));
            if own_id.is_some_and(Value::is_string) && !std::ptr::eq(schema, self.root) {
                return Err("it has an `$id` inside, expected one at its root alone".to_owned());
            }
            self.follow(map)?;
            if walk.ways(schema, 0)? > MOST_STEPS {
                return Err(format!("one value is checked in more than {MOST_STEPS} ways"));
            }
            let by_pattern = map.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            patterns += by_pattern + usize::from(map.contains_key("pattern"));
            if patterns > MOST_PATTERNS {
                return Err(format!("it has more than {MOST_PATTERNS} patterns"));
            }
            open.extend(self.alternatives(map));
            open.extend(inside(map));
        }
        Ok(())
    }

    /// The most steps that checking `value` takes.
    pub fn steps(&self, value: &Value) -> u64 {
        Count { schema: self, known: HashMap::new() }.pair(self.root, value, 0)
    }

    /// Whether all references of `schema` can be followed.
    fn follow(&self, schema: &Map<String, Value>) -> Result<(), String> {
        let references = REFERENCES.iter().filter_map(|keyword| schema.get(*keyword)?.as_str());
        let is_known = |it: &&str| it.contains("://json-schema.org/") || self.target(it).is_some();
        let lost = references.into_iter().find(|it| !is_known(it));
        lost.map_or(Ok(()), |lost| {
            Err(format!("`{lost}` cannot be followed, expected `#`, `#/…` or an anchor"))
        })
    }

    /// The schema that a reference leads to; `None`: none of this document.
    pub fn target(&self, reference: &str) -> Option<&'s Value> {
        let (resource, part) = reference.split_once('#').unwrap_or((reference, ""));
        if !resource.is_empty() {
            let named = self.named.get(resource).copied().flatten();
            named.filter(|named| std::ptr::eq(*named, self.root))?;
        }
        match part {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => {
                self.root.pointer(pointer).filter(|_| !pointer.contains('%'))
            }
            anchor => self.named.get(&format!("#{anchor}")).copied().flatten(),
        }
    }

    /// The schemas that see the same value as `schema`.
    fn alternatives(&self, schema: &'s Map<String, Value>) -> Vec<&'s Value> {
        let mut all = Vec::new();
        for keyword in SAME_VALUE {
            match schema.get(keyword) {
                Some(Value::Array(list)) => all.extend(list),
                // One schema, or several by name.
                Some(Value::Object(map)) if keyword.starts_with("depend") => {
                    all.extend(map.values().filter(|it| !it.is_array()));
                }
                Some(one) => all.push(one),
                None => {}
            }
        }
        let references = REFERENCES.iter().filter_map(|keyword| schema.get(*keyword)?.as_str());
        all.extend(references.filter_map(|reference| self.target(reference)));
        all
    }
}

/// How often a value is checked by the schemas that this one leads to.
fn factor(schema: &Map<String, Value>) -> u64 {
    let is_unevaluated =
        schema.contains_key("unevaluatedProperties") || schema.contains_key("unevaluatedItems");
    if is_unevaluated { UNEVALUATED_FACTOR } else { 1 }
}

/// The schemas that see what is inside a value, and those that only references lead to.
fn inside(schema: &Map<String, Value>) -> Vec<&Value> {
    let mut all = Vec::new();
    for keyword in INNER_VALUE {
        match schema.get(keyword) {
            Some(Value::Array(list)) => all.extend(list),
            Some(Value::Object(map)) if BY_NAME.contains(&keyword) => all.extend(map.values()),
            Some(one) => all.push(one),
            None => {}
        }
    }
    all
}

/// Notes the anchors of a document.
fn index<'s>(schema: &'s Value, named: &mut HashMap<String, Option<&'s Value>>) {
    match schema {
        Value::Object(map) => {
            let anchors = ["$anchor", "$dynamicAnchor"].into_iter();
            for anchor in anchors.filter_map(|keyword| map.get(keyword)?.as_str()) {
                named.entry(format!("#{anchor}")).and_modify(|it| *it = None).or_insert(Some(schema));
            }
            map.values().for_each(|inner| index(inner, named));
        }
        Value::Array(list) => list.iter().for_each(|inner| index(inner, named)),
        _ => {}
    }
}

/// Counts the ways through a schema without a value.
struct Walk<'a, 's> {
    schema: &'a Schema<'s>,
    /// In how many ways a value is checked by the schema at this address; `None`: this is being found out.
    ways: HashMap<*const Value, Option<u64>>,
}

impl<'s> Walk<'_, 's> {
    fn ways(&mut self, schema: &'s Value, depth: usize) -> Result<u64, String> {
        let Value::Object(map) = schema else { return Ok(1) };
        match self.ways.get(&std::ptr::from_ref(schema)) {
            Some(Some(ways)) => return Ok(*ways),
            Some(None) => {
                return Err("a reference leads back to itself without going into the value".to_owned());
            }
            None if depth > MOST_WAY => {
                return Err(format!("more than {MOST_WAY} schemas lead from one to the next"));
            }
            None => {}
        }
        self.ways.insert(schema, None);
        let mut ways = 0_u64;
        for other in self.schema.alternatives(map) {
            ways = ways.saturating_add(self.ways(other, depth + 1)?);
        }
        let ways = ways.saturating_mul(factor(map)).saturating_add(1);
        self.ways.insert(schema, Some(ways));
        Ok(ways)
    }
}

/// Counts the steps of a check.
struct Count<'a, 's> {
    schema: &'a Schema<'s>,
    /// By the addresses of schema and value.
    known: HashMap<(*const Value, *const Value), u64>,
}

impl<'s> Count<'_, 's> {
    fn pair(&mut self, schema: &'s Value, value: &Value, depth: usize) -> u64 {
        let Value::Object(map) = schema else { return 1 };
        let key = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(steps) = self.known.get(&key) {
            return *steps;
        }
        if depth > MOST_DEPTH || self.known.len() as u64 > MOST_STEPS {
            return u64::MAX;
        }
        let mut steps = 0_u64;
        for other in self.schema.alternatives(map) {
            steps = steps.saturating_add(self.pair(other, value, depth + 1));
        }
        for keyword in ["enum", "required"] {
            steps =
                steps.saturating_add(map.get(keyword).and_then(Value::as_array).map_or(0, Vec::len) as u64);
        }
        match value {
            Value::Object(members) => {
                for (name, inner) in members {
                    let by_name = map.get("properties").and_then(|it| it.get(name));
                    let all = ["additionalProperties", "unevaluatedProperties"].iter();
                    let all = all.filter_map(|keyword| map.get(*keyword));
                    for schema in by_name.into_iter().chain(all) {
                        steps = steps.saturating_add(self.pair(schema, inner, depth + 1));
                    }
                    for schema in
                        map.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
                    {
                        let own = self.pair(schema.1, inner, depth + 1);
                        steps = steps.saturating_add(PATTERN_STEPS).saturating_add(own);
                    }
                    if let Some(names) = map.get("propertyNames") {
                        let own = self.pair(names, &Value::Null, depth + 1);
                        steps = steps.saturating_add(PATTERN_STEPS).saturating_add(own);
                    }
                }
            }
            Value::Array(items) => {
                for (at, inner) in items.iter().enumerate() {
                    let one = |keyword: &str| match map.get(keyword) {
                        Some(Value::Array(list)) => list.get(at),
                        other => other,
                    };
                    let keywords =
                        ["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"];
                    for schema in keywords.into_iter().filter_map(one) {
                        steps = steps.saturating_add(self.pair(schema, inner, depth + 1));
                    }
                }
            }
            Value::String(text) if map.contains_key("pattern") => {
                steps = steps.saturating_add(PATTERN_STEPS + text.len() as u64 / 16);
            }
            _ => {}
        }
        let steps = steps.saturating_mul(factor(map)).saturating_add(1);
        self.known.insert(key, steps);
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `a0` leads to `a1` twice by `keyword`, and so on, `levels` times.
    fn doubling(levels: usize, to: impl Fn(Value) -> Value) -> Value {
        let name = |level: usize| json!({ "$ref": format!("#/$defs/a{level}") });
        let mut defs: Map<String, Value> = (0..levels)
            .map(|level| (format!("a{level}"), to(json!([name(level + 1), name(level + 1)]))))
            .collect();
        defs.insert(format!("a{levels}"), json!({ "type": "string" }));
        json!({ "$ref": "#/$defs/a0", "$defs": defs })
    }

    fn examined(schema: &Value) -> Result<(), String> {
        Schema::new(schema).examine()
    }

    #[test]
    fn ways_through_references_are_bounded() {
        for keyword in ["anyOf", "allOf", "oneOf"] {
            let to = |both: Value| json!({ keyword: both });
            assert_eq!(examined(&doubling(8, to)), Ok(()));
            let text = format!("one value is checked in more than {MOST_STEPS} ways");
            assert_eq!(examined(&doubling(30, to)), Err(text), "{keyword}");
        }
        let chain = doubling(100, |both| json!({ "not": both[0] }));
        assert_eq!(examined(&chain), Err(format!("more than {MOST_WAY} schemas lead from one to the next")));
        let deep =
            (0..30).fold(json!({}), |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }));
        assert_eq!(examined(&deep), Err(format!("one value is checked in more than {MOST_STEPS} ways")));
    }

    #[test]
    fn circle_outside_the_value_is_refused() {
        let circle = json!({ "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }] } } });
        let text = "a reference leads back to itself without going into the value";
        assert_eq!(examined(&circle), Err(text.to_owned()));
        let tree = json!({ "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } } });
        assert_eq!(examined(&tree), Ok(()));
    }

    #[test]
    fn reference_that_cannot_be_followed_is_refused() {
        for reference in ["#/$defs/%61", "other.json", "#nowhere", "#/nowhere"] {
            let schema = json!({ "$ref": reference, "$defs": { "a": {} } });
            let text = format!("`{reference}` cannot be followed, expected `#`, `#/…` or an anchor");
            assert_eq!(examined(&schema), Err(text));
        }
        let anchored = json!({ "$id": "urn:x", "$ref": "urn:x#a", "$defs": { "b": { "$anchor": "a" } } });
        assert_eq!(examined(&anchored), Ok(()));
        let inside = json!({ "$defs": { "b": { "$id": "urn:y" } } });
        assert_eq!(
            examined(&inside),
            Err("it has an `$id` inside, expected one at its root alone".to_owned())
        );
    }

    #[test]
    fn steps_grow_with_the_value() {
        // Two ways at each level of the value: nothing for a flat one, too much for a deep one.
        let twice = json!({ "anyOf": [
            { "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } },
        ] });
        assert_eq!(examined(&twice), Ok(()));
        let value = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }));
        let steps = |depth| Schema::new(&twice).steps(&value(depth));
        assert_eq!([steps(0), steps(1), steps(2)], [3, 11, 27]);
        assert!(steps(10) < MOST_STEPS && steps(40) > MOST_STEPS);
    }

    #[test]
    fn deepest_that_is_counted_is_checked() {
        let tree = json!({ "properties": { "a": { "anyOf": [{ "$ref": "#" }] } } });
        let value = (0..120).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert!(Schema::new(&tree).steps(&value) < MOST_STEPS);
        assert!(jsonschema::validator_for(&tree).unwrap().is_valid(&value));
    }
}
