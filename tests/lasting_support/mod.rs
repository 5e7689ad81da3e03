//! Conversations that last, at random and in virtual time: models fail and fill the context, the disk fills up, the host
//! goes from session to session. What must hold whatever happens is in `watch`.

#![allow(dead_code)] // Each test file uses its part.

#[path = "../disk_support/mod.rs"]
mod disk;
mod extended;
mod scenario;
mod watch;
mod world;

#[allow(unused_imports, reason = "each test file names what it needs")]
pub use extended::{Answers, Habit, answers, habits};
#[allow(unused_imports, reason = "each test file names what it needs")]
pub use scenario::{Act, Close, Scenario, scenarios};
pub use world::play;

/// Whether a rule holds; if not, what is wrong.
pub type Checked = Result<(), String>;
