//! The id that ties a response to its command.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Number;
use std::fmt;

/// Id of a request. The schema allows strings only; the originals echo any scalar, and so does this server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// String, the only form in the schema.
    String(String),
    /// Echoed as it came.
    Number(Number),
    /// Echoed as it came.
    Bool(bool),
    /// Explicit `null`, echoed as it came.
    Null,
}

impl RequestId {
    /// Whether the schema allows the id.
    pub const fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::String(id.to_owned())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Null => f.write_str("null"),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(text) => to.serialize_str(text),
            Self::Number(number) => number.serialize(to),
            Self::Bool(flag) => to.serialize_bool(*flag),
            Self::Null => to.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Scalar)
    }
}

struct Scalar;

impl<'de> de::Visitor<'de> for Scalar {
    type Value = RequestId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<RequestId, E> {
        Ok(RequestId::from(text))
    }
    fn visit_string<E: de::Error>(self, text: String) -> Result<RequestId, E> {
        Ok(RequestId::String(text))
    }
    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<RequestId, E> {
        Ok(RequestId::Bool(flag))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<RequestId, E> {
        Ok(RequestId::Number(number.into()))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<RequestId, E> {
        Ok(RequestId::Number(number.into()))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<RequestId, E> {
        Ok(RequestId::Number(super::number(number)))
    }
    fn visit_unit<E: de::Error>(self) -> Result<RequestId, E> {
        Ok(RequestId::Null)
    }
}
