//! Patterns of frames: the members that matter to a step.

use super::Variables;
use pi_rpc_protocol::placeholder_values;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// A pattern of a JSON value. An object fits an object with at least its members; an array fits an array with exactly its
/// items; any other value fits itself. An object with one key that begins with `$` is an operator: `{"$any": true}` fits any
/// value, `{"$absent": true}` none, `{"$prefix": "text"}` a string that begins so, `{"$contains": …}` a string with that text
/// or an array with an item that fits, `{"$reason": "text with {places}"}` a string with any text in the places, also behind
/// `Words: `, `{"$one": […]}` any of several, `{"$not": …}` everything that does not fit.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(with = "Value")]
pub struct Pattern(Value);

impl Pattern {
    /// The pattern that every object fits.
    pub fn anything() -> Self {
        Self(Value::Object(serde_json::Map::new()))
    }

    /// Replaces every `${name}` in the pattern.
    ///
    /// # Errors
    ///
    /// Names a variable that has no value.
    pub fn fill(&self, variables: &Variables) -> Result<Self, String> {
        variables.fill(&self.0).map(Self)
    }

    /// Whether `value` fits the pattern.
    pub fn fits(&self, value: &Value) -> bool {
        fits(&self.0, Some(value))
    }
}

impl TryFrom<Value> for Pattern {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        check(&value)?;
        Ok(Self(value))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const OPERATORS: [&str; 7] = ["$any", "$absent", "$prefix", "$contains", "$reason", "$one", "$not"];

/// The operator and its operand, if `pattern` is one.
fn operator(pattern: &Value) -> Option<(&str, &Value)> {
    let (key, operand) = pattern.as_object()?.iter().next()?;
    key.starts_with('$').then_some((key, operand))
}

fn fits(pattern: &Value, value: Option<&Value>) -> bool {
    if let Some((name, operand)) = operator(pattern) {
        return match (name, operand, value) {
            ("$any", _, value) => value.is_some(),
            ("$absent", _, value) => value.is_none(),
            ("$not", unwanted, value) => !fits(unwanted, value),
            ("$one", Value::Array(several), value) => several.iter().any(|one| fits(one, value)),
            ("$prefix", Value::String(prefix), Some(Value::String(text))) => {
                text.starts_with(prefix.as_str())
            }
            // Some servers put the words of another error in front.
            ("$reason", Value::String(reason), Some(Value::String(text))) => {
                let is_made_from = |text: &str| placeholder_values(reason, text).is_some();
                is_made_from(text) || text.split_once(": ").is_some_and(|(_, inner)| is_made_from(inner))
            }
            ("$contains", Value::String(part), Some(Value::String(text))) => text.contains(part.as_str()),
            ("$contains", part, Some(Value::Array(items))) => items.iter().any(|item| fits(part, Some(item))),
            _ => false,
        };
    }
    match (pattern, value) {
        (Value::Object(members), Some(Value::Object(object))) => {
            members.iter().all(|(key, member)| fits(member, object.get(key)))
        }
        (Value::Array(wanted), Some(Value::Array(items))) => {
            wanted.len() == items.len() && wanted.iter().zip(items).all(|(one, item)| fits(one, Some(item)))
        }
        // JSON does not tell 0 and 0.0 apart.
        (Value::Number(wanted), Some(Value::Number(number))) => wanted.as_f64() == number.as_f64(),
        (wanted, Some(value)) => wanted == value,
        (_, None) => false,
    }
}

fn check(pattern: &Value) -> Result<(), String> {
    match (pattern, operator(pattern)) {
        (Value::Object(members), Some((name, operand))) => {
            if members.len() != 1 {
                return Err(format!("`{name}` stands alone in its object"));
            }
            match (name, operand) {
                ("$any" | "$absent", Value::Bool(true)) | ("$prefix" | "$reason", Value::String(_)) => Ok(()),
                ("$one", Value::Array(several)) => several.iter().try_for_each(check),
                ("$not" | "$contains", operand) => check(operand),
                ("$any" | "$absent", _) => Err(format!("`{name}`: expected true")),
                ("$prefix" | "$reason", _) => Err(format!("`{name}`: expected a string")),
                ("$one", _) => Err("`$one`: expected an array".to_owned()),
                _ => Err(format!("`{name}` is none of {}", OPERATORS.join(", "))),
            }
        }
        (Value::Object(members), None) => members.values().try_for_each(check),
        (Value::Array(items), _) => items.iter().try_for_each(check),
        _ => Ok(()),
    }
}
