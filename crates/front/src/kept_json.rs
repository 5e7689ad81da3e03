//! JSON of which only a part is kept in memory: texts for people would be most of it.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeps {
    /// The members of the whole.
    pub members: &'static [&'static str],
    /// Members whose own members are kept by any name.
    pub within: &'static [&'static str],
    /// Members that are left out elsewhere.
    pub left_out: &'static [&'static str],
}

/// The part of `text` that is kept.
///
/// # Errors
///
/// The text is no JSON.
pub fn kept(text: &str, keeps: Keeps) -> serde_json::Result<Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    Part { keeps, place: Place::Whole }.deserialize(&mut json)
}

/// A value, and where it is.
#[derive(Clone, Copy)]
struct Part {
    keeps: Keeps,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    /// Its members have any names.
    Names,
    Elsewhere,
}

impl Part {
    fn is_kept(self, name: &str) -> bool {
        match self.place {
            Place::Whole => self.keeps.members.contains(&name),
            Place::Names => true,
            Place::Elsewhere => !self.keeps.left_out.contains(&name),
        }
    }

    fn member(self, name: &str) -> Self {
        let has_names = self.place != Place::Names && self.keeps.within.contains(&name);
        Self { place: if has_names { Place::Names } else { Place::Elsewhere }, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self { place: Place::Elsewhere, ..self })? {
            list.push(item);
        }
        list.shrink_to_fit();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if self.is_kept(&name) {
                let value = members.next_value_seed(self.member(&name))?;
                object.insert(name, value);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::{Keeps, kept};
    use serde_json::json;

    #[test]
    fn texts_are_left_out_and_names_stay() {
        let text = r#"{"defs":{"A":{"description":"Text.","properties":{"description":{"type":"string","description":"Text."}},"list":[1,{"description":""}]}},"other":{"a":1}}"#;
        let keeps = Keeps { members: &["defs"], within: &["defs", "properties"], left_out: &["description"] };
        let expected = json!({ "defs": { "A": { "properties": { "description": { "type": "string" } }, "list": [1, {}] } } });
        assert_eq!(kept(text, keeps).ok(), Some(expected));
    }
}
