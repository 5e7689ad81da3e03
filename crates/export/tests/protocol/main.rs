//! The protocol: the schema, the reader of frames, and what is exported of them.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)] // tests read files

#[path = "../../../../tests/frames_common/mod.rs"]
mod frames_common;
mod vocabulary;

mod chart_events;
mod differences;
mod hooks;
mod line_members;
mod line_splitting;
mod parts;
mod read_errors;
mod read_matches_schema;
mod schema_vocabulary;
