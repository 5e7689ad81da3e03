//! The agent's decisions, without IO: [`Engine::handle`] takes an [`Input`] and the time, [`Engine::poll`] gives the
//! [`Output`]s to perform, until there are none.
//!
//! The invariant between the two, on which the server and the tests lean:
//!
//! - Outputs are performed strictly in order; every `StartTool`, `StartShell` and `CallModel` is answered by its end
//!   (or, for a model, by `Finish` or `Fail`) exactly once, also after it was cancelled, except that a cancelled
//!   model call owes nothing and is not listened to any more.
//! - A `Store`, an `OpenSession` and a `WriteFile` are outstanding, one at a time, until they complete or fail. No frame of
//!   an entry is emitted before its `Store` has ended; what comes in meanwhile is delayed, but for a few reads (`disk`).
//!   `ReadFile`, `LookInto`, `Query`, `Provide` and `Choose` are answered before the next `poll`.
//! - [`Engine::deadline`] says when to come back with [`Input::Time`] if nothing else happens before.
//! - Nothing happens by itself: no clock, no randomness but the seed, no thread. The same inputs at the same times
//!   give the same outputs, byte for byte.
//! - Every frame that is emitted has passed the [machine](crate::machine) first. What it objects to comes as
//!   [`Output::Violation`] right behind the frame.
//! - The engine emits deltas; snapshots are the [encoder's](crate::protocol::Encoder).
//!
//! Where things are:
//!
//! - `core`: the engine and its loop, [`Engine::handle`] and [`Engine::poll`]. `lifecycle` is how far the process is,
//!   `activity` what the agent is doing: the states of the [chart](crate::machine), each with what it alone has. The two
//!   are checked against the machine whenever nothing is left to do, in debug builds.
//! - `commands` asks the machine for a command's disposition in the state that it meets, and does what it says. What
//!   cannot be served yet waits in the `backlog`.
//! - `prompts` brings a prompt to its `run`: a run requests models (`turns`) and runs tools (`run_tools`) in the dialect's
//!   style. After a run another try may follow (`retry`), or a compaction (`compact`, which has models write a summary),
//!   until all is done (`settling`), or what waited for its end (`after`).
//! - `requests` holds what is outstanding outside, each with its typed continuation: models, tools, shells, files.
//! - `store` appends what is to be kept, and only then has its frames emitted. `store::sessions` leaves one session for
//!   another.
//! - `extensions` is a component of its own, which knows processes, hooks and dialogs, but no runs; `extension_outcomes`
//!   calls it, and carries out what comes of each call; `actions` does what extensions request of the engine.
//!
//! Files with data (`activity`, `backlog`, `requests`, `run::state`, …) import no engine; files with an `impl Engine` import
//! them and `core`.

mod actions;
mod activity;
mod backlog;
mod capacity;
mod commands;
pub mod consent;
mod consent_patterns;
mod core;
mod extension_models;
mod extension_outcomes;
mod extensions;
mod greeting;
mod host_lines;
mod host_tools;
mod ids;
mod instructions;
mod io;
mod lifecycle;
pub mod limits;
mod model_choices;
mod model_requests;
mod models;
mod notifications;
mod prompt;
mod prompts;
mod provider_hooks;
mod queries;
mod queue_commands;
mod queues;
mod requests;
mod resources;
mod run;
mod setup;
mod shells;
mod shutdown;
mod state;
mod step;
mod steps;
mod store;
mod system_message;
pub mod todos;
mod tool_result;
mod toolbox;
pub mod ttsr;

pub use core::Engine;
pub use io::{
    CallId, Input, ModelCall, ModelSelection, Now, Output, Purpose, RequestHooks, ShellEnd, ShellStart,
    ToolStart,
};
pub use model_choices::ModelChoice;
pub use setup::{
    CompactionPlan, ExtensionSetup, HostedExtensions, Modes, NamedCommands, RetryPlan, SessionStorage, Setup,
};
pub use toolbox::arguments::Toolbox;
