//! Variables of a scenario: `${name}` in its texts.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The values of the variables.
#[derive(Clone, Debug, Default)]
pub struct Variables(BTreeMap<String, Value>);

impl Variables {
    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// Replaces every `${name}` in a text. A value that is not a string is inserted as JSON.
    ///
    /// # Errors
    ///
    /// Names a variable that has no value.
    pub fn fill_text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next_name(rest) {
            filled.push_str(before);
            match self.value(name)? {
                Value::String(value) => filled.push_str(value),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Replaces every `${name}` in the strings of a value. A string that is nothing but `${name}` becomes the value itself.
    ///
    /// # Errors
    ///
    /// Names a variable that has no value.
    pub fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => match next_name(text) {
                Some(("", name, "")) => self.value(name)?.clone(),
                _ => Value::String(self.fill_text(text)?),
            },
            Value::Array(list) => {
                Value::Array(list.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(object) => {
                let filled = object.iter().map(|(key, value)| Ok((self.fill_text(key)?, self.fill(value)?)));
                Value::Object(filled.collect::<Result<Map<_, _>, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn value(&self, name: &str) -> Result<&Value, String> {
        self.0.get(name).ok_or_else(|| format!("`${{{name}}}` has no value here"))
    }
}

/// Splits a text into the part before the first `${name}`, the name, and the part after it.
fn next_name(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}
