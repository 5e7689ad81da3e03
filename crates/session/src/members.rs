//! The members of a line as raw text: some are changed, the rest stays byte for byte. Parsed values would change odd
//! numbers and lose lone surrogates.

use super::head::JsonText;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::{RawValue, to_raw_value};
use std::{borrow::Cow, fmt};

/// The members of an object, in order.
#[derive(Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    /// The value of the member `key`; the last one if the key is repeated.
    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_ref())
    }

    /// Sets the member `key`, in its place or at the end.
    pub fn set(&mut self, key: &'a str, value: &impl Serialize) -> serde_json::Result<()> {
        let value = Cow::Owned(to_raw_value(value)?);
        let place = self.0.iter().position(|(name, _)| name == key);
        match place {
            Some(place) => {
                self.0[place].1 = value;
                let mut at = 0;
                self.0.retain(|(name, _)| {
                    at += 1;
                    at <= place + 1 || name != key
                });
            }
            None => self.0.push((Cow::Borrowed(key), value)),
        }
        Ok(())
    }

    /// Removes the member `key`.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// Encodes the object as a line, line feed included.
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(JsonText(key)) = map.next_key()? {
            members.push((key.unwrap_or_default(), Cow::Borrowed(map.next_value::<&RawValue>()?)));
        }
        Ok(Members(members))
    }
}
