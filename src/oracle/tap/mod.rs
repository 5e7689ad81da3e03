//! Sits between a host and a server: passes every byte on as it comes, and has both sides judged beside that.
//!
//! ```text
//! our stdin ──→ pump ──→ the server ──→ pump ──→ our stdout      each pump a thread that knows bytes only
//!                 └──── what was seen ───┴──→ observer             a thread: lines, recording, judge, report
//! ```
//!
//! A pump tells the observer before it passes bytes on, so that a request is seen before its answer; telling is a copy
//! into memory and never waits. What the observer cannot keep up with, up to [`Observer`]'s limit, is lost to it, not to
//! the host.

mod observer;
mod pump;
mod recorder;
mod run;

pub use observer::{Observer, ObserverHandle};
pub use recorder::TapOptions;
pub use run::{Command, TapEnd, tap};
