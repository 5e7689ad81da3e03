//! Lines of a shared connection: the tag is taken off, so that what is left is the line of one session.

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// A JSON object whose members are kept as they were written.
pub struct SharedLine<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> SharedLine<'a> {
    /// Reads a line; `None` if it is no JSON object.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of a member; the last one counts if there are several of that name.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The value of a member of this type.
    pub fn value<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// The line without the last member of each of these names.
    pub fn without(&self, names: &[&str]) -> String {
        let left_out: Vec<usize> =
            names.iter().filter_map(|name| self.members.iter().rposition(|(key, _)| key == name)).collect();
        let mut text = String::from("{");
        let kept = self.members.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        for (_, (key, value)) in kept {
            if text.len() > 1 {
                text.push(',');
            }
            // A string always serializes.
            text.push_str(&serde_json::to_string(key).unwrap_or_default());
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        text
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SharedLine<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(|members| Self { members })
    }
}

/// A name that is borrowed unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_keeps_its_bytes() {
        let line = SharedLine::read(
            r#" {"a": 1.0 ,"sessionId":"own","\u0062":{"sessionId":"x"},"sessionId":"s","sequence":7}"#,
        );
        let line = line.unwrap();
        assert_eq!(line.value::<String>("sessionId").as_deref(), Some("s"));
        let rest = line.without(&["sessionId", "sequence"]);
        assert_eq!(rest, r#"{"a":1.0,"sessionId":"own","b":{"sessionId":"x"}}"#);
        assert!(SharedLine::read("[1]").is_none());
    }
}
