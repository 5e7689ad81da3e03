//! The protocol: the schema, the reader of frames, and what is exported of them.

#[path = "../../../../tests/frames_common/mod.rs"]
mod frames_common;
mod vocabulary;

mod differences;
mod hooks;
mod line_members;
mod line_splitting;
mod read_errors;
mod read_matches_schema;
mod schema_vocabulary;
