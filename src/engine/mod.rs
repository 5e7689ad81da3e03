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
//! What extensions do (`actions`) may take a while (`acting`): they have tools run and models asked `outside` of the
//! conversation, take up another branch of the session (`navigation`), bring models of their own (`providers`), and ask how
//! things are (`queries`).

mod acting;
mod actions;
mod additions;
mod after;
mod arguments;
mod asks;
mod batch;
mod calls;
mod commands;
mod compaction;
pub mod confirm;
mod core;
mod dialogs;
mod disk;
mod ending;
mod entries;
mod extensions;
mod greeting;
mod growing;
mod hooks;
mod host_lines;
mod host_tools;
mod ids;
mod io;
mod keep;
mod levels;
pub mod limits;
mod models;
mod navigation;
mod outside;
mod planning;
mod prompts;
mod providers;
mod queries;
mod queues;
mod requests;
mod resources;
mod retry;
mod run;
mod says;
mod schema_cost;
mod sessions;
mod settling;
mod setup;
mod shells;
mod speaking;
mod state;
mod summaries;
mod system;
mod telling;
pub mod todos;
pub mod ttsr;
mod watching;

pub use arguments::Toolbox;
pub use compaction::CompactionPlan;
pub use core::Engine;
use disk::Awaiting;
pub use io::{CallId, Input, ModelCall, Now, Output, Purpose, Selected, ShellEnd, ShellStart, ToolStart};
pub use levels::Choice;
pub use requests::RequestHooks;
pub use retry::RetryPlan;
pub use setup::{Extending, Hosted, Modes, NamedCommands, Place, Setup};
