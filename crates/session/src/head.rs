//! The head of a line: the members that the tree needs, read without parsing the message.

use super::entry::Plain;
use pi_rpc_protocol::{AgentMessageKind, PlainMessage};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{borrow::Cow, fmt};

/// Members of a session file's line. A member of an unexpected JSON type counts as absent; of a repeated key the last
/// value counts, as in the originals.
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
    /// The place of `message`, if it is plain in some dialects and the last member.
    pub plain: Option<Plain>,
}

impl<'a> LineHead<'a> {
    /// Reads the head of a line, and whether its message is plain.
    pub fn of(text: &'a str) -> serde_json::Result<Self> {
        let mut line = serde_json::Deserializer::from_str(text);
        let looked = PlainHeadSeed { text }.deserialize(&mut line);
        match looked.and_then(|looked| line.end().map(|()| looked)) {
            // Leading blanks would shift the place of the message.
            Ok(Some(head)) if text.starts_with('{') => Ok(head),
            // Otherwise values are skipped unchecked: a lone surrogate in a message is no reason to skip the line.
            _ => serde_json::from_str(text),
        }
    }
}

/// Reads a line whose last member is a plain message, or that has none; `None`: any other line.
struct PlainHeadSeed<'a> {
    text: &'a str,
}

impl<'de> DeserializeSeed<'de> for PlainHeadSeed<'de> {
    type Value = Option<LineHead<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PlainHeadSeed<'de> {
    type Value = Option<LineHead<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut head, mut is_odd) = (LineHead::default(), false);
        while let Some(JsonText(key)) = map.next_key()? {
            is_odd |= head.plain.is_some();
            match key {
                Some(Cow::Borrowed(key @ "message")) => {
                    let (bases, role) = map.next_value_seed(PlainMessage)?;
                    // Files of version 2 have custom messages under their old name.
                    is_odd |=
                        bases.is_empty() || role.is_none_or(|role| role == AgentMessageKind::HookMessage);
                    // The key borrows from the text; its quote and the colon follow.
                    let key_at = (key.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
                    let start = key_at + key.len() + 2;
                    let is_there = self.text.as_bytes().get(start - 1) == Some(&b':');
                    let start = u32::try_from(start).ok().filter(|_| is_there);
                    (head.role, head.plain) = (role, start.map(|start| Plain { bases, start }));
                    is_odd |= head.plain.is_none();
                }
                key => head.member(key.as_deref(), &mut map)?,
            }
        }
        Ok((!is_odd).then_some(head))
    }
}

impl<'de> LineHead<'de> {
    /// Reads the value of one member into its field, or skips it.
    fn member<A: MapAccess<'de>>(&mut self, key: Option<&str>, map: &mut A) -> Result<(), A::Error> {
        match key {
            Some("type") => self.kind = map.next_value::<JsonText>()?.0,
            Some("id") => self.id = map.next_value::<JsonText>()?.0,
            Some("parentId") => self.parent = map.next_value::<JsonText>()?.0,
            Some("timestamp") => self.timestamp = map.next_value::<JsonText>()?.0,
            Some("cwd") => self.cwd = map.next_value::<JsonText>()?.0,
            Some("message") => self.role = map.next_value::<MessageRole>()?.0,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
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
        while let Some(JsonText(key)) = map.next_key()? {
            head.member(key.as_deref(), &mut map)?;
        }
        Ok(head)
    }
}

/// A JSON string, borrowed where possible; `None`: a value of another type.
pub struct JsonText<'a>(pub Option<Cow<'a, str>>);

impl<'de> Deserialize<'de> for JsonText<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextVisitor).map(Self)
    }
}

/// The `role` of an object; `None`: a value of another type, or an unknown role.
struct MessageRole(Option<AgentMessageKind>);

impl<'de> Deserialize<'de> for MessageRole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RoleVisitor).map(Self)
    }
}

struct TextVisitor;
struct RoleVisitor;

/// Visitor methods that skip every value but strings and objects.
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
        while let Some(JsonText(key)) = map.next_key()? {
            match key.as_deref() {
                Some("role") => {
                    role = map.next_value::<JsonText>()?.0.as_deref().and_then(AgentMessageKind::parse)
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(role)
    }
}
