//! Conversations that nobody thought of: a seed makes one, and one that fails is made as short as it can be.
//!
//! A conversation is a scenario file like any other, so what is found is kept as one. [`conversation`] draws commands from
//! the schema, legal and illegal, and says them at moments of a run that are drawn, too; [`shortest`] leaves out steps as
//! long as what is left still fails.

mod command;
mod shrink;
mod talk;

pub use shrink::shortest;
pub use talk::conversation;
