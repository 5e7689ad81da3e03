//! Scenario files: what a host sends to a server, what it waits for, and what the server's model answers.
//!
//! For authors of servers who write tests that any server can be tried with, and for generators of conversations.
//!
//! This crate plays nothing: it starts no process and does no IO. The crate `pi-rpc-conform` plays scenarios. Scenarios do not
//! mention rules: they lead a server into situations, and the judge applies the rules to every frame.
//!
//! - [`Scenario`]: a script for the scripted model, files and settings to start with, and [`Step`]s. [`Scenario::built_in`]:
//!   those that come with this crate; [`scenario_schema`]: the JSON Schema of the file.
//! - [`Step`], [`Pattern`]: a step waits for frames that fit a pattern.
//! - [`Variables`]: parts of frames that a step has stored for later steps.
//! - [`random`]: draws further scenarios from a seed, and shrinks those that fail.
//!
//! ```
//! use pi_rpc_protocol::Dialect;
//! use pi_rpc_scenario::{Scenario, Step};
//! use serde_json::json;
//!
//! let scenario = Scenario::from_json(r#"{
//!     "name": "abort-idle",
//!     "title": "An abort is acknowledged although nothing runs.",
//!     "steps": [{"send": {"id": "a", "type": "abort"}}, {"expect": {"id": "a", "success": true}}]
//! }"#)?;
//! assert_eq!(scenario.steps_for(Dialect::Pi).len(), 2);
//! let unknown = Scenario::from_json(r#"{"name": "x", "title": "x", "steps": [{"hope": {}}]}"#).unwrap_err();
//! assert!(unknown.to_string().starts_with("scenario error at steps[0]"), "{unknown}");
//! # Ok::<(), pi_rpc_scenario::ScenarioError>(())
//! ```

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
