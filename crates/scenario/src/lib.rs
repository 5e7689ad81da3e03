//! Scenario files: what a host sends to a server, what it waits for, and what the server's model answers.
//!
//! A [`Scenario`] has a script for the scripted model, files and settings to start with, and [`Step`]s. A step waits for
//! frames that fit a [`Pattern`], and may store parts of them in [`Variables`] for later steps. Scenarios do not mention
//! rules: they lead a server into situations, and the judge applies the rules to every frame. The crate `conform` plays them;
//! [`random`] draws further ones from a seed.

pub mod embedded;
mod file;
mod library;
mod pattern;
pub mod random;
mod step;
mod variables;

pub use file::{Capability, Scenario, ScenarioError, scenario_schema};
pub use pattern::Pattern;
pub use step::{
    Ask, Chunk, CloseInput, CloseOutput, Expect, ExpectExit, ExpectFile, Idle, Only, Patterns, Put, Reading,
    Restart, Send, SendRaw, SignalName, SignalStep, Step,
};
pub use variables::Variables;
