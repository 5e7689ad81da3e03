//! Readers of members for the generated structs: presence, integers, enumerations.

use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected},
};
use serde_json::Number;
use std::{fmt, marker::PhantomData};

/// Reads an optional member that is present. `null` is a value like any other, so that only absence is `None`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Reads a required member that may be `null`.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// Reads an integer from `MIN` to `MAX`; `5.0` is one, as in JSON Schema.
pub fn int<'de, D: Deserializer<'de>, const MIN: i64, const MAX: i64>(from: D) -> Result<i64, D::Error> {
    from.deserialize_any(IntegerVisitor::<MIN, MAX>)
}

/// [`int`] for non-negative bounds.
pub fn uint<'de, D: Deserializer<'de>, const MIN: i64, const MAX: i64>(from: D) -> Result<u64, D::Error> {
    int::<D, MIN, MAX>(from).map(i64::unsigned_abs)
}

/// [`int`] for an optional member.
pub fn opt_int<'de, D: Deserializer<'de>, const MIN: i64, const MAX: i64>(
    from: D,
) -> Result<Option<i64>, D::Error> {
    int::<D, MIN, MAX>(from).map(Some)
}

/// [`uint`] for an optional member.
pub fn opt_uint<'de, D: Deserializer<'de>, const MIN: i64, const MAX: i64>(
    from: D,
) -> Result<Option<u64>, D::Error> {
    uint::<D, MIN, MAX>(from).map(Some)
}

/// Reads a number from 0.
pub fn from_zero<'de, D: Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
    let number = Number::deserialize(from)?;
    match number.as_f64().is_some_and(|number| number >= 0.0) {
        true => Ok(number),
        false => Err(de::Error::invalid_value(Unexpected::Other(&number.to_string()), &"a number from 0")),
    }
}

/// [`from_zero`] for an optional member.
pub fn opt_from_zero<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Number>, D::Error> {
    from_zero(from).map(Some)
}

/// Reads a string of a list.
pub fn word<'de, D: Deserializer<'de>, T>(
    from: D,
    parse: fn(&str) -> Option<T>,
    words: &'static [&'static str],
) -> Result<T, D::Error> {
    from.deserialize_str(WordVisitor { parse, words })
}

/// A string, or a list of `T`, decided by the JSON type.
pub enum TextOrList<T> {
    /// A string.
    Text(String),
    /// An array.
    List(Vec<T>),
}

/// Reads a [`TextOrList`].
pub fn text_or_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<TextOrList<T>, D::Error> {
    from.deserialize_any(TextOrListVisitor(PhantomData))
}

struct IntegerVisitor<const MIN: i64, const MAX: i64>;

impl<const MIN: i64, const MAX: i64> IntegerVisitor<MIN, MAX> {
    fn bounded<E: de::Error>(self, number: i64) -> Result<i64, E> {
        match (MIN..=MAX).contains(&number) {
            true => Ok(number),
            false => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

impl<const MIN: i64, const MAX: i64> de::Visitor<'_> for IntegerVisitor<MIN, MAX> {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {MIN} to {MAX}")
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
        self.bounded(number)
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
        match i64::try_from(number) {
            Ok(number) => self.bounded(number),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<i64, E> {
        // Both bounds are at most 2^53 − 1, so a whole double inside them converts exactly.
        match number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0 {
            true => self.bounded(number as i64),
            false => Err(E::invalid_value(Unexpected::Float(number), &self)),
        }
    }
}

struct WordVisitor<T> {
    parse: fn(&str) -> Option<T>,
    words: &'static [&'static str],
}

impl<T> de::Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of `{}`", self.words.join("`, `"))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

struct TextOrListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for TextOrListVisitor<T> {
    type Value = TextOrList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of content blocks")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(TextOrList::Text(text.to_owned()))
    }
    fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(TextOrList::Text(text))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(TextOrList::List)
    }
}
