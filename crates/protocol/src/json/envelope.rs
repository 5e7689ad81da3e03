//! First look at an inbound line: its `type` and `id`, and whether an object in it has a key twice.

use super::{JsonError, JsonReader, types::read_text};
use crate::RequestId;
use serde::Deserialize;
use serde_json::Value;
use std::{borrow::Cow, collections::HashSet};

/// The members of every inbound frame, of any type.
#[derive(Debug, Default)]
pub(crate) struct Envelope<'a> {
    /// A string in `type`.
    pub kind: Option<Cow<'a, str>>,
    /// Whether a member is an object or an array.
    pub is_nested: bool,
    id: Option<Scalar<'a>>,
}

/// String, number, boolean or `null`.
#[derive(Debug)]
enum Scalar<'a> {
    Str(Cow<'a, str>),
    Other(Value),
}

impl<'a> Envelope<'a> {
    /// Reads the whole text.
    ///
    /// # Errors
    /// The text is not one JSON object, or an object in it has a key twice.
    pub(crate) fn read(text: &'a str) -> Result<Self, JsonError> {
        read_text(text, Self::of_object)
    }

    /// The `id`, if it is a scalar.
    pub(crate) fn request_id(self) -> Option<RequestId> {
        match self.id? {
            Scalar::Str(text) => Some(RequestId::String(text.into_owned())),
            Scalar::Other(value) => RequestId::deserialize(value).ok(),
        }
    }

    fn of_object(json: &mut JsonReader<'a>) -> Result<Self, JsonError> {
        let is_list = json.peek() == Some(b'[');
        let mut members = json.object("a JSON object").map_err(|error| match is_list {
            true => error,
            false => error.at_column(json.position()),
        })?;
        let mut envelope = Self::default();
        let mut keys = Keys::default();
        while let Some(key) = json.key(&mut members)? {
            keys.add(key.clone(), json.position())?;
            json.colon()?;
            let value = scan(json)?;
            envelope.is_nested |= value.is_none();
            match (key.as_ref(), value) {
                ("id", value) => envelope.id = value,
                ("type", Some(Scalar::Str(kind))) => envelope.kind = Some(kind),
                _ => {}
            }
        }
        Ok(envelope)
    }
}

/// Passes a value; `None` if it is an object or an array.
fn scan<'a>(json: &mut JsonReader<'a>) -> Result<Option<Scalar<'a>>, JsonError> {
    match json.peek() {
        Some(b'{') => {
            let mut members = json.object("")?;
            let mut keys = Keys::default();
            while let Some(key) = json.key(&mut members)? {
                keys.add(key, json.position())?;
                json.colon()?;
                scan(json)?;
            }
            Ok(None)
        }
        Some(b'[') => {
            let mut members = json.array("")?;
            while json.has_next(&mut members, b']')? {
                scan(json)?;
            }
            Ok(None)
        }
        Some(b'"') => json.string(&"").map(|text| Some(Scalar::Str(text))),
        _ => json.scalar().map(|value| Some(Scalar::Other(value))),
    }
}

/// The keys of one object so far: the first few unescaped ones in a list, all others in a hash set.
#[derive(Default)]
struct Keys<'a> {
    few: [&'a str; FEW],
    count: usize,
    others: Option<HashSet<String>>,
}

const FEW: usize = 8;

impl<'a> Keys<'a> {
    /// Adds a key that ends at the column.
    fn add(&mut self, key: Cow<'a, str>, column: usize) -> Result<(), JsonError> {
        let is_other = || self.others.as_ref().is_some_and(|others| others.contains(key.as_ref()));
        if self.few[..self.count].contains(&key.as_ref()) || is_other() {
            return Err(JsonError::new(format_args!("duplicate key `{key}`")).at_column(column));
        }
        match key {
            Cow::Borrowed(key) if self.count < FEW => {
                self.few[self.count] = key;
                self.count += 1;
            }
            key => drop(self.others.get_or_insert_default().insert(key.into_owned())),
        }
        Ok(())
    }
}
