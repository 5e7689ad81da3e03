//! Sits between a host and a server: passes every byte on as it comes, and records and judges both sides.
//!
//! ```text
//! our stdin ──→ pump ──→ the server ──→ pump ──→ our stdout      each pump a thread that knows bytes only
//!                 └──── copies of bytes ─┴──→ observer             a thread: lines, recording, judge, report
//! ```
//!
//! A pump copies bytes to the observer before it passes them on, so that a command is seen before its response; it never
//! waits for the observer. When the observer falls behind by more than its limit, further bytes are lost to the recording,
//! not to the host or the server.

mod observer;
mod pump;
mod recorder;
mod run;

pub use observer::{Observer, ObserverHandle};
pub use recorder::TapOptions;
pub use run::{Command, TapEnd, tap};
