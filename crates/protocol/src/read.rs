//! Reading of frames under the schema of one dialect.

use super::{
    Base, Dialect, DialectVersion, Fault, Faults, RequestId, Version,
    check::{Check, Root, missing_members, prune},
    json::{from_slice, from_value},
};
use serde_json::Value;

/// Reason why bytes are not a frame of the dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or a value of the wrong type: the error after the path of the value.
    #[error("{0}")]
    Type(String),
    /// Well typed, but refused by the dialect.
    #[error("{0}")]
    Dialect(Faults),
}

/// Reads a frame ([`super::Inbound`], [`super::Outbound`], or one of an extension, [`super::FromExtension`] or
/// [`super::ToExtension`]): accepts the bytes if and only if the dialect's schema does.
///
/// Unknown properties are tolerated. In an [`super::Inbound`] frame an optional property may be `null`, too, as if it
/// were absent. The error names the path of the first value that does not fit and what was expected there, and every
/// required member that is missing.
pub fn read<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame: T = read_scalar_id(bytes, dialect)?;
    with_string_id(frame, T::NULL_IS_ABSENT)
}

/// [`read`] that accepts any scalar as the id of a request, as this server does.
pub fn read_scalar_id<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame = deserialize(bytes, dialect.into())?;
    check_and_fit(frame, dialect)
}

/// A frame of a server whose version may be older.
#[derive(Debug)]
pub struct Versioned<T> {
    /// The frame.
    pub frame: T,
    /// Versions that the frame gives evidence of, and missing members that were added after the first version.
    pub faults: Faults,
}

/// [`read`] for a frame of a server of any version. Members that were added later are required only if `spoken` has a
/// version that has them.
pub fn read_versioned<T: Root>(
    bytes: &[u8],
    spoken: DialectVersion,
    any_id: bool,
) -> Result<Versioned<T>, ReadError> {
    let mut frame: T = deserialize(bytes, spoken)?;
    if !any_id {
        frame = with_string_id(frame, T::NULL_IS_ABSENT)?;
    }
    let mut faults = Faults::default();
    frame.check(spoken.base(), &mut faults);
    if spoken.version.is_some() {
        faults.require_until(spoken.version);
    }
    if !faults.is_empty() {
        return Err(ReadError::Dialect(faults));
    }
    frame.fit(spoken.base());
    Ok(Versioned { frame, faults })
}

fn with_string_id<T: Root>(frame: T, null_is_absent: bool) -> Result<T, ReadError> {
    match frame.request_id() {
        Some(RequestId::Null) if null_is_absent => Ok(frame),
        Some(id) if !id.is_string() => {
            let mut faults = Faults::default();
            faults.push(Fault::not_a_string("id"));
            Err(ReadError::Dialect(faults))
        }
        _ => Ok(frame),
    }
}

fn deserialize<T: Root>(bytes: &[u8], spoken: DialectVersion) -> Result<T, ReadError> {
    match from_slice::<T>(bytes) {
        Ok(frame) if !frame.is_provisional() => Ok(frame),
        // Slower, so only for small frames, for `null` in place of an absent member, and for errors: ignores members
        // that the dialect does not have, and finds the path of the error.
        first => match serde_json::from_slice(bytes) {
            Ok(value) => read_pruned(value, spoken),
            // Too deep for `serde_json`, as a forest may be.
            Err(error) => {
                Err(ReadError::Type(first.err().map_or(error.to_string(), |first| first.to_string())))
            }
        },
    }
}

/// Checks a well-typed frame against the dialect and removes the members that the dialect does not have.
pub(super) fn check_and_fit<T: Check>(mut frame: T, dialect: Dialect) -> Result<T, ReadError> {
    let mut faults = Faults::default();
    frame.check(dialect.base(), &mut faults);
    faults.require_until(None);
    if !faults.is_empty() {
        return Err(ReadError::Dialect(faults));
    }
    frame.fit(dialect.base());
    Ok(frame)
}

fn read_pruned<T: Root>(mut value: Value, spoken: DialectVersion) -> Result<T, ReadError> {
    prune(&mut value, T::SHAPE, spoken.base(), T::NULL_IS_ABSENT);
    from_value(&value).map_err(|error| {
        ReadError::Type(all_missing::<T>(&value, spoken.base(), spoken.version, error.to_string()))
    })
}

/// Extends an error text about one missing member to all missing members.
fn all_missing<T: Root>(value: &Value, base: Base, version: Option<Version>, text: String) -> String {
    if !text.contains("missing field") {
        return text;
    }
    let missing = missing_members(value, T::SHAPE, base, version);
    // Members within a union by shape are not found, so the text must not lose the one that it names.
    match missing.iter().any(|lacks| lacks.len() >= text.len() && lacks.contains(name_in(&text))) {
        true => missing.join("; "),
        false => text,
    }
}

/// The quoted member name in an error text about a missing member.
fn name_in(text: &str) -> &str {
    text.rsplit_once("missing field ").map_or(text, |(_, name)| name)
}

/// Replaces the type names of serde in an error text by those of JSON.
pub(super) fn json_words(text: &str) -> String {
    [
        ("type: map,", "type: object,"),
        ("type: sequence,", "type: array,"),
        ("expected a sequence", "expected an array"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (serde, json)| text.replace(serde, json))
}
