//! Numbers in the form of the wire.

use serde_json::Number;

/// Number in the form of the originals: whole values without a fraction (`15`, never `15.0`). A value that is not
/// finite becomes 0.
pub fn number(value: f64) -> Number {
    let whole = value as i64;
    match whole as f64 == value {
        true => whole.into(),
        false => Number::from_f64(value).unwrap_or_else(|| 0.into()),
    }
}
