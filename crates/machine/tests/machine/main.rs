//! The machine: every state with every kind of frame, and the rules beside it.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)] // tests read files

mod machine_support;

mod machine_rules;
mod machine_rules_beside;
mod machine_walk;
