//! Streaming reader of objects whose type is decided by a tag: members before the tag are
//! buffered in a [`Head`], the rest streams into the branch.

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IntoDeserializer as _, MapAccess, value::CowStrDeserializer},
};
use serde_json::Value;
use std::{borrow::Cow, collections::VecDeque, fmt, marker::PhantomData};

/// A type that can be read from an object whose first members were already read.
pub trait FromMap<'de>: Sized {
    /// Expectation in error messages.
    const EXPECTING: &'static str;
    /// Reads the members in `head`, then the rest.
    fn from_map<A: MapAccess<'de>>(head: Head<'de>, rest: A) -> Result<Self, A::Error>;
}

/// Reads an object only, unlike derived structs, which accept an array, too.
pub fn read_map<'de, D: Deserializer<'de>, T: FromMap<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(MapVisitor(PhantomData))
}

/// Value that a constant member must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Const {
    /// A string.
    Str(&'static str),
    /// A boolean.
    Bool(bool),
}

/// Members that were read before the tag.
#[derive(Default)]
pub struct Head<'de> {
    members: VecDeque<(Cow<'de, str>, EarlyValue<'de>)>,
}

/// Value of a member whose type is not known yet.
#[derive(Clone)]
pub(super) enum EarlyValue<'de> {
    Str(Cow<'de, str>),
    Bool(bool),
    Other(Value),
}

impl<'de> Head<'de> {
    /// Appends a member.
    pub(super) fn push(&mut self, key: Cow<'de, str>, value: EarlyValue<'de>) {
        self.members.push_back((key, value));
    }

    /// Value of the member `tag`, read from `rest` as far as needed; the members before it are kept.
    pub fn find<A: MapAccess<'de>>(
        &mut self,
        rest: &mut A,
        tag: &'static str,
    ) -> Result<Cow<'de, str>, A::Error> {
        if let Some((_, value)) = self.members.iter().find(|(key, _)| key == tag) {
            return value.tag(tag);
        }
        while let Some(key) = rest.next_key_seed(TextSeed)? {
            let value: EarlyValue<'de> = rest.next_value()?;
            let found = key == tag;
            let text = if found { Some(value.tag(tag)) } else { None };
            self.members.push_back((key, value));
            if let Some(text) = text {
                return text;
            }
        }
        Err(de::Error::missing_field(tag))
    }
}

impl<'de> EarlyValue<'de> {
    fn tag<E: de::Error>(&self, tag: &'static str) -> Result<Cow<'de, str>, E> {
        match self {
            Self::Str(text) => Ok(text.clone()),
            Self::Bool(flag) => Ok(Cow::Borrowed(if *flag { "true" } else { "false" })),
            Self::Other(value) => Err(E::custom(format_args!("`{tag}`: {value} is no kind of frame"))),
        }
    }

    fn is(&self, expected: Const) -> bool {
        match (self, expected) {
            (Self::Str(text), Const::Str(expected)) => text == expected,
            (Self::Bool(flag), Const::Bool(expected)) => *flag == expected,
            _ => false,
        }
    }
}

/// Error about an unknown tag, with the known ones.
pub fn unknown_tag<E: de::Error>(tag: &'static str, found: &str, known: &[&str]) -> E {
    E::custom(format_args!("`{tag}`: `{found}` is not one of `{}`", known.join("`, `")))
}

/// The members of an object, head first. Constants are checked and not passed on.
pub struct Fields<'de, A> {
    head: Head<'de>,
    rest: A,
    pending: Option<EarlyValue<'de>>,
    consts: &'static [(&'static str, Const)],
    seen: u32,
}

impl<'de, A: MapAccess<'de>> Fields<'de, A> {
    /// `consts` are at most 32, the bits of `seen`.
    pub fn new(head: Head<'de>, rest: A, consts: &'static [(&'static str, Const)]) -> Self {
        Self { head, rest, pending: None, consts, seen: 0 }
    }

    /// Checks the constant at `index`: its value, and that it occurs once.
    fn see(&mut self, index: usize, value: &EarlyValue<'de>) -> Result<(), A::Error> {
        let (name, expected) = self.consts[index];
        if self.seen & (1 << index) != 0 {
            return Err(de::Error::duplicate_field(name));
        }
        self.seen |= 1 << index;
        match (value.is(expected), expected) {
            (true, _) => Ok(()),
            (false, Const::Str(text)) => Err(de::Error::custom(format_args!("`{name}`: expected `{text}`"))),
            (false, Const::Bool(flag)) => Err(de::Error::custom(format_args!("`{name}`: expected `{flag}`"))),
        }
    }

    /// Name of the next member that is not a constant. Separate from the reading of its value, which is compiled once
    /// per struct.
    fn next_member(&mut self) -> Result<Option<Cow<'de, str>>, A::Error> {
        while let Some((key, value)) = self.head.members.pop_front() {
            match self.constant(&key) {
                Some(index) => self.see(index, &value)?,
                None => {
                    self.pending = Some(value);
                    return Ok(Some(key));
                }
            }
        }
        while let Some(key) = self.rest.next_key_seed(TextSeed)? {
            let Some(index) = self.constant(&key) else { return Ok(Some(key)) };
            let value = self.rest.next_value()?;
            self.see(index, &value)?;
        }
        match self.consts.iter().enumerate().find(|(index, _)| self.seen & (1 << index) == 0) {
            Some((_, (name, _))) => Err(de::Error::missing_field(name)),
            None => Ok(None),
        }
    }

    /// Index of the constant `key`.
    fn constant(&self, key: &str) -> Option<usize> {
        self.consts.iter().position(|(name, _)| *name == key)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.next_member()?.map(|key| seed.deserialize(CowStrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.pending.take() {
            Some(EarlyValue::Str(text)) => seed.deserialize(EarlyText(text, PhantomData)),
            // As a `Value`, which can be read as an `Option`, unlike serde's boolean deserializer.
            Some(EarlyValue::Bool(flag)) => seed.deserialize(Value::Bool(flag)).map_err(de::Error::custom),
            Some(EarlyValue::Other(value)) => seed.deserialize(value).map_err(de::Error::custom),
            None => self.rest.next_value_seed(seed),
        }
    }
}

/// Deserializer of a text, which borrows it if possible and can be read as an `Option`, unlike that of serde.
struct EarlyText<'de, E>(Cow<'de, str>, PhantomData<E>);

impl<'de, E: de::Error> Deserializer<'de> for EarlyText<'de, E> {
    type Error = E;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }
    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }
    fn deserialize_newtype_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        self.0.into_deserializer().deserialize_enum(name, variants, visitor)
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct MapVisitor<T>(PhantomData<T>);

impl<'de, T: FromMap<'de>> de::Visitor<'de> for MapVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(Head::default(), map)
    }
}

/// Reads a key, borrowed if the input allows it.
pub(super) struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> de::Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
    fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}

impl<'de> Deserialize<'de> for EarlyValue<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EarlyVisitor)
    }
}

pub(super) struct EarlyVisitor;

impl<'de> de::Visitor<'de> for EarlyVisitor {
    type Value = EarlyValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(EarlyValue::Str(Cow::Borrowed(text)))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(EarlyValue::Str(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(EarlyValue::Bool(flag))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(EarlyValue::Other(number.into()))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(EarlyValue::Other(number.into()))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(EarlyValue::Other(number.into()))
    }
    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(EarlyValue::Other(Value::Null))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(EarlyValue::Other)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(de::value::MapAccessDeserializer::new(map)).map(EarlyValue::Other)
    }
}
