//! Replays a recording as a server: each line of the host is looked up in the recording, and answered with the output that
//! followed it there.
//!
//! - [`RecordedProcess`]: one process of a recording, as steps: input, output, exit.
//! - [`Replay`]: plays the steps. A recorded frame is written once all input that preceded it has arrived again. Command ids
//!   may differ; responses carry the current ones. Input that the host leaves out is skipped, together with the output that
//!   it caused, once the host pauses after some later input or closes its input.
//!
//! Neither does IO: their user, such as the command line, has the pipes and the clock.

mod causes;
mod ids;
mod play;
mod recorded_process;

pub use play::{Action, HostInput, Replay};
pub use recorded_process::{RecordedProcess, RecordedProcessError};
