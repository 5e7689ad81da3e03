//! The protocol for other tools: what [`crate::protocol`] is generated from, in forms that know nothing of this crate.

mod json_schema;

pub use json_schema::{extension_schema, json_schema};
