//! The first place in which two values differ, as findings show it.

use serde::Serialize;
use serde_json::Value;

/// Where two values differ, and both values there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A JSON pointer to the member; empty: the values themselves differ.
    pub pointer: String,
    /// The value there that was expected, as JSON, shortened; `absent` where there is none.
    pub expected: String,
    /// The value that was there instead.
    pub got: String,
}

/// Characters of a value that a finding shows.
const SHOWN: usize = 120;

impl Difference {
    /// The first difference between two values; `None` where they are equal. `at`: the pointer to `got` in its frame.
    pub fn between(at: &str, expected: &impl Serialize, got: &impl Serialize) -> Option<Self> {
        let [expected, got] = [serde_json::to_value(expected), serde_json::to_value(got)]
            .map(|value| value.unwrap_or(Value::Null));
        Self::of_values(at.to_owned(), Some(&expected), Some(&got))
    }

    fn of_values(at: String, expected: Option<&Value>, got: Option<&Value>) -> Option<Self> {
        match (expected, got) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                let added = other.keys().filter(|key| !one.contains_key(*key));
                one.keys().chain(added).find_map(|key| {
                    let step = key.replace('~', "~0").replace('/', "~1");
                    Self::of_values(format!("{at}/{step}"), one.get(key), other.get(key))
                })
            }
            (Some(Value::Array(one)), Some(Value::Array(other))) => {
                let places = 0..one.len().max(other.len());
                places.into_iter().find_map(|place| {
                    Self::of_values(format!("{at}/{place}"), one.get(place), other.get(place))
                })
            }
            (expected, got) if expected == got => None,
            (expected, got) => Some(Self { pointer: at, expected: shown(expected), got: shown(got) }),
        }
    }
}

/// A value as JSON, its middle left out where it is long.
fn shown(value: Option<&Value>) -> String {
    let Some(text) = value.map(Value::to_string) else { return "absent".to_owned() };
    let length = text.chars().count();
    if length <= SHOWN {
        return text;
    }
    let start: String = text.chars().take(SHOWN / 2).collect();
    let end: String = text.chars().skip(length - SHOWN / 2).collect();
    format!("{start} … {end}")
}
