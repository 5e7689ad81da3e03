//! Conversations that nobody thought of: a seed makes one, and one that fails is made as short as it can be.
//!
//! A conversation is a scenario file like any other, so what is found is kept as one. [`conversation`] draws commands from
//! the schema, legal and illegal, and says them at moments of a run that are drawn, too; [`shortest`] leaves out steps as
//! long as what is left still fails.
//!
//! [`Choices`] and [`Commands`] are what every generator of conversations draws from: this one, the engine's tests and the
//! fuzz targets.

mod choices;
mod command;
mod shrink;
mod talk;

pub use choices::Choices;
pub use command::{Commands, Words};
pub use shrink::{fewest, shortest};
pub use talk::{JUNK, conversation};
