//! The server: does what the engine asks, on real pipes, processes and clocks.
//!
//! ```text
//! stdin ─→ lines ────────────────────┐
//!                                    ├─→ loop: engine, machine ─→ outbox ─→ pipe ─→ sink: stdout
//! models, tools, shells ─→ inputs ───┤        │
//! extensions ─→ what they say ───────┘        │
//!          ↑──────────── started, told, cancelled
//! ```
//!
//! One loop owns the engine, reads stdin when there is something to read, and writes to stdout what there is room for, so that
//! it waits for neither, and a lone command has its answer without a second thread. One FIFO, the outbox, carries everything
//! that is said, so nothing overtakes. When the host reads slowly, the outbox first pauses models and tools and
//! joins what waits; when even that is not enough, it pauses stdin. Memory stays bounded (the
//! outbox's hard mark, a line of the longest kind and the conversation itself), and a slow reader gets fewer,
//! larger frames from which it computes the same.
//!
//! The session's file is on a thread of its own (`disk`): a file system that does not answer stops neither commands nor signals.
//!
//! Logs go to stderr; nothing but frames goes to stdout.

mod batch_writer;
mod disk;
mod extension_models;
mod hazard;
mod models;
mod outbox;
mod page_file;
mod print_mode;
mod provider_call;
mod provider_hooks;
mod queries;
mod script_context;
mod serve;
mod sink;
mod stdin;
mod tasks;

pub use hazard::{Hazard, Hazards, WriteStep};
pub use models::{ModelLibrary, ScriptFileError, scripted_name};
pub use outbox::MAX_PENDING_BYTES;
pub use print_mode::{PrintFormat, PrintMode, PrintResult};
pub use serve::{Options, seed, serve, wall_ms};
pub use tasks::ToolEnvironment;
