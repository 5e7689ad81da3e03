//! Sits between a host and a server: passes every byte on as it comes, and has both sides judged beside that.
//!
//! ```text
//! our stdin ──→ pump ──→ the server ──→ pump ──→ our stdout      each pump a thread that knows bytes only
//!                 └──── what was seen ───┴──→ witness             a thread: lines, recording, judge, report
//! ```
//!
//! A pump tells the witness before it passes bytes on, so that a request is seen before its answer; telling is a copy
//! into memory and never waits. What the witness cannot keep up with, up to [`Witness`]'s limit, is lost to it, not to
//! the host.

mod clerk;
mod pump;
mod run;
mod witness;

pub use clerk::Sheet;
pub use run::{Command, Ended, tap};
pub use witness::{Teller, Witness};
