//! The agent's decisions, without IO: [`Engine::handle`] takes an [`Input`] and the time, [`Engine::poll`] gives the
//! [`Output`]s to perform, until there are none.
//!
//! The invariant between the two, on which the server and the tests lean:
//!
//! - Outputs are performed strictly in order; every `StartTool`, `StartShell` and `CallModel` ends exactly once (a
//!   model by `Finish` or `Fail`), also after it was cancelled; only the events of a cancelled model call are ignored.
//! - A `Store`, an `OpenSession` and a `WritePage` are outstanding, one at a time, until they complete or fail. No
//!   frame of an entry is emitted before its `Store` has ended; what comes in meanwhile is delayed, but for a few
//!   reads (`disk`). `ReadFile`, `FindResources`, `Query`, `ChangeProvider`, `SelectModel`
//!   and `ReloadModels` are answered before the next `poll`.
//! - [`Engine::deadline`] says when to come back with [`Input::Time`] if nothing else happens before.
//! - Nothing happens by itself: no clock, no randomness but the seed, no thread. The same inputs at the same times
//!   give the same outputs, byte for byte.
//! - Every emitted frame is first checked by the [machine](pi_rpc_machine). A violation follows its frame as
//!   [`Output::Violation`].
//! - The engine emits deltas; snapshots are the [encoder's](pi_rpc_protocol::Encoder).
//!
//! Where things are:
//!
//! - `core`: the engine and its loop, [`Engine::handle`] and [`Engine::poll`]. `lifecycle` is how far the process is,
//!   `activity` what the agent is doing: the states of the [chart](pi_rpc_machine), each with what it alone has. The two
//!   are checked against the machine whenever nothing is left to do, in debug builds.
//! - `commands` serves a command by its disposition in the current state. Work that is deferred lies in the `backlog`.
//! - `prompts` takes a prompt to its `run`: a run requests models (`turns`) and runs tools (`run_tools`) in the
//!   dialect's style. `after_run` continues after it: with a `retry`, a compaction (`compact`) or deferred work, until
//!   the `chain` of runs ends.
//! - `requests` holds the outstanding requests of models, tools, shells and files, each with its typed continuation.
//! - `store` persists entries, and only then has their frames emitted. `store::sessions` changes to another session.
//! - `extensions` is a component of its own, with processes, hooks and dialogs, but no runs; `extension_outcomes`
//!   calls it and performs its outputs; `actions` performs the actions that extensions request.
//!
//! Files with data (`activity`, `backlog`, `requests`, `run::state`, …) import no engine; files with an `impl Engine`
//! import them and `core`.

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
mod logins;
mod message_pages;
mod model_choices;
mod model_requests;
mod models;
mod notifications;
mod prompt;
mod prompts;
mod protocol_version;
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
mod snapshot;
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
    CallId, Input, LoginEnd, LoginNotice, LoginStart, ModelCall, ModelSelection, Now, Output, Purpose,
    ReloadedModels, RequestHooks, ShellEnd, ShellStart, ToolStart,
};
pub use model_choices::ModelChoice;
pub use setup::{
    CompactionPlan, ExtensionSetup, HostedExtensions, Modes, NamedCommands, RetryPlan, SessionStorage, Setup,
};
pub use toolbox::{
    arguments::Toolbox,
    selection::{
        RecordedTools, SelectionReport, ToolEntry, ToolEntryEffect, ToolSelection, matches_any, matches_tool,
    },
};
