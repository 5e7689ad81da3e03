//! The defs of the schema, with the dialects that have them.

use crate::kept_json::{Keeps, kept};
use pi_rpc_protocol::{BUNDLE, Base};
use serde_json::{Map, Value};
use std::sync::LazyLock;

static PARSED: LazyLock<Value> = LazyLock::new(|| {
    // The build has written it.
    kept(BUNDLE, Keeps { members: &["$defs", "errors"], within: &NAMES, left_out: &LEFT_OUT })
        .unwrap_or_default()
});

/// Keywords whose members have names of the protocol.
const NAMES: [&str; 5] = ["$defs", "errors", "properties", "mapping", "x-enum-in"];

/// Keywords that say nothing about how a value goes.
const LEFT_OUT: [&str; 12] = [
    "description",
    "title",
    "x-doc",
    "x-effects",
    "x-in",
    "x-fires-in",
    "x-fires",
    "x-free",
    "x-source",
    "examples",
    "pattern",
    "when",
];

/// A def of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Def {
    /// Its title.
    pub title: &'static str,
    schema: &'static Value,
}

/// A property of a def.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Name on the wire.
    pub name: &'static str,
    /// Schema of the value.
    pub schema: &'static Value,
    is_required: bool,
}

/// All defs, in the order of the schema.
pub fn defs() -> impl Iterator<Item = Def> {
    let defs = PARSED.get("$defs").and_then(Value::as_object);
    defs.into_iter().flatten().map(|(title, schema)| Def { title, schema })
}

/// The templates of an error text, by dialect; one text for all, if they do not differ.
pub fn error_templates() -> impl Iterator<Item = &'static Map<String, Value>> {
    let errors = PARSED.get("errors").and_then(Value::as_object);
    errors.into_iter().flatten().filter_map(|(_, error)| error.get("text")?.as_object())
}

/// The title that a `$ref` names.
pub fn title_of(reference: &'static Value) -> Option<&'static str> {
    reference.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Whether the list of dialects under `key`, if there is one, has `base`.
fn has(schema: &Value, key: &str, base: Base) -> Option<bool> {
    let list = schema.get(key)?.as_array()?;
    Some(list.iter().any(|name| name == base.as_str()))
}

impl Def {
    /// Whether the dialect has it.
    pub fn is_in(self, base: Base) -> bool {
        has(self.schema, "x-dialects", base).unwrap_or(true)
    }

    /// Its properties, in the order of the wire.
    pub fn properties(self) -> impl Iterator<Item = Property> {
        let required = self.schema.get("required").and_then(Value::as_array);
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(move |(name, schema)| {
            let is_required = required.is_some_and(|list| list.iter().any(|it| it == name.as_str()));
            Property { name, schema, is_required }
        })
    }

    /// Whether it is an object with properties.
    pub fn is_object(self) -> bool {
        self.schema.get("properties").is_some()
    }

    /// Whether members that the schema does not name are kept.
    pub fn keeps_unknown(self) -> bool {
        self.schema.get("additionalProperties").is_some_and(|it| it != &Value::Bool(false))
    }

    /// The values of an enumeration in a dialect.
    pub fn values(self, base: Base) -> Option<Vec<&'static str>> {
        let limits = self.schema.get("x-enum-in");
        let values = self.schema.get("enum")?.as_array()?.iter().filter_map(Value::as_str);
        let is_ours = |value: &&str| limits.is_none_or(|limits| has(limits, value, base).unwrap_or(true));
        Some(values.filter(is_ours).collect())
    }

    /// The tag of a union, and the title of the def for each value of it.
    pub fn branches(self) -> Option<(&'static str, Vec<(&'static str, &'static str)>)> {
        let discriminator = self.schema.get("discriminator")?;
        let tag = discriminator.get("propertyName")?.as_str()?;
        let mapping = discriminator.get("mapping")?.as_object()?;
        let title = |path: &'static Value| path.as_str()?.strip_prefix("#/$defs/");
        Some((tag, mapping.iter().filter_map(|(value, path)| Some((value.as_str(), title(path)?))).collect()))
    }

    /// The alternatives of a union.
    pub fn alternatives(self) -> &'static [Value] {
        self.schema.get("oneOf").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The titles of the defs that it refers to directly.
    pub fn references(self) -> impl Iterator<Item = &'static str> {
        let (mut found, mut next) = (Vec::new(), vec![self.schema]);
        while let Some(schema) = next.pop() {
            found.extend(title_of(schema));
            match schema {
                Value::Array(items) => next.extend(items),
                Value::Object(members) => next.extend(members.values()),
                _ => {}
            }
        }
        found.into_iter()
    }

    /// The constant of a property.
    pub fn constant(self, name: &str) -> Option<&'static str> {
        self.schema.get("properties")?.get(name)?.get("const")?.as_str()
    }
}

impl Property {
    /// Whether the dialect has it.
    pub fn is_in(self, base: Base) -> bool {
        has(self.schema, "x-dialects", base).unwrap_or(true)
    }

    /// Whether the dialect requires it.
    pub fn is_required_in(self, base: Base) -> bool {
        self.is_in(base) && (self.is_required || has(self.schema, "x-required-in", base).unwrap_or(false))
    }

    /// Whether its value is fixed.
    pub fn is_constant(self) -> bool {
        self.schema.get("const").is_some()
    }

    /// The schema of its value in a dialect.
    pub fn schema_in(self, base: Base) -> &'static Value {
        let own = self.schema.get("x-type-in").and_then(Value::as_array).into_iter().flatten();
        let own = own.filter(|it| has(it, "dialects", base).unwrap_or(false)).find_map(|it| it.get("schema"));
        own.unwrap_or(self.schema)
    }
}
