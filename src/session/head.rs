//! The head of a line: what the tree needs of it, while the rest is passed over unparsed.

use crate::protocol::AgentMessageKind;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{borrow::Cow, fmt};

/// Of an object, whatever else it holds; what has another JSON type than expected counts as absent. Of a key that comes
/// twice the last value counts, as in the originals.
#[derive(Default)]
pub struct LineHead<'a> {
    /// `type`.
    pub kind: Option<Cow<'a, str>>,
    /// `id`.
    pub id: Option<Cow<'a, str>>,
    /// `parentId`.
    pub parent: Option<Cow<'a, str>>,
    /// `timestamp`.
    pub timestamp: Option<Cow<'a, str>>,
    /// `cwd`, which headers have.
    pub cwd: Option<Cow<'a, str>>,
    /// `role` of `message`, if it is one that the schema knows.
    pub role: Option<AgentMessageKind>,
}

impl<'de> Deserialize<'de> for LineHead<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(HeadVisitor)
    }
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = LineHead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut head = LineHead::default();
        while let Some(Text(key)) = map.next_key()? {
            match key.as_deref() {
                Some("type") => head.kind = map.next_value::<Text>()?.0,
                Some("id") => head.id = map.next_value::<Text>()?.0,
                Some("parentId") => head.parent = map.next_value::<Text>()?.0,
                Some("timestamp") => head.timestamp = map.next_value::<Text>()?.0,
                Some("cwd") => head.cwd = map.next_value::<Text>()?.0,
                Some("message") => head.role = map.next_value::<Role>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(head)
    }
}

/// A string, borrowed where it can be; `None`: any other JSON value.
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextVisitor).map(Self)
    }
}

/// The `role` of an object.
struct Role(Option<AgentMessageKind>);

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RoleVisitor).map(Self)
    }
}

struct TextVisitor;
struct RoleVisitor;

/// Everything that is no string and no object: passed over.
macro_rules! nothing_else {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    };
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Cow<'de, str>>;

    nothing_else!();
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl<'de> Visitor<'de> for RoleVisitor {
    type Value = Option<AgentMessageKind>;

    nothing_else!();
    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut role = None;
        while let Some(Text(key)) = map.next_key()? {
            match key.as_deref() {
                Some("role") => {
                    role = map.next_value::<Text>()?.0.as_deref().and_then(AgentMessageKind::parse)
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(role)
    }
}
