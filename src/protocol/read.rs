//! Bytes to frames, as one dialect's schema has it.

use super::{
    Dialect, Fault,
    check::{Root, prune},
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

/// Reads a frame ([`super::Inbound`] or [`super::Outbound`]): accepts the bytes if and only if the dialect's schema does.
///
/// Unknown properties are tolerated. The error names the path of the first value that does not fit and what was
/// expected there.
pub fn read<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame: T = read_scalar_id(bytes, dialect)?;
    match frame.request_id() {
        Some(id) if !id.is_string() => Err(ReadError::Dialect(Fault::not_a_string("id"))),
        _ => Ok(frame),
    }
}

/// [`read`] that lets a request's id be any scalar, as our server does.
pub(super) fn read_scalar_id<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let frame = match serde_json::from_slice::<T>(bytes) {
        Ok(frame) => frame,
        // Slower, only on the way to an error: without what the dialect does not look at, and with the path.
        Err(_) => pruned(bytes, dialect)?,
    };
    frame.check(dialect.base()).map_err(ReadError::Dialect)?;
    Ok(frame)
}

fn pruned<T: Root>(bytes: &[u8], dialect: Dialect) -> Result<T, ReadError> {
    let mut value: Value =
        serde_json::from_slice(bytes).map_err(|error| ReadError::Type(error.to_string()))?;
    prune(&mut value, T::SHAPE, dialect.base());
    serde_path_to_error::deserialize(&value).or_else(|error| {
        // Free-form values may hold what only the streaming reader refuses; the pruned value decides.
        T::deserialize(&value).map_err(|_| {
            let path = error.path().to_string();
            ReadError::Type(match path.as_str() {
                "." => error.inner().to_string(),
                path => format!("`{path}`: {}", error.inner()),
            })
        })
    })
}
