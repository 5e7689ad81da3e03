//! Conditions on a prompt or a tool's result under which a turn is taken.

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

/// A condition on a text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Written")]
#[schemars(with = "Written")]
pub enum Pattern {
    /// The text holds this, letter by letter.
    Substring(String),
    /// The expression matches somewhere in the text.
    Regex(Regex),
}

impl Pattern {
    /// Whether the pattern matches `text`.
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Substring(part) => text.contains(part.as_str()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Two patterns are equal when they are written alike.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Substring(one), Self::Substring(two)) => one == two,
            (Self::Regex(one), Self::Regex(two)) => one.as_str() == two.as_str(),
            _ => false,
        }
    }
}

/// A condition on a text: a part of it, or a regular expression that matches somewhere in it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text to look for, or {\"regex\": \"…\"}")]
#[schemars(rename = "Pattern")]
enum Written {
    /// The text holds this, letter by letter.
    Substring(String),
    /// The expression matches somewhere in the text.
    Regex(WrittenRegex),
}

/// A regular expression.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct WrittenRegex {
    /// The expression, in the syntax of Rust's `regex` crate; `(?i)` in front ignores case.
    regex: String,
}

impl TryFrom<Written> for Pattern {
    type Error = regex_lite::Error;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::Substring(part) => Ok(Self::Substring(part)),
            Written::Regex(written) => Regex::new(&written.regex).map(Self::Regex),
        }
    }
}
