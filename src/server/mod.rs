//! The server: does what the engine asks, on real pipes, processes and clocks.
//!
//! ```text
//! stdin ─→ reader (thread) ─→ lines ─┐
//!                                    ├─→ loop: engine, machine ─→ outbox ─→ writer (thread) ─→ stdout
//! models, tools, shells ─→ inputs ───┤        │
//! extensions ─→ what they say ───────┘        │
//!          ↑──────────── started, told, cancelled
//! ```
//!
//! One loop owns the engine and never waits for stdout. One FIFO, the outbox, carries everything that is
//! said to one writer, so nothing overtakes. When the host reads slowly, the outbox first pauses models and tools and
//! joins what waits; when even that is not enough, it pauses stdin. Memory stays bounded (the
//! outbox's hard mark, two lines of the longest kind and the conversation itself), and a slow reader gets fewer,
//! larger frames from which it computes the same.
//!
//! Logs go to stderr; nothing but frames goes to stdout.

mod asking;
mod models;
mod outbox;
mod perform;
mod reader;
mod serve;

pub use models::{BadScript, Library, scripted_name};
pub use perform::Workplace;
pub use serve::{Options, seed, serve, wall_ms};
