//! The first difference between two JSON values, for findings.

use schemars::JsonSchema;
use serde::{
    Serialize,
    ser::{self, Impossible},
};
use serde_json::Value;
use std::fmt;

/// A JSON pointer at which two values differ, with both values there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// A JSON pointer to the member; empty if the values themselves differ.
    pub pointer: String,
    /// The expected value as JSON, of a long one the part around the difference; `absent` if none was expected.
    pub expected: String,
    /// The actual value, in the same form.
    pub got: String,
}

/// The most characters of a value that are shown.
const SHOWN: usize = 120;

impl Difference {
    /// Finds the first difference between two values; `None` if they are equal. `at` is the pointer to `got` in its frame.
    pub fn between(at: &str, expected: &impl Serialize, got: &impl Serialize) -> Option<Self> {
        let [expected, got] = [present(expected), present(got)];
        Self::of_values(at.to_owned(), expected.as_ref(), got.as_ref())
    }

    /// The member of `frame` at `pointer`, of which `expected` says in words what it should be.
    pub fn of_member(pointer: &str, expected: &str, frame: &Value) -> Self {
        let got = frame.pointer(pointer).map_or_else(|| "absent".to_owned(), Value::to_string);
        Self { pointer: pointer.to_owned(), expected: expected.to_owned(), got: around(&got, 0) }
    }

    /// Appends the difference, if known, to an expectation in words.
    pub fn append_to(expected: &str, difference: Option<&Self>) -> String {
        match difference {
            None => expected.to_owned(),
            Some(it) if it.expected == expected => format!("{expected}, got {}", it.got),
            Some(it) => format!("{expected}: {it}"),
        }
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
            (expected, got) => Some(Self::at(at, expected, got)),
        }
    }

    fn at(pointer: String, expected: Option<&Value>, got: Option<&Value>) -> Self {
        let [expected, got] =
            [expected, got].map(|value| value.map_or_else(|| "absent".to_owned(), Value::to_string));
        let same = expected.chars().zip(got.chars()).take_while(|(one, other)| one == other).count();
        Self { pointer, expected: around(&expected, same), got: around(&got, same) }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, got } = self;
        match pointer.is_empty() {
            true => write!(f, "expected {expected}, got {got}"),
            false => write!(f, "at `{pointer}` expected {expected}, got {got}"),
        }
    }
}

/// The value as JSON; `None` if it is an `Option` without a value. What is `null` on the wire is given as [`Value::Null`].
fn present(value: &impl Serialize) -> Option<Value> {
    let is_none = matches!(value.serialize(AbsenceProbe), Err(Absence::None));
    (!is_none).then(|| serde_json::to_value(value).unwrap_or(Value::Null))
}

/// A serializer that only tells whether a value is `None`.
struct AbsenceProbe;

/// What the probe has met.
#[derive(Debug)]
enum Absence {
    None,
    Other,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probed value")
    }
}

impl std::error::Error for Absence {}

impl ser::Error for Absence {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

macro_rules! is_other {
    ($($name:ident($($type:ty),*) -> $ok:ty;)*) => {
        $(fn $name(self, $(_: $type),*) -> Result<$ok, Absence> { Err(Absence::Other) })*
    };
}

impl ser::Serializer for AbsenceProbe {
    type Ok = ();
    type Error = Absence;
    type SerializeSeq = Impossible<(), Absence>;
    type SerializeTuple = Impossible<(), Absence>;
    type SerializeTupleStruct = Impossible<(), Absence>;
    type SerializeTupleVariant = Impossible<(), Absence>;
    type SerializeMap = Impossible<(), Absence>;
    type SerializeStruct = Impossible<(), Absence>;
    type SerializeStructVariant = Impossible<(), Absence>;

    is_other! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_none(self) -> Result<(), Absence> {
        Err(Absence::None)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, _: &T) -> Result<(), Absence> {
        Err(Absence::Other)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, _: &T) -> Result<(), Absence> {
        Err(Absence::Other)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Absence> {
        Err(Absence::Other)
    }
}

/// The part of a text around character number `at`.
fn around(text: &str, at: usize) -> String {
    let length = text.chars().count();
    if length <= SHOWN {
        return text.to_owned();
    }
    let from = at.saturating_sub(SHOWN / 2).min(length - SHOWN);
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let [before, after] = [from > 0, from + SHOWN < length].map(|cut| if cut { "…" } else { "" });
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn difference(expected: &Value, got: &Value) -> String {
        Difference::between("/data", expected, got).map_or_else(String::new, |it| it.to_string())
    }

    #[test]
    fn difference_names_first_member() {
        let expected = json!({ "a": 1, "b": [{ "c/d": true }] });
        let got = json!({ "a": 1, "b": [{ "c/d": false }, 2] });
        assert_eq!(difference(&expected, &expected), "");
        assert_eq!(difference(&expected, &got), "at `/data/b/0/c~1d` expected true, got false");
        assert_eq!(
            difference(&got, &json!({ "a": 1 })),
            r#"at `/data/b` expected [{"c/d":false},2], got absent"#
        );
    }

    #[test]
    fn long_values_show_where_they_differ() {
        let text = |middle: &str| json!(["é".repeat(500), middle.to_owned(), "x".repeat(500)].concat());
        let shown = difference(&text("one"), &text("two"));
        assert!(shown.contains("éone") && shown.contains("étwo"), "{shown}");
        assert!(shown.chars().count() < 3 * SHOWN, "{shown}");
    }
}
