//! Conversations that nobody thought of: a seed makes one, and one that fails is made as short as it can be.
//!
//! A conversation is a scenario file like any other, so what is found is kept as one. [`conversation`] draws commands from
//! the schema, legal and illegal, and says them at moments of a run that are drawn, too; [`shrink_scenario`] leaves out steps as
//! long as what is left still fails.
//!
//! [`Choices`] and [`Commands`] are what every generator of conversations draws from: this one, the engine's tests and the
//! fuzz targets.

mod choices;
mod command;
mod conversation;
mod shrink;

pub use choices::Choices;
pub use command::{Commands, MemberValues};
pub use conversation::{JUNK, conversation};
pub use shrink::{shrink_list, shrink_scenario};
