//! The protocol: the schema and its export, the reader of frames, and the machine.

#[path = "../frames_common/mod.rs"]
mod frames_common;
mod machine_support;
#[cfg(feature = "serve")]
#[path = "../serve_support/mod.rs"]
mod serve_support;
#[cfg(feature = "serve")]
mod text_diff;
mod vocabulary;

mod differences;
#[cfg(feature = "serve")]
mod exported;
#[cfg(feature = "serve")]
mod hooks;
mod line_members;
mod line_splitting;
mod machine_rules;
mod machine_rules_beside;
mod machine_walk;
mod python_types;
mod read_errors;
mod read_matches_schema;
mod schema_vocabulary;
