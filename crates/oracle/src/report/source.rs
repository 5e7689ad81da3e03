//! The sources of a rule: document, section and address.

use pi_rpc_machine::Rule;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{fmt, sync::LazyLock};

/// A place that a rule comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// The name of the document.
    pub document: String,
    /// The section of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The address of the document, if it is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// What the schema says of each document, by name.
static DOCUMENTS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../schema/sources.json")).unwrap_or_default()
});

impl Source {
    /// The sources of a rule.
    pub fn of(rule: Rule) -> Vec<Self> {
        let read = |source: &&str| {
            let (document, section) =
                source.split_once(": ").map_or((*source, None), |(name, section)| (name, Some(section)));
            let about = DOCUMENTS.get(document).and_then(Value::as_str).unwrap_or_default();
            let address = about.split_whitespace().find(|word| word.starts_with("https://"));
            Self {
                document: document.to_owned(),
                section: section.map(str::to_owned),
                address: address.map(str::to_owned),
            }
        };
        rule.about().sources.iter().map(read).collect()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.document)?;
        if let Some(section) = &self.section {
            write!(f, ": {section}")?;
        }
        if let Some(address) = &self.address {
            write!(f, " <{address}>")?;
        }
        Ok(())
    }
}
