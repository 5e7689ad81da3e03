//! Bytes to frames, as one dialect's schema has it.

use super::{
    Dialect, Fault, RequestId,
    check::{Check, Root, prune},
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
    Dialect(Fault),
}

/// Reads a frame ([`super::Inbound`], [`super::Outbound`], or one of an extension, [`super::FromExtension`] or
/// [`super::ToExtension`]): accepts the bytes if and only if the dialect's schema does.
///
/// Unknown properties are tolerated. In an [`super::Inbound`] frame an optional property may be `null`, too, as if it were
/// absent. The error names the path of the first value that does not fit and what was
/// expected there.
pub fn read<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame: T = read_scalar_id(bytes, dialect)?;
    match frame.request_id() {
        Some(RequestId::Null) if T::NULL_IS_ABSENT => Ok(frame),
        Some(id) if !id.is_string() => Err(ReadError::Dialect(Fault::not_a_string("id"))),
        _ => Ok(frame),
    }
}

/// [`read`] that lets a request's id be any scalar, as our server does.
pub fn read_scalar_id<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame = match serde_json::from_slice::<T>(bytes) {
        Ok(frame) if !frame.is_provisional() => frame,
        // Slower, only for what is small, has `null` for an absent property, or is on the way to an error: without what
        // the dialect does not look at, and with the path.
        _ => pruned(bytes, dialect)?,
    };
    fitted(frame, dialect)
}

/// A well-typed frame, if the dialect has it so; without what the dialect does not have.
pub(super) fn fitted<T: Check>(mut frame: T, dialect: Dialect) -> Result<T, ReadError> {
    frame.check(dialect.base()).map_err(ReadError::Dialect)?;
    frame.fit(dialect.base());
    Ok(frame)
}

fn pruned<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let mut value: Value =
        serde_json::from_slice(bytes).map_err(|error| ReadError::Type(error.to_string()))?;
    prune(&mut value, T::SHAPE, dialect.base(), T::NULL_IS_ABSENT);
    serde_path_to_error::deserialize(&value).map_err(|error| {
        ReadError::Type(located(&error.path().to_string(), &json_words(&error.inner().to_string())))
    })
}

/// The text of an error below `path`; one that names a field itself, as those about tags do, names it in full.
fn located(path: &str, text: &str) -> String {
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
