//! The agent's decisions, without IO: [`Engine::handle`] takes an [`Input`] and the time, [`Engine::poll`] gives the
//! [`Output`]s to perform, until there are none.
//!
//! The invariant between the two, on which the server and the tests lean:
//!
//! - Outputs are performed strictly in order; every `StartTool`, `StartShell` and `CallModel` is answered by its end
//!   (or, for a model, by `Finish` or `Fail`) exactly once, also after it was cancelled, except that a cancelled
//!   model call owes nothing and is not listened to any more.
//! - A `Store`, an `OpenSession` and a `WriteFile` are outstanding, one at a time, until they complete or fail. Nothing is
//!   told of an entry before its `Store` has completed; what comes in meanwhile is delayed, but for a few reads (`disk`).
//!   `ReadFile`, `LookInto`, `Query`, `Provide` and `Choose` are answered before the next `poll`.
//! - [`Engine::deadline`] says when to come back with [`Input::Time`] if nothing else happens before.
//! - Nothing happens by itself: no clock, no randomness but the seed, no thread. The same inputs at the same times
//!   give the same outputs, byte for byte.
//! - Everything said has passed the [machine](crate::machine) first. What it objects to comes as
//!   [`Output::Violation`] right behind the frame.
//! - The engine says deltas; snapshots are the [encoder's](crate::protocol::Encoder).
//!
//! How a command becomes frames: the machine tells its disposition in the state that it meets (`commands`), which
//! starts or ends a run (`run`), whose turns call the model (`growing`) and run tools (`batch`) in the dialect's
//! style. What was said is stored, then told (`keep`). After a run another try may follow (`retry`), or a compaction
//! (`compaction`, which has models write `summaries`), until all is done (`settling`), or what waited for its end
//! (`after`); `sessions` leaves one session for another, `entries` tells what is in it.
//!
//! A component runs the `extensions`; `extension_outcomes` calls it, and carries out what comes of each call. The engine does
//! what their `actions` need, and answers their `queries`.

mod actions;
mod activity;
mod backlog;
mod capacity;
mod choices;
mod commands;
pub mod consent;
mod core;
mod extension_models;
mod extension_outcomes;
mod extensions;
mod greeting;
mod guard;
mod host_lines;
mod host_tools;
mod ids;
mod instructions;
mod io;
mod lifecycle;
pub mod limits;
mod model_requests;
mod models;
mod notifications;
mod pending;
mod prompt;
mod prompts;
mod provider_hooks;
mod queries;
mod queueing;
mod queues;
mod requests;
mod resources;
mod run;
mod setup;
mod shells;
mod shutdown;
mod state;
mod steps;
mod store;
mod system;
pub mod todos;
mod tool_result;
mod toolbox;
pub mod ttsr;

pub use choices::Choice;
pub use core::Engine;
pub use io::{
    CallId, Input, ModelCall, Now, Output, Purpose, RequestHooks, Selected, ShellEnd, ShellStart, ToolStart,
};
pub use setup::{CompactionPlan, Extending, Hosted, Modes, NamedCommands, Place, RetryPlan, Setup};
pub use toolbox::arguments::Toolbox;
