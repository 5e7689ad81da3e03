//! Frames as the schema describes them: which defs they are, and what is said of each.

use crate::export::parts::{ref_name, target_name};
use serde_json::Value;

/// The defs of a dialect: as they are exported, and as they are annotated.
pub struct Frames {
    /// `$defs` of the exported schema.
    plain: Value,
    /// `$defs` of the bundle.
    annotated: Value,
}

impl Frames {
    pub fn new(exported: &Value, bundle: &Value) -> Self {
        Self { plain: exported["$defs"].clone(), annotated: bundle["$defs"].clone() }
    }

    /// The constants of a tagged union and the defs that they stand for, in order.
    pub fn branches(&self, union: &str) -> Vec<(String, String)> {
        let mapping = self.plain[union]["discriminator"]["mapping"].as_object();
        let pairs = mapping.into_iter().flatten();
        pairs.filter_map(|(tag, target)| Some((tag.clone(), target_name(target)?.to_owned()))).collect()
    }

    /// The defs that a union is made of, in order.
    pub fn members(&self, union: &str) -> Vec<String> {
        let members = self.plain[union]["oneOf"].as_array().into_iter().flatten();
        members.filter_map(ref_name).map(str::to_owned).collect()
    }

    /// The frames of a family by `type`: the branches of a union, or the def alone.
    pub fn family(&self, family: &str) -> Vec<(String, String)> {
        let alone = self.plain[family]["properties"]["type"]["const"].as_str();
        alone.map_or_else(|| self.branches(family), |tag| vec![(tag.to_owned(), family.to_owned())])
    }

    /// The schema of one member of a def, as it is exported.
    pub fn member(&self, def: &str, member: &str) -> Option<&Value> {
        self.plain[def]["properties"].get(member)
    }

    /// The description of a def.
    pub fn description(&self, def: &str) -> String {
        text(&self.plain[def]["description"])
    }

    /// Whether no document has it.
    pub fn observed(&self, def: &str) -> bool {
        self.annotated[def]["x-source"] == "observed"
    }

    /// A def with its annotations.
    pub fn annotated(&self, def: &str) -> &Value {
        &self.annotated[def]
    }

    /// An annotation that is a text.
    pub fn annotation(&self, def: &str, key: &str) -> Option<String> {
        self.annotated[def][key].as_str().map(str::to_owned)
    }

    /// An annotation that lists texts.
    pub fn list(&self, def: &str, key: &str) -> Vec<String> {
        texts(&self.annotated[def][key])
    }
}

/// A text out of the bundle; empty where there is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list of texts out of the bundle.
pub fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
