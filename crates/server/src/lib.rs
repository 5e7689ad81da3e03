//! The server: performs the requests of the engine on real pipes, processes and clocks.
//!
//! It decides nothing about the protocol: the engine does. It owns what the engine has not: stdin and stdout, model calls,
//! tools, processes of extensions, the session's file, time and signals.
//!
//! ```text
//! stdin ─→ FrameReader ──────────────────┐
//!                                        ├─→ serve: engine ─→ Outbox ─→ BatchWriter ─→ Sink: stdout
//! models, tools, shells ─→ inputs ───────┤      │
//! extensions ─→ their frames ────────────┘      │
//!          ↑──── Tasks: start, write to, cancel
//! ```
//!
//! One loop, [`serve()`], owns the engine. It reads stdin when there is something to read and writes to stdout as far as there
//! is room, so it blocks on neither. All outbound frames go through one queue, the outbox, so none overtakes another. With a
//! host that reads slowly the outbox first pauses models and tools and coalesces deltas; if that is not enough, it stops the
//! reading of commands. Memory stays bounded by the outbox's high-water mark, one line of the longest kind and the
//! conversation itself, and a slow reader gets fewer, larger frames with the same content.
//!
//! The session's file has a thread of its own (`disk`): a file system that hangs stops neither commands nor signals.
//!
//! Logs go to stderr; stdout has frames only.

mod agent;
mod batch_writer;
mod disk;
mod extension_models;
mod frame_limit;
mod hazard;
mod logins;
mod models;
mod outbox;
mod page_file;
mod print_mode;
mod provider_call;
mod provider_hooks;
mod queries;
mod runner;
mod script_context;
mod serve;
mod sink;
mod startup;
mod stdin;
mod tasks;

pub use agent::{Agent, AgentAnswer, AgentLink, AgentRequest, AgentTool, ToolState};
pub use disk::{FileGuard, Files};
pub use hazard::{Hazard, Hazards, WriteStep};
pub use logins::LoginAccess;
pub use models::{ModelLibrary, ScriptFileError, admits_model, scripted_name};
pub use outbox::MAX_PENDING_BYTES;
pub use print_mode::{PrintFormat, PrintMode, PrintResult};
pub use runner::{ExitReason, Runner, SessionOptions, seed, until, wall_ms};
pub use serve::{Options, ServeError, Signals, serve, signal_status};
pub use sink::Sink;
pub use startup::{StartEnd, start};
pub use stdin::{Stdin, line_to_input};
pub use tasks::ToolEnvironment;
