//! Extensions: executables that add commands, tools and hooks to the server, and speak a small protocol of their own
//! (`extension` of the schema) over stdin and stdout.
//!
//! ```text
//!                   ┌─ telling ─→ stdin
//! loop ─→ host ─→ life              process, in a group of its own
//!  ↑                ├─ hearing ←─ stdout
//!  └── Inputs ←─────┘  remarks ←─ stderr ─→ our log
//! ```
//!
//! - `find`: which executables there are.
//! - `host`: those that run, for the loop.
//! - `life`: one process, from its start to its end; `starting`: why one cannot be started.
//! - `node`: what runs pi's own extensions, all of them in one process, which speaks the same protocol; `embedded`,
//!   `unpacking`: the program that it runs.
//! - `strip_types`: TypeScript for a Node that cannot read it.
//! - `named_commands`: the slash commands of an extension that could not be loaded.
//! - `hearing`, `telling`, `remarks`: its pipes; `pipe`: reading what a process wrote before it went.
//!
//! Whatever an extension does, the server goes on:
//!
//! - **Nothing grows without bound.** A line is at most as long as [`MAX_FRAME`] or what was set instead; what has been
//!   heard and not taken by the loop is at most one such line and a few small ones; an extension for which more than
//!   [`MAX_PENDING`] bytes wait is ended.
//! - **Nobody waits for it.** Telling it something never blocks. It is heard only as fast as the loop takes what it says,
//!   beside everything else, and not at all while the host does not read.
//! - **Its end is told once**, behind everything that it wrote, with the reason.
//! - **Nothing of it stays.** With the process everything is ended that is left in its group.

mod embedded;
mod find;
mod frame_queue;
mod host;
mod named_commands;
mod node;
mod pipe;
mod process;
mod spawn;
mod stderr;
mod stdout;
mod strip_types;
mod unpack;

pub use find::{FoundExtensions, Position, SearchPlaces, find};
pub use host::{ExtensionEnvironment, ExtensionInputs, Extensions};
pub use named_commands::named_commands;
pub use node::NodeHost;
pub use spawn::is_pi_extension;
pub use strip_types::{Stripped, SyntaxError, strip_types};

/// The longest line that an extension may write when nothing else is said, in bytes: 8 MiB.
pub const MAX_FRAME: u64 = 8 * 1024 * 1024;

/// Bytes that may wait for an extension when nothing else is said: 64 MiB. A run with large images is told at once, and
/// repeats them several times.
pub const MAX_PENDING: usize = 64 * 1024 * 1024;
