//! Scenarios: what a host says to a server, what it waits for, and what the server's model answers meanwhile.
//!
//! A [`Scenario`] is a file: a script for the scripted model, files and settings to start with, and [`Step`]s. What a step
//! waits for is a [`Pattern`]; what it finds may be kept in [`Variables`] for later steps. Whether the conversation keeps
//! the rules is judged beside that, so scenarios say nothing of rules: they lead a server to where rules apply.

mod file;
mod library;
mod pattern;
mod step;
mod variables;

pub use file::{Capability, Scenario, ScenarioError, scenario_schema};
pub use pattern::Pattern;
pub use step::{
    Ask, Chunk, CloseInput, CloseOutput, Expect, ExpectExit, ExpectFile, Idle, Only, Patterns, Put, Reading,
    Restart, Send, SendRaw, SignalName, SignalStep, Step,
};
pub use variables::Variables;
