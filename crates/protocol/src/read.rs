//! Bytes to frames, as one dialect's schema has it.

use super::{
    Base, Dialect, DialectVersion, Fault, Faults, RequestId, Version,
    check::{Check, Root, missing_members, prune},
};
use serde_json::Value;

/// Why bytes are no frame of the dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or a value of the wrong type: serde's words, led by the path.
    #[error("{0}")]
    Type(String),
    /// Well typed, but not in this dialect.
    #[error("{0}")]
    Dialect(Faults),
}

/// Reads a frame ([`super::Inbound`], [`super::Outbound`], or one of an extension, [`super::FromExtension`] or
/// [`super::ToExtension`]): accepts the bytes if and only if the dialect's schema does.
///
/// Unknown properties are tolerated. In an [`super::Inbound`] frame an optional property may be `null`, too, as if it were
/// absent. The error names the path of the first value that does not fit and what was
/// expected there, and every required member that is missing.
pub fn read<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame: T = read_scalar_id(bytes, dialect)?;
    with_string_id(frame, T::NULL_IS_ABSENT)
}

/// [`read`] that lets a request's id be any scalar, as our server does.
pub fn read_scalar_id<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame = deserialize(bytes, dialect.into())?;
    check_and_fit(frame, dialect)
}

/// A frame that may have been written by an older version.
#[derive(Debug)]
pub struct Versioned<T> {
    /// The frame.
    pub frame: T,
    /// What it tells of the version, and what it lacks of what came later than the first.
    pub faults: Faults,
}

/// [`read`] of what a server of any version has written. Of the members that came later, those are asked for that the
/// version of `spoken` has; where it is not known, none.
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
    match serde_json::from_slice::<T>(bytes) {
        Ok(frame) if !frame.is_provisional() => Ok(frame),
        // Slower, only for what is small, has `null` for an absent property, or is on the way to an error: without what
        // the dialect does not look at, and with the path.
        _ => deserialize_pruned(bytes, spoken),
    }
}

/// A well-typed frame, if the dialect has it so; without what the dialect does not have.
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

fn deserialize_pruned<T: Root>(bytes: &[u8], spoken: DialectVersion) -> Result<T, ReadError> {
    let mut value: Value =
        serde_json::from_slice(bytes).map_err(|error| ReadError::Type(error.to_string()))?;
    prune(&mut value, T::SHAPE, spoken.base(), T::NULL_IS_ABSENT);
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let text = error_at(&error.path().to_string(), &json_words(&error.inner().to_string()));
        ReadError::Type(all_missing::<T>(&value, spoken.base(), spoken.version, text))
    })
}

/// The text of an error that names a missing member, with all others that are missing.
fn all_missing<T: Root>(value: &Value, base: Base, version: Option<Version>, text: String) -> String {
    if !text.contains("missing field") {
        return text;
    }
    let missing = missing_members(value, T::SHAPE, base, version);
    // What stands in a branch that only its shape tells is not looked into.
    match missing.iter().any(|lacks| lacks.len() >= text.len() && lacks.contains(name_in(&text))) {
        true => missing.join("; "),
        false => text,
    }
}

/// The member that an error says is missing, in its quotes.
fn name_in(text: &str) -> &str {
    text.rsplit_once("missing field ").map_or(text, |(_, name)| name)
}

/// The text of an error below `path`; one that names a field itself, as those about tags do, names it in full.
fn error_at(path: &str, text: &str) -> String {
    match text.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
        _ if path == "." => text.to_owned(),
        Some((field, text)) => format!("`{path}.{field}`: {text}"),
        None => format!("`{path}`: {text}"),
    }
}

/// serde's text in JSON's words.
pub(super) fn json_words(text: &str) -> String {
    [
        ("type: map,", "type: object,"),
        ("type: sequence,", "type: array,"),
        ("expected a sequence", "expected an array"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (serde, json)| text.replace(serde, json))
}
