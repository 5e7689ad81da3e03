//! The one reader of the generated types: a pass over the text of a frame, without an intermediate tree.
//!
//! Every generated type has a [`FromJson`] that is compiled once, not once for each deserializer; its `Deserialize` is a
//! wrapper for those who have a deserializer of serde. Strings with escapes, floats, and values of any shape are left to
//! `serde_json`.

mod envelope;
mod error;
mod reader;
mod types;

pub(crate) use envelope::Envelope;
pub use error::JsonError;
pub use reader::JsonReader;
pub(crate) use reader::{Const, Members};
pub use types::{FromJson, from_slice, from_str, from_value, member_from_slice};
pub(crate) use types::{TextOrList, deserialize, unknown_tag};
