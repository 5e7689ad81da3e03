//! Random conversations, drawn from a seed, and the shrinking of those that fail.
//!
//! A random conversation is a scenario file like any other. [`conversation`] draws commands from the schema, legal and
//! illegal, and the moments of a run at which they are sent; [`shrink_scenario`] leaves out steps as long as the rest still
//! fails.
//!
//! [`Choices`] and [`Commands`] are shared by all generators: this one, those of the engine's tests, and the fuzz targets.

mod choices;
mod command;
mod conversation;
mod shrink;

pub use choices::Choices;
pub use command::{Commands, MemberValues};
pub use conversation::{JUNK, conversation};
pub use shrink::{shrink_list, shrink_scenario};
