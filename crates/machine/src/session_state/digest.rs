//! A 64-bit digest of JSON values, for values that are only compared.
//!
//! The digest is independent of the order of members and of the spelling of numbers. It is not cryptographic.

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};
use std::fmt;

/// The digest of `value`; 0 if it cannot be serialized.
pub fn digest(value: &impl Serialize) -> u64 {
    value.serialize(Digester).unwrap_or_default()
}

/// The digest of a text.
pub fn text_digest(text: &str) -> u64 {
    bytes(TEXT, text.as_bytes())
}

/// Combines two digests.
pub const fn pair(one: u64, other: u64) -> u64 {
    mix(one ^ SEED, other ^ PRIME)
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const PRIME: u64 = 0xd6e8_feb8_6659_fd93;

/// The initial digests of each kind of value.
const NULL: u64 = 0x243f_6a88_85a3_08d3;
const FLAG: u64 = 0x1319_8a2e_0370_7344;
const NUMBER: u64 = 0xa409_3822_299f_31d0;
const TEXT: u64 = 0x082e_fa98_ec4e_6c89;
const LIST: u64 = 0x4528_21e6_38d0_1377;
const OBJECT: u64 = 0xbe54_66cf_34e9_0c6c;

/// Mixes two numbers, by both halves of their product.
const fn mix(one: u64, other: u64) -> u64 {
    let product = (one as u128) * (other as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

fn bytes(start: u64, bytes: &[u8]) -> u64 {
    let mut digest = start ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        digest = mix(digest ^ u64::from_le_bytes(*word), PRIME);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    pair(digest, u64::from_le_bytes(last))
}

fn number(value: f64) -> u64 {
    // 0 and -0 are equal.
    pair(NUMBER, (value + 0.0).to_bits())
}

/// A serializer that computes the digest.
struct Digester;

/// The digest of a list so far.
struct List(u64);

/// The digest of an object so far: a sum over its members, so that their order does not count.
struct Object {
    members: u64,
    key: u64,
}

type Digested = Result<u64, fmt::Error>;

macro_rules! digest_numbers {
    ($($name:ident($type:ty);)*) => {
        $(fn $name(self, value: $type) -> Digested { Ok(number(value as f64)) })*
    };
}

impl Serializer for Digester {
    type Ok = u64;
    type Error = fmt::Error;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = Impossible<u64, fmt::Error>;
    type SerializeMap = Object;
    type SerializeStruct = Object;
    type SerializeStructVariant = Impossible<u64, fmt::Error>;

    fn serialize_bool(self, value: bool) -> Digested {
        Ok(pair(FLAG, u64::from(value)))
    }

    digest_numbers! {
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
    }

    fn serialize_char(self, value: char) -> Digested {
        Ok(text_digest(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, value: &str) -> Digested {
        Ok(text_digest(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Digested {
        Ok(bytes(LIST, value))
    }

    fn serialize_none(self) -> Digested {
        Ok(NULL)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Digested {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Digested {
        Ok(NULL)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Digested {
        Ok(NULL)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Digested {
        Ok(text_digest(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Digested {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Digested {
        let mut object = Object::new();
        object.add(text_digest(variant), value.serialize(self)?);
        object.end()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, fmt::Error> {
        Ok(List(LIST))
    }

    fn serialize_tuple(self, _: usize) -> Result<List, fmt::Error> {
        Ok(List(LIST))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, fmt::Error> {
        Ok(List(LIST))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object, fmt::Error> {
        Ok(Object::new())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object, fmt::Error> {
        Ok(Object::new())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, fmt::Error> {
        Err(fmt::Error)
    }
}

impl List {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.0 = pair(self.0, value.serialize(Digester)?);
        Ok(())
    }
}

impl SerializeSeq for List {
    type Ok = u64;
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.add(value)
    }

    fn end(self) -> Digested {
        Ok(self.0)
    }
}

impl SerializeTuple for List {
    type Ok = u64;
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.add(value)
    }

    fn end(self) -> Digested {
        Ok(self.0)
    }
}

impl SerializeTupleStruct for List {
    type Ok = u64;
    type Error = fmt::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.add(value)
    }

    fn end(self) -> Digested {
        Ok(self.0)
    }
}

impl Object {
    const fn new() -> Self {
        Self { members: OBJECT, key: 0 }
    }

    const fn add(&mut self, key: u64, value: u64) {
        self.members = self.members.wrapping_add(pair(key, value));
    }

    const fn end(self) -> Digested {
        Ok(pair(OBJECT, self.members))
    }
}

impl SerializeMap for Object {
    type Ok = u64;
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        self.key = key.serialize(Digester)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        let value = value.serialize(Digester)?;
        self.add(self.key, value);
        Ok(())
    }

    fn end(self) -> Digested {
        Self::end(self)
    }
}

impl SerializeStruct for Object {
    type Ok = u64;
    type Error = fmt::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        let value = value.serialize(Digester)?;
        self.add(text_digest(key), value);
        Ok(())
    }

    fn end(self) -> Digested {
        Self::end(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(text: &str) -> u64 {
        digest(&serde_json::from_str::<Value>(text).expect("JSON"))
    }

    #[test]
    fn order_of_members_does_not_count() {
        assert_eq!(parsed(r#"{"a":1,"b":[1,2]}"#), parsed(r#"{"b":[1,2],"a":1}"#));
        assert_ne!(parsed(r#"{"a":1,"b":2}"#), parsed(r#"{"a":2,"b":1}"#));
    }

    #[test]
    fn spelling_of_numbers_does_not_count() {
        assert_eq!(parsed("[1,1e2,0]"), parsed("[1.0,100,-0.0]"));
        assert_ne!(parsed("1"), parsed("\"1\""));
    }

    #[test]
    fn every_other_difference_counts() {
        let values = [
            json!(null),
            json!(false),
            json!(true),
            json!(0),
            json!(0.5),
            json!(""),
            json!("a"),
            json!("a\0"),
            json!("12345678"),
            json!("123456789"),
            json!([]),
            json!([[]]),
            json!(["a"]),
            json!(["a", ""]),
            json!(["", "a"]),
            json!({}),
            json!({"a": null}),
            json!({"a": ""}),
            json!({"": "a"}),
            json!({"a": "", "b": ""}),
        ];
        for (at, one) in values.iter().enumerate() {
            for other in &values[at + 1..] {
                assert_ne!(digest(one), digest(other), "{one} {other}");
            }
        }
    }
}
