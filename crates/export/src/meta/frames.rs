//! Access to the definitions of a dialect, exported and annotated.

use crate::parts::{ref_name, target_name};
use pi_rpc_protocol::Base;
use serde_json::Value;

/// The definitions of a dialect, exported and annotated.
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

    /// The tags of a union and their definitions, in order.
    pub fn branches(&self, union: &str) -> Vec<(String, String)> {
        let mapping = self.plain[union]["discriminator"]["mapping"].as_object();
        let pairs = mapping.into_iter().flatten();
        pairs.filter_map(|(tag, target)| Some((tag.clone(), target_name(target)?.to_owned()))).collect()
    }

    /// The definitions of a union's branches, in order.
    pub fn members(&self, union: &str) -> Vec<String> {
        let members = self.plain[union]["oneOf"].as_array().into_iter().flatten();
        members.filter_map(ref_name).map(str::to_owned).collect()
    }

    /// The frames of a family by `type`: the branches of a union, or the single definition.
    pub fn family(&self, family: &str) -> Vec<(String, String)> {
        let alone = self.plain[family]["properties"]["type"]["const"].as_str();
        alone.map_or_else(|| self.branches(family), |tag| vec![(tag.to_owned(), family.to_owned())])
    }

    /// The exported schema of a definition's member.
    pub fn member(&self, def: &str, member: &str) -> Option<&Value> {
        self.plain[def]["properties"].get(member)
    }

    /// The description of a def.
    pub fn description(&self, def: &str) -> String {
        text(&self.plain[def]["description"])
    }

    /// Whether the definition is observed only, not documented.
    pub fn observed(&self, def: &str) -> bool {
        self.annotated[def]["x-source"] == "observed"
    }

    /// A definition with its annotations.
    pub fn annotated(&self, def: &str) -> &Value {
        &self.annotated[def]
    }

    /// A text annotation.
    pub fn annotation(&self, def: &str, key: &str) -> Option<String> {
        self.annotated[def][key].as_str().map(str::to_owned)
    }

    /// An annotation that is a list of texts.
    pub fn list(&self, def: &str, key: &str) -> Vec<String> {
        texts(&self.annotated[def][key])
    }

    /// The types of events that must come before an event in one dialect.
    pub fn after(&self, def: &str, base: Base) -> Vec<String> {
        let entries = self.annotated[def]["x-after"].as_array().into_iter().flatten();
        let own = entries.filter_map(|entry| match entry["dialects"].as_array() {
            Some(dialects) if dialects.iter().any(|id| id == base.as_str()) => entry["event"].as_str(),
            Some(_) => None,
            None => entry.as_str(),
        });
        own.map(str::to_owned).collect()
    }
}

/// A text; empty if there is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list of texts; empty if there is none.
pub fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
