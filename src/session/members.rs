//! A line as its members, each as it stands there: some are changed, and the rest stays letter by letter. Parsed as a
//! tree, odd numbers would come back different, and half characters not at all.

use super::head::Text;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::{RawValue, to_raw_value};
use std::{borrow::Cow, fmt};

/// An object, its members in their order.
#[derive(Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    /// The value of the member `key`; of one that comes twice the last counts.
    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_ref())
    }

    /// Gives the member `key` another value in its place, or adds it at the end.
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

    /// Leaves the member `key` out.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// The object as a line, line feed included.
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
        while let Some(Text(key)) = map.next_key()? {
            members.push((key.unwrap_or_default(), Cow::Borrowed(map.next_value::<&RawValue>()?)));
        }
        Ok(Members(members))
    }
}
