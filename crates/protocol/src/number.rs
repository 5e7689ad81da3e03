//! Numbers as the wire has them.

use serde_json::Number;

/// A number as the originals write it: whole values without a fraction (`15`, never `15.0`). What is no finite number
/// becomes 0.
pub fn number(value: f64) -> Number {
    let whole = value as i64;
    match whole as f64 == value {
        true => whole.into(),
        false => Number::from_f64(value).unwrap_or_else(|| 0.into()),
    }
}
