//! The agent's decisions, without IO: [`Engine::handle`] takes an [`Input`] and the time, [`Engine::poll`] gives the
//! [`Output`]s to perform, until there are none.
//!
//! For programs that embed an agent and bring their own IO, and for tests: the crate `pi-rpc-server` performs the outputs on
//! pipes and processes, the crate `pi-rpc-test-kit` in virtual time.
//!
//! The engine opens no file, starts no process, calls no model and reads no clock: the time comes with each input, and the only
//! randomness is a seed. The same inputs at the same times give the same outputs, byte for byte.
//!
//! - [`Engine`]: the state of one conversation. [`Setup`]: everything that it is created with.
//! - [`Input`], [`Output`]: events from outside, and requests to the outside; [`ModelCall`], [`ToolStart`], [`ShellStart`]: the
//!   largest of these. [`Now`]: the time of an input.
//! - [`ModelChoice`]: a model that the session may use. [`Toolbox`], [`ToolSelection`]: the tools, and which of them are offered.
//! - [`limits`]: limits of what is queued and stored.
//!
//! The invariant between inputs and outputs, on which the server and the tests lean:
//!
//! - Outputs are performed strictly in order; every `StartTool`, `StartShell` and `CallModel` ends exactly once (a
//!   model by `Finish` or `Fail`), also after it was cancelled; only the events of a cancelled model call are ignored.
//! - A `Store`, an `OpenSession` and a `WritePage` are outstanding, one at a time, until they complete or fail. No
//!   frame of an entry is emitted before its `Store` has ended; what comes in meanwhile is delayed, but for a few
//!   reads (`disk`). `ReadFile`, `FindResources`, `Query`, `ChangeProvider`, `SelectModel`
//!   and `ReloadModels` are answered before the next `poll`.
//! - [`Engine::deadline`] says when to come back with [`Input::Time`] if nothing else happens before.
//! - Every emitted frame is first checked by the [machine](pi_rpc_machine). A violation follows its frame as
//!   [`Output::Violation`].
//! - The engine emits deltas; snapshots are the [encoder's](pi_rpc_protocol::Encoder).
//!
//! ```
//! use pi_rpc_engine::{
//!     Engine, ExtensionSetup, Input, ModelChoice, Modes, Now, Output, SessionStorage, Setup, Toolbox, limits::Limits,
//! };
//! use pi_rpc_protocol::{Dialect, Encoder, Model, read};
//! use std::time::Duration;
//!
//! let dialect = Dialect::Pi;
//! let model: Model = serde_json::from_value(serde_json::json!({
//!     "id": "none", "name": "None", "api": "none", "provider": "none", "baseUrl": "", "reasoning": false, "input": ["text"],
//!     "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 }, "contextWindow": 0, "maxTokens": 0,
//! }))?;
//! let setup = Setup {
//!     dialect, models: vec![ModelChoice::none("There is no model.".to_owned(), model)], start: 0, chosen: false, scope: None,
//!     reloads_models: false, level: None, modes: Modes::of(dialect), limits: Limits::default(),
//!     place: SessionStorage::in_memory("/work"), session: None, tools: Toolbox::new(Vec::new()), system_prompt: "".into(),
//!     extension_setup: ExtensionSetup::default(), name: None, seed: 1, checked: true,
//! };
//! let now = Now { monotonic: Duration::ZERO, wall: 0 };
//! let mut engine = Engine::new(setup, now);
//! while engine.poll().is_some() {}
//! let command = read(br#"{"id":"1","type":"get_state"}"#, dialect)?;
//! engine.handle(Input::Frame(Box::new(command)), now);
//! let Some(Output::Emit(emission)) = engine.poll() else { panic!() };
//! let mut line = Vec::new();
//! Encoder::new(dialect).encode(&emission, &mut line);
//! assert!(line.starts_with(br#"{"id":"1","type":"response","command":"get_state","success":true"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where things are:
//!
//! - `core`: the engine and its loop, [`Engine::handle`] and [`Engine::poll`]. `activity` is what the agent is doing: the
//!   state of the [chart](pi_rpc_machine) with the data that it carries, and how far the process is. Nothing else can change
//!   either: who moves the agent names the cause, and a move that the chart forbids is a violation.
//! - `gate` is what the schema says of a command in the current state; `commands` serves it so. Work that is deferred lies in the `backlog`.
//! - `prompts` takes a prompt to its `run`: a run requests models (`turns`) and runs tools (`run_tools`) in the
//!   dialect's style. `after_run` continues after it: with a `retry`, a compaction (`compact`) or deferred work, until
//!   the `chain` of runs ends.
//!   `boundary` adds what extensions return at the end of a turn and of a chain; `held_frames` has the frames that wait for handlers.
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
mod budget;
mod cache_warming;
mod capacity;
mod commands;
pub mod consent;
mod consent_patterns;
mod core;
mod early_answers;
mod event_filter;
mod extension_models;
mod extension_outcomes;
mod extensions;
mod gate;
mod greeting;
mod held_frames;
mod host_lines;
mod host_tools;
mod ids;
mod instructions;
mod io;
pub mod limits;
mod logins;
mod message_pages;
mod model_choices;
mod model_requests;
mod models;
mod notifications;
pub mod permissions;
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
mod virtual_models;

pub use budget::{BudgetLimits, BudgetPlan};
pub use cache_warming::WarmingPlan;
pub use core::Engine;
pub use io::{
    CallId, Input, LoginEnd, LoginNotice, LoginStart, ModelCall, ModelSelection, Now, Output, Purpose,
    ReloadedModels, RequestHooks, ShellEnd, ShellStart, ToolSession, ToolStart,
};
pub use model_choices::ModelChoice;
pub use run::waiting_run::WaitingRun;
pub use setup::{
    CompactionPlan, ExtensionSetup, HostedExtensions, Modes, NamedCommands, RetryPlan, SessionStorage, Setup,
};
pub use toolbox::{
    arguments::Toolbox,
    declarations,
    listing::ScriptListing,
    selection::{
        RecordedTools, SelectionReport, ToolEntry, ToolEntryEffect, ToolSelection, matches_any, matches_tool,
    },
};
