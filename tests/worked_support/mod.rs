//! A scripted conversation in virtual time: the engine itself, the scripted model, simulated tools. What comes out is
//! the log of all that was written and said, one frame a line.
#![allow(dead_code)] // Each test file uses its part.

mod extended;
mod extension;
mod plan;
mod played;
pub mod say;
mod scenario;
mod setup;
mod shape;
mod talk;
mod watch;
mod world;

pub use scenario::scenario;
#[allow(unused_imports, reason = "each test file names what it needs")]
pub use {
    extension::{Does, Extension},
    played::{Played, Step},
    scenario::Scenario,
};
