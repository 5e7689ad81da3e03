//! A recording as a server: what the host sends is looked up in it, and answered with what followed there.
//!
//! - [`RecordedProcess`]: one process of a recording, as steps: what came in, what was said, how it ended.
//! - [`Replay`]: plays the steps. A frame is said once everything that had come in before it has come in again; ids of
//!   requests may differ, and responses carry those of now. What the host leaves out is passed over with what followed
//!   from it, once the host pauses behind something later, or ends its input.
//!
//! Neither reads nor writes: [`crate::cli`] has the pipes and the clock.

mod causes;
mod ids;
mod play;
mod recorded_process;

pub use play::{Action, HostInput, Replay};
pub use recorded_process::{RecordedProcess, RecordedProcessError};
